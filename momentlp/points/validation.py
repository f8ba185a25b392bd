"""Checks of points, arrays and indices that users give. Each is checked once.

All other modules may rely on finite two-dimensional matrices of ``float64`` or ``float32`` (dense, or CSR if the user's data
was sparse) and on finite one-dimensional ``float64`` arrays. Each function takes the name of the argument, so that the error
can name it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_constant_vector, is_sparse

__all__ = [
    "as_floats",
    "as_indices",
    "as_points",
    "as_sample",
    "as_vector",
    "check_columns",
    "reject_index_labels",
]


def as_points(X: Any, argument: str = "X") -> tuple[Matrix, tuple[str, ...] | None]:
    """Check a table of points, and return it as a matrix with its column names, or None.

    Dense data becomes a C-contiguous float array (``float32`` stays as it is), sparse data a ``csr_array`` that keeps
    exactly the entries it had. A pandas or polars frame gives its column names.

    Raises
    ------
    DataError
        For anything that is not a finite, two-dimensional table of numbers with at least one row and one column.

    Examples
    --------
    >>> as_points([[0, 1], [2, 3]])
    (array([[0., 1.],
           [2., 3.]]), None)
    """
    names = None
    if is_sparse(X):
        matrix: Matrix = _sparse_floats(X, argument)
    else:
        if hasattr(X, "columns") and hasattr(X, "to_numpy"):
            names = tuple(str(column) for column in X.columns)
            X = _frame_values(X, names, argument)
        matrix = as_floats(X, argument)
    if matrix.ndim != 2:
        hint = f"; use {argument}.reshape(-1, 1) for one feature" if matrix.ndim == 1 else ""
        raise DataError(f"{argument} must be a table with one row per point, but it has {matrix.ndim} dimension(s){hint}.")
    if 0 in matrix.shape:
        raise DataError(f"{argument} is empty: its shape is {matrix.shape}. Give at least one point and one feature.")
    _require_finite(matrix, argument, names)
    return matrix, names


def as_sample(sample: Any, points: Matrix, columns: tuple[str, ...] | None) -> Matrix:
    """Check a labelled sample: a table of points with the columns of X."""
    matrix, names = as_points(sample, "sample")
    if matrix.shape[1] != points.shape[1]:
        raise DataError(f"sample has {matrix.shape[1]} column(s), but X has {points.shape[1]}.")
    check_columns(names, columns, "sample")
    return matrix


def check_columns(names: tuple[str, ...] | None, expected: tuple[str, ...] | None, argument: str) -> None:
    """Check that two tables of the same width have the same column names, where both have any."""
    for name, other in zip(names or (), expected or (), strict=False):
        if name != other:
            raise DataError(
                f"{argument} has column {name!r} where {other!r} is expected. Give the same columns in the same order."
            )


def as_vector(values: Any, length: int, argument: str) -> FloatArray:
    """Check a one-dimensional array of finite numbers, and return it as float64. A single number is repeated.

    Parameters
    ----------
    values : array-like, shape (length,), or float
    length : int
    argument : str
        The name of the argument, for the message.

    Raises
    ------
    DataError
        If it has another shape, or an entry is not finite.
    """
    if is_constant_vector(values) and values.dtype == np.float64 and values.shape == (length,):
        as_vector(values[:1], 1, argument)
        return np.asarray(values)  # it still takes the memory of one number
    vector = np.asarray(as_floats(values, argument), dtype=np.float64)
    if vector.ndim == 0:
        vector = np.full(length, float(vector))
    if vector.shape != (length,):
        raise DataError(f"{argument} must hold {length} number(s), one per entry, but its shape is {vector.shape}.")
    if not np.isfinite(vector).all():
        first = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise DataError(f"{argument} must be finite, but entry {first} is {vector[first]}.")
    return vector


def reject_index_labels(labelled: Any, X: Any) -> Any:
    """Raise DataError for labels of a pandas index; return everything else as it is.

    After a shuffle or a split, the index of a frame differs from the positions of its rows. Taking one for the other would
    label the wrong points without an error.
    """
    index = getattr(X, "index", None)
    if index is None or not hasattr(index, "equals"):
        return labelled
    if hasattr(labelled, "index") and hasattr(labelled.index, "equals") and not labelled.index.equals(index):
        raise DataError(
            "labelled is a Series whose index differs from that of X: align it first, labelled.reindex(X.index)."
        )
    if hasattr(labelled, "get_indexer") and list(index) != list(range(len(index))):
        raise DataError(
            "labelled holds labels of the index of X, but positions are expected: give X.index.get_indexer(labelled), "
            "or a boolean mask."
        )
    return labelled


def as_indices(labelled: Any, n_points: int, argument: str = "labelled") -> IndexArray:
    """Return indices, or a boolean mask, as distinct indices of points in the order given.

    Raises
    ------
    DataError
        If nothing is selected, an index repeats or falls outside ``0 .. n_points - 1``, or a mask has another length.

    Examples
    --------
    >>> as_indices([True, False, True], 3)
    array([0, 2])
    """
    try:
        indices = np.asarray(labelled)
    except ValueError:
        raise DataError(f"{argument} must be a flat list of indices or a mask, not a nested one.") from None
    if indices.dtype == bool:
        if indices.shape != (n_points,):
            raise DataError(
                f"{argument} is a boolean mask of shape {indices.shape}, but there are {n_points} points: "
                "give one True or False per point."
            )
        indices = np.flatnonzero(indices)
    if indices.size == 0:
        raise DataError(f"{argument} selects no point. At least one point of the class must be known.")
    if indices.ndim != 1:
        raise DataError(f"{argument} must be a flat list of indices or a mask, but it has {indices.ndim} dimension(s).")
    if not np.issubdtype(indices.dtype, np.integer):
        raise DataError(f"{argument} must hold integer indices or a boolean mask, not {indices.dtype} values.")
    indices = indices.astype(np.intp)
    outside = indices[(indices < 0) | (indices >= n_points)]
    if outside.size:
        raise DataError(f"{argument} holds index {outside[0]}, but the points are numbered 0 to {n_points - 1}.")
    values, counts = np.unique(indices, return_counts=True)
    if values.size != indices.size:
        mask = indices.size == n_points and set(values.tolist()) <= {0, 1}
        hint = "It looks like a mask of 0 and 1: use .astype(bool)." if mask else "List each point once."
        raise DataError(f"{argument} holds index {values[counts > 1][0]} more than once. {hint}")
    return indices


def _frame_values(frame: Any, names: tuple[str, ...], argument: str) -> Any:
    if len(set(names)) < len(names):
        repeated = min(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"{argument} has more than one column named {repeated!r}: rename them.")
    values = frame.to_numpy()
    if values.dtype.kind in "biuf":
        return values
    for position, name in enumerate(names):
        column = values[:, position]
        try:
            column.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"{argument} has a column {name!r} that is not numeric. Drop it or encode it as numbers first."
            ) from None
    return values


def as_floats(values: Any, argument: str) -> NDArray[np.floating[Any]]:
    """Return dense values as a C-contiguous array of floats; ``float32`` stays as it is. They need not be finite."""
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        raise DataError(f"{argument} has masked entries. Impute or drop them first.")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{argument} is not a rectangular table of numbers: {error}.") from None
    if array.dtype.kind == "c":
        raise DataError(f"{argument} holds complex numbers, but real numbers are needed.")
    if array.dtype.kind not in "biufO":
        raise DataError(f"{argument} holds {array.dtype} values where numbers belong. Convert or encode them first.")
    is_single = array.dtype == np.float32
    try:
        floats: NDArray[np.floating[Any]] = np.asarray(array, dtype=np.float32 if is_single else np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{argument} holds text or objects where numbers belong. Convert or encode them first.") from None
    return floats


def _sparse_floats(matrix: Any, argument: str) -> Matrix:
    if matrix.dtype.kind not in "biuf":
        raise DataError(f"{argument} holds {matrix.dtype} values where real numbers belong.")
    csr = sp.csr_array(matrix, dtype=np.float32 if matrix.dtype == np.float32 else np.float64)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def _require_finite(matrix: Matrix, argument: str, names: tuple[str, ...] | None) -> None:
    values = matrix.data if is_sparse(matrix) else matrix
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
            return
    if is_sparse(matrix):
        coordinates = matrix.tocoo()
        position = int(np.flatnonzero(~np.isfinite(coordinates.data))[0])
        row, column, value = coordinates.row[position], coordinates.col[position], coordinates.data[position]
    else:
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        value = matrix[row, column]
    where = repr(names[column]) if names else column
    raise DataError(f"{argument} must be finite, but row {row}, column {where} is {value}. Impute or drop it first.")
