"""Pictures of an answer. Every function takes axes, or makes them, and returns them. Needs matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.arrays import as_points, is_sparse
from momentlp.balance import Balance
from momentlp.errors import DataError, ExtraMissingError
from momentlp.solution import Solution

__all__ = ["GREY", "RED", "love_plot", "membership_plot", "new_axes"]

GREY, RED, BLUE = "#9aa5b1", "#d1495b", "#30638e"
GRID = 300


def new_axes(axes: Any = None, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """Return the axes given, or new ones on a figure of their own."""
    if axes is not None:
        return axes
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ExtraMissingError("drawing needs matplotlib: run pip install 'momentlp[plot]'.") from None
    return Figure(figsize=size, layout="constrained").subplots()


def love_plot(balance: Balance | Solution, axes: Any = None, *, most: int = 30) -> Any:
    """Draw the standardised difference of every moment, before and after selection.

    Parameters
    ----------
    balance : Balance or Solution
    axes : matplotlib Axes, optional
    most : int
        Show the moments that were furthest off before, so many at the most.
    """
    if isinstance(balance, Solution):
        balance = balance.balance()
    rows = sorted(balance, key=lambda row: abs(row.before))[-most:]
    axes = new_axes(axes, (6.4, 1.2 + 0.24 * len(rows)))
    places = np.arange(len(rows))
    axes.hlines(places, [row.before for row in rows], [row.standardised for row in rows], color="#d9dee3", zorder=1)
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    axes.scatter([row.before for row in rows], places, color=GREY, label="all points", zorder=2)
    for active, marker, label in ((False, "o", "the set found"), (True, "D", "the set found, at its bound")):
        chosen = [(row.standardised, place) for row, place in zip(rows, places, strict=True) if row.active is active]
        if chosen:
            axes.scatter(*zip(*chosen, strict=True), color=RED, marker=marker, s=28, label=label, zorder=3)
    axes.set_yticks(places, [row.name for row in rows], fontsize=8)
    axes.set_xlabel("difference from the target, in standard deviations")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axes


def membership_plot(solution: Solution, X: Any, axes: Any = None) -> Any:
    """Draw the memberships of points in one or two dimensions, and the curve that separates them.

    Parameters
    ----------
    solution : Solution
    X : array or frame, shape (N, 1) or (N, 2)
        The points that the problem was compiled with.
    axes : matplotlib Axes, optional
    """
    points, names = as_points(X, "X")
    points = points.toarray() if is_sparse(points) else points
    if points.shape[0] != solution.problem.n_points or points.shape[1] > 2:
        raise DataError(
            f"X has shape {points.shape}, but membership_plot draws the {solution.problem.n_points} points of the problem "
            "in one or two columns."
        )
    axes = new_axes(axes)
    draw = _draw_line if points.shape[1] == 1 else _draw_plane
    draw(axes, solution, points)
    labels = names or tuple(f"x{column}" for column in range(points.shape[1]))
    axes.set_xlabel(labels[0])
    axes.spines[["top", "right"]].set_visible(False)
    if points.shape[1] == 2:
        axes.set_ylabel(labels[1])
    return axes


def _groups(solution: Solution) -> list[tuple[Any, dict[str, Any]]]:
    share = solution.membership / np.where(solution.problem.caps > 0, solution.problem.caps, 1.0)
    labelled = np.zeros(share.size, dtype=bool)
    if solution.problem.labelled is not None:
        labelled[solution.problem.labelled] = True
    inside = share > 0.5
    return [
        (~inside & ~labelled, {"color": GREY, "marker": "o", "s": 14, "label": "out"}),
        (inside & ~labelled, {"color": RED, "marker": "o", "s": 14, "label": "found"}),
        (labelled, {"color": BLUE, "marker": "x", "s": 26, "label": "labelled"}),
    ]


def _draw_plane(axes: Any, solution: Solution, points: Any) -> None:
    for mask, style in _groups(solution):
        if mask.any():
            axes.scatter(*points[mask].T, linewidths=0.8 if style["marker"] == "x" else 0, **style)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(a - m, b + m, GRID) for a, b, m in zip(low, high, margin, strict=True))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    score = solution.separator.decision_function(grid).reshape(GRID, GRID)
    if score.min() < 0 < score.max():
        axes.contour(x, y, score, levels=[0.0], colors="black", linewidths=1.2)
    axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def _draw_line(axes: Any, solution: Solution, points: Any) -> None:
    for mask, style in _groups(solution):
        if mask.any():
            axes.scatter(
                points[mask, 0], solution.membership[mask], linewidths=0.8 if style["marker"] == "x" else 0, **style
            )
    x = np.linspace(points.min(), points.max(), GRID)
    score = solution.separator.decision_function(x[:, None])
    for place in np.flatnonzero(np.diff(np.sign(score))):
        axes.axvline((x[place] + x[place + 1]) / 2, color="black", linewidth=1.2)
    axes.set_ylabel("membership")
    axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
