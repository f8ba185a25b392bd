"""The parameters of MomentClassifier: what they stand for, and which values raise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.clouds import clouds
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

import momentlp as mlp

X, truth, y = clouds()
new = np.random.default_rng(1).uniform(-3.0, 8.0, size=(80, 2))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"smoothing": 0.0},
            "smoothing must be a number above 0 and at most 1, not 0.0. Use 'auto' for the default, or None",
        ),
        ({"smoothing": 1.5}, "smoothing must be"),
        ({"smoothing": "some"}, "smoothing must be"),
        ({"smoothing": True}, "smoothing must be"),
        ({"margin": -0.1}, "margin must be a number of at least 0, not -0.1. Use 'auto'"),
        ({"margin": "some"}, "margin must be"),
        ({"margin": None}, "margin must be"),
        ({"margin": 0.1, "features": "linear"}, "margin is 0.1, but there are no neighbourhoods"),
        ({"smoothing": 0.1, "features": "linear"}, "smoothing is 0.1, but there are no neighbourhoods"),
        ({"bagging": -1}, "bagging must be an integer of at least 0, not -1"),
        ({"bagging": 2.5}, "bagging must be"),
        ({"bagging": True}, "bagging must be"),
        ({"tolerance": -1.0}, "tolerance must be a number of at least 0, not -1.0"),
        ({"tolerance": np.nan}, "tolerance must be a number of at least 0, not nan"),
        (
            {"tolerance": "wide"},
            "tolerance must be a number of at least 0, not 'wide'. A number counts standard errors; or give a Tolerance",
        ),
        ({"tolerance": True}, "tolerance must be"),
        ({"features": "linaer"}, "'linaer' is not a registered kind of features; known: concat, graph_scores, kernel, "),
        ({"features": mlp.Linear}, "expected one of the features"),
        ({"features": None}, "features: expected one of the features, .* The name of a kind is allowed too"),
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
        ({"time_limit": 0.0}, "time_limit must be a number above 0"),
        ({"solve_params": {"start": None}}, "the estimator makes its own starts"),
        ({"solve_params": {"tol": 1e-3}}, "solve_params holds 'tol': use the parameter tol=0.001 of the estimator"),
        ({"solve_params": {"time_limit": 9}}, "solve_params holds 'time_limit': use the parameter time_limit=9"),
        ({"solve_params": {"backend": "glpk"}}, "solve_params holds 'backend': use the parameter backend='glpk'"),
        ({"features": "linear", "random_state": "seed", "bagging": 1}, "cannot be used to seed"),
    ],
)
def test_unusable_parameters_raise(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mlp.MomentClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize("parameters", [{"bagging": -1}, {"smoothing": 0.0}, {"probability": 1}, {"tolerance": "wide"}])
def test_parameters_are_checked_before_the_data(parameters: dict[str, Any]) -> None:
    with pytest.raises(mlp.OptionError, match=next(iter(parameters))):
        mlp.MomentClassifier(**parameters).fit([["not", "numbers"]], None)


def test_numpy_booleans_are_accepted() -> None:
    assert hasattr(mlp.MomentClassifier("linear", probability=np.True_).fit(X, y), "predict_proba")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": "a"}, "level must be a number above 0, not 'a'. Use 0.9"),
        ({"level": True}, "level must be a number"),
        ({"n_resamples": 20.0}, "n_resamples must be an integer of at least 10, not 20.0. 200 is usual"),
        ({"progress": None}, "progress must be True, False or a function of two numbers .* not None"),
    ],
)
def test_unusable_interval_arguments_raise(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mlp.OptionError, match=message):
        mlp.MomentClassifier("linear").fit(X, y).class_prior_interval(**arguments)


def test_predict_proba_exists_only_if_asked_for() -> None:
    model = mlp.MomentClassifier("spectral").fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)


@pytest.mark.parametrize("name", ["linear", "quadratic", "kernel"])
def test_the_name_of_a_map_stands_for_the_map(name: str) -> None:
    tolerance = mlp.Relative(0.5, standardised=True)
    named = mlp.MomentClassifier(name, tolerance).fit(X, y)
    given = mlp.MomentClassifier(mlp.FeatureMap.parse({"kind": name}), tolerance).fit(X, y)
    assert np.array_equal(named.score_samples(new), given.score_samples(new))


def test_a_number_is_a_tolerance_in_standard_errors() -> None:
    number = mlp.MomentClassifier("spectral", tolerance=0.5).fit(X, y)
    named = mlp.MomentClassifier("spectral", tolerance=mlp.StandardError(0.5)).fit(X, y)
    assert number.solution_.objective == named.solution_.objective
    assert number.solution_.objective < mlp.MomentClassifier("spectral", tolerance=0.8).fit(X, y).solution_.objective
    for features, width in (("spectral", 2.5), ("linear", 0.8)):
        default, same = (mlp.MomentClassifier(features, tolerance=item).fit(X, y) for item in (None, width))
        assert default.solution_.objective == same.solution_.objective


def test_with_a_margin_points_near_the_hyperplane_count_as_outside() -> None:
    """Labelled points, and those known to be members, are averaged independently of their score."""
    near = np.where(truth[:, None], X, X - 2.5)
    point = int(np.flatnonzero(~truth)[0])
    wide = {"tolerance": 3.0, "smoothing": 1.0}
    for margin, constraints in ((0.0, []), (0.4, []), (0.4, [mlp.Known(positives=[point])])):
        model = mlp.MomentClassifier("spectral", margin=margin, constraints=constraints, **wide).fit(near, y)
        scores, h = model.solution_.scores, model.solution_.membership
        expected = np.where((scores > margin) | (margin == 0.0), h, 0.0)
        expected[(y == 1) | (np.isin(np.arange(150), point) & bool(constraints))] = 1.0
        assert np.allclose(model.membership_, expected, atol=1e-6)
    assert (expected[y == 0] < h[y == 0]).any()


def test_the_margin_goes_with_the_default_tolerance() -> None:
    default, same, bare = (
        mlp.MomentClassifier("spectral", tolerance=tolerance, margin=margin).fit(X, y).membership_
        for tolerance, margin in ((None, "auto"), (2.5, 0.3), (2.5, "auto"))
    )
    assert np.array_equal(default, same)
    assert not np.array_equal(default, bare)


@pytest.mark.parametrize("limit", [{"time_limit": 1e-9}, {"solve_params": {"iteration_limit": 1}}])
def test_it_warns_if_a_limit_was_reached(limit: dict[str, Any]) -> None:
    with pytest.warns(ConvergenceWarning, match="a limit was reached before the largest set was proved"):
        model = mlp.MomentClassifier(**limit).fit(X, y)
    assert model.solution_.status is mlp.Status.LIMIT
    assert (model.transduction_[y == 1] == 1).all()
