"""What all pictures share: axes, colours, the legend, and an axis of tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.errors import ExtraMissingError
from momentlp.points.arrays import FloatArray

__all__ = ["BLUE", "GREY", "PALE", "RED", "bare", "is_own", "legend_above", "new_axes", "tolerance_axis"]

GREY, RED, BLUE = "#9aa5b1", "#d1495b", "#30638e"
PALE = "#d9dee3"
OWN = "momentlp"  # the label of a figure that was made here; it is shown nowhere
MOST_TICKS = 10  # tolerances that are named one by one


def new_axes(axes: Any = None, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """Return the axes given, or new ones on a figure of their own."""
    if axes is not None:
        return axes
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ExtraMissingError("drawing needs matplotlib: run pip install 'momentlp[plot]'.") from None
    figure = Figure(figsize=size, layout="constrained")
    figure.set_label(OWN)
    return figure.subplots()


def is_own(axes: Any) -> bool:
    """Whether the axes are on a figure that was made here, with a layout that makes room around them."""
    return bool(axes.figure.get_label() == OWN)


def bare(axes: Any, *sides: str) -> None:
    """Leave out the frame at the top and on the right, and on other sides named."""
    axes.spines[["top", "right", *sides]].set_visible(False)


def legend_above(axes: Any, **options: Any) -> None:
    """Set the legend above the axes, where it hides no point; inside axes of the caller's, who may want a title there."""
    if is_own(axes):
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3, "frameon": False, "fontsize": 8}
    else:
        place = {"loc": "best", "framealpha": 0.8, "edgecolor": "none", "fontsize": 7}
    axes.legend(**place, **options)


def tolerance_axis(axes: Any, tolerances: FloatArray, *, log: bool = False) -> None:
    """Make x an axis of tolerances: logarithmic if they span more than a decade or ``log`` is asked for.

    A tolerance of zero, which has no logarithm, keeps its place: the axis is linear up to the smallest one above it.
    """
    positive = tolerances[tolerances > 0]
    if positive.size and (log or positive.max() > 10 * positive.min()):
        if positive.size == tolerances.size:
            axes.set_xscale("log")
        else:
            axes.set_xscale("symlog", linthresh=float(positive.min()))
    values = np.unique(tolerances)
    if log and values.size <= MOST_TICKS:
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.set_xticks([], minor=True)
