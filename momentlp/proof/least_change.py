"""The minimum change of memberships that brings a violated moment back to its bound.

Changes are counted in points: a membership that goes from 0 to its cap changes by one. So a change by one point moves moment
j by ``|A_ij| u_i``, and point i has room for ``h_i / u_i`` points down or ``1 - h_i / u_i`` points up. If single points have
room enough to move the moment by ``excess``, the one with the largest entry does it alone, and the change is
``excess / (|A_ij| u_i)``. If none has, the minimum total change is a fractional knapsack problem: use the points with the
largest entries first, the last one in part.

The change of a single point may exceed the minimum, when points with larger entries but less room could share the work. The
result is then too large, never too small, so a certificate does not accept more for it.

If the points are in memory they are sorted by their entries. If they are read in chunks, two passes over the points avoid
sorting all of them. The first finds the largest entry of a point that can do it alone. For moments without such a point,
the second adds up room and effect of the points in narrow bins by the size of their entries, which gives the change to one
per cent. (The change is more than one point then, far beyond what a certificate tolerates.)
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

__all__ = ["compute_least_change"]

MAX_ENTRIES = 1 << 21  # entries of A that are written out together: 16 MiB as float64
MAX_CHUNK_ENTRIES = 1 << 20  # the same within a chunk, which is in memory too
MANTISSA_SHIFT = 45  # bits; leaves 7 bits of the fraction of a float64: bins less than one per cent wide
N_BINS = 32 << 7  # entries below 2**-32 of the largest entry of their moment share the last bin


def compute_least_change(
    problem: Problem, h: FloatArray, moments: IndexArray, signs: FloatArray, excess: FloatArray
) -> float:
    """Return the maximum over some moments of the minimum change of memberships that brings the moment back.

    Parameters
    ----------
    problem : Problem
    h : array, shape (N,)
    moments : array of int, shape (r,)
        The violated moments.
    signs : array, shape (r,)
        1 for a moment above its upper bound, -1 for one below its lower bound.
    excess : array, shape (r,)
        By how much each is beyond its bound; positive.

    Returns
    -------
    float
        In points. Infinite if some moment cannot be brought back at all.
    """
    if problem.A.table is not None:
        return _least_change_in_chunks(problem, h, moments, signs, excess)
    step = max(1, MAX_ENTRIES // problem.n_points)
    slices = [slice(start, start + step) for start in range(0, moments.size, step)]
    return max(_least_change_in_memory(problem, h, moments[s], signs[s], excess[s]) for s in slices)


def _compute_moves(
    A: MomentMatrix, moments: IndexArray, signs: FloatArray, h: FloatArray, caps: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return, per point and moment, how far a change by one point moves the moment, and how much of it is possible."""
    outward = A.columns(moments) * (signs * caps[:, None])
    share = np.divide(h, caps, out=np.zeros_like(h, dtype=np.float64), where=caps > 0)
    return np.abs(outward), np.where(outward > 0, share[:, None], 1.0 - share[:, None])


def _least_change_in_memory(
    problem: Problem, h: FloatArray, moments: IndexArray, signs: FloatArray, excess: FloatArray
) -> float:
    entries, room = _compute_moves(problem.A, moments, signs, h, problem.caps)
    alone = np.max(entries, axis=0, where=entries * room >= excess, initial=0.0)  # of points that can do it alone
    return max(
        float(excess[k] / alone[k]) if alone[k] > 0 else _change_of_sorted(entries[:, k], room[:, k], excess[k])
        for k in range(moments.size)
    )


def _change_of_sorted(entries: FloatArray, room: FloatArray, excess: float) -> float:
    """Return the minimum total change that moves a moment by ``excess``, using the largest entries first."""
    order = np.argsort(-entries, kind="stable")
    gained = np.cumsum((entries * room)[order])
    last = int(np.searchsorted(gained, excess))
    if last == order.size:
        return float("inf")
    before = float(gained[last - 1]) if last else 0.0
    return float(room[order[:last]].sum() + (excess - before) / entries[order[last]])


def _least_change_in_chunks(
    problem: Problem, h: FloatArray, moments: IndexArray, signs: FloatArray, excess: FloatArray
) -> float:
    found = problem.A.scan(partial(_find_largest_entries, moments, signs, excess), h, problem.caps)
    alone, largest = (np.max(sizes, axis=0) for sizes in zip(*found, strict=True))
    worst = float(np.max(excess / np.where(alone > 0, alone, 1.0), where=alone > 0, initial=0.0))
    rest = alone == 0
    if not rest.any():
        return worst
    if not (largest[rest] > 0).all():
        return float("inf")
    sums = problem.A.scan(partial(_sum_in_bins, moments[rest], signs[rest], largest[rest]), h, problem.caps)
    room, effect = reduce(np.add, sums)
    return max(worst, *map(_change_of_bins, room, effect, excess[rest]))


def _iterate_moves(
    A: MomentMatrix, moments: IndexArray, signs: FloatArray, h: FloatArray, caps: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the moves of a few points at a time: those of a whole chunk would take many times its memory."""
    step = max(1, MAX_CHUNK_ENTRIES // A.shape[1])
    for start in range(0, A.shape[0], step):
        points = slice(start, start + step)
        yield _compute_moves(A.part(points), moments, signs, h[points], caps[points])


def _find_largest_entries(
    moments: IndexArray, signs: FloatArray, excess: FloatArray, A: MomentMatrix, h: FloatArray, caps: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the largest entry of each moment among points that can do it alone, and among all points with room."""
    alone, largest = np.zeros(moments.size), np.zeros(moments.size)
    for entries, room in _iterate_moves(A, moments, signs, h, caps):
        np.maximum(alone, np.max(entries, axis=0, where=entries * room >= excess, initial=0.0), out=alone)
        np.maximum(largest, np.max(entries, axis=0, where=room > 0, initial=0.0), out=largest)
    return alone, largest


def _sum_in_bins(
    moments: IndexArray, signs: FloatArray, largest: FloatArray, A: MomentMatrix, h: FloatArray, caps: FloatArray
) -> FloatArray:
    """Return the sums of room and effect of the points by the size of their entries, largest first; shape (2, r, bins).

    The leading bits of a positive float, read as an integer, are in the order of the floats: they number the bins.
    """
    sums = np.zeros((2, moments.size * N_BINS))
    offsets = N_BINS * np.arange(moments.size)
    first = largest.view(np.int64) >> MANTISSA_SHIFT
    for entries, room in _iterate_moves(A, moments, signs, h, caps):
        bins = np.clip(first - (entries.view(np.int64) >> MANTISSA_SHIFT), 0, N_BINS - 1) + offsets
        sums[0] += np.bincount(bins.ravel(), (room * (entries > 0)).ravel(), sums.shape[1])
        sums[1] += np.bincount(bins.ravel(), (room * entries).ravel(), sums.shape[1])
    return sums.reshape(2, moments.size, N_BINS)


def _change_of_bins(room: FloatArray, effect: FloatArray, excess: float) -> float:
    """Return the minimum total change that moves a moment by ``excess``, from sums in bins, largest entries first."""
    gained = np.cumsum(effect)
    last = int(np.searchsorted(gained, excess))
    if last == gained.size:
        return float("inf")
    before = float(gained[last - 1]) if last else 0.0
    return float(room[:last].sum() + (excess - before) * room[last] / effect[last])
