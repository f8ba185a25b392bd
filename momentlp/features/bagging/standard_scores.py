"""Standard scores: the mean of the unlabelled points subtracted, divided by their standard deviation, and limited.

Unlike normal quantiles they keep the shape of a score: where it has few points between two groups, so have these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from momentlp.points.arrays import FloatArray

__all__ = ["StandardScores"]

MAX_SCORE = 4.0  # in standard deviations: scores beyond it are cut, so that no single point moves a mean


@dataclass(frozen=True, eq=False)
class StandardScores:
    """A function from scores to standard scores.

    Attributes
    ----------
    centre, unit : float
        Mean and standard deviation of the scores of the unlabelled points; the unit is 1 if they are all equal.
    """

    centre: float
    unit: float

    @classmethod
    def of(cls, scores: FloatArray, weights: FloatArray) -> StandardScores:
        """Compute the function from the scores of the unlabelled points.

        Parameters
        ----------
        scores, weights : array, shape (u,)
            Weights are positive.

        Examples
        --------
        >>> StandardScores.of(np.array([1.0, 3.0]), np.ones(2))(np.array([2.0, 3.0, 99.0]))
        array([0., 1., 4.])
        """
        centre = float(np.average(scores, weights=weights))
        unit = float(np.sqrt(np.average((scores - centre) ** 2, weights=weights)))
        return cls(centre, unit if unit > 1e-12 * max(1.0, abs(centre)) else 1.0)

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return standard scores, shape (n,)."""
        return np.clip((scores - self.centre) / self.unit, -MAX_SCORE, MAX_SCORE)
