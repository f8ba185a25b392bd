"""The parts of a problem from arrays that the user gives: moments without a feature map, weights and caps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from momentlp.errors import DataError
from momentlp.points.arrays import FloatArray, constant_vector
from momentlp.points.chunked import Chunked
from momentlp.points.sources import as_table
from momentlp.points.statistics import summarise
from momentlp.points.validation import as_vector
from momentlp.problem.moment_block import MomentBlock

__all__ = ["build_block_from_matrix", "keep_constant"]


def build_block_from_matrix(A: Any, lower: Any, upper: Any, names: Any) -> MomentBlock:
    """Return moments that are the columns of a matrix as they stand.

    Parameters
    ----------
    A : array, frame, sparse matrix or Chunked, shape (N, m)
    lower, upper : float or array, shape (m,)
        Bounds on A^T h.
    names : sequence of str, or None
        One per moment; None for the columns of a frame, or ``a0``, ``a1``, ...

    Returns
    -------
    MomentBlock

    Raises
    ------
    DataError
        If an array cannot be used as it is.
    """
    matrix, columns = as_table(A, "A")
    if isinstance(matrix, Chunked):
        summarise(matrix, argument="A")
    n_moments = matrix.shape[1]
    if names is None:
        names = columns or [f"a{moment}" for moment in range(n_moments)]
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != n_moments:
        names = names if isinstance(names, Sequence) and not isinstance(names, str) else [str(names)]
        raise DataError(f"names holds {len(names)} name(s), but A has {n_moments} column(s).")
    return MomentBlock(
        features=matrix,
        origin=np.zeros(n_moments),
        transform=None,
        shift=np.zeros(n_moments),
        lower=_as_bound(lower, n_moments, "lower"),
        upper=_as_bound(upper, n_moments, "upper"),
        names=tuple(str(name) for name in names),
    )


def keep_constant(values: Any, length: int, argument: str) -> Any:
    """Turn one number for all points into an array that takes no memory per point."""
    return constant_vector(float(as_vector(values, 1, argument)[0]), length) if np.ndim(values) == 0 else values


def _as_bound(values: Any, length: int, argument: str) -> FloatArray:
    try:
        bound = np.asarray(values)
    except ValueError:
        raise DataError(f"{argument} must hold {length} number(s), one per moment, not a nested list.") from None
    if bound.dtype.kind not in "biuf":
        raise DataError(f"{argument} must hold numbers (or infinities), not {bound.dtype} values.")
    if bound.shape not in ((), (length,)):
        raise DataError(f"{argument} must hold {length} number(s), one per moment, but its shape is {bound.shape}.")
    return np.array(np.broadcast_to(bound, length), dtype=np.float64)
