"""The program of the core: some points are free, all others are fixed in the set or outside."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.problem.problem import Problem
from momentlp_core.exchange import CoreRows

__all__ = ["CoreProgram"]

ROUNDING = 8 * float(np.finfo(np.float64).eps)  # of a sum, relative to its largest entry and the number of points
WATCHED_ENTRIES = 6.0  # a bound is watched from the beginning if so many of the largest entries reach it
INACTIVE_PRICE = 0.5  # of a bound without a multiplier, times the smallest multiplier


@dataclass(eq=False)
class CoreProgram:
    """The free points, and the room that the others leave.

    Attributes
    ----------
    problem : Problem
        The whole problem.
    points : array of int, shape (k,)
    fixed : array, shape (N,)
        The memberships of the others; 0 for the free points.
    A : array, shape (k, m)
    reached : array, shape (m,)
        The sums of the fixed points.
    tolerance : array, shape (m,)
        Rounding of the sums.
    outside : float
        The weight of the fixed points.
    watched : array of bool, shape (2 m,)
        The bounds that exchanges watch, upper ones first. Others are checked at the end only.
    """

    problem: Problem
    points: IndexArray
    fixed: FloatArray
    A: FloatArray
    reached: FloatArray
    tolerance: FloatArray
    outside: float
    watched: NDArray[np.bool_] = field(init=False)

    @classmethod
    def of(cls, problem: Problem, points: IndexArray, memberships: FloatArray) -> CoreProgram:
        """Free some points, and fix all others at the given memberships."""
        fixed = np.array(memberships, dtype=np.float64)
        size = float(fixed.sum())
        fixed[points] = 0.0
        core = cls(
            problem=problem,
            points=points,
            fixed=fixed,
            A=np.asarray(problem.A.rows(np.sort(points)), dtype=np.float64)[np.argsort(np.argsort(points))],
            reached=np.asarray(problem.A.T @ fixed, dtype=np.float64),
            tolerance=ROUNDING * (1.0 + size) * problem.scale,
            outside=float(np.ascontiguousarray(problem.weights) @ fixed),
        )
        room = core._room(core.start(np.rint(memberships)))
        reach = WATCHED_ENTRIES * np.abs(core.A).max(axis=0, initial=0.0)
        core.watched = room < np.concatenate([reach, reach])
        return core

    def to_problem(self) -> Problem:
        """Return the integer program of the free points."""
        caps, weights = self.problem.caps[self.points], self.problem.weights[self.points]
        lower, upper = self.problem.lower - self.reached, self.problem.upper - self.reached
        small = Problem.from_arrays(self.A, lower, upper, weights=weights, caps=caps)
        return replace(small, whole=np.asarray(self.problem.whole)[self.points])

    def rows(self, y: FloatArray, unit: float) -> CoreRows:
        """Return the rows that exchanges watch, with the multipliers as prices.

        Parameters
        ----------
        y : array, shape (m,)
        unit : float
            The weight of a typical point.
        """
        size = np.abs(self.A).mean(axis=0) + 1e-300
        upper, lower = np.maximum(y, 0.0), np.maximum(-y, 0.0)
        prices = np.concatenate([upper, lower])
        used = prices[prices > 0]
        least = INACTIVE_PRICE * (float(used.min()) if used.size else unit)
        equal = np.tile(self.problem.lower == self.problem.upper, 2)
        prices = np.where(equal, np.maximum(np.tile(np.abs(y), 2), least), np.where(prices > 0, prices, least))
        G, room = np.hstack([self.A, -self.A]), self._room()
        some = np.flatnonzero(self.watched)
        small = np.tile(size, 2) > 1e-200
        some = some[small[some]]
        return CoreRows(
            G=G[:, some],
            room=room[some],
            tolerance=np.tile(self.tolerance, 2)[some],
            prices=prices[some],
            weights=np.ascontiguousarray(self.problem.weights[self.points]),
            caps=np.ascontiguousarray(self.problem.caps[self.points]),
        )

    def start(self, memberships: FloatArray) -> FloatArray:
        """Return the memberships of the free points in a set."""
        return np.clip(np.asarray(memberships, dtype=np.float64)[self.points], 0.0, self.problem.caps[self.points])

    def fill(self, x: FloatArray) -> FloatArray:
        """Return the memberships of all points."""
        h = self.fixed.copy()
        h[self.points] = x
        return h

    def is_feasible(self, x: FloatArray) -> bool:
        """Return whether no bound is violated but by rounding."""
        return bool((self._room(x) >= -np.tile(self.tolerance, 2)).all())

    def watch_violated(self, x: FloatArray) -> bool:
        """Watch the bounds that a set violates; return whether there are some that were not watched before."""
        violated = self._room(x) < -np.tile(self.tolerance, 2)
        is_new = bool((violated & ~self.watched).any())
        self.watched |= violated
        return is_new

    def _room(self, x: FloatArray | None = None) -> FloatArray:
        """Return what is left to the upper bounds, and to the lower ones, for the free points or beside a set of them."""
        reached = self.reached if x is None else self.reached + x @ self.A
        return np.concatenate([self.problem.upper - reached, reached - self.problem.lower])
