"""A linear program in memory, as the interior-point method sees it: columns, how moments are made of them, and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.problem.problem import Problem
from momentlp_sifting.columns import Columns
from momentlp_sifting.row_structure import RowStructure

__all__ = ["Program"]


@dataclass(frozen=True, eq=False)
class Program:
    """The problem ``max w . h, L <= A^T h <= U, 0 <= h <= u`` for the interior-point method; every cap is above 0.

    Attributes
    ----------
    Z : Columns
        The columns that the moments are made of, n x q.
    structure : RowStructure
        How: ``A = Z S^T``.
    weights, caps : array, shape (n,)
    lower, upper : array, shape (m,)
    """

    Z: Columns
    structure: RowStructure
    weights: FloatArray
    caps: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def plain(cls, A: Columns, weights: FloatArray, caps: FloatArray, lower: FloatArray, upper: FloatArray) -> Program:
        """Return the program of a matrix A whose moments share no columns."""
        return cls(A, RowStructure.plain(A.shape[1]), weights, caps, lower, upper)

    def to_problem(self) -> Problem:
        """Return the same program for a backend; the moments must not share columns."""
        return Problem((self.Z.block(self.lower, self.upper),), self.weights, self.caps)

    @property
    def threads(self) -> int:
        """The maximum number of threads for matrices of products."""
        return self.Z.threads

    @property
    def shape(self) -> tuple[int, int]:
        """The number of points, and of moments."""
        return self.Z.shape[0], self.structure.n_rows

    @cached_property
    def weight_unit(self) -> float:
        """The size of a typical weight, which scores are compared with."""
        return float(np.median(np.abs(self.weights))) or 1.0

    @cached_property
    def is_inequality(self) -> NDArray[np.bool_]:
        """Which moments have two different bounds; the others are equations."""
        return self.lower < self.upper

    @cached_property
    def has_lower(self) -> NDArray[np.bool_]:
        """Which of those have a lower bound."""
        return self.is_inequality & np.isfinite(self.lower)

    @cached_property
    def has_upper(self) -> NDArray[np.bool_]:
        """Which of those have an upper bound."""
        return self.is_inequality & np.isfinite(self.upper)

    def forward(self, y: FloatArray, single: bool = False) -> FloatArray:
        """Return A y, one number per point."""
        return self.Z.multiply(self.structure.to_columns(y), single)

    def adjoint(self, h: FloatArray, single: bool = False) -> FloatArray:
        """Return A^T h, one number per moment."""
        return self.structure.to_rows(self.Z.multiply_transposed(h, single))

    def scores(self, y: FloatArray) -> FloatArray:
        """Return ``w - A y``."""
        return self.weights - self.forward(y)

    def bound(self, y: FloatArray) -> float:
        """Return what no feasible h weighs more than, for multipliers of bounds that exist."""
        used = np.flatnonzero(y)
        bounds = np.where(y > 0, self.upper, self.lower)[used]
        return float(self.caps @ np.maximum(self.scores(y), 0.0) + bounds @ y[used])

    def squares(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the diagonals of ``Z^T D Z``, shape (q,), and of ``A^T D A``, shape (m,), with D = diag(weights)."""
        columns = self.Z.squares(weights)
        if not self.structure.has_pairs:
            return columns, columns
        return columns, self.structure.row_squares(columns, self.Z.multiply_transposed(weights, single=True))

    def rows(self, points: IndexArray, moments: IndexArray) -> Columns:
        """Return A of some points and moments."""
        return self.structure.select(self.Z, points, moments)

    def dense_rows(self, points: IndexArray, moments: IndexArray) -> FloatArray:
        """Return A of some points and moments as an array."""
        return self.rows(points, moments).dense(np.arange(points.size))
