"""Plots of solutions and estimators. They need matplotlib: ``pip install 'momentlp[plot]'``.

- :func:`love_plot`: how far each moment is from its target, before and after the selection.
- :func:`membership_plot`: the points, those found and those not, with the curve between them.
- :func:`path_plot`: the size of the set along the tolerance.
- :func:`score_plot`: the distribution of the scores, with the cut-off.
- :func:`selection_plot`: how the cross-validation chose features and tolerance.

Each takes matplotlib ``axes`` to draw on, and returns them. Without ``axes`` it makes a figure with ``pyplot``, so that a
notebook shows it and ``pyplot.show()`` opens it. :func:`new_axes` makes such axes. ``GREY``, ``RED`` and ``BLUE`` are the
colours of all plots.
"""

from momentlp.plots.axes import BLUE, GREY, RED, new_axes
from momentlp.plots.love import love_plot
from momentlp.plots.membership import membership_plot
from momentlp.plots.path import path_plot
from momentlp.plots.scores import score_plot
from momentlp.plots.selection import selection_plot

__all__ = [
    "BLUE",
    "GREY",
    "RED",
    "love_plot",
    "membership_plot",
    "new_axes",
    "path_plot",
    "score_plot",
    "selection_plot",
]
