"""Polishing an answer: from a pair (h, y) that is right to a solver's tolerance to the vertex next to it.

At a vertex every point is at 0, at its cap, or one of the few fractional points F; every moment is one of those at a bound,
R, or strictly within its bounds. Given F and R, the steps of h and y to the vertex follow from linear equations::

    sum_{i in F} A_ij dh_i = b_j - (A^T h)_j   for j in R        (the active moments are exactly at their bounds)
    sum_{j in R} A_ij dy_j = s_i               for i in F        (the fractional points lie exactly on the hyperplane)

One least-squares step of each reduces a residual of 1e-7 to rounding error. A step is kept only if it brings the
certificate closer. Where there is no such vertex, because more moments are at their bounds than points are fractional, h can
move by the change that its residual measures.
"""

from __future__ import annotations

import numpy as np

from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.proof.certificate import Certificate
from momentlp.proof.moment_residual import move_to_feasible

__all__ = ["admissible_multipliers", "polish", "polish_to_feasible"]

MAX_SIZE = 1500  # points or moments; a least-squares step of this size takes about a second


@np.errstate(over="ignore", invalid="ignore")  # any multipliers are allowed; the certificate judges the result
def polish(problem: Problem, h: FloatArray, y: FloatArray, margin: float = 1e-9) -> tuple[FloatArray, FloatArray]:
    """Return the pair (h, y) after one polishing step, or unchanged if the step does not improve the certificate.

    Parameters
    ----------
    problem : Problem
    h : array, shape (N,)
    y : array, shape (m,)
    margin : float
        A membership this close to 0 or its cap counts as being there; a multiplier this small, times the scale of its
        moment, counts as 0.

    Returns
    -------
    (array, array)
        h and y. Each is either the given one or the polished one, whichever pair has the smallest certificate error.
    """
    candidates = [(h, y), *_vertex_steps(problem, h, y, margin)]
    return candidates[0] if len(candidates) == 1 else min(candidates, key=lambda pair: Certificate.of(problem, *pair).error)


def polish_to_feasible(certificate: Certificate) -> Certificate:
    """Return the certificate after memberships moved by the change that their residual measures, if that brings it closer.

    The result need not be a vertex, so this is for answers that nothing else mends.

    Parameters
    ----------
    certificate : Certificate
    """
    if not certificate.primal_residual == certificate.error > 0:
        return certificate
    problem, y = certificate.problem, certificate.multipliers
    moved = move_to_feasible(problem, certificate.membership, y, certificate.weight_unit)
    if moved is None:
        return certificate
    return min(certificate, Certificate.of(problem, moved, y), key=lambda one: one.error)


def _vertex_steps(problem: Problem, h: FloatArray, y: FloatArray, margin: float) -> list[tuple[FloatArray, FloatArray]]:
    """Return the pairs with h, y or both moved to the vertex; none if there is no vertex to move to."""
    fractional = np.flatnonzero((h > margin) & (h < problem.caps - margin))
    scale = problem.scale
    at_bound = np.flatnonzero(~problem.noise & ((np.abs(y) * scale > margin) | (problem.lower == problem.upper)))
    if not (0 < fractional.size <= MAX_SIZE and 0 < at_bound.size <= MAX_SIZE):
        return []
    rows = problem.A.rows(fractional)
    system = rows[:, at_bound] / scale[at_bound]
    activity = (problem.A.T @ h)[at_bound]
    bound = np.where(y > 0, problem.upper, problem.lower)[at_bound]
    scores = problem.weights[fractional] - rows @ y
    if not np.isfinite(bound).all():
        return []
    try:
        step_h = np.linalg.lstsq(system.T, (bound - activity) / scale[at_bound], rcond=None)[0]
        step_y = np.linalg.lstsq(system, scores, rcond=None)[0] / scale[at_bound]
    except np.linalg.LinAlgError:
        return []
    new_h, new_y = h.copy(), y.copy()
    new_h[fractional] = np.clip(h[fractional] + step_h, 0.0, problem.caps[fractional])
    new_y[at_bound] += step_y
    new_y = admissible_multipliers(problem, new_y)
    return [(new_h, y), (h, new_y), (new_h, new_y)]


def admissible_multipliers(problem: Problem, y: FloatArray) -> FloatArray:
    """Return multipliers with zeros where y points at a side without a bound; the result gives a finite dual bound.

    Parameters
    ----------
    problem : Problem
    y : array, shape (m,)
    """
    points_nowhere = ((y > 0) & np.isinf(problem.upper)) | ((y < 0) & np.isinf(problem.lower))
    return np.where(points_nowhere, 0.0, y)
