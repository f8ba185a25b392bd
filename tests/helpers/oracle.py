"""Optima of small problems in exact arithmetic, from the definition of the problem alone.

Nothing here uses the package, a solver, or linear programming. There are three simple methods:

- one moment: remove the points with the smallest weight per unit first;
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

    With one row, ``L <= sum a_i h_i <= U``, start with every point at its cap. If the row is above U, remove the points with
    the smallest weight per unit of a > 0 first, the last one in part. If the row is below L, do the same with a < 0.
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
        removed = min(cap, excess / abs(x))
        total -= weight * removed
        excess -= abs(x) * removed
    return total


def largest_with_mean(points: Sequence[Sequence[int]], mean: Sequence[Fraction]) -> Fraction:
    """Return the size of the largest fuzzy set in one or two dimensions with exactly this mean; 0 if none has it."""
    centred = [tuple(Fraction(x) - m for x, m in zip(point, mean, strict=True)) for point in points]
    return _largest_on_line([v[0] for v in centred]) if len(mean) == 1 else _largest_in_plane(centred)


def _largest_on_line(t: list[Fraction]) -> Fraction:
    """Try every threshold and side: all points beyond it are in; those on it are in as far as the sum becomes zero."""
    best = Fraction(0)
    for level, side in product(sorted(set(t)), (1, -1)):
        beyond = [x for x in t if side * x > side * level]
        n_on_it = t.count(level)
        missing = -sum(beyond, Fraction(0))
        if level != 0:
            amount = missing / level
        elif missing == 0:
            amount = Fraction(n_on_it)
        else:
            continue
        if 0 <= amount <= n_on_it:
            best = max(best, len(beyond) + amount)
    return best


def _largest_in_plane(v: list[Vector]) -> Fraction:
    """Try every line through two of the points, and every line through the mean and a point."""
    if all(x == (0, 0) for x in v):
        return Fraction(len(v))
    best = Fraction(0)
    for direction in {x for x in v if x != (0, 0)}:
        along = [_dot(x, direction) for x in v if _cross(x, direction) == 0]
        best = max(best, _largest_on_line(along))
    for p, q in combinations(sorted(set(v)), 2):
        if _cross(p, q) == 0:
            continue  # a line through the mean: done above
        direction = (q[0] - p[0], q[1] - p[1])
        sides = [_cross(direction, (x[0] - p[0], x[1] - p[1])) for x in v]
        for side in (1, -1):
            beyond = [x for x, s in zip(v, sides, strict=True) if side * s > 0]
            on_line = [x for x, s in zip(v, sides, strict=True) if s == 0]
            missing = (-sum((x[0] for x in beyond), Fraction(0)), -sum((x[1] for x in beyond), Fraction(0)))
            # On the line x = p + tau * direction, so the amount and the first moment of tau follow from two equations.
            amount = _cross(missing, direction) / _cross(p, direction)
            moment = _cross(p, missing) / _cross(p, direction)
            tau = sorted(_dot((x[0] - p[0], x[1] - p[1]), direction) / _dot(direction, direction) for x in on_line)
            if 0 <= amount <= len(tau) and _smallest_sum(tau, amount) <= moment <= -_smallest_sum(
                [-x for x in reversed(tau)], amount
            ):
                best = max(best, len(beyond) + amount)
    return best


def _smallest_sum(ordered: list[Fraction], amount: Fraction) -> Fraction:
    """Return the smallest sum of an amount of values, each of which counts at most once."""
    n_full = int(amount)
    return sum(ordered[:n_full], Fraction(0)) + (ordered[n_full] * (amount - n_full) if amount > n_full else 0)


def is_separable(points: Sequence[Sequence[int]], h: Sequence[Fraction]) -> bool:
    """Return whether a hyperplane separates h: ``h = 1`` beyond it, with a point there, and ``h = 0`` before it.

    In one or two dimensions only. The separating hyperplanes form a cone, so if there is one, then there is also one that
    passes through as many points as possible.
    """
    if all(value == 1 for value in h):
        return True
    return any(
        any(s > 0 for s in scores)
        and all((value == 1 or s <= 0) and (value == 0 or s >= 0) for s, value in zip(scores, h, strict=True))
        for scores in _all_scores(points)
    )


def _all_scores(points: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the signed distances of all points from every hyperplane that passes through as many of them as possible."""
    distinct = sorted({tuple(point) for point in points})
    on_a_line = len(distinct[0]) == 1 or all(
        _cross(_subtract(point, distinct[0]), _subtract(distinct[-1], distinct[0])) == 0 for point in distinct
    )
    if on_a_line:  # the points of a line are sorted along it, because pairs of coordinates are
        ranks = [distinct.index(tuple(point)) for point in points]
        normals = [[rank - level for rank in ranks] for level in range(len(distinct))]
    else:
        normals = [
            [_cross(_subtract(q, p), _subtract(point, p)) for point in points]  # which side of the line through p and q
            for p, q in combinations(distinct, 2)
        ]
    for scores in normals:
        yield scores
        yield [-s for s in scores]


def _subtract(p: Sequence[int], q: Sequence[int]) -> tuple[int, ...]:
    return tuple(a - b for a, b in zip(p, q, strict=True))


def _dot(p: Vector, q: Vector) -> Fraction:
    return p[0] * q[0] + p[1] * q[1]


def _cross(p: Sequence, q: Sequence):
    return p[0] * q[1] - p[1] * q[0]


def best_vertex(
    A: np.ndarray, lower: np.ndarray, upper: np.ndarray, weights: np.ndarray, caps: np.ndarray
) -> Fraction | None:
    """Return the largest weight over all vertices of a problem in small integers; None if it has no feasible point.

    At a vertex some rows are at a bound, as many points are fractional, and every other point is at 0 or its cap. All
    combinations of 0 and cap are tried at once, in 64-bit integers, with Cramer's rule for the fractional points.
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
    """Return the largest weight for one choice of rows, bounds and fractional points."""
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
