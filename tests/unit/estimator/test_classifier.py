"""MomentClassifier: what scikit-learn asks of a classifier, and what momentlp promises of this one."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from helpers.clouds import clouds
from joblib import parallel_config
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import momentlp as mlp

X, truth, y = clouds()
new = np.random.default_rng(1).uniform(-3.0, 8.0, size=(80, 2))
KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "no smoothing": {"smoothing": None},
    "linear": {"features": "linear"},
    "quadratic": {"features": mlp.Quadratic(), "tolerance": 0.5},
    "kernel": {"features": mlp.Kernel(landmarks=10)},
    "graph, no walk": {"features": mlp.Spectral(6)},
    "both": {"features": mlp.Concat([mlp.Linear(), mlp.Spectral(4, 5, walk=0.02)])},
}


@parametrize_with_checks([mlp.MomentClassifier(), mlp.MomentClassifier(probability=True)])
def test_the_checks_of_scikit_learn(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or one of them is skipped
    check(estimator)


# The answer


@pytest.fixture(params=KINDS)
def parameters(request: pytest.FixtureRequest) -> dict[str, Any]:
    return KINDS[request.param]


def test_the_class_is_found_and_proved(parameters: dict[str, Any]) -> None:
    model = mlp.MomentClassifier(**parameters).fit(X, y)
    assert model.solution_.status is mlp.Status.OPTIMAL
    assert model.solution_.certificate.holds()
    assert np.mean((model.transduction_ == 1) == truth) > 0.8
    assert (model.membership_ >= 0).all()
    assert (model.membership_ <= 1).all()
    assert model.solution_.objective >= y.sum() - 1e-6  # the labelled points have their own mean
    assert model.class_prior_ == np.mean(model.membership_[y == 0] > 0.5)
    assert model.n_iter_ >= 1


def test_what_it_says_of_points_seen_is_what_it_found(parameters: dict[str, Any]) -> None:
    model = mlp.MomentClassifier(**parameters).fit(X, y)
    unlabelled = (y == 0) & (np.abs(model.decision_function(X)) > 1e-6)  # a point on the hyperplane is neither in nor out
    assert unlabelled.sum() > 120
    assert np.array_equal(model.predict(X)[unlabelled], model.transduction_[unlabelled])
    assert (model.transduction_[y == 1] == 1).all()
    assert np.array_equal(model.transduction_, clone(model).fit_predict(X, y))


def test_the_ways_to_ask_agree(parameters: dict[str, Any]) -> None:
    model = mlp.MomentClassifier(probability=True, **parameters).fit(X, y)
    score = model.score_samples(new)
    assert np.array_equal(model.decision_function(new), score - model.offset_)
    assert np.array_equal(model.predict(new) == 1, score > model.offset_)
    probability = model.predict_proba(new)
    assert np.allclose(probability.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[probability.argmax(axis=1)], model.predict(new))
    rising = np.argsort(score)
    assert (np.diff(probability[rising, 1]) >= 0).all()


def test_far_away_is_outside() -> None:
    model = mlp.MomentClassifier().fit(X, y)
    assert model.score_samples([[1e3, 0.0], [0.0, -1e6]]).tolist() == [0.0, 0.0]


# Labels


@pytest.mark.parametrize(
    ("member", "other"),
    [(1, 0), (1, -1), (True, False), ("member", "anything"), (2.0, 1.0), (0, 1), (-1, 1), (False, True), ("a", "b")],
)
def test_any_two_values_of_y(member: Any, other: Any) -> None:
    usual = mlp.MomentClassifier(probability=True).fit(X, y)
    labels = np.where(y == 1, member, other)
    model = mlp.MomentClassifier(probability=True, pos_label=member).fit(X, labels)
    assert model.classes_.tolist() == sorted([member, other])
    assert model.pos_label_ == member
    assert model.transduction_.dtype == model.predict(new).dtype == labels.dtype
    inside = usual.predict(new) == 1
    assert np.array_equal(model.predict(new), np.where(inside, member, other))
    assert np.array_equal(model.transduction_ == member, usual.transduction_ == 1)
    assert np.array_equal(model.score_samples(new), usual.score_samples(new))
    assert np.array_equal(model.decision_function(new) > 0, model.predict(new) == model.classes_[1])
    column = model.classes_.tolist().index(member)
    assert np.array_equal(model.predict_proba(new)[:, column], usual.predict_proba(new)[:, 1])
    assert model.class_prior_ == usual.class_prior_
    if member > other:
        assert mlp.MomentClassifier().fit(X, labels).pos_label_ == member


def test_words_that_may_have_been_taken_the_wrong_way_round() -> None:
    words = np.where(y == 1, "positive", "unlabelled")
    expected_message = r"130 of 150 rows are marked as members \('unlabelled', the larger label\): .* pos_label='positive'"
    for labels in (words, words.astype(object)):
        with pytest.warns(UserWarning, match=expected_message) as seen:
            model = mlp.MomentClassifier("linear").fit(X, labels)
        assert seen[0].filename == __file__
        assert model.pos_label_ == "unlabelled"  # the rule stays what it is
    mlp.MomentClassifier("linear", pos_label="positive").fit(X, words)
    mlp.MomentClassifier("linear", pos_label="unlabelled").fit(X, words)  # who says it means it


def test_rows_of_words_count_by_their_weight() -> None:
    words, heavy = np.where(y == 1, "positive", "unlabelled"), np.where(y == 1, 100.0, 1.0)
    assert mlp.MomentClassifier("linear").fit(X, words, heavy).pos_label_ == "unlabelled"
    with pytest.warns(UserWarning, match="20 of 150 rows are marked as members"):
        mlp.MomentClassifier("linear").fit(X, np.where(y == 1, "yes", "no"), heavy)


def test_numbers_are_taken_as_they_are() -> None:
    """The checks of scikit-learn mark two rows in three with a 1."""
    mlp.MomentClassifier("linear").fit(X, 1 - y)


def test_labels_of_objects_stay_objects() -> None:
    labels = np.where(y == 1, "yes", "no").astype(object)
    model = mlp.MomentClassifier("linear").fit(X, labels)
    assert model.predict(X).dtype == model.transduction_.dtype == model.classes_.dtype == object


# What cannot be


@pytest.mark.parametrize(
    ("labels", "pos_label", "words"),
    [
        (np.ones(150, dtype=int), None, "one class only, 1: there are no unlabelled points"),
        (np.zeros(150, dtype=int), None, "one class only, 0: there are no labelled points"),
        (np.full(150, "m"), "m", "one class only, 'm': there are no unlabelled points"),
        (np.arange(150) % 3, None, "Only binary classification is supported.*holds 3 different values: 0, 1, 2"),
        (np.arange(150) / 7, None, "Unknown label type: continuous"),
        (y, 7, "pos_label is 7, but y holds 0 and 1"),
        (y, "1", "pos_label is '1', but y holds 0 and 1"),
        (np.where(y == 1, 1.0, np.nan), None, "NaN"),
    ],
)
def test_labels_that_make_no_sense(labels: np.ndarray, pos_label: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        mlp.MomentClassifier(pos_label=pos_label).fit(X, labels)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_points_must_be_finite(value: float) -> None:
    broken = X.copy()
    broken[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        mlp.MomentClassifier().fit(broken, y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        mlp.MomentClassifier().fit(X, y).predict(broken)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.where(np.arange(150) == 7, -1.0, 1.0), "sample_weight must not be negative, but entry 7 is -1"),
        (np.full(150, np.nan), "NaN"),
        (np.ones(149), "150"),
        (1.0 - y, "there are no labelled points"),
        (1.0 * y, "there are no unlabelled points"),
    ],
)
def test_weights_that_make_no_sense(weight: np.ndarray, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        mlp.MomentClassifier().fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"smoothing": 0.0}, "smoothing must be a number above 0 and up to 1, 'auto' or None, not 0.0"),
        ({"smoothing": 1.5}, "smoothing must be"),
        ({"smoothing": "some"}, "smoothing must be"),
        ({"smoothing": True}, "smoothing must be"),
        ({"margin": -0.1}, "margin must be a number of at least 0, or 'auto', not -0.1"),
        ({"margin": "some"}, "margin must be"),
        ({"margin": None}, "margin must be"),
        ({"margin": 0.1, "features": "linear"}, "margin is 0.1, but there are no neighbourhoods"),
        ({"smoothing": 0.1, "features": "linear"}, "smoothing is 0.1, but there are no neighbourhoods"),
        ({"bagging": -1}, "bagging must be a whole number of at least 0, not -1"),
        ({"bagging": 2.5}, "bagging must be"),
        ({"bagging": True}, "bagging must be"),
        ({"tolerance": -1.0}, "must be finite and not negative, but it is -1"),
        ({"tolerance": np.nan}, "must be finite and not negative"),
        ({"tolerance": "wide"}, "tolerance must be a Tolerance, or a number of standard errors, not 'wide'"),
        ({"tolerance": True}, "tolerance must be"),
        ({"features": "linaer"}, "'linaer' is not a registered kind of features; known: concat, kernel, linear"),
        ({"features": mlp.Linear}, "expected one of the features"),
        ({"features": None}, "features: expected one of the features, .* The name of a kind will do too"),
        ({"features": PCA(2)}, r"features is a PCA, .* wrap it: mlp.Transformer\(PCA\(n_components=2\)\)"),
        ({"constraints": None}, r"constraints must be a list of constraints, such as \[mlp.Share.* not None"),
        ({"constraints": "share"}, "constraints must be a list of constraints, .* not 'share'"),
        ({"constraints": mlp.Share(0.1, 0.3)}, r"constraints is one Share: put it in a list: constraints=\[mlp.Share\("),
        ({"solve_params": 3}, r"solve_params must be a dictionary of what momentlp.solve takes, .* not 3"),
        ({"solve_params": [("threads", 1)]}, "solve_params must be a dictionary"),
        ({"probability": "yes"}, "probability must be True or False, not 'yes'"),
        ({"probability": 1}, "probability must be True or False, not 1"),
        ({"constraints": [mlp.Known(negatives=np.flatnonzero(y)[:1])]}, "among the positives of one and the negatives"),
        ({"constraints": [mlp.GroupShare("x7", low={"1": 0.5})]}, "GroupShare.groups names column 'x7'"),
        ({"tol": -1.0}, "tol must be a number above 0"),
        ({"time_limit": 0.0}, "time_limit must be a number greater than 0"),
        ({"solve_params": {"start": None}}, "the estimator makes its own starts"),
        ({"solve_params": {"tol": 1e-3}}, "solve_params holds 'tol': use the parameter tol=0.001 of the estimator"),
        ({"solve_params": {"time_limit": 9}}, "solve_params holds 'time_limit': use the parameter time_limit=9"),
        ({"solve_params": {"backend": "glpk"}}, "solve_params holds 'backend': use the parameter backend='glpk'"),
        ({"random_state": "seed", "bagging": 1}, "cannot be used to seed"),
    ],
)
def test_parameters_that_make_no_sense(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        mlp.MomentClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize("parameters", [{"bagging": -1}, {"smoothing": 0.0}, {"probability": 1}, {"tolerance": "wide"}])
def test_parameters_come_before_the_data(parameters: dict[str, Any]) -> None:
    with pytest.raises(mlp.OptionError, match=next(iter(parameters))):
        mlp.MomentClassifier(**parameters).fit([["not", "numbers"]], None)


def test_what_numpy_says_is_yes_or_no_too() -> None:
    assert hasattr(mlp.MomentClassifier("linear", probability=np.True_).fit(X, y), "predict_proba")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"level": "a"}, "level must be a number between 0 and 1, such as 0.9, not 'a'"),
        ({"level": True}, "level must be a number"),
        ({"n_resamples": 20.0}, "n_resamples must be a whole number, such as 200, not 20.0"),
        ({"progress": None}, "progress must be True, False or a function of how many are done .* not None"),
    ],
)
def test_arguments_of_the_interval_that_make_no_sense(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(mlp.OptionError, match=words):
        mlp.MomentClassifier("linear").fit(X, y).class_prior_interval(**arguments)


def test_one_labelled_point_has_no_spread() -> None:
    one = np.arange(150) == np.flatnonzero(y)[0]
    with pytest.raises(mlp.CompileError, match=r"at least two labelled points .* a tolerance such as mlp.Relative\(0.1\)"):
        mlp.MomentClassifier("linear").fit(X, one)
    mlp.MomentClassifier("linear", mlp.Relative(0.1)).fit(X, one)


def test_nothing_beyond_the_labelled_points_is_told() -> None:
    line = np.array([[0.0], [0.1], [5.0], [6.0], [7.0]])
    with pytest.warns(
        mlp.OnlyLabelledWarning, match=r"no unlabelled point was found.*larger tolerance.*smoothing=None"
    ) as seen:
        model = mlp.MomentClassifier("linear", 0.0).fit(line, [1, 1, 0, 0, 0])
    assert seen[0].filename == __file__
    assert model.class_prior_ == 0
    mlp.MomentClassifier("linear", 0.0).fit(line[:4], [1, 1, 0, 0])  # half of all are labelled: no surprise


def test_no_set_that_meets_the_constraints() -> None:
    with pytest.raises(mlp.SolverError, match=r"no set of points meets the constraints.*conflict: .*share"):
        mlp.MomentClassifier(constraints=[mlp.Share(0.95, 1.0)]).fit(X, y)


def test_no_set_with_the_mean_of_the_labelled_points() -> None:
    """The constraint leaves out every set that is near their mean: the linear program proves it, and so should fit say."""
    group = np.arange(150) % 2
    tilted = mlp.GroupShare("x2", low={"1": 0.9})  # of the labelled points seven in twenty are in group 1
    with pytest.raises(mlp.SolverError, match="no set of points"):
        mlp.MomentClassifier("linear", constraints=[tilted]).fit(np.column_stack([X, group]), y)


def test_points_that_are_known_to_be_outside_stay_there() -> None:
    inside = np.flatnonzero(truth & (y == 0))[:5]
    for features in ("spectral", "linear"):
        model = mlp.MomentClassifier(features, constraints=[mlp.Known(negatives=inside)]).fit(X, y)
        assert model.membership_[inside].tolist() == [0.0] * 5
        assert (model.transduction_[inside] == 0).all()


@pytest.mark.parametrize("features", ["spectral", "linear"])
def test_points_of_no_weight_that_are_known_to_be_outside_stay_there(features: str) -> None:
    inside = np.flatnonzero(truth & (y == 0))[:6]
    weight = np.ones(150)
    weight[inside[:3]] = 0.0
    model = mlp.MomentClassifier(features, constraints=[mlp.Known(negatives=inside)], bagging=2).fit(X, y, weight)
    assert model.membership_[inside].tolist() == [0.0] * 6
    assert (model.transduction_[inside] == 0).all()


def test_the_order_of_equal_rows_does_not_matter() -> None:
    """One of two copies is known to be outside, of the other nothing is known: whichever comes first."""
    inside = np.flatnonzero(truth & (y == 0))[:10]
    points, labels = np.vstack([X, X[inside]]), np.concatenate([y, np.zeros(10, dtype=int)])
    first, last = (
        mlp.MomentClassifier(constraints=[mlp.Known(negatives=out)]).fit(points, labels)
        for out in (inside, np.arange(150, 160))
    )
    assert np.allclose(first.score_samples(new), last.score_samples(new), atol=1e-9)
    assert np.allclose(first.score_samples(X), last.score_samples(X), atol=1e-9)


# A constraint that limits the size, where the mean does not


def largest(tolerance: float) -> float:
    return float(mlp.MomentClassifier("linear", tolerance).fit(X, y).solution_.objective / 150)


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("weight", [None, np.full(150, 3.0)])
@pytest.mark.parametrize("tolerance", [mlp.StandardError(0.8), mlp.Absolute(9.0)], ids=["mean", "sum"])
def test_of_all_sets_of_the_size_allowed_the_nearest_is_taken(exactly: bool, weight: Any, tolerance: mlp.Tolerance) -> None:
    sizes = [mlp.MomentClassifier("linear", each).fit(X, y, weight).solution_.objective for each in (0.0, tolerance)]
    total = 150 if weight is None else weight.sum()
    share = float(np.mean(sizes) / total)
    bound = mlp.Share(share if exactly else 0.0, share)
    found = [
        mlp.MomentClassifier("linear", tolerance, [bound], backend=backend).fit(X, y, weight)
        for backend in ("highs", "glpk", "sifting")
    ]
    for model in found:
        solution = model.solution_
        assert solution.objective == pytest.approx(share * total, rel=1e-7)
        assert solution.certificate.holds()
        assert solution.certificate.active > 0
        assert np.abs(solution.multipliers[-1]) < 1e-6  # the mean limits the size as well, and proves it alone
        assert np.allclose(model.score_samples(new), found[0].score_samples(new), atol=1e-5)
        clear = np.abs(solution.scores) > 1e-6
        assert clear.mean() > 0.9
        assert np.array_equal(
            model.separator_.predict(X)[clear], solution.membership[clear] > 0.5 * solution.problem.caps[0]
        )
    whole, tight = (mlp.MomentClassifier("linear", tolerance).fit(X, y, weight), found[0].solution_)
    narrower = tight.problem.blocks[0].width / whole.solution_.problem.blocks[0].width
    assert narrower[0] == pytest.approx(narrower[1])
    assert 0.05 < narrower[0] < 0.95


def test_the_size_allowed_in_folds_and_samples() -> None:
    bound = mlp.Share(0.0, (largest(0.0) + largest(0.8)) / 2)
    model = mlp.MomentClassifier("linear", constraints=[bound], bagging=3, probability=True, random_state=0).fit(X, y)
    assert all(np.abs(voter.normal).max() > 1e-3 for voter in model.rule_.voters)
    chosen = mlp.MomentClassifierCV("linear", constraints=[bound], tolerances=[0.8, 0.0], random_state=0).fit(X, y)
    assert chosen.solution_.certificate.holds()


def test_fewer_points_than_have_the_mean_are_any_of_them() -> None:
    with pytest.warns(RuntimeWarning, match="limits the set to 30 points.*very mean.*which was taken is arbitrary"):
        model = mlp.MomentClassifier("linear", constraints=[mlp.Share(0.0, 0.2)]).fit(X, y)
    assert model.solution_.certificate.holds()
    assert model.solution_.objective == pytest.approx(30.0)


@pytest.mark.parametrize("limit", [{"time_limit": 1e-9}, {"solve_params": {"iteration_limit": 1}}])
def test_a_limit_is_told(limit: dict[str, Any]) -> None:
    with pytest.warns(ConvergenceWarning, match="a limit was reached before the largest set was proved"):
        model = mlp.MomentClassifier(**limit).fit(X, y)
    assert model.solution_.status is mlp.Status.LIMIT
    assert (model.transduction_[y == 1] == 1).all()


@pytest.mark.parametrize("method", ["predict", "score_samples", "decision_function", "class_prior_interval", "save"])
def test_before_it_is_fitted(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(mlp.MomentClassifier(), method)(*([] if method == "class_prior_interval" else [X]))


def test_probabilities_only_where_they_were_asked_for() -> None:
    model = mlp.MomentClassifier().fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)


# Beside other parts of scikit-learn


def test_in_a_pipeline() -> None:
    stretched = X * [1.0, 1e4]
    scaler = StandardScaler().fit(stretched)
    model = make_pipeline(StandardScaler(), mlp.MomentClassifier(mlp.Spectral(6))).fit(stretched, y)
    alone = mlp.MomentClassifier(mlp.Spectral(6)).fit(scaler.transform(stretched), y)
    assert np.array_equal(model.predict(new), alone.predict(scaler.transform(new)))


@pytest.mark.parametrize("name", ["linear", "quadratic", "kernel"])
def test_a_map_by_its_name_is_the_map(name: str) -> None:
    tolerance = mlp.Relative(0.5, standardised=True)
    named = mlp.MomentClassifier(name, tolerance).fit(X, y)
    given = mlp.MomentClassifier(mlp.FeatureMap.parse({"kind": name}), tolerance).fit(X, y)
    assert np.array_equal(named.score_samples(new), given.score_samples(new))


def test_a_number_is_a_tolerance_in_standard_errors() -> None:
    number = mlp.MomentClassifier(tolerance=0.5).fit(X, y)
    named = mlp.MomentClassifier(tolerance=mlp.StandardError(0.5)).fit(X, y)
    assert number.solution_.objective == named.solution_.objective
    assert number.solution_.objective < mlp.MomentClassifier(tolerance=0.8).fit(X, y).solution_.objective
    for features, width in (("spectral", 2.5), ("linear", 0.8)):
        default, same = (mlp.MomentClassifier(features, tolerance=each).fit(X, y) for each in (None, width))
        assert default.solution_.objective == same.solution_.objective


def test_with_a_margin_what_is_near_the_hyperplane_is_not_averaged() -> None:
    """Labelled points, and those known to be members, are averaged whatever their score."""
    near = np.where(truth[:, None], X, X - 2.5)
    point = int(np.flatnonzero(~truth)[0])
    wide = {"tolerance": 3.0, "smoothing": 1.0}
    for margin, constraints in ((0.0, []), (0.4, []), (0.4, [mlp.Known(positives=[point])])):
        model = mlp.MomentClassifier(margin=margin, constraints=constraints, **wide).fit(near, y)
        scores, h = model.solution_.scores, model.solution_.membership
        expected = np.where((scores > margin) | (margin == 0.0), h, 0.0)
        expected[(y == 1) | (np.isin(np.arange(150), point) & bool(constraints))] = 1.0
        assert np.allclose(model.membership_, expected, atol=1e-6)
    assert (expected[y == 0] < h[y == 0]).any()


def test_the_margin_goes_with_the_default_tolerance() -> None:
    default, same, bare = (
        mlp.MomentClassifier(tolerance=tolerance, margin=margin).fit(X, y).membership_
        for tolerance, margin in ((None, "auto"), (2.5, 0.3), (2.5, "auto"))
    )
    assert np.array_equal(default, same)
    assert not np.array_equal(default, bare)


def test_a_clone_has_the_parameters_and_nothing_else() -> None:
    model = mlp.MomentClassifier(mlp.Quadratic(), 0.5, [mlp.Share(0.0, 0.9)], bagging=2, random_state=3).fit(X, y)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "solution_")
    assert np.array_equal(twin.fit(X, y).membership_, model.membership_)


@pytest.mark.parametrize("workers", ["sequential", "threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_a_grid_is_searched_without_counterexamples(workers: str) -> None:
    folds = list(StratifiedKFold(3).split(X, y))
    grid = GridSearchCV(
        mlp.MomentClassifier("linear"), {"tolerance": [0.01, 0.8]}, scoring=make_scorer(mlp.lee_liu_score), cv=folds
    )
    with parallel_config(workers, n_jobs=2):
        grid.fit(X, y)
    by_hand = []
    for tolerance in (0.01, 0.8):
        model = mlp.MomentClassifier("linear", tolerance)
        scores = [mlp.lee_liu_score(y[test], model.fit(X[train], y[train]).predict(X[test])) for train, test in folds]
        by_hand.append(np.mean(scores))
    assert np.allclose(grid.cv_results_["mean_test_score"], by_hand)
    assert grid.best_params_ == {"tolerance": 0.8}


def test_weights_are_routed() -> None:
    weight = np.where(truth, 1.0, 3.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            mlp.MomentClassifier("linear").set_fit_request(sample_weight=True),
        ).fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    weighed = mlp.MomentClassifier("linear").fit(scaled, y, weight)
    assert np.array_equal(model[-1].membership_, weighed.membership_)
    assert not np.array_equal(model[-1].membership_, mlp.MomentClassifier("linear").fit(scaled, y).membership_)


# Tables of all kinds


def test_frames_keep_their_names() -> None:
    frame = pd.DataFrame(X, columns=["height", "width"], index=np.arange(150)[::-1])
    model = mlp.MomentClassifier().fit(frame, pd.Series(y, index=frame.index))
    assert model.feature_names_in_.tolist() == ["height", "width"]
    plain = mlp.MomentClassifier().fit(X, y)
    assert np.array_equal(model.membership_, plain.membership_)
    assert np.array_equal(model.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["width", "height"]])


def test_a_constraint_names_a_column() -> None:
    group = np.arange(150) % 2
    frame = pd.DataFrame(X, columns=["height", "width"]).assign(group=group)
    bound = mlp.GroupShare("group", high={"1": 0.3})
    bounded, free = (
        mlp.MomentClassifier("linear", constraints=each).fit(frame, y).solution_.membership for each in ([bound], [])
    )
    assert bounded @ group / bounded.sum() == pytest.approx(0.3)
    assert free @ group / free.sum() > 0.4


def test_polars_frames() -> None:
    model = mlp.MomentClassifier().fit(pl.DataFrame(X, schema=["height", "width"]), y)
    assert np.array_equal(model.membership_, mlp.MomentClassifier().fit(X, y).membership_)


def test_sparse_is_dense(parameters: dict[str, Any]) -> None:
    points, others = (np.where(each > 0.3, each, 0.0) for each in (X, new))
    dense, sparse = (mlp.MomentClassifier(**parameters).fit(each, y) for each in (points, sp.csr_array(points)))
    assert np.allclose(dense.membership_, sparse.membership_, atol=1e-6)
    assert np.allclose(dense.score_samples(others), sparse.score_samples(sp.csc_matrix(others)), atol=1e-4)
    assert np.allclose(dense.score_samples(others), sparse.score_samples(others), atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_other_numbers(dtype: type) -> None:
    points = np.clip(X * 10 + 50, 0, 255).astype(dtype) if dtype is not bool else X > 1
    model = mlp.MomentClassifier("linear").fit(points, y)
    same = mlp.MomentClassifier("linear").fit(points.astype(np.float64), y)
    assert np.array_equal(model.membership_, same.membership_)


def test_the_unit_of_a_column_does_not_matter() -> None:
    model = mlp.MomentClassifier().fit(X, y)
    other = mlp.MomentClassifier().fit(X * [1e-6, 1e6], y)
    assert np.allclose(model.membership_, other.membership_, atol=1e-6)
    assert np.allclose(model.score_samples(new), other.score_samples(new * [1e-6, 1e6]), atol=1e-6)


# Weights


WEIGHED: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"features": "linear"},
    "quadratic": {"features": "quadratic"},
    "kernel": {"features": mlp.Kernel(gamma=0.1), "tolerance": 1.5},
    "share": {"features": "linear", "constraints": [mlp.Share(0.0, 0.415)]},
}


@pytest.mark.parametrize("kind", WEIGHED)
def test_a_weight_is_so_many_rows_and_zero_is_none(kind: str) -> None:
    weight = np.random.default_rng(2).integers(0, 4, size=150).astype(float)
    repeated, present = np.repeat(np.arange(150), weight.astype(int)), weight > 0
    weighed = mlp.MomentClassifier(**WEIGHED[kind]).fit(X, y, weight)
    for other in (
        mlp.MomentClassifier(**WEIGHED[kind]).fit(X[repeated], y[repeated]),
        mlp.MomentClassifier(**WEIGHED[kind]).fit(X[present], y[present], weight[present]),
    ):
        assert weighed.solution_.objective == pytest.approx(other.solution_.objective, rel=1e-9)
        assert np.allclose(weighed.score_samples(new), other.score_samples(new), atol=1e-7)
    absent = (weight == 0) & (y == 0) & (np.abs(weighed.decision_function(X)) > 1e-6)
    assert np.array_equal(weighed.transduction_[absent], weighed.predict(X)[absent])
    unlabelled = weight * (y == 0)
    assert weighed.class_prior_ == pytest.approx(unlabelled @ (weighed.membership_ > 0.5) / unlabelled.sum())


def test_a_graph_in_a_constraint_does_not_switch_averaging_on() -> None:
    near = mlp.Moment(mlp.Spectral(2), 0.0, mlp.Relative(9.0))  # which holds for every set
    bound, free = (mlp.MomentClassifier("linear", constraints=each).fit(X, y) for each in ([near], []))
    assert np.allclose(bound.membership_, free.membership_, atol=1e-6)
    assert bound.rule_.smoother is None
    with pytest.raises(mlp.OptionError, match="there are no neighbourhoods"):
        mlp.MomentClassifier("linear", constraints=[near], smoothing=0.1).fit(X, y)


@pytest.mark.parametrize("features", ["spectral", "linear"])
def test_a_constraint_does_not_learn_from_rows_of_no_weight(features: str) -> None:
    weight = np.where(np.arange(150) % 7 == 3, 0.0, 1.0)
    there = weight > 0
    near = mlp.Moment(mlp.Spectral(2), [1.2, 0.0], mlp.Relative(0.4))
    weighed = mlp.MomentClassifier(features, constraints=[near]).fit(X, y, weight)
    without = mlp.MomentClassifier(features, constraints=[near]).fit(X[there], y[there])
    assert weighed.solution_.objective == pytest.approx(without.solution_.objective)
    assert np.allclose(weighed.solution_.problem.blocks[1].features[there], without.solution_.problem.blocks[1].features)
    assert np.allclose(weighed.score_samples(new), without.score_samples(new), atol=1e-6)


# Copies


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_answer_alike(duplicate: Callable[[Any], Any]) -> None:
    model = mlp.MomentClassifier(probability=True, bagging=2, random_state=0).fit(X, y)
    twin = duplicate(model)
    assert np.array_equal(twin.predict_proba(new), model.predict_proba(new))
    assert np.array_equal(twin.transduction_, model.transduction_)
    assert twin.solution_.certificate.holds()
    one, other = (each.class_prior_interval(n_resamples=10) for each in (model, twin))
    assert np.array_equal(one.resampled, other.resampled)


# Few points, and many equal ones


def test_a_tiny_pile() -> None:
    model = mlp.MomentClassifier().fit([[0.0], [1.0], [9.0]], [1, 1, 0])
    assert model.predict([[0.5]]).tolist() == [1]
    with pytest.raises(ValueError, match="at least two labelled points"):
        mlp.MomentClassifier("linear").fit([[0.0], [1.0], [9.0]], [1, 0, 0])


def test_labelled_points_that_are_there_again() -> None:
    """A copy of a labelled point is a point of which nothing is known, at the same place."""
    known = np.flatnonzero(y)
    model = mlp.MomentClassifier().fit(np.vstack([X, X[known]]), np.concatenate([y, np.zeros(known.size, dtype=int)]))
    assert model.membership_[150:].tolist() == model.membership_[known].tolist()


def test_columns_that_say_nothing() -> None:
    model = mlp.MomentClassifier().fit(np.column_stack([X, np.full(150, 7.0)]), y)
    assert np.allclose(model.membership_, mlp.MomentClassifier().fit(X, y).membership_, atol=1e-9)
