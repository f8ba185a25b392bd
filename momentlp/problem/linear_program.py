"""The linear program in the form that solvers take: one sparse matrix by columns, bounds on rows and columns, a cost.

::

    maximise  cost . x    subject to  row_lower <= M x <= row_upper,  col_lower <= x <= col_upper

The first N columns are the memberships and the first m rows are the moments, in order, so an answer is read by slicing.

Centring would make M dense for sparse features, because the row of every point would hold ``-alpha``. Therefore one more
variable, the size ``n = sum(h)``, carries the centre, and one more row ties it to h. M stays as sparse as the data::

    (Phi T)^T h + constant n  in  [lower, upper],      sum(h) - n = 0,      n free

The dual of a moment's row is the same in both forms: n is free, so its column forces the dual of the last row to
``constant . y``, and the reduced cost of point i is ``w_i - (A y)_i``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import CompileError
from momentlp.points.arrays import FloatArray, is_sparse
from momentlp.points.chunked import load_in_memory
from momentlp.problem.moment_block import MomentBlock

__all__ = ["LinearProgram", "build_linear_program"]

MAX_SPARSE_DENSITY = 0.5  # share of nonzeros; fuller sparse features are centred, as the variable n would only cost digits
OUTLIER_ENTRY = 1024.0  # entries of scaled moments are about 1; a point with an entry beyond this is an outlier
MAX_ENTRIES = np.iinfo(np.int32).max  # HiGHS and GLPK index entries with 32-bit integers


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """A maximisation in matrix form.

    Attributes
    ----------
    matrix : csc_array
        M, with 32-bit indices and no stored zeros.
    cost, col_lower, col_upper : array, one entry per column
    row_lower, row_upper : array, one entry per row
    n_points, n_moments : int
        N and m.
    unit : array or None
        The number of units of membership that one unit of each column stands for; None if all are 1.
    integer : array of bool, or None
        Which columns must be integers; None if none must.

    Examples
    --------
    >>> import momentlp as mlp
    >>> program = mlp.Problem.from_arrays([[-1.0], [1.0]], lower=0.0, upper=0.5).linear_program()
    >>> program.matrix.toarray(), program.row_upper, program.col_upper
    (array([[-1.,  1.]]), array([0.5]), array([1., 1.]))
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
    integer: NDArray[np.bool_] | None = None

    def memberships(self, x: Any) -> FloatArray:
        """Return the memberships, shape (N,), from the values of all columns."""
        h = np.asarray(x, dtype=np.float64)[: self.n_points]
        return h if self.unit is None else h * self.unit[: self.n_points]

    def with_scaled_outliers(self) -> LinearProgram:
        """Return the same program with columns of large entries scaled down to the size of the others.

        Solvers keep variables within an absolute tolerance. For a point a million times further out than the others, this
        tolerance moves the sums as much as a million times the tolerance of another point would. So the membership of an
        outlier is counted in a smaller unit.
        """
        sizes = np.abs(self.matrix.data)
        if self.integer is not None:  # an integer has its unit
            return self
        if sizes.max(initial=0.0) <= OUTLIER_ENTRY:
            return self
        max_abs = np.zeros(self.matrix.shape[1])
        np.maximum.at(max_abs, np.repeat(np.arange(max_abs.size), np.diff(self.matrix.indptr)), sizes)
        unit = np.where(max_abs > OUTLIER_ENTRY, np.exp2(-np.frexp(max_abs)[1].astype(np.float64)), 1.0)
        matrix = sp.csc_array(self.matrix @ sp.diags_array(unit))
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        lower, upper = self.col_lower / unit, self.col_upper / unit
        return replace(self, matrix=matrix, cost=self.cost * unit, col_lower=lower, col_upper=upper, unit=unit)

    @property
    def has_size_column(self) -> bool:
        """Whether the last column is the size ``n`` and the last row ties it to the memberships."""
        return bool(self.matrix.shape[1] > self.n_points)


def build_linear_program(
    blocks: tuple[MomentBlock, ...], weights: FloatArray, caps: FloatArray, whole: NDArray[np.bool_] | None = None
) -> LinearProgram:
    """Write blocks of moments out as one linear program.

    Parameters
    ----------
    blocks : tuple of MomentBlock
        Features that are read in chunks are loaded into memory.
    weights, caps : array, shape (N,)
    whole : array of bool, shape (N,), optional
        Which memberships must be integers.

    Raises
    ------
    CompileError
        If the matrix has more entries than solvers can address, or the features do not fit in memory.
    """
    blocks = tuple(replace(block, features=load_in_memory(block.features, "writing the program out")) for block in blocks)
    weights, caps = np.ascontiguousarray(weights), np.ascontiguousarray(caps)
    sparse = [_stays_sparse(block) for block in blocks]
    n_points, n_moments = weights.size, sum(block.n_moments for block in blocks)
    _check_size(sum(b.linear_part().nnz if thin else n_points * b.n_moments for b, thin in zip(blocks, sparse, strict=True)))
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
    centre = np.concatenate(
        [block.constant if thin else np.zeros(block.n_moments) for block, thin in zip(blocks, sparse, strict=True)]
    )
    if centre.any():
        matrix = _append_size_column(matrix, centre)
        weights, caps = np.append(weights, 0.0), np.append(caps, np.inf)
        lower, upper, col_lower = np.append(lower, 0.0), np.append(upper, 0.0), np.append(col_lower, -np.inf)
    matrix.eliminate_zeros()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    integer = None if whole is None else np.append(whole, np.zeros(caps.size - n_points, dtype=bool))
    return LinearProgram(matrix, weights, lower, upper, col_lower, caps, n_points, n_moments, integer=integer)


def _stays_sparse(block: MomentBlock) -> bool:
    features = block.features
    return is_sparse(features) and bool(features.nnz <= MAX_SPARSE_DENSITY * np.prod(features.shape))


def _check_size(n_entries: int) -> None:
    if n_entries > MAX_ENTRIES:
        raise CompileError(
            f"the problem has {n_entries:,} entries, more than the {MAX_ENTRIES:,} that this solver can address. "
            "Use fewer points or moments."
        )


def _append_size_column(matrix: Any, centre: FloatArray) -> Any:
    """Append the column of ``n`` and the row ``sum(h) - n``."""
    n_points = matrix.shape[1]
    return sp.block_array(
        [[matrix, sp.csc_array(centre[:, None])], [sp.csc_array(np.ones((1, n_points))), sp.csc_array([[-1.0]])]],
        format="csc",
    )


def _transpose_dense(A: FloatArray) -> Any:
    """Return A^T by columns. A is stored by rows, so its entries are already in that order."""
    n_points, n_moments = A.shape
    indptr = np.arange(0, A.size + 1, n_moments, dtype=np.int32) if n_moments else np.zeros(n_points + 1, np.int32)
    indices = np.tile(np.arange(n_moments, dtype=np.int32), n_points)
    return sp.csc_array((A.ravel(), indices, indptr), shape=(n_moments, n_points))
