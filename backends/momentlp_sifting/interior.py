r"""An interior-point method for problems with many points and few moments.

It finds out which points lie near the hyperplane and which moments hold; a simplex method on those few does the rest. With
``r = A^T h`` for the moments themselves, ``s = w - A y`` for the scores, and multipliers ``zl, zu >= 0`` of the bounds on h
and ``vl, vu >= 0`` of those on r, the optimum is where::

    zu - zl = s,    vu - vl = y,    A^T h = r,    h zl = (u - h) zu = (r - L) vl = (U - r) vu = 0

and the path that is followed has ``mu > 0`` in place of the last zero. The work of a Newton step is one m x m matrix::

    (A^T D A + E) dy = right-hand side,    1/D = zl/h + zu/(u - h),    1/E = vl/(r - L) + vu/(U - r)

D is large for points that are not decided yet, and E small for moments that hold.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from momentlp.points.arrays import FloatArray, IndexArray

__all__ = ["Barrier", "Iterate", "follow"]

BACK_OFF = 0.99  # how much of the way to the nearest bound a step may take
SINGLE = 1e-3  # above this mu the matrix of a step is precise enough in single precision
FILL, MARGIN, EAGER = 0.3, 0.1, 1.5  # of the start, found by trying: fewer steps than from the middle of everything
DECIDED = 0.02  # closer than this to 0 or its cap, a membership is on its way there
NEGLIGIBLE = 1e-3  # points with less of the largest D are left out of the matrix of a step
ROOMY = 30.0  # moments with so much more E than the points give are left out as well, but for the diagonal
CORRECTIONS = 2  # of the step, for what was left out
STRETCH, LARGEST = 2048, 1 << 21  # points, and entries, that are weighted together
WORTH_SHARING = 3e7  # N m^2 from which threads gain more than they cost
SLACK = 0.8  # open points per moment that holds, besides some spare ones, that are few enough
SMALLEST_MU = 1e-9  # beyond this nothing more is found out


@dataclass(frozen=True, eq=False)
class Barrier:
    """The problem ``max w . h, L <= A^T h <= U, 0 <= h <= u`` as the method sees it: dense, every cap above zero."""

    A: FloatArray
    weights: FloatArray
    caps: FloatArray
    lower: FloatArray
    upper: FloatArray
    threads: int = 1

    @cached_property
    def single(self) -> NDArray[np.float32]:
        """A in single precision."""
        return self.A.astype(np.float32)

    @cached_property
    def squares(self) -> NDArray[np.float32]:
        """The squares of the entries of A."""
        return np.square(self.single)

    @cached_property
    def loose(self) -> NDArray[np.bool_]:
        """Which moments have room between their bounds."""
        return self.lower < self.upper

    @cached_property
    def low(self) -> NDArray[np.bool_]:
        """Which of those have a lower bound."""
        return self.loose & np.isfinite(self.lower)

    @cached_property
    def high(self) -> NDArray[np.bool_]:
        """Which of those have an upper bound."""
        return self.loose & np.isfinite(self.upper)


class Move(NamedTuple):
    """A change of everything but y."""

    h: FloatArray
    r: FloatArray
    zl: FloatArray
    zu: FloatArray
    vl: FloatArray
    vu: FloatArray


@dataclass(frozen=True, eq=False)
class Iterate:
    """A point of the method: memberships, moments, multipliers of the moments and of all bounds."""

    h: FloatArray
    r: FloatArray
    y: FloatArray
    zl: FloatArray
    zu: FloatArray
    vl: FloatArray
    vu: FloatArray
    mu: float
    held: NDArray[np.bool_]  #: moments that give way less than the points do: those that will hold
    open: NDArray[np.bool_]  #: points that are neither in nor out yet

    @classmethod
    def blank(cls, problem: Barrier) -> Iterate:
        """Return what says nothing: every point open, every moment held."""
        n, m = problem.A.shape
        nothing, none = np.zeros(n), np.zeros(m)
        return cls(problem.caps / 2, none, none, nothing, nothing, none, none, 1.0, np.ones(m, bool), np.ones(n, bool))

    @classmethod
    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def first(cls, problem: Barrier) -> Iterate:
        """Return the start: least squares, for lack of anything better, pushed well inside the bounds.

        The memberships nearest to FILL that bring the moments near the middle of their bounds, and multipliers that explain
        the weights: both follow from the one matrix A^T A.
        """
        A, caps, loose = problem.single, problem.caps, problem.loose
        own = _pull(problem.squares, np.ones(caps.size))
        both, usual = problem.low & problem.high, np.sqrt(own) + 1e-300  # how far a moment of points drawn by lot is off
        half = np.where(both, problem.upper / 2 - problem.lower / 2, usual)
        r = np.where(loose, 0.0, problem.lower)
        r[both] = (problem.lower[both] + problem.upper[both]) / 2
        for only, bound, sign in ((problem.high & ~both, problem.upper, -1.0), (problem.low & ~both, problem.lower, 1.0)):
            r[only] = bound[only] + sign * half[only]
        room = np.where(loose, np.minimum(half, usual * 1e3) ** 2, 0.0)
        system = _System.of(A, np.ones(caps.size), room + 1e-6 * own, own, problem.threads)
        h = FILL * caps + _push(A, system.solve(r - _pull(A, FILL * caps)))
        y = EAGER * system.solve(_pull(A, problem.weights))
        pull = problem.weights - _push(A, y)
        level = float(np.abs(problem.weights).mean()) / 4 or 0.25
        zl, v = np.maximum(-pull, 0.0) + level, np.minimum(level / half, 1.0)
        return cls(
            np.clip(h, MARGIN * caps, (1 - MARGIN) * caps), r, y, zl, zl + pull,
            np.where(problem.low, np.maximum(-y, 0.0) + v, 0.0), np.where(problem.high, np.maximum(y, 0.0) + v, 0.0),
            level, np.ones(y.size, dtype=bool), np.ones(caps.size, dtype=bool),
        )  # fmt: skip


def follow(problem: Barrier, late: Callable[[], bool], most: int = 60, spare: int = 120) -> tuple[Iterate, int]:
    """Follow the path until the points that are open are about as many as the moments that hold, as at a vertex.

    Stops early where the numbers give out: whatever it finds is a guess that the simplex method puts right.

    Parameters
    ----------
    late : callable
        Asked before each step whether time is up.
    most : int
        The largest number of steps.
    spare : int
        How many more open points than moments that hold are few enough.
    """
    try:
        now = Iterate.first(problem)
        if not (np.isfinite(now.y).all() and np.isfinite(now.h).all()):
            raise LinAlgError
    except LinAlgError:
        return Iterate.blank(problem), 0
    for step in range(most):
        following = None if late() else _step(problem, now)
        if following is None:
            return now, step
        now = following
        if now.mu < SMALLEST_MU or int(now.open.sum()) <= SLACK * int(now.held.sum()) + spare:
            return now, step + 1
    return now, most


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _step(problem: Barrier, now: Iterate) -> Iterate | None:
    """Mehrotra's predictor and corrector; None where the numbers give out."""
    low, high = problem.low, problem.high
    A = problem.single if now.mu > SINGLE else problem.A
    room = Move(now.h, now.r, now.h, problem.caps - now.h, now.r - problem.lower, problem.upper - now.r)
    gap_l, gap_u = np.where(low, room.vl, 1.0), np.where(high, room.vu, 1.0)
    D = 1.0 / (now.zl / room.zl + now.zu / room.zu)
    E = np.where(problem.loose, 1.0 / (now.vl / gap_l + now.vu / gap_u), 0.0)
    own = _pull(problem.squares, D)
    E = np.minimum(E, 1e6 * (own + 1e-300))  # a moment with no bound near gives way to everything
    try:
        system = _System.of(A, D, E, own, problem.threads)
    except LinAlgError:
        return None
    off = now.r - _pull(A, now.h)
    stray_z = problem.weights - _push(A, now.y) - (now.zu - now.zl)
    stray_v = np.where(problem.loose, now.y - (now.vu - now.vl), 0.0)

    def direction(cl: Any, cu: Any, el: Any, eu: Any) -> tuple[FloatArray, Move]:
        """Solve for the products ``h zl, (u - h) zu, (r - L) vl, (U - r) vu`` to change by so much."""
        el, eu = np.where(low, el, 0.0), np.where(high, eu, 0.0)
        towards = stray_z - cu / room.zu + cl / room.zl
        towards_v = stray_v - eu / gap_u + el / gap_l
        dy = system.solve(_pull(A, D * towards) - E * towards_v - off)
        dh, dr = D * (towards - _push(A, dy)), E * (dy + towards_v)
        return dy, Move(
            dh, dr, (cl - now.zl * dh) / room.zl, (cu + now.zu * dh) / room.zu,
            np.where(low, (el - now.vl * dr) / gap_l, 0.0), np.where(high, (eu + now.vu * dr) / gap_u, 0.0),
        )  # fmt: skip

    def lengths(move: Move) -> tuple[float, float]:
        """Return how far h and r, and how far the multipliers, can go."""
        primal = (room.zl, move.h), (room.zu, -move.h), (gap_l[low], move.r[low]), (gap_u[high], -move.r[high])
        dual = (now.zl, move.zl), (now.zu, move.zu), (now.vl[low], move.vl[low]), (now.vu[high], move.vu[high])
        return min(_longest(*pair) for pair in primal), min(_longest(*pair) for pair in dual)

    def complementarity(move: Move, primal: float, dual: float) -> float:
        products = (room.zl + primal * move.h) @ (now.zl + dual * move.zl)
        products += (room.zu - primal * move.h) @ (now.zu + dual * move.zu)
        products += (gap_l + primal * move.r)[low] @ (now.vl + dual * move.vl)[low]
        products += (gap_u - primal * move.r)[high] @ (now.vu + dual * move.vu)[high]
        return float(products) / (2 * now.h.size + int(low.sum()) + int(high.sum()))

    full_l, full_u, full_vl, full_vu = room.zl * now.zl, room.zu * now.zu, gap_l * now.vl, gap_u * now.vu
    _, guess = direction(-full_l, -full_u, -full_vl, -full_vu)
    current = complementarity(guess, 0.0, 0.0)
    aim = (complementarity(guess, *(min(1.0, length) for length in lengths(guess))) / current) ** 3 * current
    dy, move = direction(
        aim - full_l - guess.h * guess.zl,
        aim - full_u + guess.h * guess.zu,
        aim - full_vl - guess.r * guess.vl,
        aim - full_vu + guess.r * guess.vu,
    )
    primal, dual = (min(1.0, BACK_OFF * length) for length in lengths(move))
    mu = complementarity(move, primal, dual)
    h, y = now.h + primal * move.h, now.y + dual * dy
    if not (np.isfinite(mu) and np.isfinite(y).all() and np.isfinite(h).all()):
        return None
    return Iterate(
        h, now.r + primal * move.r, y,
        now.zl + dual * move.zl, now.zu + dual * move.zu, now.vl + dual * move.vl, now.vu + dual * move.vu,
        mu,
        held=own > E,
        open=np.minimum(h, problem.caps - h) > DECIDED * problem.caps,
    )  # fmt: skip


def _longest(values: FloatArray, change: FloatArray) -> float:
    """Return how far one can go before a value reaches zero."""
    ratio = -change / values
    steepest = float(ratio.max(initial=0.0))
    return 1.0 / steepest if steepest > 0 else np.inf


def _push(A: Any, y: FloatArray) -> FloatArray:
    """Return A y, computed in the precision of A."""
    return np.asarray(A @ y.astype(A.dtype), dtype=np.float64)


def _pull(A: Any, h: FloatArray) -> FloatArray:
    """Return A^T h, computed in the precision of A."""
    return np.asarray(h.astype(A.dtype) @ A, dtype=np.float64)


class _System(NamedTuple):
    """``A^T D A + E``, factored, without what hardly counts in it.

    Points that are decided have a D far below that of the open ones, and moments with room an E far above what the points
    give: leaving the former out, and of the latter all but the diagonal, changes the step by little and saves most of it.
    """

    tight: IndexArray
    factor: Any
    diagonal: FloatArray
    whole: tuple[Any, FloatArray, FloatArray]
    exact: bool

    @classmethod
    def of(cls, A: Any, D: FloatArray, E: FloatArray, own: FloatArray, threads: int) -> _System:
        """Build it; ``own`` is the diagonal of ``A^T D A``."""
        whole = A, D, E
        tight = np.flatnonzero(own * ROOMY > E)
        open_ = np.flatnonzero(D / D.max() > NEGLIGIBLE)
        root = np.sqrt(D).astype(A.dtype)
        if open_.size < 0.7 * D.size:
            A, root = A[open_], root[open_]
        if 0 < tight.size < 0.8 * E.size:
            A = np.take(A, tight, axis=1)
        else:
            tight = np.arange(E.size)
        gram = _gram(A, root, threads)
        rest = own[tight] - gram.diagonal()  # of the points left out, the diagonal stays
        return cls(tight, _factor(gram, E[tight] + np.maximum(rest, 0.0)), own + E, whole, A is whole[0])

    def solve(self, right: FloatArray) -> FloatArray:
        """Return the solution, corrected for what was left out by two steps of conjugate gradients."""
        solution = self._solve(right)
        if self.exact:
            return solution
        off, towards, before = right - self._times(solution), np.zeros_like(right), np.inf
        for _ in range(CORRECTIONS):
            step = self._solve(off)
            size = float(off @ step)
            if not size > 0:
                break
            towards = step + size / before * towards
            moved, before = self._times(towards), size
            length = size / float(towards @ moved)
            solution, off = solution + length * towards, off - length * moved
        return solution

    def _times(self, y: FloatArray) -> FloatArray:
        """Return ``(A^T D A + E) y``, nothing left out."""
        A, D, E = self.whole
        return _pull(A, D * _push(A, y)) + E * y

    def _solve(self, right: FloatArray) -> FloatArray:
        solution = np.asarray(right / self.diagonal)
        solution[self.tight] = cho_solve(self.factor, right[self.tight], check_finite=False)
        return solution


def _gram(A: Any, root: Any, threads: int) -> FloatArray:
    """Return ``A^T diag(root)^2 A``, added up from stretches of points, which threads share out if there is enough to do."""
    n, m = A.shape
    step = max(STRETCH, -(-n // max(1, threads)) if n * m * m > WORTH_SHARING else 0)
    step = min(step, max(STRETCH, LARGEST // max(1, m)))
    starts = range(0, n, step)

    def part(start: int) -> Any:
        rows = A[start : start + step] * root[start : start + step, None]
        return rows.T @ rows

    if threads < 2 or n * m * m <= WORTH_SHARING:
        return np.asarray(sum(map(part, starts)), dtype=np.float64)
    with ThreadPoolExecutor(threads) as pool:
        return np.asarray(sum(pool.map(part, starts)), dtype=np.float64)


def _factor(gram: FloatArray, more: FloatArray) -> Any:
    own = gram.diagonal() + more
    for ridge in (1e-12, 1e-6):  # moments that depend on each other are told apart by a little more on the diagonal
        np.fill_diagonal(gram, own * (1 + ridge) + ridge * float(own.mean()) * 0.1 + 1e-300)
        try:
            return cho_factor(gram, lower=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError
