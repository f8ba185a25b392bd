"""Groups of equal rows of a matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from momentlp.points.arrays import IndexArray, Matrix, is_sparse

__all__ = ["distinct_rows"]


def distinct_rows(X: Matrix) -> tuple[IndexArray, IndexArray]:
    """Find the rows of a matrix that are equal; 0 and -0 are the same.

    Returns
    -------
    first : array of int, shape (k,)
        The index of the first row of each group of equal rows, in increasing order.
    group : array of int, shape (N,)
        The group of each row: row i equals row ``first[group[i]]``.

    Examples
    --------
    >>> first, group = distinct_rows(np.array([[1.0], [2.0], [1.0]]))
    >>> first.tolist(), group.tolist()
    ([0, 1], [0, 1, 0])
    """
    if is_sparse(X):
        plain = sp.csr_array(X)
        plain.sum_duplicates()
        plain.eliminate_zeros()
        ends = zip(plain.indptr[:-1], plain.indptr[1:], strict=True)
        keys = [plain.indices[a:b].tobytes() + b"|" + plain.data[a:b].tobytes() for a, b in ends]
    else:
        keys = [row.tobytes() for row in np.ascontiguousarray(X + 0.0)]  # turns -0 into 0
    number: dict[bytes, int] = {}
    group = np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)
    _, first = np.unique(group, return_index=True)
    return first, group
