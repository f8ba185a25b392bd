"""Pricing: one pass over all points finds those that the next restricted problem must contain.

A point is *taken* when the restricted problem contains it already. Every other point is fixed at 0 or at its cap, by the
sign of its score. A pass needs only the multipliers. It returns sums, one number per column, and the rows of the points that
changed sides since the last pass or lie within a band around the hyperplane. So a pass can run where the data is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, IndexArray, one_entry_if_constant
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp_sifting.restricted_master import score_tolerance

__all__ = ["Points", "PricingResult", "Sides", "nearest_distance", "price_points", "sum_inside"]


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
class Sides:
    """The side of every point: in, at its cap, or out. Can be sliced like an array.

    Attributes
    ----------
    y : array of shape (q,)
        The multipliers that decide: a point is in if its score is positive.
    inside : array of bool, or None
        Which points are in; None if points are read in chunks: then this is computed again where the points are.
    """

    y: FloatArray
    inside: NDArray[np.bool_] | None = None

    def __getitem__(self, span: slice) -> Sides:
        return Sides(self.y, None if self.inside is None else self.inside[span])

    def compute(self, A: MomentMatrix, weights: FloatArray) -> NDArray[np.bool_]:
        """Return which of some points in memory are in."""
        return weights - A @ self.y > 0 if self.inside is None else self.inside

    def memberships(self, problem: Points) -> FloatArray:
        """Return the memberships of all points on their sides: 0, or their cap."""
        if self.inside is not None:
            return np.where(self.inside, problem.caps, 0.0)
        parts = problem.A.scan(_sides_of_chunk, problem.weights, self)
        inside = np.concatenate([np.unpackbits(bits, count=n).astype(bool) for n, bits in parts])
        return np.where(inside, problem.caps, 0.0)


def _sides_of_chunk(A: MomentMatrix, weights: FloatArray, sides: Sides) -> tuple[int, NDArray[np.uint8]]:
    return weights.size, np.packbits(sides.compute(A, weights))


@dataclass(frozen=True, eq=False)
class PricingResult:
    """The result of a pass.

    Attributes
    ----------
    sides : Sides
        The side of every point now.
    fixed : array of shape (q,)
        What the points that stay fixed add to the sums of the columns; zero if no point is added.
    points : array of int
        Points to add: they changed sides, or lie in the band.
    rows : array of shape (len(points), q)
        Their columns.
    inside : array of bool
        Whether each of them was fixed at its cap until now.
    n_changed : int
        How many points that are not taken changed sides, including those that did not fit.
    """

    sides: Sides
    fixed: FloatArray
    points: IndexArray
    rows: FloatArray
    inside: NDArray[np.bool_]
    n_changed: int


def price_points(
    problem: Points, y: FloatArray, before: Sides | None, taken: IndexArray, band: float, max_points: int
) -> PricingResult:
    """Make a pass over all points.

    Parameters
    ----------
    problem : Points
    y : array of shape (q,)
        The multipliers now.
    before : Sides, optional
        The sides on which the points are fixed; None the first time.
    taken : array of int
        Points that the restricted problem contains, in ascending order.
    band : float
        Points whose score is at most this far from zero are added.
    max_points : int
        About how many points may be added: first those that changed sides, by the size of their score, then the nearest.
    """
    in_memory = problem.A.table is None
    unit = score_tolerance(one_entry_if_constant(problem.weights)[0])
    share = max(1, max_points) / problem.A.shape[0]
    work = partial(_price_chunk, y=y, is_first=before is None, band=band, unit=unit, share=share, in_memory=in_memory)
    vectors = problem.weights, problem.caps, _SlicedIndices(taken), before or Sides(y)
    parts = list(problem.A.scan(work, *vectors))
    starts = np.cumsum([0, *(part.size for part in parts)])
    points = np.concatenate([part.found + start for part, start in zip(parts, starts, strict=False)])
    n_changed = sum(part.n_changed for part in parts)
    sides, fixed = Sides(y), np.zeros(problem.A.shape[1])
    if in_memory:
        sides = Sides(y, np.concatenate([part.sides for part in parts]))
        if before is None or points.size:
            h = sides.memberships(problem)
            h[taken] = h[points] = 0.0
            fixed = problem.A.T @ h
    else:
        fixed = np.sum([part.fixed for part in parts if part.fixed is not None], axis=0)
    inside = np.concatenate([part.was_inside for part in parts])
    return PricingResult(sides, fixed, points, np.vstack([part.rows for part in parts]), inside, n_changed)


class _SlicedIndices:
    """Sorted row indices that can be sliced like an array of rows: a slice holds the indices inside it, from its start."""

    def __init__(self, points: IndexArray) -> None:
        self.points = points

    def __getitem__(self, span: slice) -> _SlicedIndices:
        start, stop = span.start or 0, span.stop
        first = np.searchsorted(self.points, start)
        last = self.points.size if stop is None else np.searchsorted(self.points, stop)
        return _SlicedIndices(self.points[first:last] - start)


class _Part(NamedTuple):
    """What a pass finds in one chunk of points."""

    size: int
    sides: NDArray[np.bool_] | None
    fixed: FloatArray | None
    found: IndexArray
    rows: FloatArray
    was_inside: NDArray[np.bool_]
    n_changed: int


def _price_chunk(
    A: MomentMatrix, weights: FloatArray, caps: FloatArray, taken: _SlicedIndices, before: Sides,
    *, y: FloatArray, is_first: bool, band: float, unit: float, share: float, in_memory: bool,
) -> _Part:  # fmt: skip
    scores = weights - A @ y
    inside = scores > 0
    distance = np.abs(scores, out=scores)
    near = distance <= band
    near[taken.points] = False
    was_inside = inside if is_first else before.compute(A, weights)
    changed = np.zeros(0, dtype=np.intp)
    if not is_first:
        moved = inside != was_inside
        moved[taken.points] = False
        changed = np.flatnonzero(moved)
        changed = changed[(distance[changed] > unit) & (caps[changed] > 0)]
    found = np.flatnonzero(near)
    found = found[caps[found] > 0]
    room = int(np.ceil(share * weights.size))
    if found.size > room:
        found = found[np.argpartition(distance[found], room - 1)[:room]]
    if changed.size:
        first = changed if changed.size <= room else changed[np.argpartition(-distance[changed], room - 1)[:room]]
        found = np.union1d(first, found)
    found.sort()
    fixed = None
    if not in_memory:
        h = np.where(inside, caps, 0.0)
        h[taken.points] = h[found] = 0.0
        fixed = A.T @ h
    sides = inside if in_memory else None
    return _Part(weights.size, sides, fixed, found, A.rows(found), was_inside[found], changed.size)


def sum_inside(problem: Points, y: FloatArray) -> FloatArray:
    """Return the sums of the columns over all points with a positive score, shape (q,)."""
    parts = problem.A.scan(partial(_sum_inside_chunk, y=y), problem.weights, problem.caps)
    return np.asarray(np.sum(list(parts), axis=0))


def _sum_inside_chunk(A: MomentMatrix, weights: FloatArray, caps: FloatArray, *, y: FloatArray) -> FloatArray:
    return A.rmatvec(np.where(weights - A @ y > 0, caps, 0.0))


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
