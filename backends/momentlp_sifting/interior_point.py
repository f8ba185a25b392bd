r"""A primal-dual interior-point method.

With ``r = A^T h`` for the moments themselves, ``s = w - A y`` for the scores, and multipliers ``zl, zu >= 0`` of the bounds
on h and ``vl, vu >= 0`` of those on r, the optimum is where::

    zu - zl = s,    vu - vl = y,    A^T h = r,    h zl = (u - h) zu = (r - L) vl = (U - r) vu = 0

and the central path has ``mu > 0`` in place of the last zero. A Newton step solves the normal equations::

    (A^T D A + E) dy = right-hand side,    1/D = zl/h + zu/(u - h),    1/E = vl/(r - L) + vu/(U - r)

D is large for undecided points, and E is small for active moments. :mod:`~momentlp_sifting.normal_equations` solves them.

At first a few steps in single precision find out which points lie near the hyperplane and which moments are active:
:func:`follow_central_path`. The small problem of those is solved by the simplex method, or, if it has many moments, by more
steps in double precision: :mod:`~momentlp_sifting.vertex`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from momentlp.points.arrays import FloatArray
from momentlp_sifting.columns import SparseColumns
from momentlp_sifting.normal_equations import NormalEquations, Precision
from momentlp_sifting.program import Program

__all__ = ["DIVERGED", "Iterate", "follow_central_path", "take_step"]

STEP_FRACTION = 0.99  # how much of the distance to the nearest bound a step may take
MIN_MU_FOR_SINGLE = 1e-3  # above this mu single precision is enough for the normal equations
# The starting point: a membership, its minimum distance from a bound, both as shares of the cap, and a factor of the
# least-squares multipliers. Found by trial: this takes fewer steps than memberships of one half.
START_MEMBERSHIP, START_MARGIN, START_MULTIPLIER_FACTOR = 0.3, 0.1, 1.5
DECIDED_SHARE = 0.02  # a membership closer than this share of its cap to 0 or to the cap is decided
MAX_STEPS = 60
MAX_UNDECIDED_PER_MOMENT, N_SPARE = 0.8, 120  # undecided points per active moment, and more points, at which to stop
# How exactly the equations are solved: at first, and where mu hardly changes in some steps one after the other.
LEVELS = Precision(), Precision(1e-5, 1e3, n_corrections=4), Precision(1e-8, 1e6, n_corrections=6)
# Sparse columns: a product costs so little, and a factor so much, that conjugate gradients come first.
SPARSE_LEVELS = (
    Precision(n_corrections=60, max_factored=1500, tolerance=1e-3),
    Precision(n_corrections=150, max_factored=1500, tolerance=1e-6),
    *LEVELS[1:],
)
SLOW, MAX_SLOW = 0.9, 2
DIVERGED = 1e4  # times the first mu: the problem has no feasible point
MIN_MU = 1e-9  # at a smaller mu nothing more is learned


class Direction(NamedTuple):
    """A search direction: the change of every variable but y."""

    h: FloatArray
    r: FloatArray
    zl: FloatArray
    zu: FloatArray
    vl: FloatArray
    vu: FloatArray


@dataclass(frozen=True, eq=False)
class Iterate:
    """One iterate: memberships, moments, multipliers of the moments and of all bounds."""

    h: FloatArray
    r: FloatArray
    y: FloatArray
    zl: FloatArray
    zu: FloatArray
    vl: FloatArray
    vu: FloatArray
    mu: float
    active: NDArray[np.bool_]  #: moments that are probably active at the optimum
    undecided: NDArray[np.bool_]  #: points that are neither in nor out yet
    diverged: bool = False  #: whether the multipliers tend to infinity, as they do if there is no feasible point

    @classmethod
    def blank(cls, problem: Program) -> Iterate:
        """Return an iterate without information: every point undecided, every moment active."""
        n, m = problem.shape
        nothing, none = np.zeros(n), np.zeros(m)
        return cls(problem.caps / 2, none, none, nothing, nothing, none, none, 1.0, np.ones(m, bool), np.ones(n, bool))

    @classmethod
    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def first(cls, problem: Program, single: bool = True) -> Iterate:
        """Return the starting point: least squares, moved well inside the bounds.

        The memberships nearest to START_MEMBERSHIP that bring the moments near the middle of their bounds, and the
        multipliers that fit the weights. Both need the one matrix A^T A.
        """
        caps, inequality, everything = problem.caps, problem.is_inequality, np.ones(problem.caps.size)
        squares, own = problem.squares(everything)
        both = problem.has_lower & problem.has_upper
        usual = np.sqrt(own) + 1e-300  # the standard deviation of a moment of random points
        half = np.where(both, problem.upper / 2 - problem.lower / 2, usual)
        r = np.where(inequality, 0.0, problem.lower)
        r[both] = (problem.lower[both] + problem.upper[both]) / 2
        for only, bound, sign in (
            (problem.has_upper & ~both, problem.upper, -1.0),
            (problem.has_lower & ~both, problem.lower, 1.0),
        ):
            r[only] = bound[only] + sign * half[only]
        room = np.where(inequality, np.minimum(half, usual * 1e3) ** 2, 0.0)
        precision = SPARSE_LEVELS[0] if isinstance(problem.Z, SparseColumns) else Precision()
        system = NormalEquations(
            problem.Z, problem.structure, everything, room + 1e-6 * own, squares, precision, single=single
        )
        h = START_MEMBERSHIP * caps
        h = h + problem.forward(system.solve(r - problem.adjoint(h, single)), single)
        y = START_MULTIPLIER_FACTOR * system.solve(problem.adjoint(problem.weights, single))
        pull = problem.weights - problem.forward(y, single)
        level = float(np.abs(problem.weights).mean()) / 4 or 0.25
        zl, v = np.maximum(-pull, 0.0) + level, np.minimum(level / half, 1.0)
        return cls(
            np.clip(h, START_MARGIN * caps, (1 - START_MARGIN) * caps), r, y, zl, zl + pull,
            np.where(problem.has_lower, np.maximum(-y, 0.0) + v, 0.0),
            np.where(problem.has_upper, np.maximum(y, 0.0) + v, 0.0),
            level, np.ones(y.size, dtype=bool), np.ones(caps.size, dtype=bool),
        )  # fmt: skip

    @classmethod
    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def near(cls, problem: Program, y: FloatArray) -> Iterate:
        """Return a starting point near multipliers that are nearly right, for points near their hyperplane.

        The scores s of these points set the scale. The multipliers of the bounds 0 and u are a usual score above the least
        ones that fit y, and the memberships make their products equal.
        """
        caps, scores = problem.caps, problem.scores(y)
        level = float(np.abs(scores).mean()) or float(np.abs(problem.weights).mean()) or 1.0
        zl = np.maximum(-scores, 0.0) + level
        zu = zl + scores
        h = caps * zu / (zl + zu)
        mu = float(h @ zl) / caps.size
        usual = np.sqrt(problem.squares(caps**2)[1]) + 1e-300  # the standard deviation of a moment of random points
        v = mu / usual
        vl = np.where(problem.has_lower, np.maximum(-y, 0.0) + v, 0.0)
        vu = np.where(problem.has_upper, np.maximum(y, 0.0) + v, 0.0)
        room = np.where(problem.has_lower & problem.has_upper, (problem.upper - problem.lower) / 2, np.inf)
        low = np.where(problem.has_lower, problem.lower + np.minimum(mu / vl, room), -np.inf)
        high = np.where(problem.has_upper, problem.upper - np.minimum(mu / vu, room), np.inf)
        reached = problem.adjoint(h, single=True)
        r = np.where(y > 0, high, np.where(y < 0, low, np.clip(reached, low, high)))
        r = np.where(problem.is_inequality & np.isfinite(r), r, np.where(problem.is_inequality, reached, problem.lower))
        return cls(h, r, y, zl, zu, vl, vu, mu, np.ones(y.size, dtype=bool), np.ones(caps.size, dtype=bool))


def follow_central_path(
    problem: Program, is_late: Callable[[], bool], near: FloatArray | None = None
) -> tuple[Iterate, int]:
    """Follow the central path until there are about as many undecided points as active moments, as at a vertex.

    Stops early on numerical trouble: the result is only a guess, which the simplex method corrects.

    Parameters
    ----------
    problem : Program
    is_late : callable
        Called before each step; returns whether the time limit has passed.
    near : array of shape (m,), optional
        Multipliers that are nearly right.

    Returns
    -------
    Iterate, int
        The last iterate and the number of steps.
    """
    if is_late():
        return Iterate.blank(problem), 0
    try:
        now = Iterate.first(problem) if near is None else Iterate.near(problem, near)
        if not (np.isfinite(now.y).all() and np.isfinite(now.h).all()):
            raise LinAlgError
    except LinAlgError:
        return Iterate.blank(problem), 0
    levels = SPARSE_LEVELS if isinstance(problem.Z, SparseColumns) else LEVELS
    first_mu, level, n_slow = now.mu, 0, 0
    for step in range(MAX_STEPS):
        single = now.mu > MIN_MU_FOR_SINGLE and level < len(levels) - 1
        following = None if is_late() else take_step(problem, now, levels[level], single)
        if following is None:
            return now, step
        n_slow = n_slow + 1 if SLOW * now.mu < following.mu <= now.mu / SLOW else 0
        if n_slow >= MAX_SLOW and level < len(levels) - 1:  # the steps are not exact enough
            level, n_slow = level + 1, 0
        now = following
        if now.mu > DIVERGED * first_mu:
            return replace(now, diverged=True), step + 1
        if now.mu < MIN_MU or int(now.undecided.sum()) <= MAX_UNDECIDED_PER_MOMENT * int(now.active.sum()) + N_SPARE:
            return now, step + 1
    return now, MAX_STEPS


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def take_step(problem: Program, now: Iterate, precision: Precision, single: bool) -> Iterate | None:
    """Take one step of Mehrotra's predictor-corrector method; return None on numerical trouble."""
    low, high = problem.has_lower, problem.has_upper
    room = Direction(now.h, now.r, now.h, problem.caps - now.h, now.r - problem.lower, problem.upper - now.r)
    gap_l, gap_u = np.where(low, room.vl, 1.0), np.where(high, room.vu, 1.0)
    D = 1.0 / (now.zl / room.zl + now.zu / room.zu)
    E = np.where(problem.is_inequality, 1.0 / (now.vl / gap_l + now.vu / gap_u), 0.0)
    squares, own = problem.squares(D)
    E = np.minimum(E, 1e6 * (own + 1e-300))  # a moment far from its bounds must not overflow
    try:
        system = NormalEquations(problem.Z, problem.structure, D, E, squares, precision, single)
    except LinAlgError:
        return None
    primal_error = now.r - problem.adjoint(now.h, single)
    dual_error_h = problem.weights - problem.forward(now.y, single) - (now.zu - now.zl)
    dual_error_r = np.where(problem.is_inequality, now.y - (now.vu - now.vl), 0.0)

    def solve_direction(cl: Any, cu: Any, el: Any, eu: Any) -> tuple[FloatArray, Direction]:
        """Return the direction that changes the products ``h zl, (u - h) zu, (r - L) vl, (U - r) vu`` by these amounts."""
        el, eu = np.where(low, el, 0.0), np.where(high, eu, 0.0)
        towards = dual_error_h - cu / room.zu + cl / room.zl
        towards_v = dual_error_r - eu / gap_u + el / gap_l
        dy = system.solve(problem.adjoint(D * towards, single) - E * towards_v - primal_error)
        dh, dr = D * (towards - problem.forward(dy, single)), E * (dy + towards_v)
        return dy, Direction(
            dh, dr, (cl - now.zl * dh) / room.zl, (cu + now.zu * dh) / room.zu,
            np.where(low, (el - now.vl * dr) / gap_l, 0.0), np.where(high, (eu + now.vu * dr) / gap_u, 0.0),
        )  # fmt: skip

    def max_steps(move: Direction) -> tuple[float, float]:
        """Return the maximum step lengths of h and r, and of the multipliers."""
        primal = (room.zl, move.h), (room.zu, -move.h), (gap_l[low], move.r[low]), (gap_u[high], -move.r[high])
        dual = (now.zl, move.zl), (now.zu, move.zu), (now.vl[low], move.vl[low]), (now.vu[high], move.vu[high])
        return min(_max_step(*pair) for pair in primal), min(_max_step(*pair) for pair in dual)

    def complementarity(move: Direction, primal: float, dual: float) -> float:
        products = (room.zl + primal * move.h) @ (now.zl + dual * move.zl)
        products += (room.zu - primal * move.h) @ (now.zu + dual * move.zu)
        products += (gap_l + primal * move.r)[low] @ (now.vl + dual * move.vl)[low]
        products += (gap_u - primal * move.r)[high] @ (now.vu + dual * move.vu)[high]
        return float(products) / (2 * now.h.size + int(low.sum()) + int(high.sum()))

    full_l, full_u, full_vl, full_vu = room.zl * now.zl, room.zu * now.zu, gap_l * now.vl, gap_u * now.vu
    _, guess = solve_direction(-full_l, -full_u, -full_vl, -full_vu)
    current = complementarity(guess, 0.0, 0.0)
    aim = (complementarity(guess, *(min(1.0, length) for length in max_steps(guess))) / current) ** 3 * current
    dy, move = solve_direction(
        aim - full_l - guess.h * guess.zl,
        aim - full_u + guess.h * guess.zu,
        aim - full_vl - guess.r * guess.vl,
        aim - full_vu + guess.r * guess.vu,
    )
    primal, dual = (min(1.0, STEP_FRACTION * length) for length in max_steps(move))
    mu = complementarity(move, primal, dual)
    h, y = now.h + primal * move.h, now.y + dual * dy
    if not (np.isfinite(mu) and np.isfinite(y).all() and np.isfinite(h).all()):
        return None
    return Iterate(
        h, now.r + primal * move.r, y,
        now.zl + dual * move.zl, now.zu + dual * move.zu, now.vl + dual * move.vl, now.vu + dual * move.vu,
        mu,
        active=own > E,
        undecided=np.minimum(h, problem.caps - h) > DECIDED_SHARE * problem.caps,
    )  # fmt: skip


def _max_step(values: FloatArray, change: FloatArray) -> float:
    """Return the step length at which the first value reaches zero."""
    ratio = -change / values
    steepest = float(ratio.max(initial=0.0))
    return 1.0 / steepest if steepest > 0 else np.inf
