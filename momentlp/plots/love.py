"""The love plot: how far every moment was from its target, and how near it came."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.balance import Balance
from momentlp.plots.axes import GREY, PALE, RED, bare, legend_above, new_axes
from momentlp.plots.subject import classifier_of
from momentlp.solution import Solution

__all__ = ["love_plot"]


def love_plot(balance: Any, axes: Any = None, *, most: int = 30) -> Any:
    """Draw the standardised difference of every moment, before and after selection.

    Parameters
    ----------
    balance : Balance, Solution or fitted estimator
    axes : matplotlib Axes, optional
    most : int
        Show the moments that were furthest off before, so many at the most.
    """
    if not isinstance(balance, Balance):
        balance = (balance if isinstance(balance, Solution) else classifier_of(balance).solution_).balance()
    rows = sorted(balance, key=lambda row: abs(row.before))[-most:]
    axes = new_axes(axes, (6.4, 1.2 + 0.24 * len(rows)))
    places = np.arange(len(rows))
    axes.hlines(places, [row.before for row in rows], [row.standardised for row in rows], color=PALE, zorder=1)
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    axes.scatter([row.before for row in rows], places, color=GREY, label="all points", zorder=2)
    for active, marker, label in ((False, "o", "the set found"), (True, "D", "the set found, at its bound")):
        chosen = [(row.standardised, place) for row, place in zip(rows, places, strict=True) if row.active is active]
        if chosen:
            axes.scatter(*zip(*chosen, strict=True), color=RED, marker=marker, s=28, label=label, zorder=3)
    axes.set_yticks(places, [row.name for row in rows], fontsize=8)
    axes.set_xlabel("difference from the target, in standard deviations")
    bare(axes, "left")
    axes.tick_params(axis="y", length=0)
    legend_above(axes)
    return axes
