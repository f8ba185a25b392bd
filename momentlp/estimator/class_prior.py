"""The class prior: the share of the class among the unlabelled points, and a bootstrap interval for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from momentlp.estimator.resampling import bootstrap_counts, refit_samples
from momentlp.estimator.search import Search, SearchResult
from momentlp.points.arrays import FloatArray
from momentlp.runtime.html_table import html_table
from momentlp.runtime.progress_bar import show_progress

__all__ = ["PriorInterval", "bootstrap_interval", "class_share"]


@dataclass(frozen=True, eq=False)
class PriorInterval:
    """A confidence interval for the share of the class among the unlabelled points.

    :meth:`MomentClassifier.class_prior_interval` returns one. ``share in interval`` tells whether it covers a share.

    Parameters
    ----------
    estimate : float
        The share found with all labelled points, without bagging.
    low, high : float
        The ends of the interval, between 0 and 1.
    level : float
        The confidence level: how often such intervals should cover the true share.
    resampled : array, shape (n_resamples,) or less
        The share found with each bootstrap sample of the labelled points that has an answer.

    Examples
    --------
    >>> import numpy as np, momentlp as mlp
    >>> interval = mlp.PriorInterval(0.25, 0.2, 0.3, 0.9, np.array([0.24, 0.27]))
    >>> interval
    PriorInterval(0.2500, 90% from 0.2000 to 0.3000)
    >>> 0.22 in interval, 0.5 in interval
    (True, False)
    """

    estimate: float
    low: float
    high: float
    level: float
    resampled: FloatArray

    def __contains__(self, share: float) -> bool:
        return self.low <= share <= self.high

    def __repr__(self) -> str:
        return f"PriorInterval({self.estimate:.4f}, {self.level:.0%} from {self.low:.4f} to {self.high:.4f})"

    def _repr_html_(self) -> str:
        rows = [
            ("estimate", f"{self.estimate:.4f}"),
            (f"{self.level:.0%} interval", f"{self.low:.4f} to {self.high:.4f}"),
            ("bootstrap samples", f"{self.resampled.size:,}"),
        ]
        return html_table("Share of the class among the unlabelled points", rows)


def class_share(membership: FloatArray, unlabelled: FloatArray) -> float:
    """Return the share of the unlabelled points with a membership above one half.

    Parameters
    ----------
    membership, unlabelled : array, shape (N,)
        ``unlabelled`` holds the weight of each unlabelled point, and 0 for labelled points.
    """
    return float(unlabelled @ (membership > 0.5) / unlabelled.sum())


def bootstrap_interval(
    search: Search,
    found: SearchResult,
    *,
    level: float,
    n_resamples: int,
    random: np.random.Generator,
    progress: bool | Callable[[int, int | None], Any],
) -> PriorInterval:
    """Repeat the search with bootstrap samples of the labelled points, and return the interval.

    Each search starts from ``found``, the answer for all labelled points. The arguments are checked by the caller.
    """
    unlabelled = search.unlabelled
    samples = (bootstrap_counts(search.known.size, random) for _ in range(n_resamples))

    def read_share(result: SearchResult) -> float:
        return class_share(result.membership, unlabelled)

    with show_progress(progress, n_resamples) as report:
        results = refit_samples(search, samples, found.solution, read_share, what="bootstrap samples", report=report)
    shares = np.array([share for share in results if share is not None])
    estimate = class_share(found.membership, unlabelled)
    low, high = _interval_ends(estimate, shares, level)
    return PriorInterval(estimate, low, high, level, shares)


def _interval_ends(estimate: float, shares: FloatArray, level: float) -> tuple[float, float]:
    """Return ``estimate -+ z * e``, cut to [0, 1], where ``e^2`` is the mean of ``(share - estimate)^2``.

    A bootstrap sample holds fewer different points and tends to find less. Errors measured around the estimate turn this
    bias into a wider interval. Quantiles of the bootstrap shares would move the interval instead.
    """
    width = float(ndtri((1 + level) / 2) * np.sqrt(np.mean((shares - estimate) ** 2)))
    return max(0.0, estimate - width), min(1.0, estimate + width)
