"""Ranks of weighted scores, as shares between 0 and 1."""

from __future__ import annotations

import numpy as np

from momentlp.points.arrays import FloatArray

__all__ = ["mid_ranks"]


def mid_ranks(scores: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the different scores, increasing, and the rank of each.

    The rank of a score is the share of the points below it, plus half of the share of those that have the same score.

    Parameters
    ----------
    scores, weights : array, shape (n,)
        ``weights`` says how many points each stands for.

    Examples
    --------
    >>> mid_ranks(np.array([3.0, 1.0, 1.0, 2.0]), np.ones(4))
    (array([1., 2., 3.]), array([0.25 , 0.625, 0.875]))
    """
    levels, place = np.unique(scores, return_inverse=True)
    share = np.bincount(place, weights) / weights.sum()
    return levels, np.cumsum(share) - share / 2
