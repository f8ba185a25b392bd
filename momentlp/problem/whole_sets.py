"""Whole sets: problems in which memberships must be integers, 0 or 1 for points that are not repeated.

The multipliers of the linear program bound whole sets too, because every whole set is feasible for it. If all weights are
multiples of one number, so is the weight of every whole set, and the bound may be rounded down to the next multiple.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.points.arrays import FloatArray, one_entry_if_constant

__all__ = ["as_whole", "floor_caps", "round_down_bound", "weight_step"]

Mask = NDArray[np.bool_]
MAX_MULTIPLE = 2**40  # weights that are larger multiples of the smallest one are not exact enough to count with
SLACK = 1e-9  # relative: rounding of a bound and of caps
MAX_SLACK = 1e-3  # of one step: with a larger rounding error the bound is not rounded down


def as_whole(value: Any, n_points: int) -> Mask:
    """Return which memberships must be integers, as a mask; one truth value stands for all points.

    Raises
    ------
    DataError
        If it is neither a truth value nor one per point.
    """
    try:
        mask = np.asarray(value)
    except ValueError:  # a nested list
        mask = np.zeros(0)
    if mask.dtype != np.bool_ or mask.shape not in ((), (n_points,)):
        raise DataError(f"whole must be True, False or {n_points} truth values, one per point, not {value!r:.80}.")
    return np.broadcast_to(mask, (n_points,))


def floor_caps(caps: FloatArray, whole: Mask) -> FloatArray:
    """Return the caps, rounded down to integers where memberships must be whole."""
    some, mask = one_entry_if_constant(caps, whole)
    down = np.floor(some * (1 + SLACK))
    if not (mask & (down != some)).any():
        return caps
    return np.where(whole, np.floor(caps * (1 + SLACK)), caps)


def weight_step(weights: FloatArray, caps: FloatArray, whole: Mask) -> float:
    """Return the largest number of which the weight of every whole set is a multiple; 0 if there is none.

    Examples
    --------
    >>> weight_step(np.array([2.0, 4.0, 6.0]), np.ones(3), np.ones(3, dtype=bool))
    2.0
    """
    if not one_entry_if_constant(whole)[0].all():
        return 0.0
    weights, caps = one_entry_if_constant(weights, caps)
    sizes = np.unique(np.abs(weights[(caps > 0) & (weights != 0)]))
    if not sizes.size:
        return 0.0
    multiples = sizes / sizes[0]
    for parts in (1, 2, 3, 4, 6, 12):  # weights such as 1 and 1.5 are multiples of a part of the smallest one
        counts = multiples * parts
        if (counts == np.rint(counts)).all() and counts[-1] <= MAX_MULTIPLE:
            return float(sizes[0]) / parts * float(np.gcd.reduce(counts.astype(np.int64)))
    return 0.0


def round_down_bound(bound: float, step: float) -> float:
    """Return the largest multiple of ``step`` up to a bound, which is known up to rounding; without a step the bound itself.

    Examples
    --------
    >>> round_down_bound(521.88, 1.0), round_down_bound(2.9999999999, 1.0), round_down_bound(2.5, 0.0)
    (521.0, 3.0, 2.5)
    """
    slack = SLACK * max(abs(bound), step)
    if not (step > 0 and np.isfinite(bound)) or slack > MAX_SLACK * step:
        return bound
    return float(np.floor((bound + slack) / step)) * step
