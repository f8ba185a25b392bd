"""Optima of small problems in exact arithmetic, from the definition of the problem alone.

Nothing here uses the package, a solver, or linear programming. Three ways, each as plain as it can be made:

- one moment: give up the points with the least weight per unit first;
- one or two dimensions: try every hyperplane through the points, on both sides, with any membership on it;
- any number of moments, up to a dozen points: try every vertex.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import inf

import numpy as np

Vector = tuple[Fraction, ...]


def one_moment_optimum(
    a: Sequence[float], lower: float, upper: float, weights: Sequence[float], caps: Sequence[float]
) -> Fraction:
    """Return the largest weight of a feasible h, exactly; weights must be positive and zero feasible.

    With one row, ``L <= sum a_i h_i <= U``, start from every point at its cap. If the row is above U, the cheapest way down
    is to give up the points with the least weight per unit of a > 0 first, the last of them in part; likewise from below.
    """
    rows = [tuple(map(Fraction, row)) for row in zip(a, weights, caps, strict=True)]
    activity = sum((x * cap for x, _, cap in rows), Fraction(0))
    total = sum((weight * cap for _, weight, cap in rows), Fraction(0))
    over = activity - Fraction(upper) if upper != inf and activity > Fraction(upper) else Fraction(0)
    under = Fraction(lower) - activity if lower != -inf and activity < Fraction(lower) else Fraction(0)
    excess, sign = (over, 1) if over else (under, -1)
    for x, weight, cap in sorted((row for row in rows if sign * row[0] > 0), key=lambda row: row[1] / abs(row[0])):
        if not excess:
            break
        given_up = min(cap, excess / abs(x))
        total -= weight * given_up
        excess -= abs(x) * given_up
    return total


def largest_with_mean(points: Sequence[Sequence[int]], mean: Sequence[Fraction]) -> Fraction:
    """Return the size of the largest fuzzy set in one or two dimensions with exactly this mean; 0 if none has it."""
    around = [tuple(Fraction(x) - m for x, m in zip(point, mean, strict=True)) for point in points]
    return _on_a_line([v[0] for v in around]) if len(mean) == 1 else _in_the_plane(around)


def _on_a_line(t: list[Fraction]) -> Fraction:
    """Every threshold and side: all points beyond it are in, and as much of those on it as brings the sum to zero."""
    best = Fraction(0)
    for level, side in product(sorted(set(t)), (1, -1)):
        beyond = [x for x in t if side * x > side * level]
        there = t.count(level)
        missing = -sum(beyond, Fraction(0))
        if level != 0:
            amount = missing / level
        elif missing == 0:
            amount = Fraction(there)
        else:
            continue
        if 0 <= amount <= there:
            best = max(best, len(beyond) + amount)
    return best


def _in_the_plane(v: list[Vector]) -> Fraction:
    """Every line through two of the points, and every line through the mean and a point."""
    if all(x == (0, 0) for x in v):
        return Fraction(len(v))
    best = Fraction(0)
    for direction in {x for x in v if x != (0, 0)}:
        along = [_dot(x, direction) for x in v if _cross(x, direction) == 0]
        best = max(best, _on_a_line(along))
    for p, q in combinations(sorted(set(v)), 2):
        if _cross(p, q) == 0:
            continue  # a line through the mean: done above
        direction = (q[0] - p[0], q[1] - p[1])
        place = [_cross(direction, (x[0] - p[0], x[1] - p[1])) for x in v]
        for side in (1, -1):
            beyond = [x for x, where in zip(v, place, strict=True) if side * where > 0]
            there = [x for x, where in zip(v, place, strict=True) if where == 0]
            missing = (-sum((x[0] for x in beyond), Fraction(0)), -sum((x[1] for x in beyond), Fraction(0)))
            # On the line x = p + tau * direction, so the amount and the first moment of tau follow from two equations.
            amount = _cross(missing, direction) / _cross(p, direction)
            moment = _cross(p, missing) / _cross(p, direction)
            tau = sorted(_dot((x[0] - p[0], x[1] - p[1]), direction) / _dot(direction, direction) for x in there)
            if 0 <= amount <= len(tau) and _least(tau, amount) <= moment <= -_least([-x for x in reversed(tau)], amount):
                best = max(best, len(beyond) + amount)
    return best


def _least(ordered: list[Fraction], amount: Fraction) -> Fraction:
    """Return the least sum of values that an amount of them can have, at most one of each."""
    whole = int(amount)
    return sum(ordered[:whole], Fraction(0)) + (ordered[whole] * (amount - whole) if amount > whole else 0)


def is_separable(points: Sequence[Sequence[int]], h: Sequence[Fraction]) -> bool:
    """Whether some hyperplane has ``h = 1`` beyond it, with a point there, and ``h = 0`` before it; up to two dimensions.

    Those hyperplanes form a cone, so if there is one at all then one of them passes through as many points as can be.
    """
    if all(value == 1 for value in h):
        return True
    return any(
        any(s > 0 for s in scores)
        and all((value == 1 or s <= 0) and (value == 0 or s >= 0) for s, value in zip(scores, h, strict=True))
        for scores in _scores(points)
    )


def _scores(points: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Return the signed distances of all points from every hyperplane that passes through as many of them as can be."""
    distinct = sorted({tuple(point) for point in points})
    flat = len(distinct[0]) == 1 or all(
        _cross(_minus(point, distinct[0]), _minus(distinct[-1], distinct[0])) == 0 for point in distinct
    )
    if flat:  # in order along the line: coordinates of a pair sort like places on a line
        places = [distinct.index(tuple(point)) for point in points]
        normals = [[place - level for place in places] for level in range(len(distinct))]
    else:
        normals = [
            [_cross(_minus(q, p), _minus(point, p)) for point in points]  # which side of the line through p and q
            for p, q in combinations(distinct, 2)
        ]
    for scores in normals:
        yield scores
        yield [-s for s in scores]


def _minus(p: Sequence[int], q: Sequence[int]) -> tuple[int, ...]:
    return tuple(a - b for a, b in zip(p, q, strict=True))


def _dot(p: Vector, q: Vector) -> Fraction:
    return p[0] * q[0] + p[1] * q[1]


def _cross(p: Sequence, q: Sequence):
    return p[0] * q[1] - p[1] * q[0]


def best_vertex(
    A: np.ndarray, lower: np.ndarray, upper: np.ndarray, weights: np.ndarray, caps: np.ndarray
) -> Fraction | None:
    """Return the largest weight over all vertices of a problem in small whole numbers; None if it has no feasible point.

    A vertex has some rows at a bound, as many points anywhere, and every other point at 0 or its cap. All corners of those
    other points are tried at once, in 64-bit whole numbers, with Cramer's rule for the points in between.
    """
    n, m = A.shape
    A, weights, caps = (np.asarray(values, dtype=np.int64) for values in (A, weights, caps))
    best: Fraction | None = None
    for k in range(min(n, m) + 1):
        for rows, free in product(combinations(range(m), k), combinations(range(n), k)):
            square = A[np.ix_(free, rows)].T
            determinant = _determinant(square.tolist())
            if determinant == 0:
                continue
            rest = [i for i in range(n) if i not in free]
            corners = ((np.arange(2 ** len(rest))[:, None] >> np.arange(len(rest))) & 1) * caps[rest]
            for bounds in product(*({lower[j], upper[j]} for j in rows)):
                if np.isinf(bounds).any():
                    continue
                value = _best_corner(
                    A, lower, upper, weights, caps, list(free), rest, list(rows), bounds, corners, determinant
                )
                if value is not None and (best is None or value > best):
                    best = value
    return best


def _best_corner(A, lower, upper, weights, caps, free, rest, rows, bounds, corners, determinant) -> Fraction | None:
    """Return the largest weight among the corners of one choice of rows, points in between and bounds."""
    size, sign = abs(determinant), 1 if determinant > 0 else -1
    h = np.zeros((len(corners), A.shape[0]), dtype=np.int64)  # memberships times the determinant
    h[:, rest] = corners * size
    missing = np.array(bounds, dtype=np.int64) - corners @ A[np.ix_(rest, rows)]
    square = A[np.ix_(free, rows)].T.tolist()
    for column, point in enumerate(free):
        for row in range(len(rows)):
            minor = [[x for c, x in enumerate(line) if c != column] for r, line in enumerate(square) if r != row]
            h[:, point] += sign * (-1) ** (row + column) * _determinant(minor) * missing[:, row]
    activity = h @ A
    fits = ((h >= 0) & (h <= caps * size)).all(axis=1)
    fits &= ((activity >= lower * size) & (activity <= upper * size)).all(axis=1)
    return Fraction(int((h[fits] @ weights).max()), size) if fits.any() else None


def _determinant(matrix: list[list[int]]) -> int:
    if not matrix:
        return 1
    return sum(
        (-1) ** c * x * _determinant([line[:c] + line[c + 1 :] for line in matrix[1:]]) for c, x in enumerate(matrix[0]) if x
    )
