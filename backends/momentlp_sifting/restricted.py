"""The exact optimum of a problem that fits in memory, by a simplex method that sees only what matters.

The dual of the problem is to minimise a sum of hinges and of the bounds' support functions::

    f(y) = sum_i u_i max(0, w_i - a_i . y) + sum_j ( U_j max(y_j, 0) + L_j min(y_j, 0) )

Points far from the hyperplane keep the side they are on: of their hinges only one leg matters. Moments that do not hold keep
``y_j = 0``. What remains is a small linear program over the points W near the hyperplane and the moments R that hold. Its
answer is priced by two products with A: points outside W that changed sides and moments outside R that are violated come in,
and W and R only grow, so it ends; and when nothing comes in, (h, y) is the optimum of the whole.

A leg lies below its hinge, so each small program bounds f from below as far as its moments go. Points that were put on the
wrong side may leave it without a feasible point: one more column, with a price, makes up for what they lack.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from momentlp.backend.interface import Answer, Outcome
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp_sifting.interior import Barrier, follow

__all__ = ["Inner", "Pair", "StoppedError", "Tally", "on_plane", "settle"]

Mask = NDArray[np.bool_]
Pair = tuple[FloatArray, FloatArray]
Inner = Callable[[Problem, Pair | None], Answer]  # solves a small problem, from a start
NEAREST = 100  # points near the hyperplane beyond those that a vertex needs
CROWDED, MORE = (
    0.97,
    4,
)  # where that share of the moments holds, vertices crowd: so many times as many points shorten the way
ON_PLANE = 1e-9  # a score this small, in units of the weights, has no side
HOLDS = 1e-9  # a moment this far beyond its bound, in points, is violated
SMALL = 20_000  # as many entries of A go to the simplex method at once
ROUNDS = 200
DEAREST = 1e8  # the price at which what is lacking cannot be had


class StoppedError(Exception):
    """The inner solver stopped short of an optimum; ``answer`` says why, and ``pair`` is the best that is known."""

    def __init__(self, answer: Answer, pair: Pair) -> None:
        super().__init__(answer.message)
        self.answer, self.pair = answer, pair


@dataclass
class Tally:
    """What was done so far, and whether time is up."""

    late: Callable[[], bool]
    steps: int = 0
    iterations: int = 0
    programs: int = 0
    largest: tuple[int, int] = (0, 0)

    def count(self, answer: Answer, shape: tuple[int, int]) -> None:
        """Add a small program."""
        self.programs += 1
        self.iterations += answer.iterations or 0
        self.largest = max(self.largest, shape, key=math.prod)


def settle(problem: Barrier, inner: Inner, tally: Tally, start: Pair | None = None) -> Pair:
    """Return the optimal vertex (h, y) of a dense problem.

    Parameters
    ----------
    problem : Barrier
    inner : callable
        Solves a small :class:`~momentlp.Problem` from a start.
    tally : Tally
        Counts what is done.
    start : pair, optional
        (h, y) of a problem nearby; without one the interior-point method finds a guess.
    """
    n, m = problem.A.shape
    guessed = start is None and n * m > SMALL and n > 2 * m
    if guessed:
        start = _guess(problem, tally)
    now = _Restriction.around(problem, start)
    unit = on_plane(problem.weights)
    for _ in range(ROUNDS):
        h, y, lacking = now.solve(inner, tally)
        scores = problem.weights - problem.A @ y
        strays = ~now.points & np.where(now.side, scores < -unit, scores > unit)
        reached = h @ problem.A
        beyond = ~now.moments & (np.maximum(reached - problem.upper, problem.lower - reached) > HOLDS)
        poor = lacking > HOLDS or int(strays.sum()) > int(now.points.sum())
        if poor and start is not None and not now.points.all():
            if now.spreads and not guessed:  # the start is no help
                guessed, start = True, _guess(problem, tally)
                now = _Restriction.around(problem, start)
            else:
                now.spread(*start)
        elif strays.any() or beyond.any():
            now.widen(strays, beyond)
        elif lacking > HOLDS:
            now.insist(h, y)
        else:
            return h, y
    raise StoppedError(Answer(Outcome.FAILED, None, None, f"no end after {ROUNDS} rounds"), (h, y))


def on_plane(weights: FloatArray) -> float:
    """Return the size of a score that has no side: that of a point on the hyperplane, but for rounding."""
    return ON_PLANE * max(1.0, float(np.abs(weights).max(initial=0.0)))


class _Restriction:
    """The small program: which points and moments are in it, and on which side the other points are held."""

    def __init__(self, problem: Barrier, points: Mask, moments: Mask, side: Mask, start: Pair | None) -> None:
        self.problem, self.points, self.moments, self.side, self.start = problem, points, moments, side, start
        self.spreads = 0
        self.price = 10.0 if start is None else min(DEAREST / 100, 10.0 * (1.0 + float(np.abs(start[1]).sum())))

    @classmethod
    def around(cls, problem: Barrier, start: Pair | None, least: int = 0) -> _Restriction:
        """Choose the points, at least so many, and moments that matter at a start; all of them if there is none."""
        n, m = problem.A.shape
        if start is None:
            return cls(problem, np.ones(n, dtype=bool), np.ones(m, dtype=bool), np.zeros(n, dtype=bool), None)
        h, y = start
        scores = problem.weights - problem.A @ y
        moments = (y != 0) | (problem.lower == problem.upper)
        points = (h > 0) & (h < problem.caps)
        points |= np.where(scores > 0, h <= 0, h >= problem.caps)  # on the wrong side
        held = int(moments.sum())
        more = (MORE if held > CROWDED * m else 1) * held + NEAREST
        wanted = min(n, max(least, min(int(points.sum()), 4 * held) + more))
        points[np.argpartition(np.abs(scores), wanted - 1)[:wanted]] = True
        return cls(problem, points, moments, scores > 0, (_as_vertex(problem.caps, h, held), y))

    def solve(self, inner: Inner, tally: Tally) -> tuple[FloatArray, FloatArray, float]:
        """Solve the small program; return (h, y) for all points and moments, and what is lacking to a feasible point."""
        whole, chosen, rows = self.problem, np.flatnonzero(self.points), np.flatnonzero(self.moments)
        if not rows.size:  # no moment holds: every point that weighs something is in
            return np.where(whole.weights > 0, whole.caps, 0.0), np.zeros(whole.A.shape[1]), 0.0
        h = np.where(self.side & ~self.points, whole.caps, 0.0)
        held = (h @ whole.A)[rows]
        A = whole.A[np.ix_(chosen, rows)]
        weights, caps = whole.weights[chosen], whole.caps[chosen]
        lower, upper = whole.lower[rows] - held, whole.upper[rows] - held
        start = None if self.start is None else (self.start[0][chosen], self.start[1][rows])
        first = caps / 2 if start is None else start[0]
        reached = first @ A
        missing = np.maximum(reached - upper, 0.0) - np.maximum(lower - reached, 0.0)
        most = float(np.abs(missing).max(initial=0.0))
        if most > 0:  # one more column takes away what is too much and brings what is too little, at a price
            A = np.vstack([A, -missing / most])
            weights, caps = np.append(weights, -self.price), np.append(caps, 2 * most)
            start = None if start is None else (np.append(start[0], 0.0), start[1])
        answer = inner(Problem.from_arrays(A, lower, upper, weights=weights, caps=caps), start)
        tally.count(answer, (chosen.size, rows.size))
        y = np.zeros(whole.A.shape[1])
        if answer.membership is not None:
            h[chosen] = answer.membership[: chosen.size]
        if answer.multipliers is not None:
            y[rows] = answer.multipliers
        if answer.outcome is not Outcome.OPTIMAL or answer.membership is None or answer.multipliers is None:
            raise StoppedError(answer, (h, y))
        self.start = h, np.where(np.abs(y) > 1e-12, y, 0.0)
        return h, y, float(answer.membership[chosen.size :].sum())

    def widen(self, strays: Mask, beyond: Mask) -> None:
        """Take in points that changed sides and moments that are violated."""
        self.points, self.moments = self.points | strays, self.moments | beyond

    def spread(self, h: FloatArray, y: FloatArray) -> None:
        """Begin again from a start with eight times as many points: the sides of those outside were wrong."""
        self.spreads += 1
        again = _Restriction.around(self.problem, (h, y), 8 * int(self.points.sum()))
        self.points, self.side, self.start = again.points, again.side, again.start
        self.moments = self.moments | again.moments

    def insist(self, h: FloatArray, y: FloatArray) -> None:
        """Raise the price of what is lacking: either it can be had, or no point is feasible."""
        self.price *= 100.0
        if self.price > DEAREST:
            raise StoppedError(Answer(Outcome.INFEASIBLE, None, None, "no set of points meets the bounds"), (h, y))


def _as_vertex(caps: FloatArray, h: FloatArray, most: int) -> FloatArray:
    """Return memberships of which at most so many, those furthest inside, are between their bounds."""
    inside = np.minimum(h, caps - h) / caps
    between = np.flatnonzero(inside > 0)
    if between.size <= most:
        return h
    rounded = between[np.argpartition(-inside[between], most)[most:]]
    h = h.copy()
    h[rounded] = np.where(h[rounded] > caps[rounded] / 2, caps[rounded], 0.0)
    return h


def _guess(problem: Barrier, tally: Tally) -> Pair:
    """Return what the interior-point method finds out, rounded to what it means."""
    now, steps = follow(problem, tally.late)
    tally.steps += steps
    h = np.where(now.open, now.h, np.where(now.h > problem.caps / 2, problem.caps, 0.0))
    return h, np.where(now.held, now.y, 0.0)
