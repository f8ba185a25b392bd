"""The default features and the default numbers of the estimators.

``benchmarks/classes`` compares the classifier with others, on data sets that nothing was chosen on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.estimator.graph_constants import N_COMPONENTS, N_NEIGHBOURS, POINTS_PER_COMPONENT, RESTART
from momentlp.estimator.graph_scores import GraphScores
from momentlp.features import Concat, FeatureMap, Learned, Spectral
from momentlp.points.arrays import FloatArray, is_sparse
from momentlp.points.distinct_rows import distinct_rows

__all__ = [
    "NON_GRAPH_WIDTH",
    "SCORE_WIDTH",
    "count_distinct_points",
    "default_features",
    "is_auto",
    "resolve_features",
    "score_features",
]

NON_GRAPH_WIDTH = 0.8  # tolerance in standard errors, for all other features
SCORE_WIDTH = 2.0  # tolerance in standard errors, on the lower side alone, for scores
MIN_PARALLEL = 5000  # points from which classifiers are trained on all cores


def is_auto(features: Any) -> bool:
    """Return whether the features are the scores that ``"auto"`` stands for."""
    return isinstance(features, str) and features == "auto"


def default_features(n_points: int, n_components: int = N_COMPONENTS) -> FeatureMap:
    """Return the feature map that ``"spectral"`` stands for: smooth functions on the graph of nearest neighbours.

    Parameters
    ----------
    n_points : int
        Number of distinct points. Few points get fewer components and neighbours.
    n_components : int
        Maximum number of components.
    """
    n_components = max(1, min(n_components, n_points // POINTS_PER_COMPONENT))
    n_neighbours = max(1, min(N_NEIGHBOURS, n_points - 1))
    return Spectral(n_components, n_neighbours, walk=RESTART, scale="range")


def score_features(points: Any, random_state: int = 0) -> FeatureMap:
    """Return the feature map that ``"auto"`` stands for: learned scores, and scores from graphs of nearest neighbours.

    Parameters
    ----------
    points : array, frame or sparse matrix, shape (N, d)
        Dense columns have two graphs, of normal quantiles and of the columns as they are; sparse rows have one.
    random_state : int
        The seed of the bags.
    """
    n_jobs = -1 if points.shape[0] >= MIN_PARALLEL else None
    learned = Learned(scores="standard", random_state=random_state, n_jobs=n_jobs)
    graphs = [GraphScores()] if is_sparse(points) else [GraphScores(), GraphScores(scale="none")]
    return Concat([learned, *graphs])


def resolve_features(features: FeatureMap | str | Any, points: Any, weight: FloatArray | None, random_state: int = 0) -> Any:
    """Return a feature map for the name of one; anything else as it is."""
    if not isinstance(features, str):
        return features
    if is_auto(features):
        return score_features(points, random_state)
    if features == "spectral":
        return default_features(count_distinct_points(points, weight))
    return FeatureMap.parse({"kind": features})


def count_distinct_points(points: Any, weight: FloatArray | None) -> int:
    """Return the number of distinct rows. Rows of weight 0 do not count."""
    plain = np.asarray(points.to_numpy(), dtype=np.float64) if hasattr(points, "to_numpy") else points
    return int(distinct_rows(plain if weight is None else plain[weight > 0])[0].size)
