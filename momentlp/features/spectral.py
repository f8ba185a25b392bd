"""Spectral features: smooth functions on the graph of nearest neighbours, for a class that is a region of a manifold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from momentlp.errors import CompileError
from momentlp.features.base import FeatureMap, FittedMap, pack_matrix, unpack_matrix
from momentlp.features.graph import Graph
from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_sparse
from momentlp.points.distinct_rows import distinct_rows

__all__ = ["Spectral"]

FAINTEST = 1e-9  # the score of a point that no walk from the labelled ones reaches
TOGETHER = 64  # labelled points whose walks are followed at the same time
MOST_WALKS = 1024  # labelled points whose walks are followed at all
ROUGH = 1e-4  # accuracy of the share of walks that come back


class Spectral(FeatureMap):
    """The first eigenvectors of the normalised graph of nearest neighbours, scaled to unit variance.

    The graph joins each point to its nearest neighbours, with heat weights ``exp(-(d / median d)^2)``. A sample that is not
    part of X is put into the graph with it: that is what makes its mean and the points comparable. New points are placed by
    the Nystroem extension, the weighted average of their neighbours over the eigenvalue. Equal points are one point of the
    graph.

    Parameters
    ----------
    n_components : int
        Number of eigenvectors, the constant one not counted.
    n_neighbors : int
    walk : float, optional
        Adds one feature: the logarithm of the share of labelled points among the ends of a random walk from the point that
        stops with this chance at every step, 0.02 for instance. A labelled point does not count among the ends of its own
        walk, or its score would be higher than that of members not yet found.
    scale : {"none", "range"}
        ``"range"`` divides every column by its range first: for columns in different units.
    """

    kind: Literal["spectral"] = "spectral"
    n_components: Annotated[int, Field(ge=1)] = 12
    n_neighbors: Annotated[int, Field(ge=1)] = 5
    walk: Annotated[float, Field(gt=0, lt=1)] | None = None
    scale: Literal["none", "range"] = "none"
    joint: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(
            self,
            n_components: int = 12,
            n_neighbors: int = 5,
            walk: float | None = None,
            scale: Literal["none", "range"] = "none",
        ) -> None: ...

    def depends_on_labels(self) -> bool:
        """Say whether there is a walk, which ends at labelled points."""
        return self.walk is not None

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Remember the points, where the graph puts them, the eigenvalues, the graph and the width of its weights."""
        from sklearn.manifold import spectral_embedding

        first, node = distinct_rows(X)
        n = first.size
        if n <= max(self.n_neighbors, self.n_components + 1):
            raise CompileError(
                f"Spectral(n_components={self.n_components}, n_neighbors={self.n_neighbors}) needs more than "
                f"{max(self.n_neighbors, self.n_components + 1)} different points, but there are {n}: lower them."
            )
        unit = _range(X) if self.scale == "range" else None
        points = _in_units(X[first], unit)
        graph = Graph.of(points, self.n_neighbors)
        vectors = spectral_embedding(
            graph.weights, n_components=self.n_components, eigen_solver="arpack", random_state=0, drop_first=True
        )
        spread = vectors.std(axis=0)
        embedding = vectors / np.where(spread > 0, spread, 1.0)
        state: dict[str, NDArray[Any]] = {
            "embedding": embedding,
            "eigenvalues": _rayleigh(graph, embedding),
            "width": np.array(graph.width),
            "reach": np.array(graph.reach),
            "node": node,
        }
        state |= pack_matrix(points, "points") | pack_matrix(graph.weights, "graph")
        state |= {} if unit is None else {"unit": unit}
        names = [f"spectral {number}" for number in range(1, self.n_components + 1)]
        return tuple(names if self.walk is None else [*names, "walk"]), state

    def with_labels(self, fitted: FittedMap, known: IndexArray, counts: FloatArray) -> FittedMap:
        """Walk to the labelled points."""
        if self.walk is None:
            return fitted
        graph, node = _graph(fitted), fitted.state["node"]
        ends = np.bincount(node[known], counts, minlength=graph.n_points) / counts.sum()
        goals = np.flatnonzero(ends)
        own = np.array(fitted.state.get("own", np.full(graph.n_points, np.nan)))
        new = goals[np.isnan(own[goals])]
        own[new] = _own(graph, new, self.walk)
        reached = graph.averaged(ends, self.walk)
        scores = _log(reached)[node]
        others = np.zeros(graph.n_points)
        rest = 1 - ends[goals]
        others[goals] = np.where(rest > 1e-9, (reached[goals] - ends[goals] * own[goals]) / np.maximum(rest, 1e-9), 0.0)
        counted = known[counts > 0]
        scores[counted] = _log(np.minimum(others[node[counted]], 1.0))
        return replace(fitted, state={**fitted.state, "own": own, "reached": reached, "walk": scores})

    def state_shapes(self, shapes: Mapping[str, tuple[int, ...]], d: int, k: int) -> Mapping[str, tuple[int, ...]]:
        """Return the shapes of the points, the graph, its embedding and the walk, if there is one."""
        n = max(shapes.get("points", (0,))[0], self.n_neighbors)
        rows = shapes.get("node", (0,))[0]
        components = k if self.walk is None else k - 1
        expected: dict[str, tuple[int, ...]] = {"points": (n, d), "graph": (n, n), "width": (), "reach": (), "node": (rows,)}
        expected |= {"embedding": (n, components), "eigenvalues": (components,)}
        expected |= {"unit": (d,)} if self.scale == "range" else {}
        return expected | ({} if self.walk is None else {"own": (n,), "reached": (n,), "walk": (rows,)})

    def training(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return where the graph puts its own points."""
        embedding = np.asarray(fitted.state["embedding"])[fitted.state["node"]]
        return embedding if self.walk is None else np.column_stack([embedding, fitted.state["walk"]])

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Place new points among their neighbours; one that the graph has seen keeps its place."""
        state = fitted.state
        among = self._among(X, fitted)
        embedding = np.asarray(state["embedding"])
        placed = among.of(embedding, embedding / state["eigenvalues"])
        if self.walk is None:
            return placed
        return np.column_stack([placed, _log(among.of(state["reached"], (1 - self.walk) * state["reached"]))])

    def smooth(self, values: FloatArray, fitted: FittedMap, restart: float) -> FloatArray:
        """Average values over the graph: the mean where walks from each point end. Equal points get the same."""
        return np.asarray(_graph(fitted).averaged(_at_nodes(values, fitted), restart)[fitted.state["node"]])

    def interpolate(self, values: FloatArray, X: Matrix, fitted: FittedMap) -> FloatArray:
        """Give new points the average of their neighbours, less and less of it beyond the reach of the graph's own."""
        at_nodes = _at_nodes(values, fitted)
        among = self._among(X, fitted)
        beyond = np.maximum(among.distance - float(fitted.state["reach"]), 0.0) / float(fitted.state["width"])
        return np.asarray(among.of(at_nodes, at_nodes) * np.exp(-(beyond**2)))

    def _among(self, X: Matrix, fitted: FittedMap) -> _Neighbours:
        """Find the neighbours of new points, and the weights they have as parts of an average."""
        from sklearn.neighbors import NearestNeighbors

        points = unpack_matrix(fitted.state, "points")
        X = _in_units(X, fitted.state.get("unit"))
        distance, place = NearestNeighbors(n_neighbors=self.n_neighbors).fit(points).kneighbors(X)
        width = float(fitted.state["width"])
        weight = np.exp(-((distance - distance[:, :1]) * (distance + distance[:, :1])) / width**2)
        other = points[place[:, 0]] != X  # compared entry by entry: distances of equal points may be off by rounding
        seen = np.asarray(other.sum(axis=1)).ravel() == 0
        return _Neighbours(place, weight / weight.sum(axis=1, keepdims=True), distance[:, 0], seen)


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """The nearest points of the graph to each new point, their weights, how far the first is, and whether it is the same."""

    place: IndexArray
    weight: FloatArray
    distance: FloatArray
    seen: NDArray[np.bool_]

    def of(self, values: FloatArray, averaged: FloatArray) -> FloatArray:
        """Return the average of ``averaged`` over the neighbours, where the point was seen its own entry of ``values``."""
        found = np.einsum("nk,nk...->n...", self.weight, averaged[self.place])
        found[self.seen] = values[self.place[self.seen, 0]]
        return np.asarray(found)


def _graph(fitted: FittedMap) -> Graph:
    return Graph(unpack_matrix(fitted.state, "graph"), float(fitted.state["width"]), float(fitted.state["reach"]))


def _at_nodes(values: FloatArray, fitted: FittedMap) -> FloatArray:
    """Return the mean value of the equal points that are one point of the graph."""
    node, n_nodes = fitted.state["node"], fitted.state["embedding"].shape[0]
    return np.asarray(np.bincount(node, values, minlength=n_nodes) / np.bincount(node, minlength=n_nodes))


def _own(graph: Graph, chosen: IndexArray, restart: float) -> FloatArray:
    """Return the share of the walks from each chosen point that end where they began.

    Nearly all of it comes from the first steps, so it is found roughly and quickly; where there are very many points, some
    of them stand for the rest.
    """
    own = np.empty(chosen.size)
    followed = min(chosen.size, MOST_WALKS)
    for start in range(0, followed, TOGETHER):
        some = chosen[start : min(start + TOGETHER, followed)]
        column = np.arange(some.size)
        ends = np.zeros((graph.n_points, some.size))
        ends[some, column] = 1.0
        own[start : start + some.size] = graph.averaged(ends, restart, accuracy=ROUGH)[some, column]
    own[followed:] = own[:followed].mean() if followed else 0.0
    return own


def _log(shares: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(shares, FAINTEST)))


def _rayleigh(graph: Graph, embedding: FloatArray) -> FloatArray:
    """Return the eigenvalues of the random walk on the graph, ``psi . W psi / psi . D psi``, never too near zero."""
    links = np.einsum("nc,nc->c", embedding, graph.weights @ embedding)
    return np.asarray(np.maximum(links / np.einsum("nc,n,nc->c", embedding, graph.degree, embedding), 0.1))


def _range(X: Matrix) -> FloatArray:
    """Return the range of each column, 1 where it is constant."""
    low, high = (getattr(X, extreme)(axis=0) for extreme in ("min", "max"))
    width = np.ravel((high - low).toarray() if is_sparse(high) else high - low).astype(np.float64)
    return np.where(width > 0, width, 1.0)


def _in_units(X: Matrix, unit: FloatArray | None) -> Matrix:
    if unit is None:
        return X
    return sp.csr_array(X @ sp.diags_array(1 / unit)) if is_sparse(X) else X / unit
