r"""Whole sets by exchanges: one point leaves the set, another one enters, until no bound is violated.

The core has rows ``G x <= u``: every bound of a moment that its points can reach, and one row for the weight that the set
must have, ``-w . x <= -target``. The search makes the exchange that leaves the least violation, ``sum_j p_j max(0, (G x -
u)_j)``, whether it is less than before or not. Points that moved stay for some exchanges, and the prices p of rows that stay
violated rise. Once no row is violated the target rises by one step.

The first prices are the multipliers of the linear program. For a given weight, the violation at these prices is the room
that is left in other rows and what the points on the wrong side cost, less the gap between bound and target: so it measures
how far a set is from the optimum, in every row alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from momentlp.points.arrays import FloatArray, IndexArray

__all__ = ["CoreRows", "exchange"]

N_LEAVING, N_ENTERING = 60, 60  # points that are tried at once: so many may leave, and so many may enter
MAX_TENURE = 10  # exchanges for which a point that moved stays where it is, or up to twice as many
PRICE_PERIOD, PRICE_GROWTH = 20, 0.3  # exchanges after which the prices of violated rows rise, and by how much


@dataclass(frozen=True, eq=False)
class CoreRows:
    """The rows of the core.

    Attributes
    ----------
    G : array, shape (k, r)
        One row per point of the core, and one column per bound.
    room : array, shape (r,)
        u: what the points outside of the core leave.
    tolerance : array, shape (r,)
        A bound that is exceeded by less is met: rounding.
    prices : array, shape (r,)
    weights, caps : array, shape (k,)
    """

    G: FloatArray
    room: FloatArray
    tolerance: FloatArray
    prices: FloatArray
    weights: FloatArray
    caps: FloatArray


def exchange(
    rows: CoreRows,
    start: FloatArray,
    target: float,
    step: float,
    limit: float,
    random: np.random.Generator,
    patience: int,
    is_over: Callable[[int], bool],
) -> FloatArray | None:
    """Return the heaviest set that was found, at least as heavy as the target; None if there is none.

    Parameters
    ----------
    rows : CoreRows
    start : array, shape (k,)
        Integers.
    target : float
        The least weight of a set.
    step : float
        By how much the target rises above the weight of a set that was found.
    limit : float
        No set weighs more.
    random : Generator
        Chooses the points that are tried.
    patience : int
        After so many exchanges without a heavier set the search ends.
    is_over : callable
        Is given the number of exchanges so far; returns whether to stop.

    Returns
    -------
    array of shape (k,), or None
    """
    state = _State(rows, start, target)
    best: FloatArray | None = None
    n_done = found_at = 0
    while n_done - found_at < patience and not is_over(n_done):
        n_done += 1
        state.move(n_done, random)
        if state.is_feasible():
            best, weight, found_at = state.x.copy(), float(rows.weights @ state.x), n_done
            if weight + step > limit:
                break
            state.aim(weight + step)
        elif n_done % PRICE_PERIOD == 0:
            state.raise_prices()
    return best


class _State:
    """A set, what is left to its bounds, and the prices. The last row is that of the weight."""

    def __init__(self, rows: CoreRows, start: FloatArray, target: float) -> None:
        self.rows, self.x = rows, start.copy()
        self.G = np.ascontiguousarray(np.column_stack([rows.G, -rows.weights]))
        self.short = self.G.astype(np.float32)
        self.first_prices = np.append(rows.prices, 1.0)
        self.tenure = max(1, min(MAX_TENURE, start.size // 8))
        self.until = np.zeros(start.size, dtype=np.intp)  # the exchange up to which a point stays
        self.aim(target)

    def aim(self, target: float) -> None:
        """Set the weight that the set must have."""
        self.target = target
        self._add_up()
        self.tolerance = np.append(self.rows.tolerance, 1e-9 * max(1.0, abs(target)))
        self.prices = self.first_prices.copy()

    def _add_up(self) -> None:
        self.excess = self.x @ self.G - np.append(self.rows.room, -self.target)

    def is_feasible(self) -> bool:
        """Return whether no row is violated; rounding of many exchanges does not count."""
        if (self.excess > self.tolerance).any():
            return False
        self._add_up()
        return bool((self.excess <= self.tolerance).all())

    def raise_prices(self) -> None:
        """Raise the prices of violated rows, relative to the others."""
        self.prices = self.prices * np.where(self.excess > self.tolerance, 1.0 + PRICE_GROWTH, 1.0)
        self.prices *= self.first_prices.sum() / self.prices.sum()

    def move(self, now: int, random: np.random.Generator) -> None:
        """Make the exchange that leaves the least violation; a point may also leave, or enter, alone."""
        free = self.until < now
        leaving = _draw(np.flatnonzero(free & (self.x > 0)), N_LEAVING, random)
        entering = _draw(np.flatnonzero(free & (self.x < self.rows.caps)), N_ENTERING, random)
        nobody = np.zeros((1, self.short.shape[1]), np.float32)
        gone, come = (np.concatenate([nobody, self.short[some]]) for some in (leaving, entering))
        after = (self.excess.astype(np.float32) - gone)[:, None, :] + come[None, :, :]
        np.maximum(after, 0.0, out=after)
        violation = after @ self.prices.astype(np.float32)
        violation[0, 0] = np.inf  # nobody moves
        first, second = divmod(int(np.argmin(violation)), violation.shape[1])
        for place, some, change in ((first, leaving, -1.0), (second, entering, 1.0)):
            if place:
                point = some[place - 1]
                self.x[point] += change
                self.excess = self.excess + change * self.G[point]
                self.until[point] = now + self.tenure + int(random.integers(self.tenure))


def _draw(points: IndexArray, number: int, random: np.random.Generator) -> IndexArray:
    return points if points.size <= number else random.choice(points, number, replace=False)
