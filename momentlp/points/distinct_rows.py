"""Which rows of a matrix are equal."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from momentlp.points.arrays import IndexArray, Matrix, is_sparse

__all__ = ["distinct_rows"]


def distinct_rows(X: Matrix) -> tuple[IndexArray, IndexArray]:
    """Return the first of every set of equal rows, in their order, and for each row which of those it equals."""
    if is_sparse(X):
        plain = sp.csr_array(X)
        plain.sum_duplicates()
        plain.eliminate_zeros()
        ends = zip(plain.indptr[:-1], plain.indptr[1:], strict=True)
        keys = [plain.indices[a:b].tobytes() + b"|" + plain.data[a:b].tobytes() for a, b in ends]
    else:
        keys = [row.tobytes() for row in np.ascontiguousarray(X + 0.0)]  # which makes a minus zero a zero
    number: dict[bytes, int] = {}
    place = np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)
    _, first = np.unique(place, return_index=True)
    return first, place
