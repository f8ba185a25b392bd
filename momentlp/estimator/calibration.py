"""Probabilities from labelled points that were held out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from momentlp.points.arrays import FloatArray, IndexArray

__all__ = ["Calibration", "counts_without", "held_out_scores", "split_folds"]

FOLDS = 5


class Calibration:
    """A monotone map from scores to the probability of being a member.

    By Bayes the probability at a score s is ``prior * f(s) / g(s)``, where f is the density of the scores of members and g
    that of all unlabelled points. Labelled points, each scored while it was held out, tell f; isotonic regression of
    "held-out member or unlabelled point" on the score tells the ratio, monotone as it should be. Where that is above one it
    is cut, and the rest raised, up to fourfold, until the mean over the unlabelled points is the prior. Nothing here has
    seen a point known to be outside: the figures are as good as the class prior and as the claim that labelled points are a
    fair sample of the class.

    Attributes
    ----------
    scores, probabilities : array, shape (c,)
        Corners of the piecewise linear map.
    """

    def __init__(self, scores: FloatArray, probabilities: FloatArray) -> None:
        self.scores, self.probabilities = scores, probabilities

    @classmethod
    def of(cls, members: FloatArray, unlabelled: FloatArray, weight: FloatArray, prior: float) -> Calibration:
        """Learn from the scores of held-out members and those of the unlabelled points, which count by their weight."""
        from sklearn.isotonic import IsotonicRegression

        scores = np.concatenate([members, unlabelled])
        expected = max(prior, 1e-12) * weight.sum() / members.size  # unlabelled members that each held-out one stands for
        target = np.concatenate([np.ones(members.size), np.zeros(unlabelled.size)])
        share = IsotonicRegression(y_min=0.0, y_max=1.0).fit(
            scores, target, np.concatenate([np.full(members.size, expected), weight])
        )
        ratio = share.y_thresholds_ / np.maximum(1 - share.y_thresholds_, 1e-12)
        corners = np.asarray(share.X_thresholds_, dtype=np.float64)
        factor = _factor(np.interp(unlabelled, corners, ratio), weight, prior)
        return cls(corners, np.asarray(np.minimum(factor * ratio, 1.0), dtype=np.float64))

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probability at each score."""
        return np.asarray(np.interp(scores, self.scores, self.probabilities))


def _factor(ratio: FloatArray, weight: FloatArray, prior: float) -> float:
    """Return the factor, from one to four, with which the probabilities, cut at one, have the prior as their mean."""
    low, high = 0.0, 2.0  # logarithms to base 2
    for _ in range(50):
        middle = (low + high) / 2
        if weight @ np.minimum(2.0**middle * ratio, 1.0) < prior * weight.sum():
            low = middle
        else:
            high = middle
    return float(2.0**low)


def split_folds(n_known: int, folds: int, random: np.random.Generator | None = None) -> list[IndexArray]:
    """Split the labelled points into folds of nearly equal size, shuffled if a generator is given."""
    order = np.arange(n_known) if random is None else random.permutation(n_known)
    return [np.sort(order[fold::folds]) for fold in range(folds)]


def counts_without(n_known: int, fold: IndexArray) -> FloatArray:
    """Return how often each labelled point counts while a fold is held out."""
    counts = np.ones(n_known)
    counts[fold] = 0.0
    return counts


def held_out_scores(scores: Sequence[FloatArray | None], folds: Sequence[IndexArray]) -> FloatArray:
    """Return the score that each labelled point had while its fold was held out, but for folds that have none.

    Parameters
    ----------
    scores : sequence of array or None
        For each fold the scores of all labelled points while it was held out.
    folds : sequence of array of int
    """
    return np.concatenate([score[fold] for score, fold in zip(scores, folds, strict=True) if score is not None])
