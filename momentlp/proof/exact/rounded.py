r"""The problem with rounding, P+, in integers: every row relaxed by the rule of :mod:`momentlp.problem.rounding`.

::

    sum_i (M_ij - R_ij) h_i <= U_j + dU_j,        sum_i (M_ij + R_ij) h_i >= L_j - dL_j

Rows are written in a unit that is 2^16 times as fine as the data need, so that R is close to the rule. It is rounded down,
so P+ here is never wider than the rule. A row whose R is then zero, as in data of small integers, stays one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.problem.moment_matrix import MAX_ENTRY_RATIO
from momentlp.problem.problem import Problem
from momentlp.problem.rounding import ROUNDING
from momentlp.proof.exact.integers import IntegerProgram, Integers
from momentlp.proof.exact.simplex import Vertex

__all__ = ["RoundedProgram", "allow_rounding"]

FINER = 1 << 16  # the unit of rows, relative to what the data need


@dataclass(frozen=True, eq=False)
class RoundedProgram:
    """A program with up to two rows per moment.

    Attributes
    ----------
    program : IntegerProgram
    moments : array of int, shape (r,)
        The moment that each row belongs to.
    sides : array of int, shape (r,)
        1 for the row of an upper bound, -1 for that of a lower bound, 0 for a row with both.
    """

    program: IntegerProgram
    moments: IndexArray
    sides: IndexArray

    def split_multipliers(self, y: FloatArray) -> FloatArray:
        """Return one multiplier per row from one per moment."""
        values = y[self.moments]
        return np.where((self.sides > 0) & (values < 0) | (self.sides < 0) & (values > 0), 0.0, values)

    def join_multipliers(self, values: Sequence[Fraction], n_moments: int) -> tuple[Fraction, ...]:
        """Return one multiplier per moment from one per row."""
        joined = [Fraction(0)] * n_moments
        for moment, value in zip(self.moments.tolist(), values, strict=True):
            joined[moment] += value
        return tuple(joined)

    def split_vertex(self, vertex: Vertex, y: FloatArray, n_points: int) -> Vertex:
        """Return the vertex of the program next to a vertex of the problem."""
        nearer_high = vertex.at_high[n_points:][self.moments]
        at_high = np.where(self.sides == 0, nearer_high, self.sides > 0)
        faces = self.sides * np.sign(y)[self.moments]  # 1 if the multiplier belongs to this row, -1 if to the other
        is_used = (self.sides == 0) | (faces > 0) | ((faces == 0) & (at_high == nearer_high))
        held, touched = (
            np.flatnonzero(np.isin(self.moments, moments) & is_used).tolist() for moments in (vertex.held, vertex.touched)
        )
        return replace(vertex, at_high=np.concatenate([vertex.at_high[:n_points], at_high]), held=held, touched=touched)


def allow_rounding(problem: Problem, program: IntegerProgram, factor: float) -> RoundedProgram:
    """Relax the rows of a problem in integers by what rounding is forgiven.

    Parameters
    ----------
    problem : Problem
    program : IntegerProgram
        Of that problem.
    factor : float
        A multiple of the rule.
    """
    means, limits = problem.A.per_moment("mean_size"), problem.A.entry_limits
    rows: list[tuple[Integers, int, int, int, int]] = []  # entries, lower, upper, moment, side
    for j, unit in enumerate(program.row_units):
        per_entry = FINER * program.cap_unit / unit
        mean, limit = (int(Fraction(float(values[j])) * per_entry) for values in (means + limits / MAX_ENTRY_RATIO, limits))
        M, lower, upper = program.M[j] * FINER, int(program.lower[j]) * FINER, int(program.upper[j]) * FINER
        R = _multiply_down(mean + np.minimum(np.abs(M), limit), factor)
        lower, upper = lower - int(_multiply_down(abs(lower), factor)), upper + int(_multiply_down(abs(upper), factor))
        if not R.any():
            rows.append((M, lower, upper, j, 0))
            continue
        if not program.open_above[j]:
            rows.append((M - R, 0, upper, j, 1))
        if not program.open_below[j]:
            rows.append((M + R, lower, 0, j, -1))
    return _build(program, rows)


def _multiply_down(values: Any, factor: float) -> Any:
    """Return integers times the rule for rounding, rounded down."""
    exact = Fraction(factor * ROUNDING)
    return values * exact.numerator // exact.denominator


def _build(program: IntegerProgram, rows: list[tuple[Integers, int, int, int, int]]) -> RoundedProgram:
    """Return the program with these rows; open sides get bounds that no memberships reach."""
    M = np.array([row[0] for row in rows], dtype=object).reshape(len(rows), program.weights.size)
    moments, sides = (np.array([row[k] for row in rows], dtype=np.intp) for k in (3, 4))
    low = [row[1] if row[4] <= 0 else int(np.minimum(row[0], 0) @ program.caps) - 1 for row in rows]
    high = [row[2] if row[4] >= 0 else int(np.maximum(row[0], 0) @ program.caps) + 1 for row in rows]
    return RoundedProgram(
        replace(
            program,
            M=M,
            lower=np.array(low, dtype=object),
            upper=np.array(high, dtype=object),
            row_units=tuple(program.row_units[j] / FINER for j in moments),
            names=tuple(program.names[j] for j in moments),
            open_below=np.where(sides == 0, program.open_below[moments], sides > 0),
            open_above=np.where(sides == 0, program.open_above[moments], sides < 0),
        ),
        moments,
        sides,
    )
