"""The optimum of problems with one moment, in exact arithmetic, from the definition of the problem alone.

With one row, ``L <= sum a_i h_i <= U``, start from every point at its cap. If the row is above U, the cheapest way down is
to give up the points with the least weight per unit of a > 0 first, the last of them in part; likewise from below.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def one_moment_optimum(
    a: Sequence[float], lower: float, upper: float, weights: Sequence[float], caps: Sequence[float]
) -> Fraction:
    """Return the largest weight of a feasible h, exactly; weights must be positive and zero feasible."""
    rows = [tuple(map(Fraction, row)) for row in zip(a, weights, caps, strict=True)]
    activity = sum((x * cap for x, _, cap in rows), Fraction(0))
    total = sum((weight * cap for _, weight, cap in rows), Fraction(0))
    over = activity - Fraction(upper) if upper != float("inf") and activity > Fraction(upper) else Fraction(0)
    under = Fraction(lower) - activity if lower != float("-inf") and activity < Fraction(lower) else Fraction(0)
    excess, sign = (over, 1) if over else (under, -1)
    for x, weight, cap in sorted((row for row in rows if sign * row[0] > 0), key=lambda row: row[1] / abs(row[0])):
        if not excess:
            break
        given_up = min(cap, excess / abs(x))
        total -= weight * given_up
        excess -= abs(x) * given_up
    return total
