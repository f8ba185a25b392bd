"""Whether (h, y) is an optimum of a program, and if not, which points and moments keep it from being one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray
from momentlp_sifting.program import Program

__all__ = ["Violations", "check_optimality"]

Mask = NDArray[np.bool_]

GAP = 1e-8  # between bound and weight, relative to the weight
TOLERANCE = 1e-9  # of memberships relative to caps, of moments in points, and of scores relative to the weights


@dataclass(frozen=True, eq=False)
class Violations:
    """What keeps (h, y) from being an optimum.

    Attributes
    ----------
    low, high : masks of points
        Memberships below 0, and above their cap.
    on_wrong_side : mask of points
        At 0 with a positive score, at their cap with a negative one, or fractional with any other score than 0.
    below, above : masks of moments
        Beyond their bounds.
    of_wrong_sign : mask of moments
        Multipliers of a bound that does not exist, or is not reached.
    has_gap : bool
        Whether the bound of the multipliers is above the weight of the memberships.
    """

    low: Mask
    high: Mask
    on_wrong_side: Mask
    below: Mask
    above: Mask
    of_wrong_sign: Mask
    has_gap: bool

    def count(self) -> int:
        """Return how many there are."""
        masks = (self.low, self.high, self.on_wrong_side, self.below, self.above, self.of_wrong_sign)
        return sum(int(mask.sum()) for mask in masks) + self.has_gap


def check_optimality(problem: Program, h: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray] | Violations:
    """Return (h, y) if they meet every condition of an optimum, with what lies within rounding moved to its bound.

    Parameters
    ----------
    problem : Program
    h, y : array
        Finite.
    """
    caps, unit = problem.caps, problem.weight_unit
    low, high = h < -TOLERANCE * caps, h > caps * (1 + TOLERANCE)
    h = np.clip(h, 0.0, caps)
    h = np.where(h < TOLERANCE * caps, 0.0, np.where(h > caps * (1 - TOLERANCE), caps, h))
    reached, room = problem.adjoint(h), TOLERANCE * max(1.0, float(np.median(caps)))
    scores = problem.scores(y)
    on_wrong_side = ((h < caps) & (scores > TOLERANCE * unit)) | ((h > 0) & (scores < -TOLERANCE * unit))
    wrong = (y > 0) & ~np.isfinite(problem.upper) | (y < 0) & ~np.isfinite(problem.lower)
    wrong |= (y > 0) & problem.is_inequality & (problem.upper - reached > room)
    wrong |= (y < 0) & problem.is_inequality & (reached - problem.lower > room)
    admissible = np.where(wrong, 0.0, y)
    weight = float(problem.weights @ h)
    found = Violations(
        low, high, on_wrong_side & ~(low | high), reached < problem.lower - room, reached > problem.upper + room,
        wrong & (np.abs(y) > TOLERANCE * unit),
        has_gap=problem.bound(admissible) - weight > GAP * max(unit, abs(weight)),
    )  # fmt: skip
    return found if found.count() else (h, admissible)
