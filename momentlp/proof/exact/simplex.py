"""A dual simplex in whole numbers.

The moments are variables of their own, ``M h - r = 0`` with ``L <= r <= U``. A vertex is a choice of m *basic* variables
among the N memberships and m moments; the others sit at one of their two bounds and the basic ones follow from the m
equations. The inverse of those is kept as a matrix of whole numbers over one denominator, and exchanging a basic variable
divides without remainder (Edmonds 1967, Bareiss 1968).

Every variable has two finite bounds, so a nonbasic one whose reduced cost has the wrong sign moves to its other bound: any
choice of basic variables becomes dual feasible that way, and one method does it all. Each step takes a basic variable beyond
its bounds out and the variable with the least ratio in. If there is none, that row proves that no h is feasible.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from momentlp.proof.exact.integers import IntegerProgram, Integers

__all__ = ["ExactSimplex", "LimitReachedError", "Vertex"]

PATIENCE = 40  # steps without progress until Bland's rule takes over, under which no choice of basic variables returns


class LimitReachedError(Exception):
    """The limit on time or on steps was reached."""


@dataclass(frozen=True)
class Vertex:
    """Where to start: a vertex as far as floats can tell.

    Attributes
    ----------
    at_high : array of bool, shape (N + m,)
        Whether a membership or moment that is not basic sits at its upper bound.
    between, near : list of int
        Points strictly between in and out, and points on the hyperplane or nearest to it, the likeliest first.
    held, touched : list of int
        Moments at a bound, with a multiplier and without.
    """

    at_high: np.ndarray[tuple[int], np.dtype[np.bool_]]
    between: list[int]
    near: list[int]
    held: list[int]
    touched: list[int]


class ExactSimplex:
    """The state of the method: which variables are basic, where the others sit, and the inverse.

    Variables are numbered: memberships 0 to N - 1, then moments N to N + m - 1.
    """

    def __init__(self, program: IntegerProgram, time_limit: float | None = None, pivot_limit: int | None = None) -> None:
        m, n = program.M.shape
        self.program = program
        self.low = np.concatenate([np.zeros(n, dtype=object), program.lower])
        self.high = np.concatenate([program.caps, program.upper])
        self.cost = np.concatenate([program.weights, np.zeros(m, dtype=object)])
        self.basic = np.arange(n, n + m)  # at first all the moments, whose columns are those of -I
        self.inverse = np.array(np.diag(np.full(m, -1)), dtype=object).reshape(m, m)
        self.denominator = 1
        self.at_high = np.zeros(n + m, dtype=bool)
        self.pivots = 0
        self._ray = (0, 1)
        self.pivot_limit, self.time_limit = pivot_limit, time_limit
        self._started = time.perf_counter()

    def start(self, vertex: Vertex) -> None:
        """Go to a vertex as far as its choice of basic variables is independent.

        Each point enters in place of a moment, which goes to its bound; one that depends on those before it is passed over.
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
        """Make a point basic in place of one of some moments, if its column allows."""
        column = self._column(point)
        room = [place for place in np.flatnonzero(column != 0).tolist() if int(self.basic[place]) in leaving]
        if not room:
            return False
        place = min(room, key=lambda p: abs(column[p]))  # any will do; a small one keeps the numbers short
        leaving.discard(int(self.basic[place]))
        self._exchange(place, point, column)
        return True

    def finish(self) -> bool:
        """Go on to the optimum; False if no h is feasible, which the row of :meth:`farkas` then proves."""
        stalled, best = 0, None
        while True:
            reduced = self._reduced_costs()
            self._flip(reduced)
            values = self._basic_values()
            above = values - self.high[self.basic] * self.denominator
            below = self.low[self.basic] * self.denominator - values
            broken = np.flatnonzero(np.maximum(above, below) > 0)
            if not broken.size:
                return True
            objective = Fraction(int(self._objective(values)), self.denominator)
            stalled = 0 if best is None or objective < best else stalled + 1
            best = objective
            careful = stalled > PATIENCE
            key = self.basic[broken] if careful else -np.maximum(above, below)[broken]
            place = int(broken[int(np.argmin(key))])
            sign = 1 if below[place] > 0 else -1
            entering = self._entering(place, sign, reduced)
            if entering is None:
                self._ray = (place, sign)
                return False
            if self.pivot_limit is not None and self.pivots >= self.pivot_limit:
                raise LimitReachedError(f"pivot_limit={self.pivot_limit} steps were not enough")
            self.at_high[self.basic[place]] = sign < 0
            self._exchange(place, entering, self._column(entering))
            self.pivots += 1

    def memberships(self) -> list[Fraction]:
        """Return h at the present vertex."""
        n = self.program.weights.size
        h = [Fraction(int(value)) for value in np.where(self.at_high[:n], self.high[:n], self.low[:n])]
        for variable, value in zip(self.basic.tolist(), self._basic_values().tolist(), strict=True):
            if variable < n:
                h[variable] = Fraction(value, self.denominator)
        return h

    def multipliers(self) -> list[Fraction]:
        """Return y of the present vertex."""
        return [Fraction(int(value), self.denominator) for value in self.cost[self.basic] @ self.inverse]

    def farkas(self) -> list[Fraction]:
        """Return the multipliers that prove that no h is feasible."""
        place, sign = self._ray
        return [Fraction(sign * int(value), self.denominator) for value in self.inverse[place]]

    def _columns_times(self, y: Integers) -> Integers:
        """Return ``y . column`` of every variable."""
        return np.concatenate([y @ self.program.M, -y])

    def _column(self, variable: int) -> Integers:
        """Return the column of a variable in terms of the basic ones, times the denominator."""
        n = self.program.weights.size
        return self.inverse @ self.program.M[:, variable] if variable < n else -self.inverse[:, variable - n]

    def _reduced_costs(self) -> Integers:
        """Return the reduced cost of every variable, times the denominator: above zero, more of it is better."""
        reduced = self.cost * self.denominator - self._columns_times(self.cost[self.basic] @ self.inverse)
        reduced[self.basic] = 0
        return reduced

    def _flip(self, reduced: Integers) -> None:
        self.at_high = np.where(reduced > 0, True, np.where(reduced < 0, False, self.at_high)).astype(bool)

    def _nonbasic(self) -> Integers:
        values = np.where(self.at_high, self.high, self.low)
        values[self.basic] = 0
        return values

    def _basic_values(self) -> Integers:
        """Return the values of the basic variables, times the denominator."""
        n = self.program.weights.size
        values = self._nonbasic()
        solved: Integers = self.inverse @ (values[n:] - self.program.M @ values[:n])
        return solved

    def _objective(self, basic_values: Integers) -> int:
        return int(self.cost @ self._nonbasic()) * self.denominator + int(self.cost[self.basic] @ basic_values)

    def _entering(self, place: int, sign: int, reduced: Integers) -> int | None:
        """Return the variable that enters: the least ratio of reduced cost to its entry in the row, the first of equals."""
        row = self._columns_times(self.inverse[place]) * sign
        able = np.where(self.at_high, row > 0, row < 0) & (self.low < self.high)
        able[self.basic] = False
        candidates = np.flatnonzero(able)
        if not candidates.size:
            return None
        best = int(candidates[0])
        for j in candidates[1:].tolist():
            if abs(reduced[j] * row[best]) < abs(reduced[best] * row[j]):
                best = j
        return best

    def _exchange(self, place: int, entering: int, column: Integers) -> None:
        if self.time_limit is not None and time.perf_counter() - self._started > self.time_limit:
            raise LimitReachedError(f"time_limit={self.time_limit:g} s ran out after {self.pivots} steps")
        pivot, row = column[place], self.inverse[place].copy()
        changed = (self.inverse * pivot - np.outer(column, row)) // self.denominator
        changed[place] = row
        self.inverse, self.denominator = (changed, int(pivot)) if pivot > 0 else (-changed, -int(pivot))
        self.basic[place] = entering
