"""Weighted statistics of one moment in two samples: standardised difference, variance ratio, Kolmogorov-Smirnov distance."""

from __future__ import annotations

import numpy as np

from momentlp.points.arrays import FloatArray

__all__ = ["effective_sample_size", "ks_distance", "weighted_mean", "weighted_spread", "weighted_variance"]


def weighted_mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean of every column; NaN if the weights are all zero."""
    total = weights.sum()
    return weights @ values / total if total > 0 else np.full(values.shape[1:], np.nan)


def weighted_variance(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the variance of every column, with the sum of the weights as divisor.

    Examples
    --------
    >>> weighted_variance(np.array([[0.0], [2.0], [9.0]]), np.array([1.0, 1.0, 0.0]))
    array([1.])
    """
    return weighted_mean((values - weighted_mean(values, weights)) ** 2, weights)


def weighted_spread(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the standard deviation of every column; exactly 0 where a column does not vary among rows with a weight."""
    present = values[weights > 0]
    varies = np.ptp(present, axis=0) > 0 if len(present) else np.zeros(values.shape[1], dtype=bool)
    return np.where(varies, np.sqrt(weighted_variance(values, weights)), 0.0)


def ks_distance(first: FloatArray, first_weights: FloatArray, second: FloatArray, second_weights: FloatArray) -> float:
    """Return the largest difference between two weighted distribution functions; NaN if one has no weight.

    Examples
    --------
    >>> ks_distance(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.array([0.0, 2.0]), np.array([1.0, 1.0]))
    0.5
    """
    if not (first_weights.sum() > 0 and second_weights.sum() > 0):
        return float("nan")
    values, position = np.unique(np.concatenate([first, second]), return_inverse=True)
    shares = np.concatenate([first_weights / first_weights.sum(), -second_weights / second_weights.sum()])
    steps = np.bincount(position, weights=shares, minlength=values.size)
    return float(np.abs(np.cumsum(steps)).max())


def effective_sample_size(weights: FloatArray) -> float:
    """Return Kish's effective sample size ``(sum w)^2 / sum w^2``; 0 without weights.

    Examples
    --------
    >>> effective_sample_size(np.array([1.0, 1.0, 0.5]))
    2.7777777777777777
    """
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0
