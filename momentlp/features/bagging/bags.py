"""Bags: bootstrap samples of the labelled points, each beside as many unlabelled points drawn at random.

A classifier that was trained on a point scores it too well. So a point is scored by the bags that did not train on it,
labelled and unlabelled points alike. Otherwise the mean score of the labelled points would be far above that of members not
yet found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from momentlp.points.arrays import FloatArray, IndexArray, Matrix

__all__ = ["Bags", "Ensemble", "draw_bags", "out_of_bag_means"]

MAX_BAG = 300  # labelled points in a bag, and unlabelled ones: a kernel machine takes time with its square


class Ensemble(Protocol):
    """Trained classifiers, one for each of the first bags."""

    def __len__(self) -> int:
        """Return the number of classifiers."""

    def total(self, X: Matrix) -> FloatArray:
        """Return the sum of the scores over all bags, shape (n,)."""

    def score_bag(self, bag: int, X: Matrix) -> FloatArray:
        """Return the scores of the classifier of one bag, shape (n,)."""


@dataclass(frozen=True, eq=False)
class Bags:
    """The rows that each classifier is trained on.

    Attributes
    ----------
    members : tuple of array of int
        For each bag, rows of labelled points; a row that was drawn twice is there twice.
    others : tuple of array of int
        For each bag, rows of unlabelled points.
    seeds : tuple of int
        For each bag, a seed for its classifier.
    """

    members: tuple[IndexArray, ...]
    others: tuple[IndexArray, ...]
    seeds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.members)

    @property
    def size(self) -> int:
        """The number of rows in one bag."""
        return int(self.members[0].size + self.others[0].size)

    def training(self, bag: int) -> tuple[IndexArray, IndexArray]:
        """Return the rows of one bag, and 1 for labelled and 0 for unlabelled points."""
        rows = np.concatenate([self.members[bag], self.others[bag]])
        return rows, np.repeat([1, 0], [self.members[bag].size, self.others[bag].size])


def draw_bags(
    known: IndexArray, counts: FloatArray, pool: IndexArray, weights: FloatArray, n_bags: int, random: np.random.Generator
) -> Bags:
    """Draw bags.

    Parameters
    ----------
    known : array of int, shape (l,)
        Rows of the labelled points, each different from the others.
    counts : array, shape (l,)
        How often each of them counts; all positive.
    pool : array of int, shape (u,)
        Rows of the unlabelled points, likewise.
    weights : array, shape (u,)
        How often each of them counts; all positive.
    n_bags : int
    random : Generator

    Returns
    -------
    Bags
        With as many labelled points as there are, drawn with replacement, and as many unlabelled ones, drawn without; never
        more than ``MAX_BAG`` of each. At most half of the unlabelled points are in one bag, so that each is out of bag often
        enough.
    """
    n_members = min(max(known.size, round(float(counts.sum()))), MAX_BAG)
    n_others = max(1, min(n_members, (pool.size + 1) // 2))
    members, others = [], []
    for _ in range(n_bags):
        members.append(random.choice(known, n_members, p=counts / counts.sum()))
        others.append(_draw_without_replacement(pool, weights, n_others, random))
    return Bags(tuple(members), tuple(others), tuple(random.integers(2**31, size=n_bags).tolist()))


def _draw_without_replacement(
    pool: IndexArray, weights: FloatArray, n_drawn: int, random: np.random.Generator
) -> IndexArray:
    """Draw rows with probabilities proportional to their weights: those with the smallest exponential waiting times."""
    waiting = random.exponential(size=pool.size) / weights
    return pool[np.argpartition(waiting, n_drawn - 1)[:n_drawn]]


def out_of_bag_means(ensemble: Ensemble, X: Matrix, bags: Bags) -> FloatArray:
    """Return the mean score of each point over the bags that did not train on it.

    Parameters
    ----------
    ensemble : Ensemble
    X : array or csr_array, shape (N, d)
        The points that the rows of the bags belong to.
    bags : Bags

    Returns
    -------
    array, shape (N,)
        A point that is in every bag gets the mean over all of them.
    """
    everywhere = ensemble.total(X)
    total, used = everywhere.copy(), np.full(X.shape[0], float(len(ensemble)))
    for bag in range(len(ensemble)):
        rows = np.unique(bags.training(bag)[0])
        total[rows] -= ensemble.score_bag(bag, X[rows])
        used[rows] -= 1.0
    return np.where(used > 0, total / np.maximum(used, 1.0), everywhere / len(ensemble))
