"""Spectral features: eigenvectors of the graph of nearest neighbours, for a class that is a region of a manifold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from momentlp.errors import CompileError
from momentlp.features.base import FittedMap
from momentlp.features.eigenvectors import find_eigenvectors
from momentlp.features.graph import Graph
from momentlp.features.state import Shapes, StateArray, pack_matrix, unpack_matrix
from momentlp.features.transductive import TransductiveMap
from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_sparse
from momentlp.points.distinct_rows import distinct_rows
from momentlp.runtime.steps import report_step

__all__ = ["Spectral"]

MIN_SHARE = 1e-9  # of walks that end at labelled points: a share of zero has no logarithm
WALKS_PER_STEP = 64  # labelled points whose walks are computed at the same time: one column of memory each
MAX_WALKS = 1024  # labelled points whose return shares are computed; their mean stands for all others
RETURN_ACCURACY = 1e-4  # of the share of walks that end where they began
MAX_WIDTH = 1e150  # of the heat weights: the width is squared, and must stay finite


class Spectral(TransductiveMap):
    """The first eigenvectors of the normalised graph of nearest neighbours, scaled to unit variance.

    The graph joins each point to its nearest neighbours, with heat weights ``exp(-(d / median d)^2)``. A sample that is not
    part of X is put into the same graph, so that its mean and the points can be compared. The features of new points come
    from the Nystroem extension: the weighted average over their neighbours, divided by the eigenvalue. Equal points are one
    node of the graph.

    Parameters
    ----------
    n_components : int
        Number of eigenvectors, the constant one not counted.
    n_neighbors : int
        Number of nearest neighbours that each point is joined to.
    walk : float, optional
        In (0, 1). Adds one feature: the logarithm of the probability that a random walk from the point ends at a labelled
        point. The walk stops with probability ``walk`` at every step; 0.02 is a good value. A labelled point does not count
        as an end of its own walk: otherwise its score would be higher than that of members not yet found.
    scale : {"none", "range"}
        ``"range"`` divides every column by its range first: for columns in different units.

    Raises
    ------
    CompileError
        When fitted, if there are too few different points.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0.0, 1.0, 10)[:, None]
    >>> fitted = Spectral(n_components=2, n_neighbors=3).fit(X)
    >>> fitted.names
    ('spectral 1', 'spectral 2')
    >>> fitted(X).shape
    (10, 2)
    """

    kind: Literal["spectral"] = "spectral"
    n_components: Annotated[int, Field(ge=1)] = 12
    n_neighbors: Annotated[int, Field(ge=1)] = 5
    walk: Annotated[float, Field(gt=0, lt=1)] | None = None
    scale: Literal["none", "range"] = "none"

    if TYPE_CHECKING:

        def __init__(
            self,
            n_components: int = 12,
            n_neighbors: int = 5,
            walk: float | None = None,
            scale: Literal["none", "range"] = "none",
        ) -> None: ...

    def depends_on_labels(self) -> bool:
        """Return whether there is a feature of random walks, which end at labelled points."""
        return self.walk is not None

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Keep the points, the graph, its eigenvectors and eigenvalues, and the width of its weights."""
        first, node = distinct_rows(X)
        n = first.size
        if n <= max(self.n_neighbors, self.n_components + 1):
            raise CompileError(
                f"Spectral(n_components={self.n_components}, n_neighbors={self.n_neighbors}) needs more than "
                f"{max(self.n_neighbors, self.n_components + 1)} different points, but there are {n}: lower them."
            )
        unit = _column_range(X) if self.scale == "range" else None
        points = _divide_by_units(X[first], unit)
        report_step(f"finding the {self.n_neighbors} nearest neighbours of {n} points")
        graph = Graph.of(points, self.n_neighbors)
        report_step(f"finding {self.n_components} eigenvectors of the graph")
        vectors = find_eigenvectors(graph, self.n_components)
        spread = vectors.std(axis=0)
        embedding = vectors / np.where(spread > 0, spread, 1.0)
        state: dict[str, NDArray[Any]] = {
            "embedding": embedding,
            "eigenvalues": _eigenvalues(graph, embedding),
            "width": np.array(graph.width),
            "reach": np.array(graph.reach),
            "node": node,
        }
        state |= pack_matrix(points, "points") | pack_matrix(graph.weights, "graph")
        state |= {} if unit is None else {"unit": unit}
        names = [f"spectral {number}" for number in range(1, self.n_components + 1)]
        return tuple(names if self.walk is None else [*names, "walk"]), state

    def with_labels(
        self,
        fitted: FittedMap,
        known: IndexArray,
        counts: FloatArray,
        *,
        points: Matrix | None = None,
        weights: FloatArray | None = None,
    ) -> FittedMap:
        """Compute the feature of random walks: the log of the share of walks from each point that end at labelled ones.

        With p the weight of the labelled points at each node, f the average of p over walks, and r(i) the share of walks
        from node i that end at i, an unlabelled point at node i scores ``log f(i)``. A labelled point there scores
        ``log((f(i) - w r(i)) / (1 - w))``, where w is the share of all labels that is at node i, times the share of the
        equal points there that are labelled. So a labelled point without copies is scored without its own label, and one of
        many copies is scored like the copies that are not labelled.
        """
        if self.walk is None:
            return fitted
        graph, node = _graph(fitted), fitted.state["node"]
        ends = np.bincount(node[known], counts, minlength=graph.n_points) / counts.sum()
        goals = np.flatnonzero(ends)
        own = np.array(fitted.state.get("own", np.full(graph.n_points, np.nan)))
        new = goals[np.isnan(own[goals])]
        own[new] = _return_shares(graph, new, self.walk)
        reached = graph.average(ends, self.walk)
        scores = _log_share(reached)[node]
        counted = known[counts > 0]
        n_points = np.ones(node.size) if weights is None else np.array(weights[: node.size])
        n_points[counted] = np.where(n_points[counted] > 0, n_points[counted], 1.0)  # rows of a sample have no weight
        n_labelled = np.bincount(node[counted], n_points[counted], minlength=graph.n_points)
        n_equal = np.bincount(node, n_points, minlength=graph.n_points)
        goal = node[counted]
        weight = ends[goal] * np.minimum(n_labelled[goal] / np.maximum(n_equal[goal], 1e-300), 1.0)
        others = np.where(weight < 1 - 1e-9, (reached[goal] - weight * own[goal]) / np.maximum(1 - weight, 1e-9), 0.0)
        scores[counted] = _log_share(np.minimum(others, 1.0))
        return replace(fitted, state={**fitted.state, "own": own, "reached": reached, "walk": scores})

    def state_layout(self, shapes: Shapes, d: int, k: int) -> Mapping[str, StateArray]:
        """Return the layout of the points, the graph, its eigenvectors, and of the walks if there are any."""
        n_nodes = max(shapes.get("points", (0,))[0], self.n_neighbors)
        n_rows = shapes.get("node", (0,))[0]
        n_vectors = k if self.walk is None else k - 1
        layout = {
            "points": StateArray((n_nodes, d), finite=True),
            "graph": StateArray((n_nodes, n_nodes)),
            "width": StateArray((), below=MAX_WIDTH),
            "reach": StateArray((), below=math.inf),
            "node": StateArray((n_rows,), rows_of="embedding"),
            "embedding": StateArray((n_nodes, n_vectors), finite=True),
            "eigenvalues": StateArray((n_vectors,)),
        }
        if self.scale == "range":
            layout["unit"] = StateArray((d,), finite=True)
        if self.walk is not None:
            layout["own"] = StateArray((n_nodes,))  # NaN for a node that was never labelled
            layout["reached"] = StateArray((n_nodes,), finite=True)
            layout["walk"] = StateArray((n_rows,), finite=True)
        return layout

    def training(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the eigenvectors at the points that the map was fitted on, and their walks."""
        embedding = np.asarray(fitted.state["embedding"])[fitted.state["node"]]
        return embedding if self.walk is None else np.column_stack([embedding, fitted.state["walk"]])

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Average over the neighbours of new points; a point that the graph holds gets its own features."""
        state = fitted.state
        neighbours = self._find_neighbours(X, fitted)
        embedding = np.asarray(state["embedding"])
        features = neighbours.average(embedding, embedding / state["eigenvalues"])
        if self.walk is None:
            return features
        return np.column_stack(
            [features, _log_share(neighbours.average(state["reached"], (1 - self.walk) * state["reached"]))]
        )

    def smooth(self, values: FloatArray, fitted: FittedMap, restart: float) -> FloatArray:
        """Average values over the graph: the mean over the ends of random walks from each point.

        Parameters
        ----------
        values : array, shape (N,)
            One for each point that the map was fitted on; equal points get the same average.
        fitted : FittedMap
            This map, fitted.
        restart : float
            In (0, 1]: the probability that a walk stops at a step. The smaller, the wider the neighbourhood.

        Returns
        -------
        array, shape (N,)
        """
        return np.asarray(_graph(fitted).average(_average_at_nodes(values, fitted), restart)[fitted.state["node"]])

    def interpolate(self, values: FloatArray, X: Matrix, fitted: FittedMap) -> FloatArray:
        """Return the average over the neighbours of new points; it falls to zero far away from all points of the graph.

        Parameters
        ----------
        values : array, shape (N,)
            One for each point that the map was fitted on.
        X : array or csr_array, shape (n, d)
            New points.
        fitted : FittedMap
            This map, fitted.

        Returns
        -------
        array, shape (n,)
        """
        at_nodes = _average_at_nodes(values, fitted)
        neighbours = self._find_neighbours(X, fitted)
        beyond = np.maximum(neighbours.distance - float(fitted.state["reach"]), 0.0) / float(fitted.state["width"])
        return np.asarray(neighbours.average(at_nodes, at_nodes) * np.exp(-(beyond**2)))

    def _find_neighbours(self, X: Matrix, fitted: FittedMap) -> _Neighbours:
        """Find the nearest nodes of new points, and the weight of each node in an average."""
        from sklearn.neighbors import NearestNeighbors

        points = unpack_matrix(fitted.state, "points")
        X = _divide_by_units(X, fitted.state.get("unit"))
        distance, node = NearestNeighbors(n_neighbors=self.n_neighbors).fit(points).kneighbors(X)
        width = float(fitted.state["width"])
        weight = np.exp(-((distance - distance[:, :1]) * (distance + distance[:, :1])) / width**2)
        differs = points[node[:, 0]] != X  # entry by entry: rounding may make the distance of equal points nonzero
        seen = np.asarray(differs.sum(axis=1)).ravel() == 0
        return _Neighbours(node, weight / weight.sum(axis=1, keepdims=True), distance[:, 0], seen)


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """The nearest nodes of the graph to each of n new points.

    Attributes
    ----------
    node : array of int, shape (n, n_neighbors)
        The nearest first.
    weight : array, shape (n, n_neighbors)
        Each row sums to 1.
    distance : array, shape (n,)
        To the nearest node.
    seen : array of bool, shape (n,)
        Whether the point equals its nearest node.
    """

    node: IndexArray
    weight: FloatArray
    distance: FloatArray
    seen: NDArray[np.bool_]

    def average(self, values: FloatArray, terms: FloatArray) -> FloatArray:
        """Return the weighted mean of ``terms`` over the neighbours; for a point that was seen, its entry of ``values``."""
        mean = np.einsum("nk,nk...->n...", self.weight, terms[self.node])
        mean[self.seen] = values[self.node[self.seen, 0]]
        return np.asarray(mean)


def _graph(fitted: FittedMap) -> Graph:
    return Graph(unpack_matrix(fitted.state, "graph"), float(fitted.state["width"]), float(fitted.state["reach"]))


def _average_at_nodes(values: FloatArray, fitted: FittedMap) -> FloatArray:
    """Return the mean value of the equal points that share a node."""
    node, n_nodes = fitted.state["node"], fitted.state["embedding"].shape[0]
    return np.asarray(np.bincount(node, values, minlength=n_nodes) / np.bincount(node, minlength=n_nodes))


def _return_shares(graph: Graph, nodes: IndexArray, restart: float) -> FloatArray:
    """Return, for each of some nodes, the share of the walks from it that end where they began.

    Nearly all of that share comes from the first steps, so a low accuracy is enough. If there are very many nodes, the
    mean of the first ones is used for the rest.
    """
    shares = np.empty(nodes.size)
    n_computed = min(nodes.size, MAX_WALKS)
    for start in range(0, n_computed, WALKS_PER_STEP):
        some = nodes[start : min(start + WALKS_PER_STEP, n_computed)]
        column = np.arange(some.size)
        ends = np.zeros((graph.n_points, some.size))
        ends[some, column] = 1.0
        shares[start : start + some.size] = graph.average(ends, restart, accuracy=RETURN_ACCURACY)[some, column]
    shares[n_computed:] = shares[:n_computed].mean() if n_computed else 0.0
    return shares


def _log_share(shares: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(shares, MIN_SHARE)))


def _eigenvalues(graph: Graph, embedding: FloatArray) -> FloatArray:
    """Return the eigenvalues of the walk, ``psi . W psi / psi . D psi``, at least 0.1: features are divided by them."""
    links = np.einsum("nc,nc->c", embedding, graph.weights @ embedding)
    return np.asarray(np.maximum(links / np.einsum("nc,n,nc->c", embedding, graph.degree, embedding), 0.1))


def _column_range(X: Matrix) -> FloatArray:
    """Return the range of each column, 1 where it is constant."""
    low, high = (getattr(X, extreme)(axis=0) for extreme in ("min", "max"))
    width = np.ravel((high - low).toarray() if is_sparse(high) else high - low).astype(np.float64)
    return np.where(width > 0, width, 1.0)


def _divide_by_units(X: Matrix, unit: FloatArray | None) -> Matrix:
    if unit is None:
        return X
    return sp.csr_array(X @ sp.diags_array(1 / unit)) if is_sparse(X) else X / unit
