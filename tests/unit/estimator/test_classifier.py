"""MomentClassifier: the interface of scikit-learn, and the answers."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn
from helpers.clouds import clouds
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import momentlp as mlp

X, truth, y = clouds()
new = np.random.default_rng(1).uniform(-3.0, 8.0, size=(80, 2))
KINDS: dict[str, dict[str, Any]] = {
    "graph": {"features": "spectral"},
    "no smoothing": {"features": "spectral", "smoothing": None},
    "linear": {"features": "linear"},
    "quadratic": {"features": mlp.Quadratic(), "tolerance": 0.5},
    "kernel": {"features": mlp.Kernel(landmarks=10)},
    "graph, no walk": {"features": mlp.Spectral(6)},
    "both": {"features": mlp.Concat([mlp.Linear(), mlp.Spectral(4, 5, walk=0.02)])},
}


@pytest.mark.filterwarnings("ignore::momentlp.DoubtfulResultWarning")
@parametrize_with_checks([mlp.MomentClassifier(), mlp.MomentClassifier("spectral", probability=True)])
def test_it_passes_the_checks_of_scikit_learn(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or one of them is skipped
    check(estimator)


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


def test_predict_agrees_with_transduction(parameters: dict[str, Any]) -> None:
    model = mlp.MomentClassifier(**parameters).fit(X, y)
    unlabelled = (y == 0) & (np.abs(model.decision_function(X)) > 1e-6)  # a point on the hyperplane is neither in nor out
    assert unlabelled.sum() > 120
    assert np.array_equal(model.predict(X)[unlabelled], model.transduction_[unlabelled])
    assert (model.transduction_[y == 1] == 1).all()
    assert np.array_equal(model.transduction_, clone(model).fit_predict(X, y))


def test_all_methods_agree(parameters: dict[str, Any]) -> None:
    model = mlp.MomentClassifier(probability=True, **parameters).fit(X, y)
    score = model.score_samples(new)
    assert np.array_equal(model.decision_function(new), score - model.offset_)
    assert np.array_equal(model.predict(new) == 1, score > model.offset_)
    probability = model.predict_proba(new)
    assert np.allclose(probability.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[probability.argmax(axis=1)], model.predict(new))
    rising = np.argsort(score)
    assert (np.diff(probability[rising, 1]) >= 0).all()


def test_points_far_away_are_outside() -> None:
    model = mlp.MomentClassifier("spectral").fit(X, y)
    assert model.score_samples([[1e3, 0.0], [0.0, -1e6]]).tolist() == [0.0, 0.0]


def test_it_warns_if_only_labelled_points_are_found() -> None:
    line = np.array([[0.0], [0.1], [5.0], [6.0], [7.0]])
    with pytest.warns(
        mlp.OnlyLabelledWarning, match=r"no unlabelled point was found.*larger tolerance.*smoothing=None"
    ) as seen:
        model = mlp.MomentClassifier("linear", 0.0).fit(line, [1, 1, 0, 0, 0])
    assert seen[0].filename == __file__
    assert model.class_prior_ == 0
    mlp.MomentClassifier("linear", 0.0).fit(line[:4], [1, 1, 0, 0])  # half of all are labelled: no surprise


@pytest.mark.parametrize("method", ["predict", "score_samples", "decision_function", "class_prior_interval", "save"])
def test_methods_raise_before_fit(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(mlp.MomentClassifier(), method)(*([] if method == "class_prior_interval" else [X]))


def test_it_works_in_a_pipeline() -> None:
    stretched = X * [1.0, 1e4]
    scaler = StandardScaler().fit(stretched)
    model = make_pipeline(StandardScaler(), mlp.MomentClassifier(mlp.Spectral(6))).fit(stretched, y)
    alone = mlp.MomentClassifier(mlp.Spectral(6)).fit(scaler.transform(stretched), y)
    assert np.array_equal(model.predict(new), alone.predict(scaler.transform(new)))


def test_a_clone_has_the_parameters_and_nothing_else() -> None:
    model = mlp.MomentClassifier(mlp.Quadratic(), 0.5, [mlp.Share(0.0, 0.9)], bagging=2, random_state=3).fit(X, y)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "solution_")
    assert np.array_equal(twin.fit(X, y).membership_, model.membership_)


@pytest.mark.parametrize("workers", ["sequential", "threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_grid_search_needs_no_counterexamples(workers: str) -> None:
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


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_give_the_same_answers(duplicate: Callable[[Any], Any]) -> None:
    model = mlp.MomentClassifier("spectral", probability=True, bagging=2, random_state=0).fit(X, y)
    twin = duplicate(model)
    assert np.array_equal(twin.predict_proba(new), model.predict_proba(new))
    assert np.array_equal(twin.transduction_, model.transduction_)
    assert twin.solution_.certificate.holds()
    one, other = (item.class_prior_interval(n_resamples=10) for item in (model, twin))
    assert np.array_equal(one.resampled, other.resampled)
