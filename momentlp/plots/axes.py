"""What all plots share: new axes, colours, the legend, shortened names and an axis of tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.errors import ExtraMissingError
from momentlp.points.arrays import FloatArray

__all__ = [
    "BLUE",
    "GREY",
    "PALE_GREY",
    "RED",
    "add_legend",
    "has_own_figure",
    "hide_frame",
    "new_axes",
    "set_tolerance_axis",
    "shorten",
]

GREY, RED, BLUE = "#9aa5b1", "#d1495b", "#30638e"
PALE_GREY = "#d9dee3"
FIGURE_LABEL = "momentlp"  # marks figures that were made here; matplotlib shows it nowhere
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
MAX_TICKS = 10  # if there are more tolerances, not every one gets a tick


def new_axes(axes: Any = None, size: tuple[float, float] = (6.4, 4.8), *, use_pyplot: bool = True) -> Any:
    """Return the given axes, or make a figure with axes of its own.

    Parameters
    ----------
    axes : matplotlib Axes, optional
        Returned as they are.
    size : tuple of float
        Width and height of a new figure in inches.
    use_pyplot : bool
        True to make the figure with ``pyplot``: a notebook shows it, ``pyplot.show()`` opens it, and ``pyplot.close`` frees
        it. False for a figure that is only written to a file: pyplot does not know it, and it needs no closing.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ExtraMissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> from momentlp.plots import new_axes
    >>> axes = new_axes(size=(3, 2), use_pyplot=False)
    >>> new_axes(axes) is axes
    True
    """
    if axes is not None:
        return axes
    try:
        from matplotlib.figure import Figure

        if use_pyplot:
            from matplotlib import pyplot as plt
    except ImportError:
        raise ExtraMissingError("drawing needs matplotlib: run pip install 'momentlp[plot]'.") from None
    make_figure = plt.figure if use_pyplot else Figure
    figure = make_figure(figsize=size, layout="constrained")
    figure.set_label(FIGURE_LABEL)
    return figure.subplots()


def has_own_figure(axes: Any) -> bool:
    """Return whether the axes are alone on a figure that was made here. Its layout makes room for labels around them."""
    return bool(axes.figure.get_label() == FIGURE_LABEL)


def hide_frame(axes: Any, *sides: str) -> None:
    """Hide the frame at the top and on the right, and on other sides given."""
    axes.spines[["top", "right", *sides]].set_visible(False)


def add_legend(axes: Any, **options: Any) -> None:
    """Put the legend above the axes, where it hides no point. On axes of the caller it goes inside: a title may be above."""
    if has_own_figure(axes):
        style = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3, "frameon": False, "fontsize": 8}
    else:
        style = {"loc": "best", "framealpha": 0.8, "edgecolor": "none", "fontsize": 7}
    axes.legend(**style, **options)


def shorten(text: str, max_length: int) -> str:
    """Return a text of at most ``max_length`` characters, with an ellipsis in place of its middle if it is longer.

    Examples
    --------
    >>> len(shorten("mean concave points", 11))
    11
    """
    if len(text) <= max_length:
        return text
    tail = (max_length - 1) // 2
    return text[: max_length - 1 - tail] + ELLIPSIS + text[len(text) - tail :]


def set_tolerance_axis(axes: Any, tolerances: FloatArray, *, log: bool = False) -> None:
    """Make x an axis of tolerances: logarithmic if they span more than a decade, or if ``log`` is set.

    Zero has no logarithm. With a tolerance of zero the axis is linear up to the smallest positive tolerance.
    """
    positive = tolerances[tolerances > 0]
    if positive.size and (log or positive.max() > 10 * positive.min()):
        if positive.size == tolerances.size:
            axes.set_xscale("log")
        else:
            axes.set_xscale("symlog", linthresh=float(positive.min()))
    values = np.unique(tolerances)
    if log and values.size <= MAX_TICKS:
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.set_xticks([], minor=True)
