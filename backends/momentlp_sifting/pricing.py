"""Pricing: one pass over all points finds those that the next restricted problem must contain.

A point is *taken* when the restricted problem contains it already. Every other point is fixed at 0 or at its cap, by the
sign of its score. A pass needs only the multipliers. It returns sums, one number per column, and the rows of the points that
changed sides since the last pass or lie within a band around the hyperplane. So a pass can run where the data is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, IndexArray, one_entry_if_constant
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp_sifting.restricted_master import score_tolerance

__all__ = ["Points", "PricingResult", "nearest_distance", "price_points", "side_memberships"]


class Points(Protocol):
    """What a pass needs: the columns of all points, their weights and their caps."""

    @property
    def A(self) -> MomentMatrix:  # noqa: N802  as everywhere
        """The columns, N x q."""

    @property
    def weights(self) -> FloatArray:
        """One weight for each point."""

    @property
    def caps(self) -> FloatArray:
        """One cap for each point."""


@dataclass(frozen=True, eq=False)
class PricingResult:
    """The result of a pass.

    Attributes
    ----------
    fixed : array of shape (q,)
        What the points that stay fixed add to the sums of the columns.
    points : array of int
        Points to add: they changed sides, or lie in the band.
    rows : array of shape (len(points), q)
        Their columns.
    inside : array of bool
        Whether each of them was fixed at its cap until now.
    n_changed : int
        How many points that are not taken changed sides, including those that did not fit.
    """

    fixed: FloatArray
    points: IndexArray
    rows: FloatArray
    inside: NDArray[np.bool_]
    n_changed: int


def price_points(
    problem: Points, y: FloatArray, before: FloatArray | None, taken: IndexArray, band: float, max_points: int
) -> PricingResult:
    """Make a pass over all points.

    Parameters
    ----------
    problem : Points
    y : array of shape (q,)
        The multipliers now.
    before : array of shape (q,), optional
        The multipliers that fixed the points on their sides; None the first time.
    taken : array of int
        Points that the restricted problem contains, in ascending order.
    band : float
        Points whose score is at most this far from zero are added.
    max_points : int
        About how many points may be added: first those that changed sides, by the size of their score, then the nearest.
    """
    unit = score_tolerance(one_entry_if_constant(problem.weights)[0])
    share = max(1, max_points) / problem.A.shape[0]
    work = partial(_price_chunk, y=y, before=before, band=band, unit=unit, share=share)
    fixed, chosen, rows, inside, n_changed, start = np.zeros(problem.A.shape[1]), [], [], [], 0, 0
    for part in problem.A.scan(work, problem.weights, problem.caps, _SlicedIndices(taken)):
        n, sums, found, part_rows, part_inside, part_changed = part
        fixed += sums
        chosen.append(found + start)
        rows.append(part_rows)
        inside.append(part_inside)
        n_changed, start = n_changed + part_changed, start + n
    return PricingResult(fixed, np.concatenate(chosen), np.vstack(rows), np.concatenate(inside), n_changed)


class _SlicedIndices:
    """Sorted row indices that can be sliced like an array of rows: a slice holds the indices inside it, from its start."""

    def __init__(self, points: IndexArray) -> None:
        self.points = points

    def __getitem__(self, span: slice) -> _SlicedIndices:
        start, stop = span.start or 0, span.stop
        first = np.searchsorted(self.points, start)
        last = self.points.size if stop is None else np.searchsorted(self.points, stop)
        return _SlicedIndices(self.points[first:last] - start)


def _price_chunk(
    A: MomentMatrix, weights: FloatArray, caps: FloatArray, taken: _SlicedIndices,
    *, y: FloatArray, before: FloatArray | None, band: float, unit: float, share: float,
) -> tuple[int, FloatArray, IndexArray, FloatArray, NDArray[np.bool_], int]:  # fmt: skip
    scores = weights - A @ y
    inside, free = scores > 0, np.array(caps > 0)
    free[taken.points] = False
    distance = np.abs(scores)
    found = np.flatnonzero(free & (distance <= band))
    room = int(np.ceil(share * weights.size))
    if found.size > room:
        found = found[np.argpartition(distance[found], room - 1)[:room]]
    changed, was_inside = np.zeros(0, dtype=np.intp), inside
    if before is not None:
        was_inside = weights - A @ before > 0
        moved = free & (inside != was_inside) & (distance > unit)
        changed = np.flatnonzero(moved)
        first = changed if changed.size <= room else changed[np.argpartition(-distance[changed], room - 1)[:room]]
        found = np.union1d(first, found)
    free[found] = False
    found.sort()
    return weights.size, A.T @ np.where(free & inside, caps, 0.0), found, A.rows(found), was_inside[found], changed.size


def side_memberships(problem: Points, y: FloatArray) -> FloatArray:
    """Return the memberships at which a pass with these multipliers fixes the points: 0, or their cap."""
    parts = problem.A.scan(partial(_sides_of_chunk, y=y), problem.weights)
    inside = np.concatenate([np.unpackbits(bits, count=n).astype(bool) for n, bits in parts])
    return np.where(inside, problem.caps, 0.0)


def _sides_of_chunk(A: MomentMatrix, weights: FloatArray, *, y: FloatArray) -> tuple[int, NDArray[np.uint8]]:
    return weights.size, np.packbits(weights - A @ y > 0)


def nearest_distance(problem: Points, y: FloatArray, count: int) -> float:
    """Return the absolute score within which the ``count`` points nearest to the hyperplane lie."""
    parts = list(problem.A.scan(partial(_nearest_of_chunk, y=y, count=count), problem.weights, problem.caps))
    distances = np.concatenate(parts)
    return (
        float(np.partition(distances, count - 1)[count - 1]) if distances.size > count else float(distances.max(initial=0))
    )


def _nearest_of_chunk(A: MomentMatrix, weights: FloatArray, caps: FloatArray, *, y: FloatArray, count: int) -> FloatArray:
    distances = np.abs(weights - A @ y)[caps > 0]
    return distances if distances.size <= count else np.partition(distances, count - 1)[:count]
