"""Equal points, counted together: a point of weight two is drawn, trained on and scored like two equal points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from momentlp.points.arrays import FloatArray, IndexArray, Matrix
from momentlp.points.distinct_rows import ordered_groups

__all__ = ["Group", "group_points"]


@dataclass(frozen=True, eq=False)
class Group:
    """Distinct points among some rows, in an order that does not depend on the order of the rows.

    Attributes
    ----------
    rows : array of int, shape (n,)
        The rows.
    weights : array, shape (n,)
        How many points each row stands for.
    first : array of int, shape (g,)
        One row for each distinct point.
    total : array, shape (g,)
        How many points all rows equal to it stand for.
    member : array of int, shape (n,)
        For each row, the position in ``first`` of the row that it equals.
    """

    rows: IndexArray
    weights: FloatArray
    first: IndexArray
    total: FloatArray
    member: IndexArray

    @classmethod
    def of(cls, groups: IndexArray, rows: IndexArray, weights: FloatArray) -> Group:
        """Find the distinct points among rows; ``groups`` numbers the distinct points of all rows."""
        _, first, member = np.unique(groups[rows], return_index=True, return_inverse=True)
        return cls(rows, weights, rows[first], np.bincount(member, weights).astype(np.float64), member)

    def spread(self, scores: FloatArray) -> None:
        """Give every row the score of the row that stands for it, in place."""
        scores[self.rows] = scores[self.first[self.member]]


def group_points(points: Matrix, known: IndexArray, counts: FloatArray, weights: FloatArray) -> tuple[Group, Group]:
    """Return the labelled and the unlabelled points.

    Parameters
    ----------
    points : array or csr_array, shape (N, d)
    known, counts : array, shape (l,)
        Rows of the labelled points, and how often each counts. Those that count zero, held out of a fold, are in neither.
    weights : array, shape (N,)
        How many points each row stands for. Rows of weight 0 are in neither.

    Returns
    -------
    (Group, Group)
        If everything is labelled, the second one holds all points.
    """
    groups = ordered_groups(points)
    pool = np.setdiff1d(np.flatnonzero(weights > 0), known)
    pool = np.arange(points.shape[0]) if not pool.size else pool
    pool_weights = np.where(weights[pool] > 0, weights[pool], 1.0)
    return Group.of(groups, known[counts > 0], counts[counts > 0]), Group.of(groups, pool, pool_weights)
