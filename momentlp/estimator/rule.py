"""How a fitted model scores points that it may never have seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from momentlp.estimator.calibration import Calibration
from momentlp.features import FittedMap, interpolate_values
from momentlp.points.arrays import FloatArray, Matrix
from momentlp.solution.separator import Separator

__all__ = ["Rule"]

UP, DOWN = float(np.nextafter(0.5, 1.0)), float(np.nextafter(0.5, 0.0))


@dataclass(frozen=True, eq=False)
class Rule:
    """A score for every point, and the score from which it is a member.

    Attributes
    ----------
    voters : tuple of Separator
        Hyperplanes, of which the mean score counts: the one of the solution, or one for each bootstrap sample.
    smoother : FittedMap, optional
        A map with neighbourhoods. Then the score is the average of ``values`` over those of the point instead.
    values : array, optional
        Memberships at the points that the smoother was fitted on.
    calibration : Calibration, optional
        From scores to probabilities.
    """

    voters: tuple[Separator, ...]
    smoother: FittedMap | None = None
    values: FloatArray | None = None
    calibration: Calibration | None = None

    @property
    def offset(self) -> float:
        """The score above which a point is a member."""
        return 0.0 if self.smoother is None else 0.5

    def score(self, points: Matrix) -> FloatArray:
        """Score points: the higher, the more a member."""
        if self.smoother is None or self.values is None:
            return np.asarray(np.mean([voter.decision_function(points) for voter in self.voters], axis=0))
        return interpolate_values(self.smoother, self.values, self.smoother.check(points))

    def probability(self, score: FloatArray) -> FloatArray:
        """Return the probability of being a member; above one half exactly where the score is above the offset."""
        if self.calibration is None:
            raise AttributeError("predict_proba needs probability=True before fit.")
        likely = self.calibration(score)
        return np.where(score > self.offset, np.maximum(likely, UP), np.minimum(likely, DOWN))
