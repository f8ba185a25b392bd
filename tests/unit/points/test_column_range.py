"""The range of each column, against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from momentlp.points.column_range import column_range
from momentlp.points.statistics import column_spread


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (1000, 5), (4097, 3), (3, 5000), (70_001, 9)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_it_is_that_of_numpy(shape: tuple[int, int], dtype: type, order: str) -> None:
    X = np.asarray(np.random.default_rng(0).normal(size=shape), dtype=dtype, order=order)
    X[-1, -1] = 99.0  # the last row is not part of a long row
    found = column_range(X)
    assert found.dtype == dtype
    assert np.array_equal(found, [X.min(axis=0), X.max(axis=0)])


def test_a_slice_of_columns_is_read_as_it_is() -> None:
    X = np.random.default_rng(0).normal(size=(5000, 6))[:, 1:4]
    assert np.array_equal(column_range(X), [X.min(axis=0), X.max(axis=0)])


@pytest.mark.parametrize("row", [0, 4999])
def test_what_is_not_a_number_shows(row: int) -> None:
    X = np.zeros((5000, 3))
    X[row, 1] = np.nan
    assert np.isnan(column_range(X)).tolist() == [[False, True, False]] * 2


@pytest.mark.parametrize("weights", [None, "given"])
def test_the_spread_of_many_rows_is_that_of_numpy(weights: str | None) -> None:
    random = np.random.default_rng(0)
    X = 1e6 + random.normal(size=(200_000, 7))
    w = random.integers(1, 4, size=len(X)).astype(float) if weights else None
    expected = (
        X.std(axis=0) if w is None else np.sqrt(np.average((X - np.average(X, axis=0, weights=w)) ** 2, axis=0, weights=w))
    )
    assert column_spread(X, weights=w) == pytest.approx(expected, rel=1e-9)
