"""Folds of the labelled points, each of which is held out once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from momentlp.points.arrays import FloatArray, IndexArray

__all__ = ["held_out_counts", "held_out_scores", "split_folds"]


def split_folds(n_labelled: int, n_folds: int, random: np.random.Generator | None = None) -> list[IndexArray]:
    """Split the labelled points into folds of nearly equal size, shuffled if a generator is given."""
    order = np.arange(n_labelled) if random is None else random.permutation(n_labelled)
    return [np.sort(order[fold::n_folds]) for fold in range(n_folds)]


def held_out_counts(n_labelled: int, fold: IndexArray) -> FloatArray:
    """Return how often each labelled point is in the sample while a fold is held out: 0 in the fold, 1 elsewhere."""
    counts = np.ones(n_labelled)
    counts[fold] = 0.0
    return counts


def held_out_scores(scores: Sequence[FloatArray | None], folds: Sequence[IndexArray]) -> FloatArray:
    """Return the score of each labelled point while its fold was held out. Folds without an answer are left out.

    Parameters
    ----------
    scores : sequence of array or None
        For each fold, the scores of all labelled points while that fold was held out.
    folds : sequence of array of int
        For each fold, the positions of its points among the labelled points.
    """
    return np.concatenate([score[fold] for score, fold in zip(scores, folds, strict=True) if score is not None])
