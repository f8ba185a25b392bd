"""The path plot: how the set found grows with the tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.errors import DataError
from momentlp.plots.axes import BLUE, RED, add_legend, hide_frame, new_axes, set_tolerance_axis
from momentlp.points.arrays import FloatArray
from momentlp.solution.solution import Solution
from momentlp.solving.tolerance_path import Path
from momentlp.status import Status

__all__ = ["path_plot"]

PALE_BLUE = "#a9c4da"
MAX_STRIPS = 400  # rows of the heat map: more would not be seen
STATUS_MARKS = {
    Status.EMPTY: ("v", "empty: no set has this mean"),
    Status.LIMIT: ("^", "limit: from the size found to the bound"),
    Status.INFEASIBLE: ("X", "infeasible"),
    Status.FAILED: ("x", "failed"),
}


def path_plot(path: Path, axes: Any = None, *, share: bool = False, memberships: bool = False) -> Any:
    """Draw the size of the set found along the tolerance.

    Where the status is not OPTIMAL the line is broken, and a mark shows the status. At LIMIT a bar reaches up to the bound.

    Parameters
    ----------
    path : Path
        The result of :func:`momentlp.path`.
    axes : matplotlib Axes, optional
        Default: a new pyplot figure.
    share : bool
        True to draw the share of all points, by weight, instead of their number.
    memberships : bool
        True to draw the memberships behind the line. The points are in the order in which they enter the set as the
        tolerance grows, the first at the bottom. Points that never enter are left out. A gap below the line is a point that
        entered and left again.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        If ``path`` is no Path.
    ExtraMissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> import momentlp as mlp
    >>> from momentlp.plots import new_axes, path_plot
    >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    >>> axes = path_plot(mlp.path(problem, [4.0, 2.0, 1.0]), new_axes(use_pyplot=False))
    >>> axes.get_xlabel()
    'tolerance'
    """
    if not isinstance(path, Path):
        raise DataError(f"path must be a Path, not {type(path).__name__}: momentlp.path(problem, tolerances) returns one.")
    problem = path[0].problem
    mass = np.asarray(problem.weights * problem.caps, dtype=np.float64)
    unit = (float(mass.sum()) or 1.0) if share else 1.0
    proved = np.array([status is Status.OPTIMAL for status in path.statuses])
    order = np.argsort(path.tolerances, kind="stable")
    sizes = np.where(proved, path.objectives, np.nan) / unit
    axes = new_axes(axes, (6.4, 4.0))
    if memberships:
        _draw_memberships(axes, path, mass, unit)
    axes.plot(path.tolerances[order], sizes[order], "o-", color=BLUE, markersize=3.5, linewidth=1.4, label="size of the set")
    for status, (marker, label) in STATUS_MARKS.items():
        marked = [(t, solution) for t, solution in zip(path.tolerances, path, strict=True) if solution.status is status]
        if marked:
            _mark_solutions(axes, marked, unit, marker=marker, label=label)
    set_tolerance_axis(axes, path.tolerances)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("multiple of the tolerance" if path.relative else "tolerance")
    axes.set_ylabel("share of the points found" if share else "points found")
    hide_frame(axes)
    if memberships or not proved.all():
        add_legend(axes)
    return axes


def _mark_solutions(axes: Any, marked: list[tuple[float, Solution]], unit: float, **style: Any) -> None:
    """Mark solutions that are not optimal: at their size if they hold a set, else at zero."""
    for number, (tolerance, solution) in enumerate(marked):
        size = solution.objective / unit if solution.status in (Status.EMPTY, Status.LIMIT) else 0.0
        if solution.status is Status.LIMIT:
            axes.vlines(tolerance, size, solution.bound / unit, color=RED, linewidth=1, zorder=3)
        label = style["label"] if number == 0 else None
        axes.scatter(tolerance, size, color=RED, s=28, linewidths=1, zorder=4, clip_on=False, **style | {"label": label})


def _draw_memberships(axes: Any, path: Path, mass: FloatArray, unit: float) -> None:
    """Draw a heat map: a column per tolerance, a row per strip of points, coloured by their mean membership by weight."""
    from matplotlib.colors import LinearSegmentedColormap

    entry = path.entry()
    order = np.lexsort((-path.memberships.sum(axis=0), entry))[: np.isfinite(entry).sum()]  # points that ever enter
    if not order.size:
        return
    tolerances, first = np.unique(path.tolerances, return_index=True)
    height = np.concatenate([[0.0], np.cumsum(mass[order])])
    levels = np.linspace(0, height[-1], min(MAX_STRIPS, order.size) + 1)
    strips = np.full((levels.size - 1, tolerances.size), np.nan)
    for column, solution in enumerate(path[int(index)] for index in first):
        if solution.status is Status.OPTIMAL:
            found = np.cumsum((solution.problem.weights * solution.membership)[order])
            strips[:, column] = np.diff(np.interp(levels, height, np.concatenate([[0.0], found]))) / np.diff(levels)
    colours = LinearSegmentedColormap.from_list("membership", ["white", PALE_BLUE])
    axes.pcolormesh(
        _column_edges(tolerances), levels / unit, strips, cmap=colours, vmin=0, vmax=1, rasterized=True, zorder=0
    )
    axes.fill_between([], [], color=PALE_BLUE, label="the points in it, the first to enter at the bottom")


def _column_edges(values: FloatArray) -> FloatArray:
    """Return the edges of the columns of the heat map: half-way between values in rising order, on the axis as drawn."""
    if values.size == 1:
        return np.array([0.9, 1.1]) * values if values[0] > 0 else np.array([-0.1, 0.1])
    if values[0] > 0 and values[-1] > 10 * values[0]:
        return np.asarray(np.exp(_midpoint_edges(np.log(values))))
    return _midpoint_edges(values)


def _midpoint_edges(values: FloatArray) -> FloatArray:
    between = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - between[0]], between, [2 * values[-1] - between[-1]]])
