"""Choose settings without negatives: Lee and Liu's criterion, recall squared over the share that is found.

Recall is estimated by known members that were left out, the share on the unlabelled points. Up to a factor that does not
depend on the choice, the criterion is precision times recall, so no negative is needed (Lee and Liu, ICML 2003).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["cut_off", "folds", "lee_liu"]


def folds(n: int, seed: int, count: int = 5, repeats: int = 1) -> Iterator[np.ndarray]:
    """Yield masks of the points that are left out: ``count`` folds, drawn anew ``repeats`` times."""
    random = np.random.default_rng(seed)
    for _ in range(repeats):
        fold = random.permutation(n) % count
        yield from (fold == number for number in range(count))


def lee_liu(recall: np.ndarray, share: np.ndarray, min_recall: float) -> np.ndarray:
    """Return recall squared over share; 0 where nothing is found or recall is below ``min_recall``.

    Without a minimum recall, a few labelled members that happen to score highest would win with a share near zero.
    """
    return np.where((share > 0) & (recall >= min_recall), recall**2 / np.maximum(share, np.finfo(float).tiny), 0.0)


def cut_off(scores: np.ndarray, left_out: np.ndarray, min_recall: float) -> float:
    """Return the lowest score of a point that is taken, chosen among the scores of labelled members that were left out.

    Parameters
    ----------
    scores : array
        Of the unlabelled points.
    left_out : array
        Of known members, each from a fit that did not see it.
    min_recall : float
        Recall that the cut must keep.
    """
    cuts = np.sort(left_out)[::-1]
    recall = np.arange(1, len(cuts) + 1) / len(cuts)
    above = len(scores) - np.searchsorted(np.sort(scores), cuts, side="left")
    return float(cuts[np.argmax(lee_liu(recall, above / len(scores), min_recall))])
