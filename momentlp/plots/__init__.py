"""Pictures of an answer. Every function takes axes, or makes them, and returns them. Needs matplotlib."""

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
