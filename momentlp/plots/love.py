"""The love plot: how far every moment was from its target, and how near it came."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from momentlp.errors import OptionError
from momentlp.plots.axes import GREY, PALE, RED, bare, legend_above, new_axes
from momentlp.plots.subject import classifier_of
from momentlp.solution.balance import Balance
from momentlp.solution.solution import Solution

__all__ = ["love_plot"]


def love_plot(balance: Any, axes: Any = None, *, most: int = 30) -> Any:
    """Draw the standardised difference of every moment, before and after selection.

    Parameters
    ----------
    balance : Balance, Solution or fitted estimator
    axes : matplotlib Axes, optional
    most : int
        Show the moments that were furthest off before, so many at the most; the axis says how many there are.

    Raises
    ------
    OptionError
        If ``most`` is not a whole number of at least 1.
    """
    if not isinstance(balance, Balance):
        balance = (balance if isinstance(balance, Solution) else classifier_of(balance).solution_).balance()
    titles = balance.titles or [row.name for row in balance]
    drawn = sorted(range(len(balance)), key=lambda place: abs(balance[place].before))[-_at_least_one(most) :]
    rows = [balance[place] for place in drawn]
    axes = new_axes(axes, (6.4, 1.2 + 0.24 * len(rows)))
    places = np.arange(len(rows))
    axes.hlines(places, [row.before for row in rows], [row.standardised for row in rows], color=PALE, zorder=1)
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    axes.scatter([row.before for row in rows], places, color=GREY, label="all points", zorder=2)
    for active, marker, label in ((False, "o", "the set found"), (True, "D", "the set found, at its bound")):
        chosen = [(row.standardised, place) for row, place in zip(rows, places, strict=True) if row.active is active]
        if chosen:
            axes.scatter(*zip(*chosen, strict=True), color=RED, marker=marker, s=28, label=label, zorder=3)
    axes.set_yticks(places, [titles[place] for place in drawn], fontsize=8)
    if len(rows) < len(balance):
        axes.set_ylabel(f"{len(rows)} of {len(balance)} moments")
    axes.set_xlabel("standard deviations from the target")
    bare(axes, "left")
    axes.tick_params(axis="y", length=0)
    legend_above(axes)
    return axes


def _at_least_one(most: Any) -> int:
    if isinstance(most, bool) or not isinstance(most, numbers.Integral) or most < 1:
        raise OptionError(f"most must be a whole number of at least 1, not {most!r}.")
    return int(most)
