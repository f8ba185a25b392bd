"""Polishing an answer: from a point that a solver holds within its tolerance to the vertex it stands for.

At a vertex the points split into three: at 0, at their cap, and the few F between; the moments into those at a bound, R,
and the rest. Given F and R, both vectors follow from linear equations::

    sum_{i in F} A_ij dh_i = b_j - (A^T h)_j   for j in R        (the active moments sit exactly on their bounds)
    sum_{j in R} A_ij dy_j = s_i               for i in F        (the points between lie exactly on the hyperplane)

One least-squares step of each takes a residual of 1e-7 to rounding error. A step is kept only if the certificate says it
helped.
"""

from __future__ import annotations

import numpy as np

from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.proof.certificate import Certificate

__all__ = ["polish"]

LARGEST = 1500  # a least-squares step of this size takes about a second


@np.errstate(over="ignore", invalid="ignore")  # multipliers may be anything; the certificate judges what comes of them
def polish(problem: Problem, h: FloatArray, y: FloatArray, margin: float = 1e-9) -> tuple[FloatArray, FloatArray]:
    """Return the pair (h, y) after one polishing step, or as it was if that does not bring the certificate closer.

    Parameters
    ----------
    margin : float
        A membership this close to 0 or its cap, and a scaled multiplier this close to 0, count as being there.
    """
    between = np.flatnonzero((h > margin) & (h < problem.caps - margin))
    scale = problem.scale
    at_bound = np.flatnonzero(~problem.noise & ((np.abs(y) * scale > margin) | (problem.lower == problem.upper)))
    if not (0 < between.size <= LARGEST and 0 < at_bound.size <= LARGEST):
        return h, y
    rows = problem.A.rows(between)
    system = rows[:, at_bound] / scale[at_bound]
    activity = (problem.A.T @ h)[at_bound]
    bound = np.where(y > 0, problem.upper, problem.lower)[at_bound]
    scores = problem.weights[between] - rows @ y
    if not np.isfinite(bound).all():
        return h, y
    try:
        step_h = np.linalg.lstsq(system.T, (bound - activity) / scale[at_bound], rcond=None)[0]
        step_y = np.linalg.lstsq(system, scores, rcond=None)[0] / scale[at_bound]
    except np.linalg.LinAlgError:
        return h, y
    new_h, new_y = h.copy(), y.copy()
    new_h[between] = np.clip(h[between] + step_h, 0.0, problem.caps[between])
    new_y[at_bound] += step_y
    new_y = admissible_multipliers(problem, new_y)
    candidates = [(h, y), (new_h, y), (h, new_y), (new_h, new_y)]
    return min(candidates, key=lambda pair: Certificate.of(problem, *pair).error)


def admissible_multipliers(problem: Problem, y: FloatArray) -> FloatArray:
    """Set multipliers to zero that point at a side where their moment has no bound: any y that remains gives a bound."""
    wrong = ((y > 0) & np.isinf(problem.upper)) | ((y < 0) & np.isinf(problem.lower))
    return np.where(wrong, 0.0, y)
