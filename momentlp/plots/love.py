"""The love plot: how far each moment is from its target, before and after the selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from momentlp.errors import DataError
from momentlp.matching import Match, MatchBalance, MatchBalanceRow
from momentlp.plots.axes import BLUE, GREY, PALE_GREY, RED, add_legend, hide_frame, new_axes, shorten
from momentlp.plots.plotted_points import get_classifier
from momentlp.runtime.argument_checks import check_bool, check_integer, check_number
from momentlp.solution.balance import Balance
from momentlp.solution.solution import Solution

__all__ = ["love_plot"]

MAX_NAME_LENGTH, MIN_NAME_LENGTH = 40, 6  # characters of a moment's name
NAME_SIZE = 8  # of the font, in points
CHARACTER_WIDTH = 6.0  # of a rather wide character at that size, in points
WORDS_OF_MATCH = ("before matching", "after matching", "standardised difference")  # before, after, on the axis
WORDS_OF_SET = ("all points", "the set found", "standard deviations from the target")
MARGIN = 1e-6  # relative to a tolerance: with a difference so near to it, a moment is at its bound
NAME_PAD = 6  # points between a name and the axes
TIMES = " \N{MULTIPLICATION SIGN} "  # between the factors of a product


@dataclass(frozen=True)
class _Row:
    """One line of the plot."""

    title: str
    before: float
    after: float
    active: bool
    tolerance: float | None = None


def love_plot(
    balance: Any, axes: Any = None, *, most: int = 30, absolute: bool = False, threshold: float | None = None
) -> Any:
    """Draw the standardised difference of each moment from its target, before and after the selection.

    Rows of constraints such as ``Share`` are left out: they are not in standard deviations. Of a match the difference
    between the groups is drawn, or between pool and target, with lines at the tolerance.

    Long names of moments are shortened: to 40 characters, or to what fits between the axes and their left neighbour if the
    figure has no layout that makes room for labels, such as ``layout="constrained"``.

    Parameters
    ----------
    balance : Balance, Solution, fitted estimator, Match or MatchBalance
    axes : matplotlib Axes, optional
        Default: a new pyplot figure.
    most : int
        Maximum number of moments: those with the largest difference before. A label says how many there are.
    absolute : bool
        Whether to draw absolute differences.
    threshold : float, optional
        Where to draw a line, in standard deviations. Default: at the tolerance of a match, and no line otherwise.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        If ``balance`` is none of these, or has no moment to draw.
    NotFittedError
        If it is an estimator that was not fitted.
    OptionError
        If ``most`` is not an integer of at least 1, ``absolute`` no switch, or ``threshold`` negative.
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
    most, absolute = check_integer("most", most, minimum=1), check_bool("absolute", absolute)
    found, what = _read_rows(balance)
    if not found:
        raise DataError("balance holds nothing but rows of constraints: there is no moment to draw.")
    rows = sorted(found, key=lambda row: abs(row.before))[-most:]
    if absolute:
        rows = [replace(row, before=abs(row.before), after=abs(row.after)) for row in rows]
    if threshold is not None:
        limit = check_number("threshold", threshold, minimum=0)
        rows = [replace(row, tolerance=limit) for row in rows]
    axes = new_axes(axes, (6.4, 1.2 + 0.24 * len(rows)))
    _draw_rows(axes, rows, what)
    _draw_thresholds(axes, rows, absolute=absolute)
    max_length = _max_name_length(axes)
    heights = np.arange(len(rows))
    axes.set_yticks(heights, [_shorten_name(row.title, max_length) for row in rows], fontsize=NAME_SIZE)
    if len(rows) < len(found):
        axes.set_ylabel(f"{len(rows)} of {len(found)} moments")
    axes.set_xlabel(f"{what[2]}{' (absolute)' if absolute else ''}")
    hide_frame(axes, "left")
    axes.tick_params(axis="y", length=0)
    add_legend(axes)
    return axes


def _read_rows(balance: Any) -> tuple[list[_Row], tuple[str, str, str]]:
    """Return the lines of the plot, and the words for what is before, after, and on the axis."""
    if isinstance(balance, Match):
        balance = balance.balance()
    if isinstance(balance, MatchBalance):
        found = [
            _Row(row.name, row.difference_before, row.difference_after, _is_active(row), row.tolerance) for row in balance
        ]
        return found, WORDS_OF_MATCH
    if not isinstance(balance, Balance):
        balance = (balance if isinstance(balance, Solution) else get_classifier(balance).solution_).balance()
    titles = balance.titles or [row.name for row in balance]
    rows = [(title, row) for title, row in zip(titles, balance, strict=True) if not row.is_constraint]
    return [_Row(title, row.before, row.standardised, row.active) for title, row in rows], WORDS_OF_SET


def _is_active(row: MatchBalanceRow) -> bool:
    return bool(abs(row.difference_after) >= row.tolerance * (1 - MARGIN))


def _draw_rows(axes: Any, rows: Sequence[_Row], what: tuple[str, str, str]) -> None:
    heights = np.arange(len(rows))
    before, after = [row.before for row in rows], [row.after for row in rows]
    axes.hlines(heights, before, after, color=PALE_GREY, zorder=1)
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    axes.scatter(before, heights, color=GREY, label=what[0], zorder=2)
    for active, marker, label in ((False, "o", what[1]), (True, "D", f"{what[1]}, at its bound")):
        marked = [(row.after, height) for row, height in zip(rows, heights, strict=True) if row.active is active]
        if marked:
            axes.scatter(*zip(*marked, strict=True), color=RED, marker=marker, s=28, label=label, zorder=3)


def _draw_thresholds(axes: Any, rows: Sequence[_Row], *, absolute: bool) -> None:
    """Draw a line at the tolerance, on both sides of zero; a short one at each row if tolerances differ."""
    limits = {height: row.tolerance for height, row in enumerate(rows) if row.tolerance is not None}
    limits = {height: limit for height, limit in limits.items() if np.isfinite(limit)}
    style: dict[str, Any] = {"color": BLUE, "linewidth": 1.0, "zorder": 1}
    signs = (1,) if absolute else (1, -1)
    if len(limits) == len(rows) and len(set(limits.values())) == 1:
        for sign in signs:
            label = f"tolerance {limits[0]:g}" if sign == 1 else None
            axes.axvline(sign * limits[0], linestyle="--", label=label, **style)
        return
    places = np.array(list(limits))
    for sign in signs if limits else ():
        label = "tolerance" if sign == 1 else None
        axes.vlines(sign * np.array(list(limits.values())), places - 0.35, places + 0.35, label=label, **style)


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
