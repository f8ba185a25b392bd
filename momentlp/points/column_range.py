"""The minimum and the maximum of each column of an array."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from momentlp.runtime.threads import map_in_threads, split_for_threads

__all__ = ["column_range"]

LONG_ROW = 4096  # entries that are compared with one call

Floats: TypeAlias = NDArray[np.floating[Any]]


def column_range(X: Floats) -> Floats:
    """Return the minimum and the maximum of each column of an array in memory, shape (2, d), in the type of X.

    Examples
    --------
    >>> column_range(np.array([[1.0, 5.0], [2.0, -3.0]])).tolist()
    [[1.0, -3.0], [2.0, 5.0]]
    """
    parts = map_in_threads(_range_of_rows, [(X[rows],) for rows in split_for_threads(*X.shape)])
    return np.vstack([np.min([low for low, _ in parts], axis=0), np.max([high for _, high in parts], axis=0)])


def _range_of_rows(X: Floats) -> tuple[Any, Any]:
    """Return minimum and maximum of each column. Several short rows are taken as one long row, which numpy does faster."""
    n, d = X.shape
    side = max(1, min(n, LONG_ROW // max(1, d)))
    whole = n - n % side
    if side == 1 or not X.flags.c_contiguous:
        return X.min(axis=0), X.max(axis=0)
    long, rest = X[:whole].reshape(-1, side * d), X[whole:]
    low, high = long.min(axis=0).reshape(side, d), long.max(axis=0).reshape(side, d)
    return np.vstack([low, rest]).min(axis=0), np.vstack([high, rest]).max(axis=0)
