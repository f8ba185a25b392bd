"""Probabilities of membership, calibrated on labelled points that were held out."""

from __future__ import annotations

import numpy as np

from momentlp.errors import DataError
from momentlp.estimator.folds import held_out_counts, held_out_scores, split_folds
from momentlp.estimator.resampling import refit_samples
from momentlp.estimator.search import Search, SearchResult
from momentlp.points.arrays import FloatArray
from momentlp.solution.solution import Solution

__all__ = ["Calibration", "calibrate"]

N_FOLDS = 5
MIN_LABELLED = 3
MAX_LOG2_FACTOR = 2.0  # probabilities are raised fourfold at most
TINY = 1e-12  # instead of 0 where a logarithm or a quotient would be infinite


class Calibration:
    """A monotone function from scores to the probability of membership.

    By Bayes' rule the probability at a score s is ``prior * f(s) / g(s)``. Here f is the density of the scores of members
    and g is the density of the scores of all unlabelled points. Labelled points that were held out give f. Isotonic
    regression of "held-out member or unlabelled point" on the score gives the ratio. Ratios above one are cut to one. The
    others are multiplied by a factor between 1 and 4, so that the mean over the unlabelled points is the prior.

    No point that is known to be outside is used. The probabilities are only as good as the class prior, and as the
    assumption that the labelled points are a random sample of the class.

    Parameters
    ----------
    scores, probabilities : array, shape (c,)
        Corners of the piecewise linear function.
    """

    def __init__(self, scores: FloatArray, probabilities: FloatArray) -> None:
        self.scores, self.probabilities = scores, probabilities

    @classmethod
    def fit(cls, members: FloatArray, unlabelled: FloatArray, weight: FloatArray, prior: float) -> Calibration:
        """Fit the function.

        Parameters
        ----------
        members : array, shape (k,)
            Scores of labelled points while they were held out.
        unlabelled, weight : array, shape (n,)
            Scores and weights of the unlabelled points.
        prior : float
            Share of the class among the unlabelled points.
        """
        from sklearn.isotonic import IsotonicRegression

        scores = np.concatenate([members, unlabelled])
        per_member = max(prior, TINY) * weight.sum() / members.size  # unlabelled members that a held-out one stands for
        target = np.concatenate([np.ones(members.size), np.zeros(unlabelled.size)])
        share = IsotonicRegression(y_min=0.0, y_max=1.0).fit(
            scores, target, np.concatenate([np.full(members.size, per_member), weight])
        )
        ratio = share.y_thresholds_ / np.maximum(1 - share.y_thresholds_, TINY)
        corners = np.asarray(share.X_thresholds_, dtype=np.float64)
        factor = _find_factor(np.interp(unlabelled, corners, ratio), weight, prior)
        return cls(corners, np.asarray(np.minimum(factor * ratio, 1.0), dtype=np.float64))

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probability at each score."""
        return np.asarray(np.interp(scores, self.scores, self.probabilities))


def _find_factor(ratio: FloatArray, weight: FloatArray, prior: float) -> float:
    """Find the factor, from 1 to 4, for which the mean of ``min(factor * ratio, 1)`` is the prior, by bisection."""
    low, high = 0.0, MAX_LOG2_FACTOR
    for _ in range(50):
        middle = (low + high) / 2
        if weight @ np.minimum(2.0**middle * ratio, 1.0) < prior * weight.sum():
            low = middle
        else:
            high = middle
    return float(2.0**low)


def calibrate(search: Search, start: Solution, scores: FloatArray, prior: float) -> Calibration:
    """Hold out each fold of the labelled points once, and fit a calibration to the scores.

    Parameters
    ----------
    search : Search
    start : Solution
        Solution with all labelled points, from which the others start.
    scores : array, shape (N,)
        Scores of all points with all labelled points.
    prior : float
        Share of the class among the unlabelled points.

    Raises
    ------
    DataError
        If there are fewer than 3 labelled points.
    """
    n_labelled, unlabelled = search.known.size, search.unlabelled
    if n_labelled < MIN_LABELLED:
        raise DataError(
            f"probability=True needs at least {MIN_LABELLED} labelled points to hold some out, but there are {n_labelled}."
        )

    def score_labelled(found: SearchResult) -> FloatArray:
        return (found.solution.scores if found.smoother is None else found.membership)[search.known]

    folds = split_folds(n_labelled, min(N_FOLDS, n_labelled))
    samples = (held_out_counts(n_labelled, fold) for fold in folds)
    members = held_out_scores(refit_samples(search, samples, start, score_labelled, what="folds"), folds)
    counted = unlabelled > 0
    return Calibration.fit(members, scores[counted], unlabelled[counted], prior)
