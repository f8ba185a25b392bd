"""The graph of nearest neighbours, and averages over it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from momentlp.points.arrays import FloatArray, Matrix

__all__ = ["Graph"]

WEAKEST = 1e-6  # a link is never weaker than this, so that no point falls off the graph
ACCURACY = 1e-12  # of an average, relative to the values averaged
MOST_STEPS = 10_000
SHORTEST = float(np.finfo(np.float64).tiny)  # of a link: one of length zero would be none to a sparse matrix


@dataclass(frozen=True, eq=False)
class Graph:
    """Points joined to their nearest neighbours, with heat weights ``exp(-(d / width)^2)``.

    Attributes
    ----------
    weights : csr_array, shape (N, N)
        Symmetric; zero where two points are not joined.
    width : float
        The median length of a link.
    reach : float
        The largest distance of a point from its nearest neighbour.
    """

    weights: Any
    width: float
    reach: float

    @classmethod
    def of(cls, X: Matrix, n_neighbors: int) -> Graph:
        """Join every point to its nearest neighbours, and every piece of a graph that falls apart to the rest."""
        from sklearn.neighbors import kneighbors_graph

        lengths = kneighbors_graph(X, n_neighbors, mode="distance")
        reach = float(lengths.data.reshape(-1, n_neighbors).min(axis=1).max())
        lengths.data = np.maximum(lengths.data, SHORTEST)  # points that differ may be so near that the square vanishes
        lengths = _joined(sp.csr_array(lengths.maximum(lengths.T)), X)
        width = float(np.median(lengths.data))
        width = width if width > SHORTEST else 1.0
        weights = np.maximum(np.exp(-((lengths.data / width) ** 2)), WEAKEST)
        places = (lengths.indices.astype(np.int32), lengths.indptr.astype(np.int32))  # scikit-learn takes no others
        return cls(sp.csr_array((weights, *places), shape=lengths.shape), width, reach)

    @property
    def n_points(self) -> int:
        """N."""
        return int(self.weights.shape[0])

    @cached_property
    def degree(self) -> FloatArray:
        """The weight of all links of each point."""
        return np.asarray(self.weights.sum(axis=1), dtype=np.float64).ravel()

    def averaged(self, values: FloatArray, restart: float, accuracy: float = ACCURACY) -> FloatArray:
        """Return the mean of values where a random walk from each point ends, which stops with chance ``restart`` a step.

        With P the walk's transition matrix that is the f with ``f = restart * values + (1 - restart) P f``: short walks
        smooth values over a neighbourhood, long ones carry a label through a whole cluster. As P is similar to a symmetric
        matrix, conjugate gradients find f; the columns of ``values`` side by side.

        Parameters
        ----------
        values : array, shape (N,) or (N, c)
        restart : float
            In (0, 1].
        accuracy : float
            Of the averages, relative to the values.
        """
        columns = np.asarray(values, dtype=np.float64).reshape(self.n_points, -1)
        root = np.sqrt(self.degree)[:, None]
        half = sp.diags_array(1 / root[:, 0])
        step = (1 - restart) * sp.csr_array(half @ self.weights @ half)
        right = restart * root * columns
        found, residual = np.zeros_like(right), right.copy()
        direction, length = residual.copy(), np.einsum("nc,nc->c", residual, residual)
        enough = accuracy**2 * length
        for _ in range(MOST_STEPS):
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


def _joined(lengths: Any, X: Matrix) -> Any:
    """Tie every piece of a graph that falls apart to the rest by its shortest link.

    The eigenvectors of a graph in pieces are not determined, and methods that look for them one at a time miss some.
    """
    from scipy.sparse.csgraph import connected_components
    from sklearn.metrics import pairwise_distances_argmin_min

    count, piece = connected_components(lengths, directed=False)
    while count > 1:
        smallest = int(np.argmin(np.bincount(piece)))
        inside, outside = np.flatnonzero(piece == smallest), np.flatnonzero(piece != smallest)
        nearest, length = pairwise_distances_argmin_min(X[inside], X[outside])
        best = int(np.argmin(length))
        one, other = int(inside[best]), int(outside[nearest[best]])
        link = sp.csr_array(([max(length[best], SHORTEST)] * 2, ([one, other], [other, one])), shape=lengths.shape)
        lengths = sp.csr_array(lengths.maximum(link))
        piece = np.where(piece == smallest, piece[other], piece)
        piece = np.unique(piece, return_inverse=True)[1]
        count -= 1
    return lengths
