"""Statistics of columns: sums of parts, weights, sparse columns, constant columns."""

from __future__ import annotations

import numpy as np
from helpers.chunked_points import (
    close,
    points,
)

from momentlp.points.statistics import ColumnStatistics


def test_summaries_of_parts_add_up() -> None:
    X = points(np.float64) + 1e6
    whole = ColumnStatistics.of(X[:100]) + ColumnStatistics.of(X[100:])
    assert close(whole.mean, X.mean(axis=0))
    assert np.allclose(whole.square, ((X - X.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-9, atol=1e-6)
