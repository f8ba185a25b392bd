"""A dual simplex method in integers.

The moments are variables too, ``M h - r = 0`` with ``L <= r <= U``. A vertex is a choice of m *basic* variables among the N
memberships and m moments. The other variables are at one of their two bounds, and the basic ones follow from the m
equations. The inverse of the basis is kept as a matrix of integers over one denominator. Exchanging a basic variable divides
without remainder (Edmonds 1967, Bareiss 1968).

Every variable has two finite bounds, so a nonbasic variable whose reduced cost has the wrong sign moves to its other bound.
This makes any choice of basic variables dual feasible, so no first phase is needed. Each step removes a basic variable that
is beyond its bounds and enters the variable with the minimum ratio. If no variable can enter, that row proves that no h is
feasible.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from momentlp.proof.exact.integers import IntegerProgram, Integers

__all__ = ["ExactSimplex", "LimitReachedError", "Vertex"]

MAX_STALLED_STEPS = 40  # steps without progress until Bland's rule takes over, under which no basis occurs twice


class LimitReachedError(Exception):
    """The limit on time or on steps was reached."""


@dataclass(frozen=True)
class Vertex:
    """The vertex to start from, as read from floats.

    Attributes
    ----------
    at_high : array of bool, shape (N + m,)
        Whether a membership or moment, if it is not basic, is at its upper bound.
    between : list of int
        Points strictly between 0 and their cap, the most likely first.
    near : list of int
        The other points, the nearest to the hyperplane first.
    held, touched : list of int
        Moments at a bound, with a multiplier and without one.
    """

    at_high: np.ndarray[tuple[int], np.dtype[np.bool_]]
    between: list[int]
    near: list[int]
    held: list[int]
    touched: list[int]


class ExactSimplex:
    """The state of the method: which variables are basic, at which bound the others are, and the inverse of the basis.

    Variables have numbers: memberships 0 to N - 1, then moments N to N + m - 1.

    Parameters
    ----------
    program : IntegerProgram
    time_limit : float, optional
        Seconds.
    pivot_limit : int, optional
        The maximum number of steps.
    """

    def __init__(self, program: IntegerProgram, time_limit: float | None = None, pivot_limit: int | None = None) -> None:
        m, n = program.M.shape
        self.program = program
        self.low = np.concatenate([np.zeros(n, dtype=object), program.lower])
        self.high = np.concatenate([program.caps, program.upper])
        self.cost = np.concatenate([program.weights, np.zeros(m, dtype=object)])
        self.basic = np.arange(n, n + m)  # at first all moments; their columns are those of -I
        self.inverse = np.array(np.diag(np.full(m, -1)), dtype=object).reshape(m, m)
        self.denominator = 1
        self.at_high = np.zeros(n + m, dtype=bool)
        self.pivots = 0
        self._ray = (0, 1)
        self.pivot_limit, self.time_limit = pivot_limit, time_limit
        self._started = time.perf_counter()

    def start(self, vertex: Vertex) -> None:
        """Go to a vertex, as far as its basic variables are linearly independent.

        Each point enters the basis in place of a moment, which moves to its bound. A point that depends linearly on those
        before it is left out.
        """
        n = self.program.weights.size
        self.at_high = vertex.at_high.copy()
        held, touched = ({n + j for j in moments} for moments in (vertex.held, vertex.touched))
        for i in vertex.between:
            self._enter(i, held) or self._enter(i, touched)
        for i in vertex.near:
            if not held:
                break
            self._enter(i, held)

    def _enter(self, point: int, leaving: set[int]) -> bool:
        """Make a point basic in place of one of the ``leaving`` moments; return whether its column allows it."""
        column = self._column(point)
        candidates = [row for row in np.flatnonzero(column != 0).tolist() if int(self.basic[row]) in leaving]
        if not candidates:
            return False
        row = min(candidates, key=lambda candidate: abs(column[candidate]))  # a small pivot keeps the integers short
        leaving.discard(int(self.basic[row]))
        self._exchange(row, point, column)
        return True

    def finish(self) -> bool:
        """Continue to the optimum; return False if no h is feasible, which :meth:`farkas` then proves."""
        stalled, best = 0, None
        while True:
            reduced = self._reduced_costs()
            self._make_dual_feasible(reduced)
            values = self._basic_values()
            above = values - self.high[self.basic] * self.denominator
            below = self.low[self.basic] * self.denominator - values
            violated = np.flatnonzero(np.maximum(above, below) > 0)
            if not violated.size:
                return True
            objective = Fraction(int(self._objective(values)), self.denominator)
            stalled = 0 if best is None or objective < best else stalled + 1
            best = objective
            use_bland = stalled > MAX_STALLED_STEPS
            key = self.basic[violated] if use_bland else -np.maximum(above, below)[violated]
            row = int(violated[int(np.argmin(key))])
            sign = 1 if below[row] > 0 else -1
            entering = self._choose_entering(row, sign, reduced)
            if entering is None:
                self._ray = (row, sign)
                return False
            if self.pivot_limit is not None and self.pivots >= self.pivot_limit:
                raise LimitReachedError(f"pivot_limit={self.pivot_limit} steps were not enough")
            self.at_high[self.basic[row]] = sign < 0
            self._exchange(row, entering, self._column(entering))
            self.pivots += 1

    def memberships(self) -> list[Fraction]:
        """Return h at the current vertex."""
        n = self.program.weights.size
        h = [Fraction(int(value)) for value in np.where(self.at_high[:n], self.high[:n], self.low[:n])]
        for variable, value in zip(self.basic.tolist(), self._basic_values().tolist(), strict=True):
            if variable < n:
                h[variable] = Fraction(value, self.denominator)
        return h

    def multipliers(self) -> list[Fraction]:
        """Return y at the current vertex."""
        return [Fraction(int(value), self.denominator) for value in self.cost[self.basic] @ self.inverse]

    def farkas(self) -> list[Fraction]:
        """Return the multipliers that prove that no h is feasible."""
        row, sign = self._ray
        return [Fraction(sign * int(value), self.denominator) for value in self.inverse[row]]

    def _columns_times(self, y: Integers) -> Integers:
        """Return ``y . column`` of every variable."""
        return np.concatenate([y @ self.program.M, -y])

    def _column(self, variable: int) -> Integers:
        """Return the column of a variable in terms of the basic ones, times the denominator."""
        n = self.program.weights.size
        return self.inverse @ self.program.M[:, variable] if variable < n else -self.inverse[:, variable - n]

    def _reduced_costs(self) -> Integers:
        """Return the reduced cost of every variable, times the denominator: positive if raising it is an improvement."""
        reduced = self.cost * self.denominator - self._columns_times(self.cost[self.basic] @ self.inverse)
        reduced[self.basic] = 0
        return reduced

    def _make_dual_feasible(self, reduced: Integers) -> None:
        """Move every nonbasic variable to the bound that its reduced cost asks for."""
        self.at_high = np.where(reduced > 0, True, np.where(reduced < 0, False, self.at_high)).astype(bool)

    def _nonbasic_values(self) -> Integers:
        """Return the values of the nonbasic variables, with zeros for the basic ones."""
        values = np.where(self.at_high, self.high, self.low)
        values[self.basic] = 0
        return values

    def _basic_values(self) -> Integers:
        """Return the values of the basic variables, times the denominator."""
        n = self.program.weights.size
        values = self._nonbasic_values()
        solved: Integers = self.inverse @ (values[n:] - self.program.M @ values[:n])
        return solved

    def _objective(self, basic_values: Integers) -> int:
        """Return the objective, times the denominator."""
        return int(self.cost @ self._nonbasic_values()) * self.denominator + int(self.cost[self.basic] @ basic_values)

    def _choose_entering(self, row: int, sign: int, reduced: Integers) -> int | None:
        """Return the variable with the minimum ratio of reduced cost to entry in the row, the first of equals."""
        entries = self._columns_times(self.inverse[row]) * sign
        can_enter = np.where(self.at_high, entries > 0, entries < 0) & (self.low < self.high)
        can_enter[self.basic] = False
        candidates = np.flatnonzero(can_enter)
        if not candidates.size:
            return None
        best = int(candidates[0])
        for j in candidates[1:].tolist():
            if abs(reduced[j] * entries[best]) < abs(reduced[best] * entries[j]):
                best = j
        return best

    def _exchange(self, row: int, entering: int, column: Integers) -> None:
        """Replace the basic variable of a row by another, and update the inverse."""
        if self.time_limit is not None and time.perf_counter() - self._started > self.time_limit:
            raise LimitReachedError(f"time_limit={self.time_limit:g} s ran out after {self.pivots} steps")
        pivot, pivot_row = column[row], self.inverse[row].copy()
        changed = (self.inverse * pivot - np.outer(column, pivot_row)) // self.denominator
        changed[row] = pivot_row
        self.inverse, self.denominator = (changed, int(pivot)) if pivot > 0 else (-changed, -int(pivot))
        self.basic[row] = entering
