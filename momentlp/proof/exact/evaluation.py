"""Products with A without rounding, for the few points or moments whose entries span too many orders of magnitude.

A float product with a column that holds both 1 and 1e15 loses the ones. Where a proof depends on them, the product is
computed in integers and rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp.proof.exact.integers import Integers, iterate_moments_of_block, to_integers

__all__ = ["exact_activity", "exact_scores"]


def exact_activity(A: MomentMatrix, h: FloatArray, moments: IndexArray) -> FloatArray:
    """Return ``(A^T h)_j`` for some moments, each rounded once.

    Parameters
    ----------
    A : MomentMatrix
        In memory.
    h : array, shape (N,)
    moments : array of int, shape (r,)
        In increasing order.

    Returns
    -------
    array, shape (r,)
    """
    memberships, unit = to_integers(h)
    columns = _iterate_columns(A, moments)
    return np.array([_to_float(int(entries @ memberships), exponent + unit) for entries, exponent in columns])


def exact_scores(A: MomentMatrix, weights: FloatArray, y: FloatArray, points: IndexArray) -> FloatArray:
    """Return the scores ``(w - A y)_i`` of some points, each rounded once.

    Parameters
    ----------
    A : MomentMatrix
        In memory.
    weights : array, shape (N,)
    y : array, shape (m,)
    points : array of int, shape (r,)

    Returns
    -------
    array, shape (r,)
    """
    used = np.flatnonzero(y)
    part = MomentMatrix(tuple(replace(block, features=block.features[points]) for block in A.blocks))
    totals = [Fraction(weight) for weight in weights[points].tolist()]
    for value, (entries, exponent) in zip(y[used].tolist(), _iterate_columns(part, used), strict=True):
        factor = Fraction(value) * Fraction(2) ** exponent
        totals = [total - factor * entry for total, entry in zip(totals, entries.tolist(), strict=True)]
    return np.array([_round(total) for total in totals])


def _iterate_columns(A: MomentMatrix, moments: IndexArray) -> Iterator[tuple[Integers, int]]:
    start = 0
    for block in A.blocks:
        own = moments[(moments >= start) & (moments < start + block.n_moments)] - start
        if own.size:
            yield from iterate_moments_of_block(block, own.tolist())
        start += block.n_moments


def _to_float(integer: int, exponent: int) -> float:
    return _round(integer * Fraction(2) ** exponent)


def _round(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
