"""Normal scores: each score replaced by the quantile of the normal distribution at its rank among the unlabelled points.

Classifiers score in different units and shapes: probabilities in steps, distances from a hyperplane, log odds. After this
step each has mean zero and variance one among the unlabelled points, and no outlier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from momentlp.points.arrays import FloatArray
from momentlp.points.ranks import mid_ranks

__all__ = ["NormalScores"]

MAX_LEVELS = 2000  # levels that are kept; between them the quantiles are interpolated


@dataclass(frozen=True, eq=False)
class NormalScores:
    """A monotone function from scores to normal quantiles.

    Attributes
    ----------
    levels : array, shape (q,)
        Scores, increasing.
    quantiles : array, shape (q,)
        The normal quantile of each level.
    """

    levels: FloatArray
    quantiles: FloatArray

    @classmethod
    def of(cls, scores: FloatArray, weights: FloatArray, *, max_levels: int = MAX_LEVELS) -> NormalScores:
        """Compute the function from the scores of the unlabelled points.

        Parameters
        ----------
        scores : array, shape (u,)
        weights : array, shape (u,)
            Of the points, all positive.
        max_levels : int
            The maximum number of levels that are kept.

        Examples
        --------
        >>> NormalScores.of(np.array([3.0, 1.0, 1.0, 2.0]), np.ones(4))(np.array([1.0, 3.0])).round(3)
        array([-0.674,  1.15 ])
        """
        from scipy.special import ndtri  # imported here because it is slow to import

        levels, ranks = mid_ranks(scores, weights)
        quantiles = np.asarray(ndtri(ranks))
        if levels.size > max_levels:
            kept = np.unique(np.searchsorted(quantiles, np.linspace(quantiles[0], quantiles[-1], max_levels)))
            levels, quantiles = levels[kept], quantiles[kept]
        return cls(levels, quantiles)

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the normal quantiles of scores, shape (n,); beyond the first and last level they stay constant."""
        return np.interp(scores, self.levels, self.quantiles)
