"""The decision rule of a fitted model: how it scores points, seen or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from momentlp.estimator.calibration import Calibration
from momentlp.estimator.score_model import ScoreModel
from momentlp.features import FittedMap, interpolate_values
from momentlp.points.arrays import FloatArray, Matrix
from momentlp.solution.separator import Separator

__all__ = ["DecisionRule"]

JUST_ABOVE_HALF, JUST_BELOW_HALF = float(np.nextafter(0.5, 1.0)), float(np.nextafter(0.5, 0.0))


@dataclass(frozen=True, eq=False)
class DecisionRule:
    """A score for every point, and the offset above which a point is a member.

    Attributes
    ----------
    voters : tuple of Separator
        Hyperplanes. The score is the mean of their scores: one from the solution, or one per bootstrap sample.
    smoother : FittedMap, optional
        A map with neighbourhoods. If given, the score is the average of ``values`` over the neighbours of the point.
    values : array, shape (n,), optional
        Memberships of the n points on which the smoother was fitted.
    calibration : Calibration or ScoreModel, optional
        The function from scores to probabilities.
    threshold : float
        The score above which a point is a member, where there is no smoother.
    """

    voters: tuple[Separator, ...]
    smoother: FittedMap | None = None
    values: FloatArray | None = None
    calibration: Calibration | ScoreModel | None = None
    threshold: float = 0.0

    @property
    def offset(self) -> float:
        """The score above which a point is a member."""
        return self.threshold if self.smoother is None else 0.5

    def score(self, points: Matrix) -> FloatArray:
        """Score points: members score higher."""
        if self.smoother is None or self.values is None:
            return np.asarray(np.mean([voter.decision_function(points) for voter in self.voters], axis=0))
        return interpolate_values(self.smoother, self.values, self.smoother.check(points))

    def probability(self, score: FloatArray) -> FloatArray:
        """Return the probability of membership. It is above one half exactly where the score is above the offset."""
        if self.calibration is None:
            raise AttributeError("predict_proba needs probability=True before fit.")
        calibrated = self.calibration(score)
        is_member = score > self.offset
        return np.where(is_member, np.maximum(calibrated, JUST_ABOVE_HALF), np.minimum(calibrated, JUST_BELOW_HALF))
