"""Groups of equal rows of a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
import scipy.sparse as sp

from momentlp.points.arrays import IndexArray, Matrix, is_sparse

__all__ = ["distinct_rows", "ordered_groups"]


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
    number: dict[bytes, int] = {}
    group = np.array([number.setdefault(key, len(number)) for key in _row_keys(X)], dtype=np.int64)
    _, first = np.unique(group, return_index=True)
    return first, group


def ordered_groups(X: Matrix) -> IndexArray:
    """Return the group of equal rows of each row, numbered in an order that does not depend on the order of the rows.

    So random draws from the groups stay the same if rows are repeated or in another order.

    Examples
    --------
    >>> one, other = ordered_groups(np.array([[1.0], [2.0], [1.0]])), ordered_groups(np.array([[2.0], [1.0]]))
    >>> bool(one[0] == one[2] == other[1]), bool(one[1] == other[0])
    (True, True)
    """
    digests = (blake2b(key, digest_size=8).digest() for key in _row_keys(X))
    numbers = np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)
    return np.asarray(np.unique(numbers, return_inverse=True)[1], dtype=np.intp)


def _row_keys(X: Matrix) -> Iterator[bytes]:
    """Yield bytes for each row that are the same for equal rows, and for no others."""
    if is_sparse(X):
        plain = sp.csr_array(X, copy=True)
        plain.sum_duplicates()
        plain.eliminate_zeros()
        ends = zip(plain.indptr[:-1], plain.indptr[1:], strict=True)
        return (plain.indices[a:b].tobytes() + b"|" + plain.data[a:b].tobytes() for a, b in ends)
    return (row.tobytes() for row in np.ascontiguousarray(X + 0.0))  # turns -0 into 0
