"""Products of a sparse matrix with many vectors, in several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from momentlp.points.arrays import FloatArray

__all__ = ["SparseProduct"]

MIN_ENTRIES_FOR_THREADS = 200_000  # nonzero entries from which a thread saves more time than it costs


class SparseProduct:
    """A sparse matrix M that is multiplied with many vectors: ``SparseProduct(M, threads) @ v``.

    Each thread multiplies some of the rows, so the number of threads does not change the result. The threads are kept,
    because a product takes less than a millisecond.

    Parameters
    ----------
    matrix : csr_array, shape (n, q)
    threads : int
        The maximum number of threads.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> SparseProduct(sp.csr_array([[1.0, 0.0], [2.0, 3.0]]), threads=2) @ np.array([1.0, 1.0])
    array([1., 5.])
    """

    def __init__(self, matrix: Any, threads: int) -> None:
        n_parts = max(1, min(threads, matrix.nnz // MIN_ENTRIES_FOR_THREADS))
        cuts = np.searchsorted(matrix.indptr, np.linspace(0, matrix.nnz, n_parts + 1)[1:-1])
        ends = [0, *cuts.tolist(), matrix.shape[0]]
        self._parts = [matrix] if n_parts == 1 else [matrix[a:b] for a, b in pairwise(ends)]
        self._pool = ThreadPoolExecutor(n_parts - 1) if n_parts > 1 else None

    def __matmul__(self, vector: FloatArray) -> FloatArray:
        """Return M v."""
        if self._pool is None:
            return np.asarray(self._parts[0] @ vector)
        others = [self._pool.submit(part.__matmul__, vector) for part in self._parts[1:]]
        return np.concatenate([self._parts[0] @ vector, *(other.result() for other in others)])
