"""How the set found grows with the tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.errors import DataError
from momentlp.plots.axes import BLUE, RED, bare, legend_above, new_axes, tolerance_axis
from momentlp.points.arrays import FloatArray
from momentlp.solution.solution import Solution
from momentlp.solving.tolerance_path import Path
from momentlp.status import Status

__all__ = ["path_plot"]

PALE_BLUE = "#a9c4da"
STRIPS = 400  # into which the points of a heat map are gathered
MARKS = {
    Status.EMPTY: ("v", "empty: no set has this mean"),
    Status.LIMIT: ("^", "limit: from what was held to the bound"),
    Status.INFEASIBLE: ("X", "infeasible"),
    Status.FAILED: ("x", "failed"),
}


def path_plot(path: Path, axes: Any = None, *, share: bool = False, memberships: bool = False) -> Any:
    """Draw the size of the set found along the tolerance.

    Where the status is not OPTIMAL the line is broken and a mark says what it is; at a LIMIT a bar reaches up to the bound.

    Parameters
    ----------
    path : Path
        What :func:`momentlp.path` returned.
    axes : matplotlib Axes, optional
    share : bool
        Draw the share of all points instead of their number, by weight if they have weights.
    memberships : bool
        Draw the memberships behind the line, the points in the order in which they come in as the tolerance grows, the
        first at the bottom; those that never do are left out. A gap below the line is a point that came in and left again.

    Raises
    ------
    DataError
        If ``path`` is something else.
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
    for status, (marker, label) in MARKS.items():
        chosen = [(t, solution) for t, solution in zip(path.tolerances, path, strict=True) if solution.status is status]
        if chosen:
            _mark(axes, chosen, unit, marker=marker, label=label)
    tolerance_axis(axes, path.tolerances)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("multiple of the tolerance" if path.relative else "tolerance")
    axes.set_ylabel("share of the points found" if share else "points found")
    bare(axes)
    if memberships or not proved.all():
        legend_above(axes)
    return axes


def _mark(axes: Any, chosen: list[tuple[float, Solution]], unit: float, **style: Any) -> None:
    """Mark answers that are not optimal at the size they hold, or at zero where what they hold is no set at all."""
    for number, (tolerance, solution) in enumerate(chosen):
        size = solution.objective / unit if solution.status in (Status.EMPTY, Status.LIMIT) else 0.0
        if solution.status is Status.LIMIT:
            axes.vlines(tolerance, size, solution.bound / unit, color=RED, linewidth=1, zorder=3)
        label = style["label"] if number == 0 else None
        axes.scatter(tolerance, size, color=RED, s=28, linewidths=1, zorder=4, clip_on=False, **style | {"label": label})


def _draw_memberships(axes: Any, path: Path, mass: FloatArray, unit: float) -> None:
    """Draw a column of strips for every tolerance: the mean membership, by weight, of the points in each strip."""
    from matplotlib.colors import LinearSegmentedColormap

    entry = path.entry()
    order = np.lexsort((-path.memberships.sum(axis=0), entry))[: np.isfinite(entry).sum()]  # of those that ever come in
    if not order.size:
        return
    tolerances, places = np.unique(path.tolerances, return_index=True)
    height = np.concatenate([[0.0], np.cumsum(mass[order])])
    levels = np.linspace(0, height[-1], min(STRIPS, order.size) + 1)
    strips = np.full((levels.size - 1, tolerances.size), np.nan)
    for column, solution in enumerate(path[int(place)] for place in places):
        if solution.status is Status.OPTIMAL:
            found = np.cumsum((solution.problem.weights * solution.membership)[order])
            strips[:, column] = np.diff(np.interp(levels, height, np.concatenate([[0.0], found]))) / np.diff(levels)
    colours = LinearSegmentedColormap.from_list("membership", ["white", PALE_BLUE])
    axes.pcolormesh(_edges(tolerances), levels / unit, strips, cmap=colours, vmin=0, vmax=1, rasterized=True, zorder=0)
    axes.fill_between([], [], color=PALE_BLUE, label="the points in it, first come at the bottom")


def _edges(values: FloatArray) -> FloatArray:
    """Return the borders between values in rising order, half-way on the axis on which they are drawn."""
    if values.size == 1:
        return np.array([0.9, 1.1]) * values if values[0] > 0 else np.array([-0.1, 0.1])
    if values[0] > 0 and values[-1] > 10 * values[0]:
        return np.asarray(np.exp(_edges_between(np.log(values))))
    return _edges_between(values)


def _edges_between(values: FloatArray) -> FloatArray:
    between = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - between[0]], between, [2 * values[-1] - between[-1]]])
