"""Spectral features: smooth functions on the graph of nearest neighbours, for a class that is a region of a manifold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from momentlp.arrays import FloatArray, Matrix
from momentlp.errors import CompileError
from momentlp.features.base import FeatureMap, FittedMap, keep, kept

__all__ = ["Spectral"]

WEAKEST = 1e-6  # a link is never weaker than this, so that no point falls off the graph


class Spectral(FeatureMap):
    """The first eigenvectors of the normalised graph of nearest neighbours, scaled to unit variance.

    The graph joins each point to its nearest neighbours, with heat weights ``exp(-(d / median d)^2)``. A sample that is not
    part of X is put into the graph with it: that is what makes its mean and the points comparable. New points are placed by
    the Nystroem extension, the weighted average of their neighbours over the eigenvalue.

    Parameters
    ----------
    n_components : int
        Number of eigenvectors, the constant one not counted.
    n_neighbors : int
    """

    kind: Literal["spectral"] = "spectral"
    n_components: Annotated[int, Field(ge=1)] = 8
    n_neighbors: Annotated[int, Field(ge=1)] = 10
    joint: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(self, n_components: int = 8, n_neighbors: int = 10) -> None: ...

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Remember the points, where the graph puts them, the eigenvalues and the width of the weights."""
        from sklearn.manifold import spectral_embedding
        from sklearn.neighbors import kneighbors_graph

        n = X.shape[0]
        if n <= max(self.n_neighbors, self.n_components + 1):
            raise CompileError(
                f"Spectral(n_components={self.n_components}, n_neighbors={self.n_neighbors}) needs more than "
                f"{max(self.n_neighbors, self.n_components + 1)} points, but there are {n}: lower them."
            )
        distances = kneighbors_graph(X, self.n_neighbors, mode="distance")
        distances = _joined(sp.csr_array(distances.maximum(distances.T)), X)
        width = float(np.median(distances.data)) or 1.0
        weights = np.maximum(np.exp(-((distances.data / width) ** 2)), WEAKEST)
        indices = (distances.indices.astype(np.int32), distances.indptr.astype(np.int32))  # scikit-learn takes no others
        graph = sp.csr_array((weights, *indices), shape=distances.shape)
        vectors = spectral_embedding(
            graph, n_components=self.n_components, eigen_solver="arpack", random_state=0, drop_first=True
        )
        scale = vectors.std(axis=0)
        embedding = vectors / np.where(scale > 0, scale, 1.0)
        state: dict[str, NDArray[Any]] = {
            "embedding": embedding,
            "eigenvalues": _rayleigh(graph, embedding),
            "width": np.array(width),
        }
        state |= keep(X, "points")
        return tuple(f"spectral {number}" for number in range(1, self.n_components + 1)), state

    def training(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return where the graph puts its own points."""
        return np.asarray(fitted.state["embedding"])

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Place new points among their neighbours; one that the graph has seen keeps its place."""
        from sklearn.neighbors import NearestNeighbors

        state = fitted.state
        points = kept(state, "points")
        distance, neighbour = NearestNeighbors(n_neighbors=self.n_neighbors).fit(points).kneighbors(X)
        weight = np.exp(-((distance - distance[:, :1]) * (distance + distance[:, :1])) / float(state["width"]) ** 2)
        weight /= weight.sum(axis=1, keepdims=True)
        embedding, eigenvalues = state["embedding"], state["eigenvalues"]
        placed = np.einsum("nk,nkc->nc", weight, embedding[neighbour]) / eigenvalues
        same = points[neighbour[:, 0]] != X  # compared entry by entry: distances of equal points may be off by rounding
        seen = np.asarray(same.sum(axis=1)).ravel() == 0
        placed[seen] = embedding[neighbour[seen, 0]]
        return placed


def _joined(distances: Any, X: Matrix) -> Any:
    """Tie every piece of a graph that falls apart to the rest by its shortest link.

    The eigenvectors of a graph in pieces are not determined, and methods that look for them one at a time miss some.
    """
    from scipy.sparse.csgraph import connected_components
    from sklearn.metrics import pairwise_distances_argmin_min

    count, piece = connected_components(distances, directed=False)
    while count > 1:
        smallest = int(np.argmin(np.bincount(piece)))
        inside, outside = np.flatnonzero(piece == smallest), np.flatnonzero(piece != smallest)
        nearest, length = pairwise_distances_argmin_min(X[inside], X[outside])
        best = int(np.argmin(length))
        one, other = int(inside[best]), int(outside[nearest[best]])
        link = sp.csr_array(([length[best]] * 2, ([one, other], [other, one])), shape=distances.shape)
        distances = sp.csr_array(distances.maximum(link))
        piece = np.where(piece == smallest, piece[other], piece)
        piece = np.unique(piece, return_inverse=True)[1]
        count -= 1
    return distances


def _rayleigh(graph: Any, embedding: FloatArray) -> FloatArray:
    """Return the eigenvalues of the random walk on the graph, ``psi . W psi / psi . D psi``, never too near zero."""
    degree = np.asarray(graph.sum(axis=1)).ravel()
    values = np.einsum("nc,nc->c", embedding, graph @ embedding) / np.einsum("nc,n,nc->c", embedding, degree, embedding)
    return np.asarray(np.maximum(values, 0.1))
