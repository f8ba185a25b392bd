r"""The residual of the moments: the change of memberships that brings every moment within its bounds at once.

::

    minimise  sum_i |d_i| / u_i    subject to   L <= A^T (h + d) <= U,    0 <= h + d <= u          (up to rounding)

The sum is the change in points. What the change costs of the objective, ``|w . d|`` in the unit of the gap, counts too: a
point with a tiny cap and a huge weight is a tiny change of memberships, but not of the answer. The residual is the larger of
both.

One row at a time would not do. Points (B, B) and (-B, -B) with a huge B can each bring one of two violated moments back by a
tiny change of membership, but no small change brings back both.

The steps go from cheap to costly, and the first that is sure ends the search:

1. No violation exceeds the rounding that is forgiven (:mod:`momentlp.problem.rounding`): the residual is 0.
2. All bounds allow for 0: a smaller multiple of h is feasible. No product with A is needed.
3. A single moment alone needs a change of more than one point (:mod:`momentlp.proof.least_change`): that is the residual.
4. A small linear program finds the change (:mod:`momentlp.proof.joint_change`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.problem.problem import Problem
from momentlp.problem.rounding import ROUNDING, limited_magnitude
from momentlp.proof.joint_change import find_joint_change
from momentlp.proof.least_change import compute_least_change

__all__ = ["compute_moment_residual", "move_to_feasible"]

SMALL_CHANGE = 1e-9  # in points; a change that is known to suffice and no larger than this ends the search
MAX_EXACT_ENTRIES = 300_000  # of A, for the moments that are added up in integers: some tenths of a second
HOPELESS = 1.0  # in points; if one moment alone needs a larger change, the joint change is not computed


@dataclass(frozen=True)
class _Sides:
    """A^T h and what is left to its bounds.

    Attributes
    ----------
    activity : array, shape (m,)
    allowed : array, shape (m,)
        The rounding that is forgiven.
    below, above : array, shape (m,)
        The distances to the lower and the upper bound, with the rounding; negative where the bound is violated.
    """

    activity: FloatArray
    allowed: FloatArray
    below: FloatArray
    above: FloatArray

    @classmethod
    def of(cls, problem: Problem, activity: FloatArray, allowed: FloatArray) -> _Sides:
        below, above = activity - (problem.lower - allowed), problem.upper + allowed - activity
        ignored = problem.noise
        return cls(activity, allowed, np.where(ignored, np.inf, below), np.where(ignored, np.inf, above))

    def allow(self, problem: Problem, more: FloatArray) -> _Sides:
        """Return the same with more rounding allowed."""
        return _Sides.of(problem, self.activity, self.allowed + more)

    @property
    def violated(self) -> IndexArray:
        return np.flatnonzero(np.minimum(self.below, self.above) < 0)


def compute_moment_residual(
    problem: Problem,
    h: FloatArray,
    y: FloatArray,
    activity: FloatArray,
    min_magnitude: FloatArray,
    weight: float,
    *,
    allow_means: bool = True,
) -> float:
    """Return by how much memberships must change to bring all moments within their bounds.

    Parameters
    ----------
    problem : Problem
    h : array, shape (N,)
    y : array, shape (m,)
        Multipliers; points near their hyperplane are the first to change.
    activity : array, shape (m,)
        A^T h.
    min_magnitude : array, shape (m,)
        A lower bound on ``|A|^T h``, such as zeros. If it explains all violations, ``|A|^T h`` itself need not be computed,
        which takes another pass over the points.
    weight : float
        The unit of the objective.
    allow_means : bool
        Whether the rounding of the means is forgiven, or that of entries and bounds only.

    Returns
    -------
    float
        0 if no moment is violated beyond rounding; infinite if no change was found that brings all moments back.
    """
    sides, wide = _measure(problem, h, activity, allow_means)
    if not sides.violated.size:
        return 0.0
    shrinking = _change_by_shrinking(problem, h, sides, weight)
    if shrinking <= SMALL_CHANGE:
        return shrinking
    if not sides.allow(problem, ROUNDING * np.where(wide, 0.0, min_magnitude)).violated.size:
        return 0.0
    sides = _allow_for_entries(problem, h, sides)
    if not sides.violated.size:
        return 0.0
    alone = _change_of_worst_moment(problem, h, sides)
    if alone > HOPELESS:
        return min(alone, shrinking)
    change = find_joint_change(problem, h, y, sides.below, sides.above, sides.allowed, weight)
    return min(shrinking, float("inf") if change is None else change.size)


def move_to_feasible(problem: Problem, h: FloatArray, y: FloatArray, weight: float) -> FloatArray | None:
    """Return feasible memberships near h, by the change that the residual measures; None if that was not found.

    Parameters
    ----------
    problem : Problem
    h : array, shape (N,)
    y : array, shape (m,)
    weight : float
        The unit of the objective.
    """
    sides, _ = _measure(problem, h, problem.A.T @ h, allow_means=True)
    sides = _allow_for_entries(problem, h, sides)
    if not sides.violated.size or _change_of_worst_moment(problem, h, sides) > HOPELESS:
        return None
    change = find_joint_change(problem, h, y, sides.below, sides.above, sides.allowed, weight)
    return None if change is None else change.apply(problem, h)


def _measure(problem: Problem, h: FloatArray, activity: FloatArray, allow_means: bool) -> tuple[_Sides, NDArray[np.bool_]]:
    """Return what is left to the bounds, allowing for the rounding of means and bounds, and which moments are wide."""
    wide = problem.scale > problem.A.entry_limits  # a sentinel, say: its rounding would hide the other entries
    activity, evaluation = _add_up_wide_moments(problem, h, activity, wide)
    bounds = ROUNDING * np.abs(np.where(activity > problem.upper, problem.upper, problem.lower))
    means = ROUNDING * float(h.sum()) * problem.A.per_moment("mean_size") * allow_means
    return _Sides.of(problem, activity, np.where(np.isfinite(bounds), bounds, 0.0) + means - evaluation), wide


def _allow_for_entries(problem: Problem, h: FloatArray, sides: _Sides) -> _Sides:
    """Return what is left to the bounds, allowing for the rounding of the entries too; this takes a pass over the points."""
    return sides.allow(problem, ROUNDING * limited_magnitude(problem.A, h, problem.A.entry_limits))


def _add_up_wide_moments(
    problem: Problem, h: FloatArray, activity: FloatArray, wide: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return A^T h with the wide moments added up without rounding, and the rounding where that is too much work."""
    moments = np.flatnonzero(wide & ~problem.noise)
    if not moments.size:
        return activity, np.zeros_like(activity)
    if problem.A.table is None and moments.size * problem.n_points <= MAX_EXACT_ENTRIES:
        from momentlp.proof.exact.evaluation import exact_activity

        accurate = activity.copy()
        accurate[moments] = exact_activity(problem.A, h, moments)
        return accurate, np.zeros_like(activity)
    return activity, np.where(wide, ROUNDING * problem.A.per_moment("magnitude", h), 0.0)


def _change_by_shrinking(problem: Problem, h: FloatArray, sides: _Sides, weight: float) -> float:
    """Return the change from h to its largest multiple that meets all bounds; infinite if only h = 0 does, or not even that.

    ``(1 - t) A^T h`` is within its bounds if ``t = v / (|b| + v)`` for a violation v of a bound b on the other side of zero.
    """
    if not problem.zero_is_feasible:
        return float("inf")
    moments = sides.violated
    violation = -np.minimum(sides.below, sides.above)[moments]
    bound = np.where(sides.above[moments] < 0, problem.upper[moments], -problem.lower[moments])
    if not (bound > 0).all():
        return float("inf")
    step = float((violation / (bound + violation)).max())
    in_points = float(np.divide(h, problem.caps, out=np.zeros(h.size), where=problem.caps > 0).sum())
    return step * max(in_points, abs(float(problem.weights @ h)) / weight)


def _change_of_worst_moment(problem: Problem, h: FloatArray, sides: _Sides) -> float:
    moments = sides.violated
    signs = np.where(sides.above[moments] < 0, 1.0, -1.0)
    return compute_least_change(problem, h, moments, signs, -np.minimum(sides.below, sides.above)[moments])
