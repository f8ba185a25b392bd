r"""The dual bound: an upper bound on the weight of every feasible set, from any multipliers y.

::

    bound(y)  =  sum_i u_i max(0, s_i)  +  sum_j ( U_j max(y_j, 0) + L_j min(y_j, 0) ),          s = w - A y

Scores are raised by the error of computing them, where that can matter, so the result is a bound in spite of rounding.
Scores of points with an entry far beyond the others are computed without rounding: a float product would lose the other
entries.

The bound of the problem with rounding (:mod:`momentlp.problem.rounding`) is obtained by raising the scores by
``sum_j r_ij |y_j|`` too, and the second sum by the rounding of the bounds. It holds for all problems whose data differ by
rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, constant_vector
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp.problem.problem import Problem
from momentlp.problem.rounding import REFUTED, ROUNDING, limited_score_magnitude

__all__ = [
    "ScoreRounding",
    "compute_scores",
    "dual_bound",
    "farkas_value",
    "find_score_rounding",
    "infinite_if_lost",
    "point_terms",
    "row_terms",
    "sum_row_terms",
]

NEGLIGIBLE = 1e-9  # an effect of rounding on the bound below this, relative to a typical point or the bound, is left out
MAX_EXACT_ENTRIES = 50_000  # entries of A for which scores are computed in integers: some tenths of a second
EXACT_ABOVE = 2.0  # a score is computed in integers if its terms exceed those with limited entries by this factor
COMPUTED = 2 * float(np.finfo(np.float64).eps)  # the error of a computed term, relative to its size


@dataclass(frozen=True)
class ScoreRounding:
    """How far scores are raised: by the error of computing them, and ``factor`` times the rule for the rounding of the data.

    Attributes
    ----------
    factor : float
        0 for the problem as it is stored, ``REFUTED`` for the proof that there is nothing to find.
    limits : array, shape (m,)
        The limits on entries in that rule.
    """

    factor: float
    limits: FloatArray


@np.errstate(over="ignore", invalid="ignore")
def find_score_rounding(problem: Problem, y: FloatArray, *, weight: float = 0.0) -> ScoreRounding | None:
    """Return how far the scores of a problem must be raised for the error of computing them; None if that cannot matter.

    Parameters
    ----------
    problem : Problem
    y : array, shape (m,)
    weight : float
        The weight in units of which an effect must be negligible, if it is larger than that of a typical point.
    """
    sizes = problem.scale + problem.A.per_moment("offset")
    terms, _ = row_terms(problem, y)
    max_effect = ROUNDING * (float(problem.caps.sum()) * float((np.abs(y) * sizes).sum()) + float(np.abs(terms).sum()))
    if max_effect <= NEGLIGIBLE * max(weight, problem.point_weight):
        return None
    return ScoreRounding(0.0, problem.A.entry_limits)


@np.errstate(over="ignore", invalid="ignore")
def compute_scores(
    A: MomentMatrix, y: FloatArray, weights: FloatArray, rounding: ScoreRounding | None
) -> tuple[FloatArray, FloatArray]:
    """Return the scores ``w - A y``, and the scores raised by rounding.

    Parameters
    ----------
    A : MomentMatrix
        In memory.
    y : array, shape (m,)
    weights : array, shape (N,)
    rounding : ScoreRounding or None
        From :func:`find_score_rounding`.

    Returns
    -------
    (array, array), both of shape (N,)
    """
    scores = weights - A @ y
    if rounding is None:
        return scores, scores
    limited, magnitude = limited_score_magnitude(A, y, rounding.limits), A.score_magnitude(y)
    computed = COMPUTED * (1.0 + np.sqrt(y.size))  # errors of a sum of m terms, as they add up at random
    margin = computed * magnitude
    wide = np.flatnonzero(magnitude > EXACT_ABOVE * limited)
    if 0 < wide.size * A.shape[1] <= MAX_EXACT_ENTRIES and np.isfinite(scores[wide]).all():
        from momentlp.proof.exact.evaluation import exact_scores

        scores[wide] = exact_scores(A, weights, y, wide)
        margin[wide] = COMPUTED * np.abs(scores[wide])  # rounded once
    return scores, scores + margin + rounding.factor * ROUNDING * limited


def point_terms(scores: FloatArray, caps: FloatArray) -> FloatArray:
    """Return ``u_i max(0, s_i)`` per point, zero where the cap is zero."""
    return np.where(caps > 0, caps * np.maximum(scores, 0.0), 0.0)


def row_terms(problem: Problem, y: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return ``U max(y, 0) + L min(y, 0)`` per moment, and whether y points at a side without a bound."""
    facing = np.where(y > 0, problem.upper, problem.lower)
    wrong = (y != 0) & np.isinf(facing)
    terms = np.where(wrong, np.inf, np.where(y == 0, 0.0, y) * np.where(np.isinf(facing), 0.0, facing))
    return terms, wrong


def sum_row_terms(terms: FloatArray, rounding: ScoreRounding | None) -> float:
    """Return the sum of the terms of the moments, raised by the rounding of the bounds if the data are rounded."""
    total = float(terms.sum())
    return total if rounding is None else total + rounding.factor * ROUNDING * float(np.abs(terms).sum())


def dual_bound(problem: Problem, y: FloatArray, factor: float = 0.0) -> float:
    """Return ``bound(y)``, an upper bound on the weight of every feasible set.

    Parameters
    ----------
    problem : Problem
    y : array, shape (m,)
    factor : float
        A multiple of the rule for the rounding of the data: 0 for the problem as it is stored.
    """
    rounding = ScoreRounding(factor, problem.A.entry_limits) if factor else find_score_rounding(problem, y)
    return _compute_bound(problem, y, problem.weights, rounding)


def farkas_value(problem: Problem, y: FloatArray) -> float:
    """Return the bound of the same problem with all weights zero.

    A feasible h would have ``0 . h = 0 <= bound``. A negative value therefore proves that no h is feasible, nor would be if
    the data differed by rounding.
    """
    rounding = ScoreRounding(REFUTED, problem.A.entry_limits)
    return _compute_bound(problem, y, constant_vector(0.0, problem.n_points), rounding)


@np.errstate(over="ignore", invalid="ignore")
def _compute_bound(problem: Problem, y: FloatArray, weights: FloatArray, rounding: ScoreRounding | None) -> float:
    terms, _ = row_terms(problem, y)
    points = problem.A.scan(partial(_sum_point_terms, y, rounding), weights, problem.caps)
    return infinite_if_lost(float(sum(points)) + sum_row_terms(terms, rounding))


def _sum_point_terms(
    y: FloatArray, rounding: ScoreRounding | None, A: MomentMatrix, weights: FloatArray, caps: FloatArray
) -> float:
    return float(point_terms(compute_scores(A, y, weights, rounding)[1], caps).sum())


def infinite_if_lost(bound: float) -> float:
    """Return a bound, or infinity if it overflowed."""
    return bound if np.isfinite(bound) else float("inf")
