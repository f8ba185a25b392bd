"""The linear program as solvers want it: one sparse matrix by columns, bounds on rows and columns, one cost.

::

    maximise  cost . x    subject to  row_lower <= M x <= row_upper,  col_lower <= x <= col_upper

The first N columns are the memberships and the first m rows the moments, in order, so reading an answer back is a slice.

Sparse features that are centred would make M dense, because every point has ``-alpha`` in it. Then one more variable, the
size ``n = sum(h)``, carries the centre instead (one more row ties it to h) and M keeps the sparsity of the data::

    (Phi T)^T h + constant n  in  [lower, upper],      sum(h) - n = 0,      n free

The dual of a moment's row is the same in both forms: n is free, so its own column forces the dual of the last row to
``constant . y``, and what is left for point i is ``w_i - (A y)_i``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from momentlp.errors import CompileError
from momentlp.points.arrays import FloatArray, is_sparse
from momentlp.points.chunked import load_in_memory
from momentlp.problem.moment_block import MomentBlock

__all__ = ["LinearProgram", "build_linear_program"]

DENSE = 0.5  # sparse features that are fuller than this are centred: the size n would only cost digits
OUTLIER = 1024.0  # entries of scaled moments are about 1; beyond this a point is an outlier
MAX_ENTRIES = np.iinfo(np.int32).max  # HiGHS and GLPK count entries in 32 bits


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """A maximisation in matrix form.

    ``matrix`` is a csc_array with 32-bit indices and no stored zeros. ``unit``, if any, is what one unit of each column
    stands for; :meth:`memberships` reads an answer back.
    """

    matrix: Any
    cost: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray
    col_lower: FloatArray
    col_upper: FloatArray
    n_points: int
    n_moments: int
    unit: FloatArray | None = None

    def memberships(self, x: Any) -> FloatArray:
        """Read the memberships off the values of the columns."""
        h = np.asarray(x, dtype=np.float64)[: self.n_points]
        return h if self.unit is None else h * self.unit[: self.n_points]

    def equilibrated(self) -> LinearProgram:
        """Return the same program with columns of large entries scaled down to the size of the others.

        Solvers keep variables within a tolerance. For a point that lies a million times further out than the rest, that
        tolerance is worth a million points in its moments: such an outlier is counted in a smaller unit instead.
        """
        sizes = np.abs(self.matrix.data)
        if sizes.max(initial=0.0) <= OUTLIER:
            return self
        largest = np.zeros(self.matrix.shape[1])
        np.maximum.at(largest, np.repeat(np.arange(largest.size), np.diff(self.matrix.indptr)), sizes)
        unit = np.where(largest > OUTLIER, np.exp2(-np.frexp(largest)[1].astype(np.float64)), 1.0)
        matrix = sp.csc_array(self.matrix @ sp.diags_array(unit))
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        lower, upper = self.col_lower / unit, self.col_upper / unit
        return replace(self, matrix=matrix, cost=self.cost * unit, col_lower=lower, col_upper=upper, unit=unit)

    @property
    def counts(self) -> bool:
        """Whether the last column is the size ``n`` and the last row ties it to the memberships."""
        return bool(self.matrix.shape[1] > self.n_points)


def build_linear_program(blocks: tuple[MomentBlock, ...], weights: FloatArray, caps: FloatArray) -> LinearProgram:
    """Write blocks of moments out as one linear program."""
    blocks = tuple(replace(block, features=load_in_memory(block.features, "writing the program out")) for block in blocks)
    weights, caps = np.ascontiguousarray(weights), np.ascontiguousarray(caps)
    sparse = [is_sparse(block.features) and block.features.nnz <= DENSE * np.prod(block.features.shape) for block in blocks]
    counted = [thin and bool(block.constant.any()) for block, thin in zip(blocks, sparse, strict=True)]
    n_points, n_moments = weights.size, sum(block.n_moments for block in blocks)
    size = sum(b.linear_part().nnz if thin else n_points * b.n_moments for b, thin in zip(blocks, sparse, strict=True))
    if size > MAX_ENTRIES:
        raise CompileError(
            f"the problem has {size:,} entries, more than the {MAX_ENTRIES:,} that this solver can address. "
            "Use fewer points or moments."
        )
    if len(blocks) == 1 and not sparse[0]:
        matrix = _transpose_dense(blocks[0].rows(slice(None)))
    else:
        parts = [
            sp.csc_array(block.linear_part().T) if thin else _transpose_dense(block.rows(slice(None)))
            for block, thin in zip(blocks, sparse, strict=True)
        ]
        matrix = sp.vstack(parts, format="csc")
    lower, upper = (np.concatenate([getattr(block, side) for block in blocks]) for side in ("lower", "upper"))
    col_lower = np.zeros(n_points)
    if any(counted):
        centre = np.concatenate(
            [block.constant if lifted else np.zeros(block.n_moments) for block, lifted in zip(blocks, counted, strict=True)]
        )
        matrix = sp.block_array(
            [[matrix, sp.csc_array(centre[:, None])], [sp.csc_array(np.ones((1, n_points))), sp.csc_array([[-1.0]])]],
            format="csc",
        )
        weights, caps = np.append(weights, 0.0), np.append(caps, np.inf)
        lower, upper, col_lower = np.append(lower, 0.0), np.append(upper, 0.0), np.append(col_lower, -np.inf)
    matrix.eliminate_zeros()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return LinearProgram(matrix, weights, lower, upper, col_lower, caps, n_points, n_moments)


def _transpose_dense(A: FloatArray) -> Any:
    """Return A^T by columns. A is stored by rows, so its entries are already in that order."""
    n_points, n_moments = A.shape
    indptr = np.arange(0, A.size + 1, n_moments, dtype=np.int32) if n_moments else np.zeros(n_points + 1, np.int32)
    indices = np.tile(np.arange(n_moments, dtype=np.int32), n_points)
    return sp.csc_array((A.ravel(), indices, indptr), shape=(n_moments, n_points))
