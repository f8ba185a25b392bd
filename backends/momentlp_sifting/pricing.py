"""One pass over the points: the side of each, and those that the next small program must see.

A point is *taken* when the small program holds it already; every other point is held on the side where its score puts it.
Only multipliers go into a pass. What comes out of it are sums, one number per moment, and the rows of the points that
changed sides since the last pass or lie within a band around the hyperplane. So a pass can run where the data is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, IndexArray, one_entry_if_constant
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp.problem.problem import Problem
from momentlp_sifting.restricted import on_plane

__all__ = ["Priced", "nearest", "price", "sides"]


@dataclass(frozen=True, eq=False)
class Priced:
    """What a pass found.

    Attributes
    ----------
    held : array, shape (m,)
        What the points that are not taken add to the moments.
    points : array of int
        Those to take in: they changed sides, or lie in the band.
    rows : array, shape (len(points), m)
        Their rows of A.
    inside : array of bool
        On which side each of them was until now.
    strays : int
        How many points that are not taken changed sides, whether or not there was room for them.
    """

    held: FloatArray
    points: IndexArray
    rows: FloatArray
    inside: NDArray[np.bool_]
    strays: int


def price(problem: Problem, y: FloatArray, before: FloatArray | None, taken: IndexArray, band: float, most: int) -> Priced:
    """Make a pass.

    Parameters
    ----------
    y, before : array, shape (m,)
        The multipliers now, and those at which points were put on their sides; None the first time.
    taken : array of int
        Points that the small program holds, in ascending order.
    band : float
        Points whose score is at most this far from zero are taken in.
    most : int
        About how many points there is room for; those that changed sides by most come first, then the nearest.
    """
    unit = on_plane(one_entry_if_constant(problem.weights)[0])
    share = max(1, most) / problem.n_points
    work = partial(_price_part, y=y, before=before, band=band, unit=unit, share=share)
    held, chosen, rows, inside, strays, start = np.zeros(problem.n_moments), [], [], [], 0, 0
    for part in problem.A.scan(work, problem.weights, problem.caps, _Taken(taken)):
        n, sums, places, part_rows, part_inside, part_strays = part
        held += sums
        chosen.append(places + start)
        rows.append(part_rows)
        inside.append(part_inside)
        strays, start = strays + part_strays, start + n
    return Priced(held, np.concatenate(chosen), np.vstack(rows), np.concatenate(inside), strays)


class _Taken:
    """Sorted indices that are sliced like the vector they stand for: a slice holds the indices inside, from its start."""

    def __init__(self, points: IndexArray) -> None:
        self.points = points

    def __getitem__(self, span: slice) -> _Taken:
        start, stop = span.start or 0, span.stop
        first = np.searchsorted(self.points, start)
        last = self.points.size if stop is None else np.searchsorted(self.points, stop)
        return _Taken(self.points[first:last] - start)


def _price_part(
    A: MomentMatrix, weights: FloatArray, caps: FloatArray, taken: _Taken,
    *, y: FloatArray, before: FloatArray | None, band: float, unit: float, share: float,
) -> tuple[int, FloatArray, IndexArray, FloatArray, NDArray[np.bool_], int]:  # fmt: skip
    scores = weights - A @ y
    inside, free = scores > 0, np.array(caps > 0)
    free[taken.points] = False
    distance = np.abs(scores)
    places = np.flatnonzero(free & (distance <= band))
    room = int(np.ceil(share * weights.size))
    if places.size > room:
        places = places[np.argpartition(distance[places], room - 1)[:room]]
    strays, was = np.zeros(0, dtype=np.intp), inside
    if before is not None:
        was = weights - A @ before > 0
        moved = free & (inside != was) & (distance > unit)
        strays = np.flatnonzero(moved)
        first = strays if strays.size <= room else strays[np.argpartition(-distance[strays], room - 1)[:room]]
        places = np.union1d(first, places)
    free[places] = False
    places.sort()
    return weights.size, A.T @ np.where(free & inside, caps, 0.0), places, A.rows(places), was[places], strays.size


def sides(problem: Problem, y: FloatArray) -> FloatArray:
    """Return the memberships at which a pass with these multipliers holds the points: 0, or their cap."""
    parts = problem.A.scan(partial(_sides_part, y=y), problem.weights)
    inside = np.concatenate([np.unpackbits(bits, count=n).astype(bool) for n, bits in parts])
    return np.where(inside, problem.caps, 0.0)


def _sides_part(A: MomentMatrix, weights: FloatArray, *, y: FloatArray) -> tuple[int, NDArray[np.uint8]]:
    return weights.size, np.packbits(weights - A @ y > 0)


def nearest(problem: Problem, y: FloatArray, count: int) -> float:
    """Return the distance from the hyperplane within which so many points lie."""
    parts = list(problem.A.scan(partial(_nearest_part, y=y, count=count), problem.weights, problem.caps))
    distances = np.concatenate(parts)
    return (
        float(np.partition(distances, count - 1)[count - 1]) if distances.size > count else float(distances.max(initial=0))
    )


def _nearest_part(A: MomentMatrix, weights: FloatArray, caps: FloatArray, *, y: FloatArray, count: int) -> FloatArray:
    distances = np.abs(weights - A @ y)[caps > 0]
    return distances if distances.size <= count else np.partition(distances, count - 1)[:count]
