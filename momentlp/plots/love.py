"""The love plot: how far each moment is from its target, before and after the selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.plots.axes import GREY, PALE_GREY, RED, add_legend, hide_frame, new_axes, shorten
from momentlp.plots.plotted_points import get_classifier
from momentlp.runtime.argument_checks import check_integer
from momentlp.solution.balance import Balance
from momentlp.solution.solution import Solution

__all__ = ["love_plot"]

MAX_NAME_LENGTH, MIN_NAME_LENGTH = 40, 6  # characters of a moment's name
NAME_SIZE = 8  # of the font, in points
CHARACTER_WIDTH = 6.0  # of a rather wide character at that size, in points
NAME_PAD = 6  # points between a name and the axes
TIMES = " \N{MULTIPLICATION SIGN} "  # between the factors of a product


def love_plot(balance: Any, axes: Any = None, *, most: int = 30) -> Any:
    """Draw the standardised difference of each moment from its target, before and after the selection.

    Long names of moments are shortened: to 40 characters, or to what fits between the axes and their left neighbour if the
    figure has no layout that makes room for labels, such as ``layout="constrained"``.

    Parameters
    ----------
    balance : Balance, Solution or fitted estimator
    axes : matplotlib Axes, optional
        Default: a new pyplot figure.
    most : int
        Maximum number of moments: those with the largest difference before. A label says how many there are.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        If ``balance`` is none of the three.
    NotFittedError
        If it is an estimator that was not fitted.
    OptionError
        If ``most`` is not an integer of at least 1.
    ExtraMissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> import momentlp as mlp
    >>> from momentlp.plots import love_plot, new_axes
    >>> from momentlp.synthetic import make_gaussian
    >>> case = make_gaussian(0)
    >>> solution = mlp.solve(mlp.Spec(features=mlp.Quadratic()).compile(case.X, labelled=case.labelled))
    >>> axes = love_plot(solution, new_axes(use_pyplot=False))
    >>> len(axes.get_yticklabels())  # two means and three products
    5
    """
    if not isinstance(balance, Balance):
        balance = (balance if isinstance(balance, Solution) else get_classifier(balance).solution_).balance()
    titles = balance.titles or [row.name for row in balance]
    most = check_integer("most", most, minimum=1)
    drawn = sorted(range(len(balance)), key=lambda index: abs(balance[index].before))[-most:]
    rows = [balance[index] for index in drawn]
    axes = new_axes(axes, (6.4, 1.2 + 0.24 * len(rows)))
    heights = np.arange(len(rows))
    before, after = [row.before for row in rows], [row.standardised for row in rows]
    axes.hlines(heights, before, after, color=PALE_GREY, zorder=1)
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    axes.scatter(before, heights, color=GREY, label="all points", zorder=2)
    for active, marker, label in ((False, "o", "the set found"), (True, "D", "the set found, at its bound")):
        marked = [(row.standardised, height) for row, height in zip(rows, heights, strict=True) if row.active is active]
        if marked:
            axes.scatter(*zip(*marked, strict=True), color=RED, marker=marker, s=28, label=label, zorder=3)
    max_length = _max_name_length(axes)
    axes.set_yticks(heights, [_shorten_name(titles[index], max_length) for index in drawn], fontsize=NAME_SIZE)
    if len(rows) < len(balance):
        axes.set_ylabel(f"{len(rows)} of {len(balance)} moments")
    axes.set_xlabel("standard deviations from the target")
    hide_frame(axes, "left")
    axes.tick_params(axis="y", length=0)
    add_legend(axes)
    return axes


def _max_name_length(axes: Any) -> int:
    """Return how many characters of a name fit on the left of the axes."""
    if axes.figure.get_layout_engine() is not None:
        return MAX_NAME_LENGTH
    own = axes.get_position()
    others = [other.get_position() for other in axes.figure.axes if other is not axes]
    edges = [other.x1 for other in others if other.x1 <= own.x0 and other.y0 < own.y1 and own.y0 < other.y1]
    room = (own.x0 - max(edges, default=0.0)) * axes.figure.bbox.width / axes.figure.dpi * 72  # in points
    return int(np.clip((room - NAME_PAD) // CHARACTER_WIDTH, MIN_NAME_LENGTH, MAX_NAME_LENGTH))


def _shorten_name(name: str, max_length: int) -> str:
    """Shorten the name of a moment. Each factor of a product is shortened by itself, so that both can be recognised."""
    factors = name.split(TIMES)
    if len(name) <= max_length or len(factors) == 1:
        return shorten(name, max_length)
    length = max(2, (max_length - len(TIMES) * (len(factors) - 1)) // len(factors))
    return TIMES.join(shorten(factor, length) for factor in factors)
