"""The share of the class among the unlabelled points, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from momentlp.errors import OptionError
from momentlp.estimator.resampling import refit_samples
from momentlp.estimator.search import Search, SearchResult
from momentlp.points.arrays import FloatArray
from momentlp.runtime.html_table import html_table
from momentlp.runtime.progress_bar import show_progress as shown

__all__ = ["PriorInterval", "bootstrap_counts", "interval", "share_found"]


@dataclass(frozen=True, eq=False)
class PriorInterval:
    """An interval for the share of the class among the unlabelled points.

    Attributes
    ----------
    estimate : float
        The share found with all labelled points, without bagging.
    low, high : float
    level : float
        How often such intervals should cover the true share.
    resampled : array, shape (n_resamples,) or less
        The share found with each bootstrap sample of the labelled points that has an answer.
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


def share_found(membership: FloatArray, unlabelled: FloatArray) -> float:
    """Return the share of the unlabelled points, by weight, that are in the class."""
    return float(unlabelled @ (membership > 0.5) / unlabelled.sum())


def bootstrap_counts(n_known: int, random: np.random.Generator) -> FloatArray:
    """Draw as many labelled points as there are, with repetition, at least two of them different if there are two."""
    while True:
        counts = np.bincount(random.integers(n_known, size=n_known), minlength=n_known).astype(np.float64)
        if np.count_nonzero(counts) >= min(2, n_known):
            return counts


def interval(
    search: Search,
    whole: SearchResult,
    *,
    level: float,
    n_resamples: int,
    random: np.random.Generator,
    progress: bool | Callable[[int, int | None], Any],
) -> PriorInterval:
    """Repeat the search with bootstrap samples of the labelled points, each started from the answer for all of them."""
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, such as 0.9, not {level!r}.")
    if n_resamples < 10:
        raise OptionError(f"n_resamples must be at least 10, not {n_resamples!r}: 200 is usual.")
    unlabelled = search.unlabelled
    samples = (bootstrap_counts(search.known.size, random) for _ in range(n_resamples))

    def share(found: SearchResult) -> float:
        return share_found(found.membership, unlabelled)

    with shown(progress, n_resamples) as tell:
        found = refit_samples(search, samples, whole.solution, share, what="bootstrap samples", tell=tell)
    shares = np.array([each for each in found if each is not None])
    estimate = share_found(whole.membership, unlabelled)
    low, high = _ends(estimate, shares, level)
    return PriorInterval(estimate, low, high, level, shares)


def _ends(estimate: float, shares: FloatArray, level: float) -> tuple[float, float]:
    """Return the estimate plus and minus so many standard errors, measured around the estimate.

    A bootstrap sample holds fewer different points and tends to find less: that bias widens the interval instead of moving
    it, as quantiles of the bootstrap shares would.
    """
    width = float(ndtri((1 + level) / 2) * np.sqrt(np.mean((shares - estimate) ** 2)))
    return max(0.0, estimate - width), min(1.0, estimate + width)
