"""The default features and the default numbers of the estimators.

``benchmarks/classes/defaults.py`` compares them with others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.features import FeatureMap, Spectral
from momentlp.points.arrays import FloatArray
from momentlp.points.distinct_rows import distinct_rows

__all__ = [
    "MARGIN",
    "NON_GRAPH_WIDTH",
    "SMOOTHING",
    "WIDTH",
    "count_distinct_points",
    "default_features",
    "resolve_features",
]

N_COMPONENTS = 16
N_NEIGHBOURS = 5
MIN_POINTS_PER_COMPONENT = 10  # with fewer points there are fewer components
RESTART = 0.02  # probability that the random walk of the feature map stops at a step
WIDTH = 2.5  # tolerance in standard errors, for Spectral features
NON_GRAPH_WIDTH = 0.8  # tolerance in standard errors, for all other features
SMOOTHING = 0.05  # probability that the smoothing walk stops at a step: about twenty steps over the graph
MARGIN = 0.3  # score in the linear program that a point must exceed to count as a member when memberships are smoothed


def default_features(n_points: int, n_components: int = N_COMPONENTS) -> FeatureMap:
    """Return the default feature map: smooth functions on the graph of nearest neighbours.

    Parameters
    ----------
    n_points : int
        Number of distinct points. Few points get fewer components and neighbours.
    n_components : int
        Maximum number of components.
    """
    n_components = max(1, min(n_components, n_points // MIN_POINTS_PER_COMPONENT))
    n_neighbours = max(1, min(N_NEIGHBOURS, n_points - 1))
    return Spectral(n_components, n_neighbours, walk=RESTART, scale="range")


def resolve_features(features: FeatureMap | str | Any, points: Any, weight: FloatArray | None) -> Any:
    """Return a feature map for the name of one; anything else as it is. ``"spectral"`` is the default map."""
    if not isinstance(features, str):
        return features
    if features == "spectral":
        return default_features(count_distinct_points(points, weight))
    return FeatureMap.parse({"kind": features})


def count_distinct_points(points: Any, weight: FloatArray | None) -> int:
    """Return the number of distinct rows. Rows of weight 0 do not count."""
    plain = np.asarray(points.to_numpy(), dtype=np.float64) if hasattr(points, "to_numpy") else points
    return int(distinct_rows(plain if weight is None else plain[weight > 0])[0].size)
