"""Statistics of columns: sums of parts, weights, sparse columns, constant columns."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.chunked_points import (
    close,
    points,
)

from momentlp.points.statistics import ColumnStatistics, column_mean, column_spread


def test_the_statistics_of_parts_add_up() -> None:
    X = points(np.float64) + 1e6
    whole = ColumnStatistics.of(X[:100]) + ColumnStatistics.of(X[100:])
    assert close(whole.mean, X.mean(axis=0))
    assert np.allclose(whole.square, ((X - X.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_the_spread_is_the_standard_deviation(build: Any) -> None:
    X = np.where(np.random.default_rng(0).random((50, 3)) < 0.5, 0.0, np.random.default_rng(1).normal(size=(50, 3)))
    assert np.allclose(column_spread(build(X)), X.std(axis=0))


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_a_weight_stands_for_repeated_rows(build: Any) -> None:
    X = np.array([[0.0, 1.0], [2.0, 0.0], [5.0, 7.0], [100.0, 100.0]])
    repeated = X[[0, 0, 1, 2, 2, 2]]
    weights = np.array([2.0, 1.0, 3.0, 0.0])
    assert np.allclose(column_spread(build(X), weights=weights), repeated.std(axis=0))
    assert np.allclose(column_spread(build(X), weights=np.zeros(4)), X.std(axis=0))


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_a_constant_column_gets_the_given_spread(build: Any) -> None:
    X = np.full((7, 2), 0.1)
    X[:, 1] = np.arange(7)
    spread = column_spread(build(X), constant=3.0)
    assert spread[0] == 3.0
    assert spread[1] == pytest.approx(2.0)


def test_statistics_say_whether_all_entries_are_finite() -> None:
    X = points(np.float64)
    assert ColumnStatistics.of(X).finite
    for bad in (np.nan, np.inf, -np.inf):
        X[5, 2] = bad
        assert not ColumnStatistics.of(X).finite


def exact_mean(column: np.ndarray, weights: np.ndarray) -> float:
    """Return the mean of a column in rational arithmetic, rounded once."""
    total = sum(Fraction(float(w)) * Fraction(float(x)) for w, x in zip(weights, column, strict=True))
    return float(total / sum(Fraction(float(w)) for w in weights))


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_mean_is_accurate_in_the_last_place(build: Any, dtype: Any, weighted: bool) -> None:
    random = np.random.default_rng(3)
    X = np.column_stack([np.full(4000, 0.1), random.random(4000), 1e6 + random.random(4000), random.lognormal(size=4000)])
    X[:, 3] *= random.random(4000) < 0.3  # a sparse column: its zeros count
    X = X.astype(dtype)
    weights = random.integers(0, 4, 4000) / 8 if weighted else np.ones(4000)
    exact = np.array([exact_mean(column, weights) for column in X.T])
    np.testing.assert_array_max_ulp(column_mean(build(X), weights if weighted else None), exact, maxulp=2)


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_sentinels_that_cancel_leave_an_accurate_mean(build: Any, weighted: bool) -> None:
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(40, 3)), random.random(40) if weighted else np.ones(40)
    X[3], X[5] = 1e15, -1e15
    weights[5] = weights[3]
    expected = [sum(Fraction(x) * Fraction(w) for x, w in zip(column, weights, strict=True)) for column in X.T]
    total = sum(map(Fraction, weights.tolist()))
    assert column_mean(build(X), weights).tolist() == [float(value / total) for value in expected]


def test_the_spread_of_points_without_entries_is_the_given_one() -> None:
    assert column_spread(sp.csr_array((4, 2), dtype=np.float32), constant=3.0).tolist() == [3.0, 3.0]


def test_the_mean_of_a_column_without_entries_is_zero() -> None:
    X = sp.csr_array(np.array([[0.0, 2.0], [0.0, 0.0]]))
    assert column_mean(X).tolist() == [0.0, 1.0]
    assert column_mean(X, np.array([0.0, 1.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_a_mean_that_overflows_is_not_made_nan(build: Any) -> None:
    assert column_mean(build(np.full((4, 1), 1e308))).tolist() == [np.inf]
