"""Sparse matrices from files: their indices are checked before compiled code follows them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import DataError, FileFormatError

__all__ = ["SPARSE_PARTS", "build_sparse", "check_sparse_indices"]

SPARSE_PARTS = ("data", "indices", "indptr")  # the arrays of a compressed sparse matrix, in scipy's order


def build_sparse(layout: str, parts: Sequence[NDArray[Any]], shape: Any, name: str) -> Any:
    """Build a sparse matrix of finite floats from the arrays of a file.

    Parameters
    ----------
    layout : {"csr", "csc"}
    parts : sequence of three arrays
        As :data:`SPARSE_PARTS` names them.
    shape : pair of int
    name : str
        The matrix, for the message.

    Raises
    ------
    FileFormatError
        If the entries are not finite floats.
    DataError
        If the indices do not fit the shape.
    KeyError
        If the layout is another one.
    """
    data, indices, indptr = parts
    if data.ndim != 1 or data.dtype not in (np.float64, np.float32) or not np.isfinite(data).all():
        raise FileFormatError(f"{name} is not a finite matrix of floats")
    n_rows, n_columns = (operator.index(length) for length in shape)
    build = {"csr": sp.csr_array, "csc": sp.csc_array}[layout]
    check_sparse_indices(layout, indices, indptr, (n_rows, n_columns), data.size)
    return build((data, indices, indptr), shape=(n_rows, n_columns))


def check_sparse_indices(layout: str, indices: Any, indptr: Any, shape: tuple[int, int], n_entries: int) -> None:
    """Check the indices of a compressed sparse matrix that comes from a file.

    scipy's compiled code trusts the indices: one outside the matrix makes it read or write memory of others. scipy's own
    ``check_format`` does not look at ``indices`` if the last entry of ``indptr`` is zero.

    Parameters
    ----------
    layout : {"csr", "bsr", "csc"}
        csr and bsr are compressed by row, csc by column.
    indices, indptr : array
        As scipy names them.
    shape : (int, int)
        Rows and columns; of blocks for bsr.
    n_entries : int
        The number of stored entries; of blocks for bsr.

    Raises
    ------
    DataError
        If they are not the indices of such a matrix.
    """
    outer, inner = shape[::-1] if layout == "csc" else shape
    if any(index.ndim != 1 or index.dtype not in (np.int32, np.int64) for index in (indices, indptr)):
        raise DataError("the indices of a sparse matrix are not one-dimensional arrays of integers.")
    if indptr.size != outer + 1 or indices.size != n_entries:
        raise DataError(
            f"a sparse matrix of shape {shape} with {n_entries} entries has {indices.size} indices and {indptr.size} row or "
            f"column limits, but {n_entries} and {outer + 1} are needed."
        )
    if indptr[0] != 0 or indptr[-1] > n_entries or (np.diff(indptr) < 0).any():
        raise DataError("the row or column limits of a sparse matrix do not increase from 0 to the number of entries.")
    if indices.size and (indices.min() < 0 or indices.max() >= inner):
        raise DataError(f"an entry of a sparse matrix lies outside its shape {shape}.")
