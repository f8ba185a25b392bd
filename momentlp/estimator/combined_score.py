r"""The score of the classifier with ``features="auto"``: what the linear program finds, and the mean of its moments.

The moments are scores themselves, each larger for members. The program weighs them by its multipliers; with few labelled
points these depend on which ones were labelled. The mean of the moments depends less on that. So both count::

    score  =  ( m - mean_U m ) / sd_U m   +   1/2 ( s - mean_U s ) / sd_U s,          s = w - A y,    m = sum_j v_j phi_j

A moment counts in m by how well it alone tells members from others: ``v_j`` is proportional to ``exp(0.4 e_j)``, where
``e_j`` is the evidence of the score model (:func:`~momentlp.estimator.score_model.log_evidence`). The score is linear in the
moments, so it is a hyperplane like that of the program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from momentlp.estimator.score_model import log_evidence
from momentlp.features import FeatureMap
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.solution.separator import Separator
from momentlp.solution.solution import Solution

__all__ = ["CombinedScore", "combine", "rank_quality"]

SHARPNESS = 0.4  # of the weights of the moments: 0 makes them equal, 1 gives each its probability to be the best
PROGRAM_WEIGHT = 0.5  # of the score of the program, beside the mean


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


@dataclass(frozen=True, eq=False)
class CombinedScore:
    """The combined score.

    Attributes
    ----------
    separator : Separator
        Its hyperplane.
    scores : array, shape (N,)
    parts : tuple of (FeatureMap, array of shape (N,))
        Each part of the feature map, and the weighted mean of its moments.
    """

    separator: Separator
    scores: FloatArray
    parts: tuple[tuple[FeatureMap, FloatArray], ...]

    def total(self, kind: type[FeatureMap]) -> FloatArray:
        """Return the sum over the parts of one kind, shape (N,)."""
        chosen = [mean for part, mean in self.parts if isinstance(part, kind)]
        return np.asarray(np.sum([np.zeros_like(self.scores), *chosen], axis=0))


def combine(solution: Solution, known: IndexArray, counts: FloatArray, unlabelled: FloatArray) -> CombinedScore:
    """Return the combined score.

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
    evidence = {number: _evidence(phi, known, counts, unlabelled) for number, phi in features.items()}
    best = max(float(found.max()) for found in evidence.values())
    values = {number: np.exp(SHARPNESS * (found - best)) for number, found in evidence.items()}
    means = {number: np.asarray(features[number] @ values[number]) for number in used}
    mean = np.sum(list(means.values()), axis=0)
    program = _program_scores(separator, features)
    (centre_m, unit_m), (centre_s, unit_s) = _moments(mean, unlabelled), _moments(program, unlabelled)
    scale_m, scale_s = (size / unit if unit > 0 else 0.0 for size, unit in ((1.0, unit_m), (PROGRAM_WEIGHT, unit_s)))
    normals, level = [], scale_s * (separator.level - centre_s) - scale_m * centre_m
    for number, (normal, origin) in enumerate(zip(separator.normals, separator.origins, strict=True)):
        value = values.get(number, np.zeros_like(normal))
        normals.append(scale_s * normal + scale_m * value if number in values else 0 * normal)
        level += scale_m * float(value @ origin)
    combined = Separator(tuple(normals), separator.origins, float(level), separator.maps, separator.names)
    parts = tuple((fitted.declared, means[number]) for number, fitted in enumerate(separator.maps) if fitted is not None)
    return CombinedScore(combined, scale_s * (program - centre_s) + scale_m * (mean - centre_m), parts)


def _evidence(features: FloatArray, known: IndexArray, counts: FloatArray, unlabelled: FloatArray) -> FloatArray:
    """Return the evidence of each moment, shape (k,)."""
    counted = unlabelled > 0
    weights = unlabelled[counted]
    return np.array([log_evidence(column[known], column[counted], weights, counts) for column in features.T])


def _program_scores(separator: Separator, features: dict[int, FloatArray]) -> FloatArray:
    """Return the scores of the program; rows of constraints, which new points do not have, are left out."""
    parts = [(phi - separator.origins[number]) @ separator.normals[number] for number, phi in features.items()]
    return np.asarray(separator.level + np.sum(parts, axis=0), dtype=np.float64)


def _moments(scores: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return mean and standard deviation; 0 for the latter if all scores are equal but for rounding."""
    centre = float(np.average(scores, weights=weights))
    unit = float(np.sqrt(np.average((scores - centre) ** 2, weights=weights)))
    return centre, unit if unit > 1e-12 * max(1.0, float(np.abs(scores).max())) else 0.0
