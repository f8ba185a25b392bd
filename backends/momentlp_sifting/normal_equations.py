"""The linear equations of one step of the interior-point method.

They are ``(A^T D A + E) x = b`` with one row per moment, or, in the columns Z that the moments are made of,
``(Z^T D Z + K^-1) z = c``; see :mod:`~momentlp_sifting.row_structure`. Decided points have a much smaller D than undecided
ones, and inactive moments have a much larger E than the diagonal of A^T D A. Leaving the former out, and keeping only the
diagonal of the latter, changes the step little and saves most of the work; some steps of conjugate gradients correct for it.

Where fewer points than columns are left, the same equations are solved on the side of the points (Woodbury)::

    z = K c - K Z^T (D^-1 + Z K Z^T)^-1 Z K c
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp_sifting.columns import Columns
from momentlp_sifting.row_structure import RowAlgebra, RowStructure

__all__ = ["NormalEquations", "Precision"]

POINTS_SIDE = 0.7  # points per column below which the equations are solved on the side of the points
MAX_INVERSE = 1e30  # of an E on that side
MIN_E = 1e-13  # relative to the diagonal of A^T D A; smaller ones have no digits on the side of the points


@dataclass(frozen=True)
class Precision:
    """How exactly the equations are solved.

    Attributes
    ----------
    min_relative_d : float
        Points with a smaller D, relative to the largest, are left out.
    max_relative_e : float
        Of columns with a larger k, relative to the diagonal of Z^T D Z, only the diagonal is kept.
    n_corrections : int
        Steps of conjugate gradients, at most.
    refine : bool
        Whether to take these steps even if nothing is left out, to correct for rounding.
    max_factored : int, optional
        If more columns than that matter, none is factored: conjugate gradients do all the work.
    tolerance : float
        Of the residual, relative to the first one, at which conjugate gradients end.
    """

    min_relative_d: float = 1e-3
    max_relative_e: float = 30.0
    n_corrections: int = 2
    refine: bool = False
    max_factored: int | None = None
    tolerance: float = 0.0


class NormalEquations:
    """The equations, factored.

    Parameters
    ----------
    Z : Columns
    structure : RowStructure
    D : array, shape (n,)
    E : array, shape (m,)
    squares : array, shape (q,)
        The diagonal of ``Z^T D Z``.
    precision : Precision
    single : bool
        Whether products are in single precision.
    """

    def __init__(
        self, Z: Columns, structure: RowStructure, D: FloatArray, E: FloatArray, squares: FloatArray,
        precision: Precision, single: bool,
    ) -> None:  # fmt: skip
        self.Z, self.D, self.single, self.precision = Z, D, single, precision
        self._reduced: Any
        self.algebra = RowAlgebra(structure, E)
        self.diagonal = squares + self.algebra.k + self.algebra.v**2 / self.algebra.sigma + 1e-300
        tight = np.flatnonzero(squares * precision.max_relative_e > self.algebra.k)
        points = np.flatnonzero(precision.min_relative_d * D.max() < D)
        some_points = points if points.size < 0.7 * D.size else None
        some_columns = tight if 0 < tight.size < 0.8 * squares.size else None
        self.tight = np.arange(squares.size) if some_columns is None else tight
        self.exact = some_points is None and some_columns is None
        if precision.max_factored is not None and self.tight.size > precision.max_factored:
            self.tight, self.exact, self._reduced = np.zeros(0, dtype=np.intp), False, _Nothing()
            return
        n_points = D.size if some_points is None else points.size
        if n_points < POINTS_SIDE * self.tight.size:
            self._reduced = _PointsSide(self, E, squares, some_points, some_columns)
        else:
            self._reduced = _ColumnsSide(self, squares, some_points, some_columns)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return x, with some steps of conjugate gradients that correct for what was left out."""
        c, level = self.algebra.to_columns(b)
        z = self._solve_reduced(c)
        if not self.exact or self._reduced.is_rough or self.precision.refine:
            residual, towards, before = c - self._apply(z), np.zeros_like(c), np.inf
            limit = self.precision.tolerance**2 * float(c @ z)
            for _ in range(self.precision.n_corrections):
                step = self._solve_reduced(residual)
                size = float(residual @ step)
                if not size > limit:
                    break
                towards = step + size / before * towards
                moved, before = self._apply(towards), size
                curvature = float(towards @ moved)
                if not curvature > 0:
                    break
                length = size / curvature
                z, residual = z + length * towards, residual - length * moved
        return self.algebra.to_rows(z, b, level)

    def _apply(self, z: FloatArray) -> FloatArray:
        """Return ``(Z^T D Z + K^-1) z``, with nothing left out."""
        single = self.single
        return self.Z.multiply_transposed(self.D * self.Z.multiply(z, single), single) + self.algebra.apply(z)

    def _solve_reduced(self, c: FloatArray) -> FloatArray:
        solution = c / self.diagonal
        solution[self.tight] = self._reduced.solve(c[self.tight])
        return np.asarray(solution)


class _Nothing:
    """No column is factored."""

    is_rough = True

    def solve(self, c: FloatArray) -> FloatArray:
        """Return nothing for nothing."""
        return c


class _ColumnsSide:
    """The q x q matrix ``Z^T D Z + K^-1`` of the points and columns that matter, factored."""

    is_rough = False

    def __init__(
        self, whole: NormalEquations, squares: FloatArray, points: IndexArray | None, columns: IndexArray | None
    ) -> None:
        algebra, tight = whole.algebra, whole.tight
        gram = whole.Z.gram(whole.D, points, columns, whole.single)
        rest = np.maximum(squares[tight] - gram.diagonal(), 0.0)  # the diagonal of the points that are left out
        if algebra.structure.has_pairs:
            v = algebra.v[tight]
            gram += np.outer(v, v / _sigma_of(algebra, tight))
        self.factor = _factor(gram, algebra.k[tight] + (rest if points is not None else 0.0))

    def solve(self, c: FloatArray) -> FloatArray:
        """Solve."""
        return np.asarray(cho_solve(self.factor, c, check_finite=False))


class _PointsSide:
    """The n x n matrix ``D^-1 + Z K Z^T`` of the points and columns that matter, factored."""

    is_rough = True

    def __init__(
        self,
        whole: NormalEquations,
        E: FloatArray,
        squares: FloatArray,
        points: IndexArray | None,
        columns: IndexArray | None,
    ) -> None:
        # Not the equations themselves: two objects that hold each other would keep their large matrices for long.
        self.Z, self.single, self.points, self.n_points = whole.Z, whole.single, points, whole.D.size
        self.has_pairs = whole.algebra.structure.has_pairs
        structure, tight, q = whole.algebra.structure, whole.tight, squares.size
        k = np.maximum(whole.algebra.k, MIN_E * squares + 1e-300)
        # K without pairs; columns of zeros add nothing, and single precision must not overflow.
        inverse = np.where(squares > 0, np.minimum(1 / k, MAX_INVERSE), 0.0)
        self.mixed, self.corner = np.zeros(q), 0.0
        if structure.has_pairs:
            own = structure.column[structure.second]
            E_second = np.maximum(E[structure.second], MIN_E * squares[own] + 1e-300)
            self.mixed[own] = structure.factor * structure.shift / E_second
            self.corner = float((structure.shift**2 / E_second).sum())
            inverse[-1] = 0.0  # the ones are in the corner
        self.inverse, self.tight = inverse, tight
        keep = np.zeros(q, dtype=bool)
        keep[tight] = True
        self.inverse = np.where(keep, self.inverse, 0.0)
        self.mixed = np.where(keep, self.mixed, 0.0)
        matrix = whole.Z.outer(self.inverse, points, columns, whole.single)
        if structure.has_pairs:
            level = self._pick(whole.Z.multiply(self.mixed, whole.single))
            matrix += (level + 0.5 * self.corner)[:, None]
            matrix += level + 0.5 * self.corner
        self.factor = _factor(matrix, 1 / self._pick(whole.D))

    def solve(self, c: FloatArray) -> FloatArray:
        """Solve."""
        full = np.zeros(self.inverse.size)
        full[self.tight] = c
        z = self._multiply_K(full)
        u = cho_solve(self.factor, self._pick(self.Z.multiply(z, self.single)), check_finite=False)
        everywhere = u
        if self.points is not None:
            everywhere = np.zeros(self.n_points)
            everywhere[self.points] = u
        return np.asarray((z - self._multiply_K(self.Z.multiply_transposed(everywhere, self.single)))[self.tight])

    def _multiply_K(self, c: FloatArray) -> FloatArray:  # noqa: N802  K as in the formulas
        result = self.inverse * c
        if self.has_pairs:
            result += self.mixed * c[-1]
            result[-1] += float(self.mixed @ c) + self.corner * c[-1]
        return result

    def _pick(self, values: FloatArray) -> FloatArray:
        return values if self.points is None else values[self.points]


def _sigma_of(algebra: RowAlgebra, tight: IndexArray) -> float:
    """Return sigma where only the tight columns are kept: of the others, all that stays is what they add to the corner."""
    structure = algebra.structure
    own = structure.column[structure.second]
    is_tight = np.zeros(structure.n_columns, dtype=bool)
    is_tight[tight] = True
    det = np.where(is_tight[own], algebra.det, np.maximum(algebra.E_second, 1e-300))
    return max(float((structure.shift**2 / det).sum()), 1e-300)


def _factor(matrix: FloatArray, more: FloatArray) -> Any:
    """Return the Cholesky factor of ``matrix + diag(more)``, with a small ridge in case it is nearly singular."""
    own = matrix.diagonal() + more
    for ridge in (1e-14, 1e-12, 1e-9, 1e-6):
        np.fill_diagonal(matrix, own * (1 + ridge) + 1e-300)
        try:
            return cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError
