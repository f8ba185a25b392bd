"""The least change of memberships that brings a moment back to its bound, for points that are read in chunks.

To mend a row, the points with the largest entries change first. One point may do it alone; a pass over the points finds the
one with the largest entry among those that can. Where it takes many, a second pass adds up room and effect of the points by
the size of their entries, in narrow bins: the least change is then known to one per cent. (It is more than one whole point
then, far from what any certificate lets pass, and no sort of all points is needed.)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.problem.moment_matrix import MomentMatrix

if TYPE_CHECKING:
    from momentlp.problem.problem import Problem

__all__ = ["least_change_in_chunks", "repair_moves"]

SHIFT = 45  # which leaves 7 bits of the fraction of a float: bins less than one per cent wide
BINS = 32 << 7  # entries 2**32 times smaller than the largest of their row count as equal
STRETCH_ENTRIES = 1 << 20


def repair_moves(
    A: MomentMatrix, rows: IndexArray, sides: FloatArray, h: FloatArray, caps: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return for each point and row by how much a unit of its membership moves the row, and how many units there are.

    ``sides`` is 1 for a row that has to come down and -1 for one that has to come up.
    """
    down = A.columns(rows) * sides
    return np.abs(down), np.where(down > 0, h[:, None], (caps - h)[:, None])


def least_change_in_chunks(
    problem: Problem, h: FloatArray, rows: IndexArray, sides: FloatArray, excess: FloatArray
) -> float:
    """Return the largest of the least changes that mend some rows, each of which is beyond its bound by ``excess``."""
    found = problem.A.scan(partial(_strongest, rows, sides, excess), h, problem.caps)
    alone, strongest = (np.max(sizes, axis=0) for sizes in zip(*found, strict=True))
    worst = float(np.max(excess / np.where(alone > 0, alone, 1.0), where=alone > 0, initial=0.0))
    rest = alone == 0
    if not rest.any():
        return worst
    if not (strongest[rest] > 0).all():
        return float("inf")
    binned = problem.A.scan(partial(_binned, rows[rest], sides[rest], strongest[rest]), h, problem.caps)
    room, effect = reduce(np.add, binned)
    return max(worst, *map(_least, room, effect, excess[rest]))


def _stretches(
    A: MomentMatrix, rows: IndexArray, sides: FloatArray, h: FloatArray, caps: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the ways to mend of a few points at a time: all of a chunk would take many times its memory."""
    step = max(1, STRETCH_ENTRIES // A.shape[1])
    for start in range(0, A.shape[0], step):
        points = slice(start, start + step)
        yield repair_moves(A.part(points), rows, sides, h[points], caps[points])


def _strongest(
    rows: IndexArray, sides: FloatArray, excess: FloatArray, A: MomentMatrix, h: FloatArray, caps: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the largest entry of each row among the points that can mend it alone, and among all that have room."""
    alone, strongest = np.zeros(rows.size), np.zeros(rows.size)
    for entries, room in _stretches(A, rows, sides, h, caps):
        np.maximum(alone, np.max(entries, axis=0, where=entries * room >= excess, initial=0.0), out=alone)
        np.maximum(strongest, np.max(entries, axis=0, where=room > 0, initial=0.0), out=strongest)
    return alone, strongest


def _binned(
    rows: IndexArray, sides: FloatArray, strongest: FloatArray, A: MomentMatrix, h: FloatArray, caps: FloatArray
) -> FloatArray:
    """Return room and effect of all points by the size of their entries, the largest first; shape (2, rows, bins).

    The first bits of a float, read as a whole number, are in the order of the floats: they are the bins.
    """
    sums = np.zeros((2, rows.size * BINS))
    offsets = BINS * np.arange(rows.size)
    first = strongest.view(np.int64) >> SHIFT
    for entries, room in _stretches(A, rows, sides, h, caps):
        place = np.clip(first - (entries.view(np.int64) >> SHIFT), 0, BINS - 1) + offsets
        sums[0] += np.bincount(place.ravel(), (room * (entries > 0)).ravel(), sums.shape[1])
        sums[1] += np.bincount(place.ravel(), (room * entries).ravel(), sums.shape[1])
    return sums.reshape(2, rows.size, BINS)


def _least(room: FloatArray, effect: FloatArray, excess: float) -> float:
    gained = np.cumsum(effect)
    last = int(np.searchsorted(gained, excess))
    if last == gained.size:
        return float("inf")
    before = float(gained[last - 1]) if last else 0.0
    return float(room[:last].sum() + (excess - before) * room[last] / effect[last])
