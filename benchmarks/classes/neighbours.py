"""Methods of nearness: distance to the nearest labelled points, label spreading, and a random walk on the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph

from benchmarks.classes.bags import cut
from benchmarks.classes.criterion import folds
from benchmarks.classes.scaling import quantiles, standard

__all__ = ["nearest", "spreading", "walk", "walk_quantiles"]

N_NEAREST = 3
N_NEIGHBOURS = 10
RESTART = 0.01
ALPHA = 0.99  # of label spreading, as in the paper that it is from
MIN_WEIGHT = 1e-12  # of an edge, so that no point is without neighbours


def nearest(X: Any, known: np.ndarray, _: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and members by the mean distance to the three nearest labelled points, without the point itself."""
    scaled = quantiles(X)
    distances = pairwise_distances(scaled, scaled[known])
    distances[known, np.arange(len(known))] = np.inf
    return cut(-np.sort(distances, axis=1)[:, :N_NEAREST].mean(axis=1), known)


def walk(X: Any, known: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and members by a random walk that begins again at labelled points; columns as they are."""
    return _walk(X, known, seed, "walk")


def walk_quantiles(X: Any, known: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and members by the same walk on normal quantiles."""
    return _walk(quantiles(X), known, seed, "walk")


def spreading(X: Any, known: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and members by label spreading (Zhou and others 2004) from labelled points, columns standardised.

    ``sklearn.semi_supervised.LabelSpreading`` needs two classes with labels. This is the same system for one of them.
    """
    return _walk(standard(X), known, seed, "spread")


def _walk(X: Any, known: np.ndarray, seed: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Score every point from all labelled points, and each labelled point from the other four folds of them."""
    graph = _graph(X)
    masks = np.array(list(folds(len(known), seed)))
    starts = np.zeros((X.shape[0], len(masks) + 1))
    starts[known, 0] = 1
    starts[known, 1:] = ~masks.T
    starts /= np.maximum(starts.sum(axis=0), 1)
    root = np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    scaled = sp.diags_array(1 / root) @ graph @ sp.diags_array(1 / root)
    keep = 1 - RESTART if kind == "walk" else ALPHA
    system = sp.csc_array(sp.eye_array(len(root)) - keep * scaled)
    right = starts / root[:, None] if kind == "walk" else starts
    solution = sp.linalg.splu(system).solve(right)
    scores = np.log(np.maximum(solution / root[:, None] if kind == "walk" else solution, 1e-300))
    combined = scores[:, 0].copy()
    for fold, mask in enumerate(masks, start=1):
        combined[known[mask]] = scores[known[mask], fold]
    return cut(combined, known)


def _graph(points: Any) -> sp.csr_array:
    """Return exp(-(distance / median)^2) between each point and its nearest neighbours, made symmetric by the maximum."""
    graph = sp.csr_array(kneighbors_graph(points, N_NEIGHBOURS, mode="distance"))
    scale = np.median(graph.data[graph.data > 0]) if (graph.data > 0).any() else 1.0
    graph.data = np.maximum(np.exp(-((graph.data / scale) ** 2)), MIN_WEIGHT)
    return graph.maximum(graph.T).tocsr()
