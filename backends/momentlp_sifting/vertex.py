r"""A small problem with many moments, solved to a vertex without the simplex method.

The interior-point method runs in double precision until it is clear which points F are strictly between 0 and their cap,
and which moments R are at a bound. Then linear equations give the vertex::

    sum_{i in F} A_ij h_i = b_j - (what the others add)   for j in R        (the moments R are exactly at their bounds)
    sum_{j in R} A_ij y_j = w_i                           for i in F        (the points F lie exactly on the hyperplane)

If there are more points than moments, the set of optima has more than one point. Then h moves along the null space of the
first equations, which changes neither the moments nor the weight, until enough memberships are at a bound. The result is
kept only if no membership, no moment and no score is beyond its bound, and the bound of the multipliers is its weight: then
it is the optimum, whatever the interior-point method did.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, lapack, lstsq, qr

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp_sifting.few_fractional import move_to_bounds
from momentlp_sifting.interior_point import DIVERGED, Iterate, take_step
from momentlp_sifting.normal_equations import Precision
from momentlp_sifting.optimality import check_optimality
from momentlp_sifting.program import Program

__all__ = ["Vertex", "find_vertex", "polish_vertex"]

Mask = NDArray[np.bool_]

PRECISION = Precision(min_relative_d=1e-10, max_relative_e=1e8, n_corrections=2, refine=True)
MAX_STEPS = 80
FIRST_TRY_MU = 1e-3  # relative to the weights: before, it is not clear which points are fractional
MAX_LATE_STEPS = 8  # at such a small mu: nothing more is learned
# How many more fractional points than moments at a bound there may be where a vertex is looked for, or fewer, as a share of
# the moments: moments may depend on each other, but one hyperplane rarely holds more points than it has multipliers. At a
# smaller mu than LATE_MU, relative to the weights, any number: there are many optima then.
MAX_SURPLUS, MAX_LACK, LATE_MU = 3, 0.01, 1e-8
MIN_MULTIPLIER, MAX_POLISHED = 1e-9, 1500  # of a moment at its bound; points and moments of a vertex that is polished
MAX_REPAIRS = 6  # of one vertex
FEW_WRONG = 0.003  # violations per moment at a bound that the simplex method mends sooner than further steps would
MAX_WRONG = 0.05  # of all fractional points and moments at a bound: with more violations the guess is not worth a repair


class Vertex(NamedTuple):
    """A vertex (h, y), and how many conditions of an optimum it violates: none if it is optimal."""

    h: FloatArray
    y: FloatArray
    n_wrong: int


def find_vertex(problem: Program, is_late: Callable[[], bool]) -> tuple[Vertex | None, int]:
    """Return the optimal vertex, or the best one that was found, and the number of steps; None if there is no good one.

    Parameters
    ----------
    problem : Program
        Dense, and small enough for some dozens of factorisations.
    is_late : callable
        Returns whether the time limit has passed.
    """
    unit = problem.weight_unit
    now = None if is_late() else _start(problem)
    if now is None:
        return None, 0
    tried: tuple[bytes, bytes] | None = None
    n_late, first_mu, n_steps = 0, now.mu, 0
    best: Vertex | None = None
    while n_steps < MAX_STEPS:
        n_steps += 1
        following = None if is_late() else take_step(problem, now, PRECISION, single=False)
        if following is None or following.mu > DIVERGED * first_mu:
            break
        now = following
        if now.mu > FIRST_TRY_MU * unit:
            continue
        between, at_bound = _guess_vertex(problem, now, unit)
        guess, surplus = (between.tobytes(), at_bound.tobytes()), int(between.sum()) - int(at_bound.sum())
        is_late_step = now.mu < LATE_MU * unit
        is_vertex = -MAX_LACK * int(at_bound.sum()) - MAX_SURPLUS <= surplus <= MAX_SURPLUS
        if guess != tried and (is_late_step or is_vertex):
            tried, found = guess, _repair_vertex(problem, now, between, at_bound, is_late)
            if found is not None and (best is None or found.n_wrong < best.n_wrong):
                best = found
            if best is not None and best.n_wrong <= FEW_WRONG * int(at_bound.sum()):
                break
        n_late += is_late_step
        if n_late > MAX_LATE_STEPS:
            break
    return best, n_steps


def _start(problem: Program) -> Iterate | None:
    """Return the first iterate; None on numerical trouble."""
    try:
        now = Iterate.first(problem, single=False)
    except LinAlgError:
        return None
    return now if np.isfinite(now.y).all() and np.isfinite(now.h).all() else None


def polish_vertex(problem: Program, h: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the vertex that (h, y) is to the tolerance of a solver, right to rounding; (h, y) itself if it is none.

    A certificate is then computed sooner: residuals of 1e-9 in many moments would take a linear program to judge.

    Parameters
    ----------
    problem : Program
    h, y : array
        The answer of another solver.
    """
    between = (h > 0) & (h < problem.caps)
    R = np.flatnonzero((np.abs(y) > MIN_MULTIPLIER) | ~problem.is_inequality)
    n_missing = R.size - int(between.sum())
    if n_missing < 0 or R.size > min(MAX_POLISHED, problem.caps.size):
        return h, y
    if n_missing:  # points of the hyperplane that are at a bound by chance
        distance = np.where(between, np.inf, np.abs(problem.scores(y)))
        between[np.argpartition(distance, n_missing - 1)[:n_missing]] = True
    pair = _solve_vertex(problem, (h, y), np.flatnonzero(between), R, h > problem.caps / 2, y > 0)
    found = None if pair is None else check_optimality(problem, *pair)
    return found if isinstance(found, tuple) else (h, y)


def _guess_vertex(problem: Program, now: Iterate, unit: float) -> tuple[Mask, Mask]:
    """Return which points are probably fractional, and which moments at a bound.

    Of the two factors of each product that tends to zero, the smaller one is the one that does.
    """
    caps = problem.caps
    between = (now.h * unit > now.zl * caps) & ((caps - now.h) * unit > now.zu * caps)
    size = np.sqrt(problem.Z.squares(np.full(caps.size, 1 / caps.size)))[problem.structure.column] + 1e-300
    at_lower = problem.has_lower & ((now.r - problem.lower) * unit < now.vl * size**2 * caps.mean())
    at_upper = problem.has_upper & ((problem.upper - now.r) * unit < now.vu * size**2 * caps.mean())
    return between, at_lower | at_upper | ~problem.is_inequality


def _repair_vertex(
    problem: Program, now: Iterate, between: Mask, at_bound: Mask, is_late: Callable[[], bool]
) -> Vertex | None:
    """Return the vertex of these points and moments, or of a few more or less: the best that was found, if it is a good one.

    Near the optimum, a moment that the vertex violates belongs to those at a bound, and a point on the wrong side of the
    hyperplane to the fractional ones. A membership beyond a bound, or a multiplier of the wrong sign, belongs to neither.
    """
    caps, best = problem.caps, None
    side, upper = now.h > caps / 2, now.vu > now.vl
    violated, before = np.zeros(at_bound.size, dtype=bool), math.inf
    for _ in range(MAX_REPAIRS):
        F, R = np.flatnonzero(between), np.flatnonzero(at_bound)
        found: Any = None
        for keep_all in (True, False) if R.size > F.size else (False,):
            solved = None if is_late() else _solve_vertex(problem, (now.h, now.y), F, R, side, upper, violated, keep_all)
            if solved is None:
                return best
            pair = solved
            found = check_optimality(problem, *pair)
            if isinstance(found, tuple):
                return Vertex(found[0], found[1], 0)
            n_wrong = found.count()
            if n_wrong <= MAX_WRONG * (F.size + R.size) and (best is None or n_wrong < best.n_wrong):
                best = Vertex(np.clip(pair[0], 0.0, caps), pair[1], n_wrong)
        if n_wrong >= before or n_wrong > MAX_WRONG * (F.size + R.size):
            break
        before = n_wrong
        violated |= found.below | found.above
        side = np.where(found.low | found.high, found.high, np.where(found.on_wrong_side, pair[0] > 0, side))
        upper = np.where(found.below | found.above, found.above, upper)
        between = (between | found.on_wrong_side) & ~(found.low | found.high)
        at_bound = (at_bound | found.below | found.above) & ~found.of_wrong_sign
    return best


def _solve_vertex(
    problem: Program,
    near: tuple[FloatArray, FloatArray],
    F: IndexArray,
    R: IndexArray,
    side: Mask,
    upper: Mask,
    needed: Mask | None = None,
    keep_all: bool = False,
) -> tuple[FloatArray, FloatArray] | None:
    """Return (h, y) at the vertex of the points F and the moments R, near the given one.

    ``side`` says which of the other points are at their cap, ``upper`` which of the moments R are at their upper bound. If
    there are more moments than points, they depend on each other. With ``keep_all`` all of them stay, and y is the nearest
    one that fits; otherwise as many as there are points, those that are ``needed`` among them.
    """
    caps = problem.caps
    h = np.where(side, caps, 0.0)
    h[F] = near[0][F]
    y = np.zeros(problem.lower.size)
    y[R] = near[1][R]
    if not (F.size and R.size):
        return h, y
    B = problem.dense_rows(F, R)
    if R.size > F.size and not keep_all:
        kept = _independent_moments(B, y[R], np.zeros(R.size, dtype=bool) if needed is None else needed[R])
        y[np.delete(R, kept)] = 0.0
        R, B = R[kept], B[:, kept]
    bound = np.where(upper & np.isfinite(problem.upper) | ~np.isfinite(problem.lower), problem.upper, problem.lower)[R]
    missing = bound - problem.adjoint(h)[R]
    try:
        dh, dy = _solve_both(B, missing, problem.weights[F] - B @ y[R])
    except (LinAlgError, ValueError):
        return None
    h[F] += dh
    y[R] += dy
    if F.size > R.size and (h[F] > 0).all() and (h[F] < caps[F]).all():
        h[F] = move_to_bounds(B, h[F], caps[F])
        missing = bound - problem.adjoint(h)[R]
        inside = (h[F] > 0) & (h[F] < caps[F])
        if inside.any():
            h[F[inside]] += _least_squares(B[inside].T, missing)
    return (h, y) if np.isfinite(h).all() and np.isfinite(y).all() else None


def _independent_moments(B: FloatArray, y: FloatArray, needed: Mask) -> IndexArray:
    """Return as many moments as there are points, linearly independent if possible, first those that are needed.

    Of the others, those with large multipliers are preferred.

    More moments at a bound than fractional points depend on each other: the others are at their bounds by themselves.
    """
    size = np.sqrt(np.square(B).sum(axis=0)) + 1e-300
    largest = float((np.abs(y) * size).max(initial=1e-300))
    weight = np.where(needed, 10 * largest, np.maximum(np.abs(y) * size, 1e-6 * largest)) / size
    _, order = qr(B * weight, mode="r", pivoting=True, check_finite=False)
    return np.sort(order[: B.shape[0]])


def _solve_both(B: FloatArray, missing: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest changes ``dh, dy`` with ``B^T dh = missing`` and ``B dy = scores``."""
    if B.shape[0] != B.shape[1]:
        return _least_squares(B.T, missing), _least_squares(B, scores)
    factors, pivots, info = lapack.dgetrf(B)
    if info == 0:
        dy, _ = lapack.dgetrs(factors, pivots, scores)
        dh, _ = lapack.dgetrs(factors, pivots, missing, trans=1)
        # One step of refinement: the pair is then right to the last digits.
        more_y, _ = lapack.dgetrs(factors, pivots, scores - B @ dy)
        more_h, _ = lapack.dgetrs(factors, pivots, missing - dh @ B, trans=1)
        if np.isfinite(dy + more_y).all() and np.isfinite(dh + more_h).all():
            return dh + more_h, dy + more_y
    return _least_squares(B.T, missing), _least_squares(B, scores)


def _least_squares(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return the smallest solution of equations that may be too many or too few."""
    return np.asarray(lstsq(matrix, right, cond=1e-13, lapack_driver="gelsy", check_finite=False)[0])
