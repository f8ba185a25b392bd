"""Checks of the parts of a problem: shapes, bounds, and products of weights and caps."""

from __future__ import annotations

import numpy as np

from momentlp.errors import DataError
from momentlp.points.arrays import FloatArray, one_entry_if_constant
from momentlp.problem.moment_block import MomentBlock

__all__ = ["check_block", "check_weights_times_caps"]

MAX_POINTS_PER_STEP = 1 << 20  # points that are checked together: 8 MiB per array


def check_weights_times_caps(weights: FloatArray, caps: FloatArray) -> None:
    """Raise if products of weights and caps overflow or vanish: no certificate could be computed from them."""
    n_points = weights.size
    weights, caps = one_entry_if_constant(weights, caps)
    total = 0.0
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, weights.size, MAX_POINTS_PER_STEP):
            weight, cap = weights[start : start + MAX_POINTS_PER_STEP], caps[start : start + MAX_POINTS_PER_STEP]
            full = np.abs(weight * cap)
            is_lost = (weight != 0) & (cap != 0) & (full < 1e-280)
            total += float(full.sum()) * (n_points / weights.size)
            if is_lost.any() or not total < 1e300:
                end = "vanish" if is_lost.any() else "overflow"
                raise DataError(
                    f"weights times caps {end}: the weight of a whole point must be a number. Choose other units."
                )


def check_block(block: MomentBlock, n_points: int) -> None:
    """Raise DataError if the arrays of a block do not fit together, or its bounds are crossed."""
    name = block.names[0] if block.names else "?"
    if block.n_points != n_points:
        raise DataError(f"the block of moment {name!r} has {block.n_points} points, but the first one has {n_points}.")
    if block.__dict__.get("_is_checked"):
        return  # with every constraint the blocks before it become part of a new problem
    _check_arrays(block, name)
    block.__dict__["_is_checked"] = True


def _check_arrays(block: MomentBlock, name: str) -> None:
    width = block.origin.size
    shapes = [(block.features.shape[1], width, "features"), (block.shift.size, block.n_moments, "shift")]
    shapes += [(block.lower.size, block.n_moments, "lower"), (block.upper.size, block.n_moments, "upper")]
    if block.transform is None:
        shapes.append((width, block.n_moments, "origin"))
    elif block.transform.shape != (width, block.n_moments):
        raise DataError(f"transform of moment {name!r} has shape {block.transform.shape}, not {(width, block.n_moments)}.")
    for got, expected, field in shapes:
        if got != expected:
            raise DataError(f"{field} of the block of moment {name!r} has length {got} where {expected} is expected.")
    if not (np.isfinite(block.origin).all() and np.isfinite(block.shift).all()):
        raise DataError(f"origin and shift of the block of moment {name!r} must be finite.")
    lower, upper = block.lower, block.upper
    wrong = ~(lower <= upper) | (lower == np.inf) | (upper == -np.inf)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise DataError(
            f"lower and upper of moment {block.names[at]!r} are {lower[at]} and {upper[at]}: "
            "lower must not exceed upper, and neither may be NaN."
        )
