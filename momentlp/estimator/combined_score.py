r"""The score of the classifier with ``features="auto"``: what the linear program finds, and the mean of its moments.

The moments are scores themselves, each larger for members. The program weighs them by its multipliers; with few labelled
points these depend on which ones were labelled. The mean of the moments does not, but knows less. So both count::

    score  =  ( s - mean_U s ) / sd_U s   +   ( m - mean_U m ) / sd_U m,          s = w - A y,    m = sum_j v_j phi_j

A moment counts in m by how well it tells labelled from unlabelled points: ``v_j`` is proportional to ``(AUC_j - 1/2)^4``.
The score is linear in the moments, so it is a hyperplane like that of the program.
"""

from __future__ import annotations

import numpy as np

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.solution.separator import Separator
from momentlp.solution.solution import Solution

__all__ = ["combine", "rank_quality"]

POWER = 4
MIN_QUALITY = 0.01  # of AUC - 1/2: a moment that tells nothing still has a weight


def rank_quality(scores: FloatArray, known: IndexArray, counts: FloatArray, unlabelled: FloatArray) -> float:
    """Return the ROC AUC of a score for labelled against unlabelled points.

    Parameters
    ----------
    scores : array, shape (N,)
    known, counts : array, shape (l,)
        Rows of the labelled points, and how many points each stands for.
    unlabelled : array, shape (N,)
        The weight of each unlabelled point, 0 for labelled points.
    """
    counted = unlabelled > 0
    order = np.argsort(scores[counted], kind="stable")
    ordered, total = scores[counted][order], np.concatenate([[0.0], np.cumsum(unlabelled[counted][order])])
    below, up_to = (total[np.searchsorted(ordered, scores[known], side)] for side in ("left", "right"))
    return float(np.average((below + up_to) / 2, weights=counts) / total[-1])


def combine(
    solution: Solution, known: IndexArray, counts: FloatArray, unlabelled: FloatArray
) -> tuple[Separator, FloatArray]:
    """Return the hyperplane of the combined score, and the score of every point.

    Parameters
    ----------
    solution : Solution
        Of the program whose moments are scores.
    known, counts : array, shape (l,)
        Rows of the labelled points, and how many points each stands for.
    unlabelled : array, shape (N,)
        The weight of each unlabelled point, 0 for labelled points.
    """
    separator = solution.separator
    used = [number for number, fitted in enumerate(separator.maps) if fitted is not None]
    features = {number: np.asarray(solution.problem.blocks[number].features) for number in used}
    values = {number: _values(phi, known, counts, unlabelled) for number, phi in features.items()}
    mean = np.sum([features[number] @ values[number] for number in used], axis=0)
    program = _program_scores(separator, features)
    (centre_m, unit_m), (centre_s, unit_s) = _moments(mean, unlabelled), _moments(program, unlabelled)
    scale_m, scale_s = (1.0 / unit if unit > 0 else 0.0 for unit in (unit_m, unit_s))
    normals, level = [], scale_s * (separator.level - centre_s) - scale_m * centre_m
    for number, (normal, origin) in enumerate(zip(separator.normals, separator.origins, strict=True)):
        value = values.get(number, np.zeros_like(normal))
        normals.append(scale_s * normal + scale_m * value if number in values else 0 * normal)
        level += scale_m * float(value @ origin)
    combined = Separator(tuple(normals), separator.origins, float(level), separator.maps, separator.names)
    return combined, scale_s * (program - centre_s) + scale_m * (mean - centre_m)


def _values(features: FloatArray, known: IndexArray, counts: FloatArray, unlabelled: FloatArray) -> FloatArray:
    """Return v, the value of each moment, shape (k,)."""
    quality = np.array([rank_quality(column, known, counts, unlabelled) - 0.5 for column in features.T])
    return np.asarray(np.maximum(quality, MIN_QUALITY) ** POWER)


def _program_scores(separator: Separator, features: dict[int, FloatArray]) -> FloatArray:
    """Return the scores of the program; rows of constraints, which new points do not have, are left out."""
    parts = [(phi - separator.origins[number]) @ separator.normals[number] for number, phi in features.items()]
    return np.asarray(separator.level + np.sum(parts, axis=0), dtype=np.float64)


def _moments(scores: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return mean and standard deviation; 0 for the latter if all scores are equal but for rounding."""
    centre = float(np.average(scores, weights=weights))
    unit = float(np.sqrt(np.average((scores - centre) ** 2, weights=weights)))
    return centre, unit if unit > 1e-12 * max(1.0, float(np.abs(scores).max())) else 0.0
