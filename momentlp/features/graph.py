"""The graph of nearest neighbours, and averages over it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from momentlp.points.arrays import FloatArray, Matrix

__all__ = ["Graph"]

MIN_WEIGHT = 1e-6  # of an edge, so that no point is cut off from the graph
ACCURACY = 1e-12  # of an average, relative to the values averaged
MAX_STEPS = 10_000  # of conjugate gradients; a few hundred are usual
MIN_LENGTH = float(np.finfo(np.float64).tiny)  # of an edge: a sparse matrix does not store an edge of length zero


@dataclass(frozen=True, eq=False)
class Graph:
    """Points joined to their nearest neighbours, with heat weights ``exp(-(d / width)^2)``.

    Attributes
    ----------
    weights : csr_array, shape (N, N)
        Symmetric; zero for two points without an edge.
    width : float
        The median length of an edge.
    reach : float
        The largest distance of a point from its nearest neighbour.
    """

    weights: Any
    width: float
    reach: float

    @classmethod
    def of(cls, X: Matrix, n_neighbors: int) -> Graph:
        """Join every point to its nearest neighbours, and every component of the graph to the others."""
        from sklearn.neighbors import kneighbors_graph

        lengths = kneighbors_graph(X, n_neighbors, mode="distance")
        reach = float(lengths.data.reshape(-1, n_neighbors).min(axis=1).max())
        lengths.data = np.maximum(lengths.data, MIN_LENGTH)  # the squared distance of two points may underflow
        lengths = _connect_components(sp.csr_array(lengths.maximum(lengths.T)), X)
        width = float(np.median(lengths.data))
        width = width if width > MIN_LENGTH else 1.0
        weights = np.maximum(np.exp(-((lengths.data / width) ** 2)), MIN_WEIGHT)
        indices = (lengths.indices.astype(np.int32), lengths.indptr.astype(np.int32))  # scikit-learn needs int32
        return cls(sp.csr_array((weights, *indices), shape=lengths.shape), width, reach)

    @property
    def n_points(self) -> int:
        """The number N of points."""
        return int(self.weights.shape[0])

    @cached_property
    def degree(self) -> FloatArray:
        """The total weight of the edges of each point, shape (N,)."""
        return np.asarray(self.weights.sum(axis=1), dtype=np.float64).ravel()

    def average(self, values: FloatArray, restart: float, accuracy: float = ACCURACY) -> FloatArray:
        """Return the mean of values over the ends of random walks from each point.

        A walk stops with probability ``restart`` at every step. With P its transition matrix, the mean f solves
        ``f = restart * values + (1 - restart) P f``. Short walks smooth values over a neighbourhood; long walks carry a
        label through a whole cluster. P is similar to a symmetric matrix, so conjugate gradients find f, for all columns
        of ``values`` at once.

        Parameters
        ----------
        values : array, shape (N,) or (N, c)
        restart : float
            In (0, 1].
        accuracy : float
            Of the averages, relative to the values.

        Returns
        -------
        array, with the shape of ``values``
        """
        columns = np.asarray(values, dtype=np.float64).reshape(self.n_points, -1)
        root = np.sqrt(self.degree)[:, None]
        half = sp.diags_array(1 / root[:, 0])
        step = (1 - restart) * sp.csr_array(half @ self.weights @ half)
        right = restart * root * columns
        found, residual = np.zeros_like(right), right.copy()
        direction, length = residual.copy(), np.einsum("nc,nc->c", residual, residual)
        enough = accuracy**2 * length
        for _ in range(MAX_STEPS):
            if (length <= enough).all():
                break
            image = direction - step @ direction
            curvature = np.einsum("nc,nc->c", direction, image)
            stride = np.where(length > enough, length / np.where(curvature > 0, curvature, 1.0), 0.0)
            found += stride * direction
            residual -= stride * image
            before, length = length, np.einsum("nc,nc->c", residual, residual)
            direction = residual + length / np.where(before > 0, before, 1.0) * direction
        return np.asarray((found / root).reshape(np.shape(values)))


def _connect_components(lengths: Any, X: Matrix) -> Any:
    """Join every component of a graph to the others by the shortest edge between them.

    The eigenvectors of a graph of several components are not unique, and methods that find them one by one miss some.
    """
    from scipy.sparse.csgraph import connected_components
    from sklearn.metrics import pairwise_distances_argmin_min

    n_components, component = connected_components(lengths, directed=False)
    while n_components > 1:
        smallest = int(np.argmin(np.bincount(component)))
        inside, outside = np.flatnonzero(component == smallest), np.flatnonzero(component != smallest)
        nearest, length = pairwise_distances_argmin_min(X[inside], X[outside])
        best = int(np.argmin(length))
        start, end = int(inside[best]), int(outside[nearest[best]])
        edge = sp.csr_array(([max(length[best], MIN_LENGTH)] * 2, ([start, end], [end, start])), shape=lengths.shape)
        lengths = sp.csr_array(lengths.maximum(edge))
        component = np.where(component == smallest, component[end], component)
        component = np.unique(component, return_inverse=True)[1]
        n_components -= 1
    return lengths
