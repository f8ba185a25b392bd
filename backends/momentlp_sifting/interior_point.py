r"""A primal-dual interior-point method for problems with many points and few moments.

It finds out which points lie near the hyperplane and which moments are active; the simplex method solves for those few. With
``r = A^T h`` for the moments themselves, ``s = w - A y`` for the scores, and multipliers ``zl, zu >= 0`` of the bounds on h
and ``vl, vu >= 0`` of those on r, the optimum is where::

    zu - zl = s,    vu - vl = y,    A^T h = r,    h zl = (u - h) zu = (r - L) vl = (U - r) vu = 0

and the central path has ``mu > 0`` in place of the last zero. A Newton step solves the normal equations, m x m::

    (A^T D A + E) dy = right-hand side,    1/D = zl/h + zu/(u - h),    1/E = vl/(r - L) + vu/(U - r)

D is large for undecided points, and E is small for active moments.
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

__all__ = ["DenseProgram", "Iterate", "follow_central_path"]

STEP_FRACTION = 0.99  # how much of the distance to the nearest bound a step may take
MIN_MU_FOR_SINGLE = 1e-3  # above this mu single precision is enough for the normal equations
# The starting point: a membership, its minimum distance from a bound, both as shares of the cap, and a factor of the
# least-squares multipliers. Found by trial: this takes fewer steps than memberships of one half.
START_MEMBERSHIP, START_MARGIN, START_MULTIPLIER_FACTOR = 0.3, 0.1, 1.5
DECIDED_SHARE = 0.02  # a membership closer than this share of its cap to 0 or to the cap is decided
MIN_RELATIVE_D = 1e-3  # points with a smaller D, relative to the largest, are left out of the normal equations
MAX_RELATIVE_E = 30.0  # of moments with a larger E, relative to the diagonal of A^T D A, only the diagonal is kept
N_CORRECTIONS = 2  # conjugate gradient steps that correct for what was left out
MIN_CHUNK_POINTS, MAX_CHUNK_ENTRIES = 2048, 1 << 21  # rows of A that are multiplied at once
MIN_WORK_FOR_THREADS = 3e7  # N m^2 from which threads save more time than they cost
MAX_UNDECIDED_PER_MOMENT = 0.8  # undecided points per active moment, besides some spare ones, at which to stop
MIN_MU = 1e-9  # at a smaller mu nothing more is learned


@dataclass(frozen=True, eq=False)
class DenseProgram:
    """The problem ``max w . h, L <= A^T h <= U, 0 <= h <= u`` with dense A and every cap above 0.

    ``threads`` is the maximum number of threads for products with A.
    """

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

    @classmethod
    def blank(cls, problem: DenseProgram) -> Iterate:
        """Return an iterate without information: every point undecided, every moment active."""
        n, m = problem.A.shape
        nothing, none = np.zeros(n), np.zeros(m)
        return cls(problem.caps / 2, none, none, nothing, nothing, none, none, 1.0, np.ones(m, bool), np.ones(n, bool))

    @classmethod
    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def first(cls, problem: DenseProgram) -> Iterate:
        """Return the starting point: least squares, moved well inside the bounds.

        The memberships nearest to START_MEMBERSHIP that bring the moments near the middle of their bounds, and the
        multipliers that fit the weights. Both need the one matrix A^T A.
        """
        A, caps, inequality = problem.single, problem.caps, problem.is_inequality
        own = _multiply_transposed(problem.squares, np.ones(caps.size))
        both, usual = (
            problem.has_lower & problem.has_upper,
            np.sqrt(own) + 1e-300,
        )  # the standard deviation of a moment of random points
        half = np.where(both, problem.upper / 2 - problem.lower / 2, usual)
        r = np.where(inequality, 0.0, problem.lower)
        r[both] = (problem.lower[both] + problem.upper[both]) / 2
        for only, bound, sign in (
            (problem.has_upper & ~both, problem.upper, -1.0),
            (problem.has_lower & ~both, problem.lower, 1.0),
        ):
            r[only] = bound[only] + sign * half[only]
        room = np.where(inequality, np.minimum(half, usual * 1e3) ** 2, 0.0)
        system = _NormalEquations.of(A, np.ones(caps.size), room + 1e-6 * own, own, problem.threads)
        h = START_MEMBERSHIP * caps + _multiply(A, system.solve(r - _multiply_transposed(A, START_MEMBERSHIP * caps)))
        y = START_MULTIPLIER_FACTOR * system.solve(_multiply_transposed(A, problem.weights))
        pull = problem.weights - _multiply(A, y)
        level = float(np.abs(problem.weights).mean()) / 4 or 0.25
        zl, v = np.maximum(-pull, 0.0) + level, np.minimum(level / half, 1.0)
        return cls(
            np.clip(h, START_MARGIN * caps, (1 - START_MARGIN) * caps), r, y, zl, zl + pull,
            np.where(problem.has_lower, np.maximum(-y, 0.0) + v, 0.0),
            np.where(problem.has_upper, np.maximum(y, 0.0) + v, 0.0),
            level, np.ones(y.size, dtype=bool), np.ones(caps.size, dtype=bool),
        )  # fmt: skip


def follow_central_path(
    problem: DenseProgram, is_late: Callable[[], bool], max_steps: int = 60, spare: int = 120
) -> tuple[Iterate, int]:
    """Follow the central path until there are about as many undecided points as active moments, as at a vertex.

    Stops early on numerical trouble: the result is only a guess, which the simplex method corrects.

    Parameters
    ----------
    problem : DenseProgram
    is_late : callable
        Called before each step; returns whether the time limit has passed.
    max_steps : int
    spare : int
        How many more undecided points than active moments there may be at the end.

    Returns
    -------
    Iterate, int
        The last iterate and the number of steps.
    """
    try:
        now = Iterate.first(problem)
        if not (np.isfinite(now.y).all() and np.isfinite(now.h).all()):
            raise LinAlgError
    except LinAlgError:
        return Iterate.blank(problem), 0
    for step in range(max_steps):
        following = None if is_late() else _step(problem, now)
        if following is None:
            return now, step
        now = following
        if now.mu < MIN_MU or int(now.undecided.sum()) <= MAX_UNDECIDED_PER_MOMENT * int(now.active.sum()) + spare:
            return now, step + 1
    return now, max_steps


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _step(problem: DenseProgram, now: Iterate) -> Iterate | None:
    """Take one step of Mehrotra's predictor-corrector method; return None on numerical trouble."""
    low, high = problem.has_lower, problem.has_upper
    A = problem.single if now.mu > MIN_MU_FOR_SINGLE else problem.A
    room = Direction(now.h, now.r, now.h, problem.caps - now.h, now.r - problem.lower, problem.upper - now.r)
    gap_l, gap_u = np.where(low, room.vl, 1.0), np.where(high, room.vu, 1.0)
    D = 1.0 / (now.zl / room.zl + now.zu / room.zu)
    E = np.where(problem.is_inequality, 1.0 / (now.vl / gap_l + now.vu / gap_u), 0.0)
    own = _multiply_transposed(problem.squares, D)
    E = np.minimum(E, 1e6 * (own + 1e-300))  # a moment far from its bounds must not overflow
    try:
        system = _NormalEquations.of(A, D, E, own, problem.threads)
    except LinAlgError:
        return None
    primal_error = now.r - _multiply_transposed(A, now.h)
    dual_error_h = problem.weights - _multiply(A, now.y) - (now.zu - now.zl)
    dual_error_r = np.where(problem.is_inequality, now.y - (now.vu - now.vl), 0.0)

    def solve_direction(cl: Any, cu: Any, el: Any, eu: Any) -> tuple[FloatArray, Direction]:
        """Return the direction that changes the products ``h zl, (u - h) zu, (r - L) vl, (U - r) vu`` by these amounts."""
        el, eu = np.where(low, el, 0.0), np.where(high, eu, 0.0)
        towards = dual_error_h - cu / room.zu + cl / room.zl
        towards_v = dual_error_r - eu / gap_u + el / gap_l
        dy = system.solve(_multiply_transposed(A, D * towards) - E * towards_v - primal_error)
        dh, dr = D * (towards - _multiply(A, dy)), E * (dy + towards_v)
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


def _multiply(A: Any, y: FloatArray) -> FloatArray:
    """Return A y, computed in the precision of A."""
    return np.asarray(A @ y.astype(A.dtype), dtype=np.float64)


def _multiply_transposed(A: Any, h: FloatArray) -> FloatArray:
    """Return A^T h, computed in the precision of A."""
    return np.asarray(h.astype(A.dtype) @ A, dtype=np.float64)


class _NormalEquations(NamedTuple):
    """``A^T D A + E``, factored, without its small parts.

    Decided points have a much smaller D than undecided ones, and inactive moments have a much larger E than the diagonal of
    A^T D A. Leaving the former out, and keeping only the diagonal of the latter, changes the step little and saves most
    of the work.
    """

    tight: IndexArray
    factor: Any
    diagonal: FloatArray
    whole: tuple[Any, FloatArray, FloatArray]
    exact: bool

    @classmethod
    def of(cls, A: Any, D: FloatArray, E: FloatArray, own: FloatArray, threads: int) -> _NormalEquations:
        """Build and factor the matrix; ``own`` is the diagonal of ``A^T D A``."""
        whole = A, D, E
        tight = np.flatnonzero(own * MAX_RELATIVE_E > E)
        undecided = np.flatnonzero(D / D.max() > MIN_RELATIVE_D)
        root = np.sqrt(D).astype(A.dtype)
        if undecided.size < 0.7 * D.size:
            A, root = A[undecided], root[undecided]
        if 0 < tight.size < 0.8 * E.size:
            A = np.take(A, tight, axis=1)
        else:
            tight = np.arange(E.size)
        gram = _gram(A, root, threads)
        rest = own[tight] - gram.diagonal()  # the diagonal of the points that are left out
        return cls(tight, _factor(gram, E[tight] + np.maximum(rest, 0.0)), own + E, whole, A is whole[0])

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve, with some steps of conjugate gradients that correct for what was left out."""
        solution = self._solve_reduced(right)
        if self.exact:
            return solution
        residual, towards, before = right - self._apply(solution), np.zeros_like(right), np.inf
        for _ in range(N_CORRECTIONS):
            step = self._solve_reduced(residual)
            size = float(residual @ step)
            if not size > 0:
                break
            towards = step + size / before * towards
            moved, before = self._apply(towards), size
            length = size / float(towards @ moved)
            solution, residual = solution + length * towards, residual - length * moved
        return solution

    def _apply(self, y: FloatArray) -> FloatArray:
        """Return ``(A^T D A + E) y``, with nothing left out."""
        A, D, E = self.whole
        return _multiply_transposed(A, D * _multiply(A, y)) + E * y

    def _solve_reduced(self, right: FloatArray) -> FloatArray:
        solution = np.asarray(right / self.diagonal)
        solution[self.tight] = cho_solve(self.factor, right[self.tight], check_finite=False)
        return solution


def _gram(A: Any, root: Any, threads: int) -> FloatArray:
    """Return ``A^T diag(root)^2 A``, summed over chunks of points; threads share the chunks if the matrix is large."""
    n, m = A.shape
    step = max(MIN_CHUNK_POINTS, -(-n // max(1, threads)) if n * m * m > MIN_WORK_FOR_THREADS else 0)
    step = min(step, max(MIN_CHUNK_POINTS, MAX_CHUNK_ENTRIES // max(1, m)))
    starts = range(0, n, step)

    def part(start: int) -> Any:
        rows = A[start : start + step] * root[start : start + step, None]
        return rows.T @ rows

    if threads < 2 or n * m * m <= MIN_WORK_FOR_THREADS:
        return np.asarray(sum(map(part, starts)), dtype=np.float64)
    with ThreadPoolExecutor(threads) as pool:
        return np.asarray(sum(pool.map(part, starts)), dtype=np.float64)


def _factor(gram: FloatArray, more: FloatArray) -> Any:
    """Return the Cholesky factor of ``gram + diag(more)``, with a small ridge in case moments are linearly dependent."""
    own = gram.diagonal() + more
    for ridge in (1e-12, 1e-6):
        np.fill_diagonal(gram, own * (1 + ridge) + ridge * float(own.mean()) * 0.1 + 1e-300)
        try:
            return cho_factor(gram, lower=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError
