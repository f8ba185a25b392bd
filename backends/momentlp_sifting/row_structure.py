r"""Moments that share a column: the two rows of a tolerance on a mean.

A tolerance on the mean, ``|sum_i phi_ij h_i / sum_i h_i - mean_j| <= width_j``, is two rows of the problem. Both are made of
the same feature: the second is a multiple of the first, plus a number that is the same for all points. So A = Z S^T, where Z
holds one column for each feature and a last column of ones, and each row of S has at most two entries::

    row r = factor_r * (column of r) + shift_r * ones

Z has q columns, about half as many as A. All products with points use Z, and the normal equations of the interior-point
method become q x q: with ``G = Z^T D Z``, the equations ``(A^T D A + E) x = b`` and ``z = S^T x``::

    (G + K^-1) z = c,    K = S^T E^-1 S

K is an arrow: a diagonal, and the row and column of the ones. Its inverse is a diagonal and a matrix of rank one. With the
pair (h, l), ``row_l = rho row_h + tau``, and ``det = E_l + rho^2 E_h``::

    K^-1 = diag(k) + v v^T / sigma,    k = E_h E_l / det,    v = -rho tau E_h / det (and 1 for the ones),
    sigma = sum tau^2 / det

Nothing is divided by an E, which tends to 0 for active moments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp.problem.problem import Problem
from momentlp_sifting.columns import Columns

__all__ = ["RowAlgebra", "RowStructure"]


@dataclass(frozen=True, eq=False)
class RowStructure:
    """How the m rows of a problem are made of q columns.

    Attributes
    ----------
    base : array of int
        The row that each column is; without the column of ones, which is the last one if there are pairs.
    first, second : array of int
        The rows of each pair. The first is a column itself.
    factor, shift : array
        For each pair, ``second = factor * first + shift``.
    n_rows : int
        m.
    """

    base: IndexArray
    first: IndexArray
    second: IndexArray
    factor: FloatArray
    shift: FloatArray
    n_rows: int

    @classmethod
    def plain(cls, n_rows: int) -> RowStructure:
        """Return the structure without pairs: every row is a column."""
        none, nothing = np.zeros(0, dtype=np.intp), np.zeros(0)
        return cls(np.arange(n_rows), none, none, nothing, nothing, n_rows)

    @classmethod
    def of(cls, problem: Problem) -> RowStructure:
        """Find the pairs of a problem."""
        first: list[IndexArray] = []
        second: list[IndexArray] = []
        factor: list[FloatArray] = []
        shift: list[FloatArray] = []
        start = 0
        for block in problem.blocks:
            pair = _find_pairs(block)
            if pair is not None:
                a, b = pair
                size = block.transform.data
                ratio = size[b] / size[a]
                first.append(a + start)
                second.append(b + start)
                factor.append(ratio)
                shift.append(block.shift[b] - ratio * block.shift[a])
            start += block.n_moments
        if not first:
            return cls.plain(start)
        rows = np.concatenate(second)
        base = np.setdiff1d(np.arange(start), rows)
        return cls(base, np.concatenate(first), rows, np.concatenate(factor), np.concatenate(shift), start)

    @property
    def has_pairs(self) -> bool:
        """Whether two rows share a column; then the last column is that of the ones."""
        return bool(self.first.size)

    @property
    def n_columns(self) -> int:
        """q, the number of columns."""
        return int(self.base.size) + self.has_pairs

    @cached_property
    def column(self) -> IndexArray:
        """The column of each row, shape (m,)."""
        column = np.zeros(self.n_rows, dtype=np.intp)
        column[self.base] = np.arange(self.base.size)
        column[self.second] = column[self.first]
        return column

    def matrix(self, problem: Problem) -> MomentMatrix:
        """Return Z, the columns, of all points of a problem."""
        if not self.has_pairs:
            return problem.A
        blocks, start = [], 0
        for block in problem.blocks:
            kept = self.base[(self.base >= start) & (self.base < start + block.n_moments)] - start
            blocks.append(_select(block, kept))
            start += block.n_moments
        nothing, one = np.zeros(1), np.ones(1)
        features = sp.csr_array((problem.n_points, 1))
        blocks.append(MomentBlock(features, nothing, None, one, np.array([-np.inf]), np.array([np.inf]), names=("size",)))
        return MomentMatrix(tuple(blocks))

    def to_rows(self, columns: FloatArray) -> FloatArray:
        """Return the sums of the rows, shape (m,), from those of the columns, shape (q,)."""
        if not self.has_pairs:
            return columns
        rows = columns[self.column]
        rows[self.second] = self.factor * rows[self.second] + self.shift * columns[-1]
        return rows

    def to_columns(self, y: FloatArray) -> FloatArray:
        """Return the multipliers of the columns, shape (q,), that mean the same as those of the rows, shape (m,)."""
        if not self.has_pairs:
            return y
        result = np.append(y[self.base], float(self.shift @ y[self.second]))
        np.add.at(result, self.column[self.second], self.factor * y[self.second])
        return result

    def row_squares(self, squares: FloatArray, sums: FloatArray) -> FloatArray:
        """Return ``sum_i D_i A_ir^2`` of each row from ``sum_i D_i Z_ij^2`` and ``sum_i D_i Z_ij`` of the columns."""
        if not self.has_pairs:
            return squares
        rows, own = squares[self.column], self.column[self.second]
        rows[self.second] = (
            self.factor**2 * squares[own] + 2 * self.factor * self.shift * sums[own] + self.shift**2 * sums[-1]
        )
        return np.maximum(rows, 0.0)

    def select(self, Z: Columns, points: IndexArray, rows: IndexArray) -> Columns:
        """Return the given rows of the problem for some points, one column each."""
        factor, shift = self._row_terms
        return Z.select(points, self.column[rows], factor[rows], shift[rows])

    @cached_property
    def _row_terms(self) -> tuple[FloatArray, FloatArray]:
        """Factor and shift of every row."""
        factor, shift = np.ones(self.n_rows), np.zeros(self.n_rows)
        factor[self.second], shift[self.second] = self.factor, self.shift
        return factor, shift


def _find_pairs(block: MomentBlock) -> tuple[IndexArray, IndexArray] | None:
    """Return the moments of a block that are made of the same feature, the first and the second; None if there are none."""
    transform = block.transform
    if transform is None or transform.nnz != block.n_moments or (np.diff(transform.indptr) != 1).any():
        return None
    feature = transform.indices
    order = np.argsort(feature, kind="stable")
    same = np.flatnonzero(np.diff(feature[order]) == 0)
    if not same.size or (np.diff(same) == 1).any() or not transform.data.all():  # not all features have one or two
        return None
    return order[same], order[same + 1]


def _select(block: MomentBlock, kept: IndexArray) -> MomentBlock:
    """Return the block with some of its moments."""
    if kept.size == block.n_moments:
        return block
    names = tuple(block.names[moment] for moment in kept.tolist())
    about: dict[str, Any] = {"labels": (), "width": None, "tolerance_on": None, "names": names}
    shift, lower, upper = block.shift[kept], block.lower[kept], block.upper[kept]
    return replace(block, transform=sp.csc_array(block.transform[:, kept]), shift=shift, lower=lower, upper=upper, **about)


class RowAlgebra:
    """``K^-1`` for one E: what the rows add to the normal equations of the columns.

    Attributes
    ----------
    k, v : array, shape (q,)
    sigma : float
        ``K^-1 = diag(k) + v v^T / sigma``; without pairs v is zero.
    """

    def __init__(self, structure: RowStructure, E: FloatArray) -> None:
        self.structure = structure
        q = structure.n_columns
        self.k, self.v, self.sigma = np.zeros(q), np.zeros(q), 1.0
        self.k[: structure.base.size] = E[structure.base]
        if structure.has_pairs:
            self.E_first, self.E_second = E[structure.first], E[structure.second]
            self.det = np.maximum(self.E_second + structure.factor**2 * self.E_first, 1e-300)
            own = structure.column[structure.first]
            self.k[own] = self.E_first * self.E_second / self.det
            self.v[own] = -structure.factor * structure.shift * self.E_first / self.det
            self.v[-1] = 1.0
            self.sigma = max(float((structure.shift**2 / self.det).sum()), 1e-300)

    def apply(self, z: FloatArray) -> FloatArray:
        """Return ``K^-1 z``."""
        result = self.k * z
        if self.structure.has_pairs:
            result += self.v * (float(self.v @ z) / self.sigma)
        return result

    def to_columns(self, b: FloatArray) -> tuple[FloatArray, float]:
        """Return c, the right-hand side of the columns, from that of the rows, and what :meth:`to_rows` needs of it."""
        s = self.structure
        c = np.zeros(s.n_columns)
        c[: s.base.size] = b[s.base]
        if not s.has_pairs:
            return c, 0.0
        first, second = b[s.first], b[s.second]
        c[s.column[s.first]] = (first * self.E_second + s.factor * second * self.E_first) / self.det
        level = float((s.shift * (second - s.factor * first) / self.det).sum())
        return c + self.v * (level / self.sigma), level

    def to_rows(self, z: FloatArray, b: FloatArray, level: float) -> FloatArray:
        """Return the solution of the rows from that of the columns."""
        s = self.structure
        if not s.has_pairs:
            return z
        x = np.zeros(s.n_rows)
        x[s.base] = z[: s.base.size]
        own = z[s.column[s.first]]
        ones = (level - float(self.v @ z)) / self.sigma
        twist = s.factor * b[s.first] - b[s.second] + s.shift * ones
        x[s.first] = (own * self.E_second + s.factor * twist) / self.det
        x[s.second] = (own * s.factor * self.E_first - twist) / self.det
        return x
