"""The indices of a sparse matrix that comes from a file, checked before compiled code follows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.errors import DataError

__all__ = ["check_sparse_indices"]


def check_sparse_indices(layout: str, indices: Any, indptr: Any, shape: tuple[int, int], n_entries: int) -> None:
    """Check the indices of a compressed sparse matrix (csr, bsr: by row; csc: by column) that comes from a file.

    scipy's compiled code trusts them: one that points outside reads or writes memory that is not its own. scipy's own
    ``check_format`` looks at none of them where the last of ``indptr`` is zero.

    Raises
    ------
    DataError
        If they are not those of a matrix of this shape with so many entries (blocks, for bsr).
    """
    outer, inner = shape[::-1] if layout == "csc" else shape
    if any(index.ndim != 1 or index.dtype not in (np.int32, np.int64) for index in (indices, indptr)):
        raise DataError("the indices of a sparse matrix are not vectors of integers.")
    if indptr.size != outer + 1 or indices.size != n_entries:
        raise DataError(f"a sparse matrix of shape {shape} has {n_entries} entries, but not as many indices.")
    if indptr[0] != 0 or indptr[-1] > n_entries or (np.diff(indptr) < 0).any():
        raise DataError("the entries of a sparse matrix do not follow one another, row by row or column by column.")
    if indices.size and (indices.min() < 0 or indices.max() >= inner):
        raise DataError(f"an entry of a sparse matrix lies outside its shape {shape}.")
