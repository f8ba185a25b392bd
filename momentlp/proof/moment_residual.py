"""The residual of the moments: the change of memberships, in units of one point, that brings every moment within its bounds.

A violated moment can be brought back in two ways: lower the membership of points that move it the wrong way, or raise the
membership of points that move it the right way. The residual of the moment is the minimum total change of memberships that
does it, in units of a typical cap; see :mod:`momentlp.proof.least_change`.

The violation divided by the maximum entry would not do. An outlier that lies on the wrong side cannot reduce the violation,
and beside its entry every violation looks small.
"""

from __future__ import annotations

import numpy as np

from momentlp.points.arrays import FloatArray, one_entry_if_constant
from momentlp.problem.problem import Problem
from momentlp.proof.least_change import compute_least_change

__all__ = ["compute_moment_residual"]

ROUNDING = 16 * float(np.finfo(np.float64).eps)  # relative rounding error of a sum, in the size of its terms


def compute_moment_residual(problem: Problem, h: FloatArray, activity: FloatArray, min_magnitude: FloatArray) -> float:
    """Return how much of a point must change to bring the most violated moment back to its bound.

    A violation that the rounding of the data explains counts as none.

    Parameters
    ----------
    problem : Problem
    h : array, shape (N,)
    activity : array, shape (m,)
        A^T h.
    min_magnitude : array, shape (m,)
        A lower bound on ``|A|^T h``, such as zeros. If it explains all violations, ``|A|^T h`` itself need not be computed,
        which takes another pass over the points.

    Returns
    -------
    float
        0 if no moment is violated; infinite if some moment cannot be brought back at all.
    """
    violation = np.maximum(activity - problem.upper, problem.lower - activity)
    moments = np.flatnonzero((violation > 0) & ~problem.noise)
    if not moments.size:
        return 0.0
    is_above = activity[moments] > problem.upper[moments]
    bound_size = np.abs(np.where(is_above, problem.upper[moments], problem.lower[moments]))
    margin = problem.A.per_moment("rounding", h)[moments]  # because the mean is itself a rounded number
    noise = ROUNDING * (min_magnitude[moments] + bound_size)
    if (violation[moments] <= noise + margin).all():
        return 0.0
    noise = ROUNDING * (problem.A.per_moment("magnitude", h)[moments] + bound_size)
    excess = violation[moments] - noise - margin
    is_real = excess > 0
    if not is_real.any():
        return 0.0
    signs = np.where(is_above, 1.0, -1.0)[is_real]
    return compute_least_change(problem, h, moments[is_real], signs, excess[is_real]) / _typical_cap(problem)


def _typical_cap(problem: Problem) -> float:
    """Return the median of the caps above zero; 1 if there is none."""
    (caps,) = one_entry_if_constant(problem.caps)
    positive = caps[caps > 0]
    return float(np.median(positive)) if positive.size else 1.0
