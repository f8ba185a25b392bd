"""The points and weights of MomentClassifier: frames, sparse matrices, other types, weights, equal rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from helpers.clouds import clouds

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
WEIGHED: dict[str, dict[str, Any]] = {
    "graph": {"features": "spectral"},
    "linear": {"features": "linear"},
    "quadratic": {"features": "quadratic"},
    "kernel": {"features": mlp.Kernel(gamma=0.1), "tolerance": 1.5},
    "share": {"features": "linear", "constraints": [mlp.Share(0.0, 0.415)]},
}


@pytest.fixture(params=KINDS)
def parameters(request: pytest.FixtureRequest) -> dict[str, Any]:
    return KINDS[request.param]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_points_must_be_finite(value: float) -> None:
    broken = X.copy()
    broken[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        mlp.MomentClassifier("spectral").fit(broken, y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        mlp.MomentClassifier("spectral").fit(X, y).predict(broken)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.where(np.arange(150) == 7, -1.0, 1.0), "sample_weight must not be negative, but entry 7 is -1"),
        (np.full(150, np.nan), "NaN"),
        (np.ones(149), "150"),
        (1.0 - y, "there are no labelled points"),
        (1.0 * y, "there are no unlabelled points"),
    ],
)
def test_unusable_weights_raise(weight: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mlp.MomentClassifier("spectral").fit(X, y, sample_weight=weight)


def test_one_labelled_point_has_no_standard_error() -> None:
    one = np.arange(150) == np.flatnonzero(y)[0]
    with pytest.raises(mlp.CompileError, match=r"at least two labelled points .* a tolerance such as mlp.Relative\(0.1\)"):
        mlp.MomentClassifier("linear").fit(X, one)
    mlp.MomentClassifier("linear", mlp.Relative(0.1)).fit(X, one)


def test_frames_keep_their_names() -> None:
    frame = pd.DataFrame(X, columns=["height", "width"], index=np.arange(150)[::-1])
    model = mlp.MomentClassifier("spectral").fit(frame, pd.Series(y, index=frame.index))
    assert model.feature_names_in_.tolist() == ["height", "width"]
    plain = mlp.MomentClassifier("spectral").fit(X, y)
    assert np.array_equal(model.membership_, plain.membership_)
    assert np.array_equal(model.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["width", "height"]])


def test_polars_frames_are_accepted() -> None:
    model = mlp.MomentClassifier("spectral").fit(pl.DataFrame(X, schema=["height", "width"]), y)
    assert np.array_equal(model.membership_, mlp.MomentClassifier("spectral").fit(X, y).membership_)


def test_sparse_points_give_the_same_result(parameters: dict[str, Any]) -> None:
    points, others = (np.where(item > 0.3, item, 0.0) for item in (X, new))
    dense, sparse = (mlp.MomentClassifier(**parameters).fit(item, y) for item in (points, sp.csr_array(points)))
    assert np.allclose(dense.membership_, sparse.membership_, atol=1e-6)
    assert np.allclose(dense.score_samples(others), sparse.score_samples(sp.csc_matrix(others)), atol=1e-4)
    assert np.allclose(dense.score_samples(others), sparse.score_samples(others), atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_other_number_types_are_accepted(dtype: type) -> None:
    points = np.clip(X * 10 + 50, 0, 255).astype(dtype) if dtype is not bool else X > 1
    model = mlp.MomentClassifier("linear").fit(points, y)
    same = mlp.MomentClassifier("linear").fit(points.astype(np.float64), y)
    assert np.array_equal(model.membership_, same.membership_)


def test_the_unit_of_a_column_does_not_matter() -> None:
    model = mlp.MomentClassifier("spectral").fit(X, y)
    other = mlp.MomentClassifier("spectral").fit(X * [1e-6, 1e6], y)
    assert np.allclose(model.membership_, other.membership_, atol=1e-6)
    assert np.allclose(model.score_samples(new), other.score_samples(new * [1e-6, 1e6]), atol=1e-6)


@pytest.mark.parametrize("kind", WEIGHED)
def test_a_weight_stands_for_repeated_rows_and_zero_for_none(kind: str) -> None:
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


def test_three_points_are_enough() -> None:
    model = mlp.MomentClassifier("spectral").fit([[0.0], [1.0], [9.0]], [1, 1, 0])
    assert model.predict([[0.5]]).tolist() == [1]
    with pytest.raises(ValueError, match="at least two labelled points"):
        mlp.MomentClassifier("linear").fit([[0.0], [1.0], [9.0]], [1, 0, 0])


def test_copies_of_labelled_points_get_the_same_membership() -> None:
    """A copy of a labelled point is an unlabelled point with the same coordinates."""
    known = np.flatnonzero(y)
    model = mlp.MomentClassifier("spectral").fit(
        np.vstack([X, X[known]]), np.concatenate([y, np.zeros(known.size, dtype=int)])
    )
    assert model.membership_[150:].tolist() == model.membership_[known].tolist()


def test_constant_columns_do_not_matter() -> None:
    model = mlp.MomentClassifier("spectral").fit(np.column_stack([X, np.full(150, 7.0)]), y)
    assert np.allclose(model.membership_, mlp.MomentClassifier("spectral").fit(X, y).membership_, atol=1e-9)
