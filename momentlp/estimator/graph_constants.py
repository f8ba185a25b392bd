"""The constants of features of a graph: those of ``"spectral"``, and of the graph scores in ``"auto"``."""

from __future__ import annotations

__all__ = ["MARGIN", "N_COMPONENTS", "N_NEIGHBOURS", "POINTS_PER_COMPONENT", "RESTART", "SMOOTHING", "WIDTH"]

N_COMPONENTS = 16
N_NEIGHBOURS = 5
POINTS_PER_COMPONENT = 10  # with fewer points there are fewer components
RESTART = 0.02  # probability that the random walk of the feature map stops at a step
WIDTH = 2.5  # tolerance of the program in standard errors
SMOOTHING = 0.05  # probability that the smoothing walk stops at a step: about twenty steps over the graph
MARGIN = 0.3  # score in the program that a point must exceed to count as a member when memberships are smoothed
