"""The exact optimum of a problem in memory, by a restricted master problem that the simplex method solves.

The dual of the problem is to minimise a sum of hinges and of the bounds' support functions::

    f(y) = sum_i u_i max(0, w_i - a_i . y) + sum_j ( U_j max(y_j, 0) + L_j min(y_j, 0) )

Points far from the hyperplane keep the side they are on: only one of the two linear pieces of their hinge matters. Inactive
moments keep ``y_j = 0``. What remains is the restricted master problem: a small linear program over the points W near the
hyperplane and the active moments R. Two products with A price its answer. Points outside W that changed sides and moments
outside R that are violated are added. W and R only grow, so this ends. When nothing is added, (h, y) is the optimum of the
whole problem.

Points that were put on the wrong side may leave the restricted problem without a feasible point. One artificial column, with
a penalty, makes up for the infeasibility.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from momentlp.backend.interface import Answer, Outcome
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.problem.problem import Problem
from momentlp_sifting.few_fractional import make_few_fractional
from momentlp_sifting.interior_point import Iterate, follow_central_path
from momentlp_sifting.program import Program
from momentlp_sifting.vertex import Vertex, find_vertex, polish_vertex

__all__ = ["InnerSolver", "Pair", "StoppedError", "WorkCounter", "score_tolerance", "solve_restricted"]

Mask = NDArray[np.bool_]
Pair = tuple[FloatArray, FloatArray]
InnerSolver = Callable[[Problem, Pair | None], Answer]  # solves a restricted problem, from a start (h, y) or None
N_EXTRA_POINTS = 100  # points near the hyperplane, in addition to those that a vertex needs
# If more than this share of the moments is active, vertices lie close together: more points then save simplex iterations.
CROWDED_SHARE, CROWDED_FACTOR = 0.97, 4
SCORE_TOLERANCE = 1e-9  # relative to the weights: points with a smaller score lie on the hyperplane
MOMENT_TOLERANCE = 1e-9  # a moment further beyond its bound, in units of one point, is violated
ON_PLANE = 100.0  # times that tolerance: points of a guess that may lie on the hyperplane keep the side of their membership
MANY_UNDECIDED = 4  # times as many undecided points as active moments: there are many optima
MAX_COLUMNS_KEPT = 200  # all columns keep their sums where memberships are rounded, up to this number of columns
MAX_ENTRIES_AT_ONCE = 20_000  # a matrix with more entries does not go to the simplex method as a whole
MAX_ENTRIES_IF_FEW_POINTS = 1_000_000  # the same, if there are not many more points than moments
MIN_MOMENTS_FOR_VERTEX = 150  # below, the simplex method is as fast
FEW_ADDED = 30  # points and moments
MAX_ROUNDS = 200  # of solving and pricing
MAX_PENALTY = 1e8  # penalty of the artificial column above which the problem is infeasible


class StoppedError(Exception):
    """The solve ended without an optimum: ``answer`` says why, ``pair`` is the best (h, y) so far."""

    def __init__(self, answer: Answer, pair: Pair) -> None:
        super().__init__(answer.message)
        self.answer, self.pair = answer, pair


@dataclass
class WorkCounter:
    """Counts the work of one solve.

    Attributes
    ----------
    is_late : callable
        Returns whether the time limit has passed.
    steps : int
        Steps of the interior-point method.
    iterations : int
        Iterations of the inner backend.
    programs : int
        Restricted problems that were solved.
    largest : pair of int
        Points and moments of the largest of them.
    vertices : int
        How many of them the interior-point method solved to a vertex.
    """

    is_late: Callable[[], bool]
    steps: int = 0
    iterations: int = 0
    programs: int = 0
    largest: tuple[int, int] = (0, 0)
    vertices: int = 0

    def count(self, answer: Answer, shape: tuple[int, int]) -> None:
        """Add a restricted problem that was solved."""
        self.programs += 1
        self.iterations += answer.iterations or 0
        self.largest = max(self.largest, shape, key=math.prod)


def solve_restricted(
    problem: Program,
    inner: InnerSolver,
    tally: WorkCounter,
    start: Pair | None = None,
    *,
    near: FloatArray | None = None,
    is_part: bool = False,
) -> Pair:
    """Return the optimal vertex (h, y) of a problem in memory.

    Parameters
    ----------
    problem : Program
    inner : callable
        Solves a restricted problem from a start.
    tally : WorkCounter
        Counts the work.
    start : pair of arrays, optional
        (h, y) of a similar problem; without one the interior-point method finds a guess.
    near : array of shape (m,), optional
        Multipliers near which all points of the problem lie, for the interior-point method to start from.
    is_part : bool
        Whether other points were fixed on their sides. Then a problem whose interior-point method diverges counts as
        infeasible at once, because more points will be added.

    Raises
    ------
    StoppedError
        If the problem is infeasible, a limit was reached, or the inner solver failed.
    """
    n, m = problem.shape
    is_guess = start is None and n * m > MAX_ENTRIES_AT_ONCE and (n > 2 * m or n * m > MAX_ENTRIES_IF_FEW_POINTS)
    if is_guess:
        start = _guess_by_interior_point(problem, tally, near, is_part)
    master = _RestrictedMaster.around(problem, start)
    unit = score_tolerance(problem.weights)
    for _ in range(MAX_ROUNDS):
        h, y, infeasibility = master.solve(inner, tally)
        scores = problem.scores(y)
        changed = ~master.points & np.where(master.side, scores < -unit, scores > unit)
        reached = problem.adjoint(h)
        violated = ~master.moments & (np.maximum(reached - problem.upper, problem.lower - reached) > MOMENT_TOLERANCE)
        is_poor = infeasibility > MOMENT_TOLERANCE or int(changed.sum()) > int(master.points.sum())
        if is_poor and start is not None and not master.points.all():
            if master.n_restarts and not is_guess:  # restarts did not help: replace the caller's start
                is_guess, start = True, _guess_by_interior_point(problem, tally, near, is_part)
                master = _RestrictedMaster.around(problem, start)
            else:
                master.restart_larger(*start)
        elif changed.any() or violated.any():
            master.add(changed, violated)
        elif infeasibility > MOMENT_TOLERANCE:
            master.raise_price(h, y)
        else:
            return h, y
    raise StoppedError(Answer(Outcome.FAILED, None, None, f"not finished after {MAX_ROUNDS} rounds"), (h, y))


def score_tolerance(weights: FloatArray) -> float:
    """Return the score below which a point counts as lying on the hyperplane: it is not zero only through rounding."""
    return SCORE_TOLERANCE * max(1.0, float(np.abs(weights).max(initial=0.0)))


class _RestrictedMaster:
    """The restricted master problem.

    Attributes
    ----------
    points, moments : masks
        Which points and moments it contains.
    side : mask
        Which of the other points are fixed at their cap; the rest are fixed at 0.
    start : pair of arrays, optional
        (h, y) from which the inner solver starts.
    penalty : float
        Penalty of the artificial column.
    n_added : float
        How many points and moments were added since it was last solved; infinite if it was not.
    """

    def __init__(self, problem: Program, points: Mask, moments: Mask, side: Mask, start: Pair | None) -> None:
        self.problem, self.points, self.moments, self.side, self.start = problem, points, moments, side, start
        self.n_restarts, self.n_added = 0, math.inf
        self.penalty = 10.0 if start is None else min(MAX_PENALTY / 100, 10.0 * (1.0 + float(np.abs(start[1]).sum())))

    @classmethod
    def around(cls, problem: Program, start: Pair | None, min_points: int = 0) -> _RestrictedMaster:
        """Choose the points (at least ``min_points``) and moments that matter at a start; without a start, all."""
        n, m = problem.shape
        if start is None:
            return cls(problem, np.ones(n, dtype=bool), np.ones(m, dtype=bool), np.zeros(n, dtype=bool), None)
        h, y = start
        scores = problem.scores(y)
        moments = (y != 0) | (problem.lower == problem.upper)
        points = (h > 0) & (h < problem.caps)
        on_plane = np.abs(scores) <= ON_PLANE * score_tolerance(problem.weights)
        points |= ~on_plane & np.where(scores > 0, h <= 0, h >= problem.caps)  # on the wrong side
        n_active = int(moments.sum())
        more = (CROWDED_FACTOR if n_active > CROWDED_SHARE * m else 1) * n_active + N_EXTRA_POINTS
        wanted = min(n, max(min_points, min(int(points.sum()), 4 * n_active) + more))
        points[np.argpartition(np.abs(scores), wanted - 1)[:wanted]] = True
        side = np.where(on_plane, h > problem.caps / 2, scores > 0)
        return cls(problem, points, moments, side, (_limit_fractional(problem.caps, h, n_active), y))

    def solve(self, inner: InnerSolver, tally: WorkCounter) -> tuple[FloatArray, FloatArray, float]:
        """Solve; return (h, y) for all points and moments, and the value of the artificial column (0 if feasible)."""
        whole, chosen, rows = self.problem, np.flatnonzero(self.points), np.flatnonzero(self.moments)
        if not rows.size:  # no active moment: every point of positive weight is in
            return np.where(whole.weights > 0, whole.caps, 0.0), np.zeros(whole.shape[1]), 0.0
        h = np.where(self.side & ~self.points, whole.caps, 0.0)
        fixed = whole.adjoint(h)[rows]  # what the fixed points add to the moments
        small = Program.plain(
            whole.rows(chosen, rows), whole.weights[chosen], whole.caps[chosen],
            whole.lower[rows] - fixed, whole.upper[rows] - fixed,
        )  # fmt: skip
        start = None if self.start is None else (self.start[0][chosen], self.start[1][rows])
        answer, vertex = None, self._find_vertex(small, tally)
        if vertex is not None:
            start = vertex.h, vertex.y
            answer = None if vertex.n_wrong else Answer(Outcome.OPTIMAL, *start, message="optimal")
        reached = small.adjoint(small.caps / 2 if start is None else start[0])
        excess = np.maximum(reached - small.upper, 0.0) - np.maximum(small.lower - reached, 0.0)
        largest = float(np.abs(excess).max(initial=0.0))
        if largest > 0 and answer is None:  # the artificial column removes the excess of every row, at a penalty
            small = replace(
                small,
                Z=small.Z.with_point(-excess / largest),
                weights=np.append(small.weights, -self.penalty),
                caps=np.append(small.caps, 2 * largest),
            )
            start = None if start is None else (np.append(start[0], 0.0), start[1])
        if answer is None:
            answer = inner(small.to_problem(), start)
            if answer.outcome is Outcome.OPTIMAL and answer.membership is not None and answer.multipliers is not None:
                h_small, y_small = polish_vertex(small, answer.membership, answer.multipliers)
                answer = replace(answer, membership=h_small, multipliers=y_small)
        tally.count(answer, (chosen.size, rows.size))
        y = np.zeros(whole.shape[1])
        if answer.membership is not None:
            h[chosen] = answer.membership[: chosen.size]
        if answer.multipliers is not None:
            y[rows] = answer.multipliers
        if answer.outcome is not Outcome.OPTIMAL or answer.membership is None or answer.multipliers is None:
            raise StoppedError(answer, (h, y))
        self.start = h, np.where(np.abs(y) > 1e-12, y, 0.0)
        return h, y, float(answer.membership[chosen.size :].sum())

    def _find_vertex(self, small: Program, tally: WorkCounter) -> Vertex | None:
        """Solve by the interior-point method if there are many moments; return None if that finds no good vertex.

        The simplex method is faster from the last vertex, if few points and moments were added since.
        """
        if min(small.shape) < MIN_MOMENTS_FOR_VERTEX or self.n_added <= FEW_ADDED:
            return None
        vertex, steps = find_vertex(small, tally.is_late)
        tally.steps += steps
        tally.vertices += vertex is not None and vertex.n_wrong == 0
        return vertex

    def add(self, changed: Mask, violated: Mask) -> None:
        """Add points that changed sides and moments that are violated."""
        self.n_added = int(changed.sum()) + int(violated.sum())
        self.points, self.moments = self.points | changed, self.moments | violated

    def restart_larger(self, h: FloatArray, y: FloatArray) -> None:
        """Begin again from a start with eight times as many points: points outside were on the wrong side."""
        self.n_restarts, self.n_added = self.n_restarts + 1, math.inf
        again = _RestrictedMaster.around(self.problem, (h, y), 8 * int(self.points.sum()))
        self.points, self.side, self.start = again.points, again.side, again.start
        self.moments = self.moments | again.moments

    def raise_price(self, h: FloatArray, y: FloatArray) -> None:
        """Raise the penalty of the artificial column; at its maximum the problem is infeasible."""
        self.penalty *= 100.0
        if self.penalty > MAX_PENALTY:
            raise StoppedError(Answer(Outcome.INFEASIBLE, None, None, "no set of points meets the bounds"), (h, y))


def _limit_fractional(caps: FloatArray, h: FloatArray, max_fractional: int) -> FloatArray:
    """Round all but the ``max_fractional`` memberships that are furthest from their bounds to the nearest bound."""
    inside = np.minimum(h, caps - h) / caps
    between = np.flatnonzero(inside > 0)
    if between.size <= max_fractional:
        return h
    rounded = between[np.argpartition(-inside[between], max_fractional)[max_fractional:]]
    h = h.copy()
    h[rounded] = np.where(h[rounded] > caps[rounded] / 2, caps[rounded], 0.0)
    return h


def _guess_by_interior_point(problem: Program, tally: WorkCounter, near: FloatArray | None, is_part: bool) -> Pair:
    """Return (h, y) of the interior-point method: decided points rounded to their bound, inactive moments to y = 0."""
    iterate, steps = follow_central_path(problem, tally.is_late, near)
    tally.steps += steps
    if iterate.diverged and near is not None:
        iterate, steps = follow_central_path(problem, tally.is_late)
        tally.steps += steps
    if iterate.diverged and is_part:
        raise StoppedError(
            Answer(Outcome.INFEASIBLE, None, None, "the interior-point method diverges"), (iterate.h, iterate.y)
        )
    h = np.where(iterate.undecided, iterate.h, np.where(iterate.h > problem.caps / 2, problem.caps, 0.0))
    n_undecided, n_active = int(iterate.undecided.sum()), int(iterate.active.sum())
    if not tally.is_late() and n_undecided > MANY_UNDECIDED * n_active + N_EXTRA_POINTS:
        h = make_few_fractional(problem.Z, _columns_to_keep(problem, iterate), h, problem.caps, np.random.default_rng(0))
    y = np.where(iterate.active, iterate.y, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        is_usable = np.isfinite(problem.forward(y)).all()
    return h, y if is_usable else np.zeros_like(y)


def _columns_to_keep(problem: Program, iterate: Iterate) -> IndexArray:
    """Return the columns whose sums must not change where memberships are rounded: all, or the active ones of very many.

    Other moments may then be violated; pricing adds them.
    """
    n_columns = problem.Z.shape[1]
    if n_columns <= MAX_COLUMNS_KEPT:
        return np.arange(n_columns)
    active = np.unique(problem.structure.column[iterate.active])
    return np.append(active, n_columns - 1) if problem.structure.has_pairs else active
