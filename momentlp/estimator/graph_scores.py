"""Scores from the graph of nearest neighbours: a random walk, and the smoothed set of the program on its eigenvectors.

Both say much where a class is a region of a manifold, as with images, and little elsewhere. The walk counts paths to
labelled points. The program finds the largest set of points whose mean eigenvectors are those of the labelled points; then
the memberships are averaged over neighbourhoods. As features beside learned scores they join another program, which finds
out how much they are worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from momentlp.errors import CompileError, MomentLPError
from momentlp.estimator.graph_constants import (
    MARGIN,
    N_COMPONENTS,
    N_NEIGHBOURS,
    POINTS_PER_COMPONENT,
    RESTART,
    SMOOTHING,
    WIDTH,
)
from momentlp.estimator.projection import Projection
from momentlp.features import FittedMap, Spectral, TransductiveMap, interpolate_values, smooth_values
from momentlp.features.bagging.scaling import Scaling
from momentlp.features.bagging.standard_scores import StandardScores
from momentlp.features.state import Shapes, StateArray
from momentlp.points.arrays import FloatArray, IndexArray, Matrix
from momentlp.points.distinct_rows import distinct_rows, ordered_groups
from momentlp.points.ranks import mid_ranks
from momentlp.problem.problem import Problem
from momentlp.problem.sentinels import sentinels_reported
from momentlp.runtime.steps import report_step
from momentlp.solving.solve_problem import solve
from momentlp.spec.tolerances import StandardError, Target
from momentlp.status import Status

__all__ = ["GraphScores"]

N_FOLDS = 5  # of the labelled points: each is scored by a program that did not use it
MIN_POINTS = 3  # different ones, for a graph
INNER = "graph."  # before the names of the arrays of the inner map


class GraphScores(TransductiveMap):
    """Two scores per point from a graph of nearest neighbours: of a random walk, and of the set that a program finds.

    The second score is the share of members in the neighbourhood of a point. Labelled points are scored without their own
    label: the walk does not count it, and the program is solved again without each fold of them. Scores are
    standardised among the unlabelled points and limited to 4 standard deviations.

    Parameters
    ----------
    n_components : int
        The maximum number of eigenvectors of the graph; there is one for ten different points at most.
    n_neighbors : int
        The maximum number of neighbours that each point is joined to.
    scale : {"normal", "none"}
        ``"normal"`` replaces dense columns by normal quantiles and scales sparse rows to unit length. ``"none"`` takes the
        columns as they are.

    Examples
    --------
    >>> import numpy as np
    >>> import momentlp as mlp
    >>> from momentlp.estimator.graph_scores import GraphScores
    >>> random = np.random.default_rng(0)
    >>> X = np.vstack([random.normal(size=(60, 2)), random.normal(size=(60, 2)) + 6])
    >>> spec = mlp.Spec(features=GraphScores(), tolerance=mlp.StandardError(2.0, side="lower"))
    >>> found = mlp.solve(spec.compile(X, labelled=range(10))).membership > 0.5
    >>> bool(found[:60].all()), bool(found[60:].mean() < 0.2)
    (True, True)
    """

    kind: Literal["graph_scores"] = "graph_scores"
    n_components: Annotated[int, Field(ge=1)] = N_COMPONENTS
    n_neighbors: Annotated[int, Field(ge=1)] = N_NEIGHBOURS
    scale: Literal["normal", "none"] = "normal"

    if TYPE_CHECKING:

        def __init__(
            self, n_components: int = 16, n_neighbors: int = 5, scale: Literal["normal", "none"] = "normal"
        ) -> None: ...

    def depends_on_labels(self) -> bool:
        """Return True: both scores lead to the labelled points."""
        return True

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Keep the scaling, and the graph of the scaled points with its eigenvectors."""
        scaling = Scaling.of(X) if self.scale == "normal" else Scaling(None, None)
        state: dict[str, NDArray[Any]] = dict(scaling.state())
        points = self._scaled(X, state)
        projection = Projection.of(points)
        state |= projection.state()
        points = projection(points)
        n_distinct = distinct_rows(points)[0].size
        names = (f"walk, {self.scale} columns", f"graph set, {self.scale} columns")
        if n_distinct < MIN_POINTS:
            return names, state
        inner = self._spectral(n_distinct).fit(points)
        return names, state | {"n_distinct": np.array(float(n_distinct))} | _with_prefix(inner.state)

    def _spectral(self, n_distinct: int) -> Spectral:
        n_components = max(1, min(self.n_components, n_distinct // POINTS_PER_COMPONENT))
        return Spectral(n_components, max(1, min(self.n_neighbors, n_distinct - 1)), walk=RESTART)

    def _scaled(self, X: Matrix, state: Mapping[str, NDArray[Any]]) -> Matrix:
        """Return the points in the coordinates of the graph, before they are projected."""
        return Scaling.from_state(state)(X) if self.scale == "normal" else X

    def _inner(self, state: Mapping[str, NDArray[Any]]) -> FittedMap | None:
        """Return the fitted map of eigenvectors and walk; None if there are too few points for a graph."""
        if "n_distinct" not in state:
            return None
        spectral = self._spectral(int(state["n_distinct"]))
        arrays = {name.removeprefix(INNER): array for name, array in state.items() if name.startswith(INNER)}
        names = tuple(f"f{number}" for number in range(spectral.n_components + 1))
        return FittedMap(spectral, (), names, arrays)

    def with_labels(
        self,
        fitted: FittedMap,
        known: IndexArray,
        counts: FloatArray,
        *,
        points: Matrix | None = None,
        weights: FloatArray | None = None,
    ) -> FittedMap:
        """Walk to the labelled points, and solve the programs."""
        if points is None:
            raise CompileError("GraphScores needs the points that it was fitted on: compile it with a spec.")
        weights = np.ones(points.shape[0]) if weights is None else weights
        inner = self._inner(fitted.state)
        scores = np.zeros((points.shape[0], 2))
        state = dict(fitted.state)
        if inner is not None:
            counted = known[counts > 0]
            program = _Program(inner, counted, counts[counts > 0], ordered_groups(points[counted]), weights)
            scores, members, labelled = program.run()
            state |= _with_prefix(labelled.state) | {"members": members}
        pool = np.setdiff1d(np.flatnonzero(weights > 0), known)
        pool = np.flatnonzero(weights > 0) if not pool.size else pool
        standards = [StandardScores.of(column[pool], weights[pool]) for column in scores.T]
        state["standard"] = np.array([[standard.centre, standard.unit] for standard in standards])
        state["scores"] = np.column_stack([standard(column) for standard, column in zip(standards, scores.T, strict=True)])
        return replace(fitted, state=state)

    def training(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the scores of the points that the map was fitted on."""
        return np.asarray(fitted.state["scores"])

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Score new points by their neighbours in the graph."""
        state = fitted.state
        if "scores" not in state:
            raise CompileError("GraphScores has no scores before it knows the labelled points: compile it with a spec.")
        inner = self._inner(state)
        if inner is None:
            return np.zeros((X.shape[0], 2))
        points = Projection.from_state(state)(self._scaled(X, state))
        walk = inner.declared.transform(points, inner)[:, -1]
        columns = zip(state["standard"].tolist(), (walk, interpolate_values(inner, state["members"], points)), strict=True)
        return np.column_stack([StandardScores(*standard)(column) for standard, column in columns])

    def state_layout(self, shapes: Shapes, d: int, k: int) -> Mapping[str, StateArray]:
        """Return the layout of the scores, the scaling, the projection and the graph."""
        n_rows = shapes.get("scores", (0,))[0]
        layout = {"scores": StateArray((n_rows, k), finite=True), "standard": StateArray((k, 2), finite=True)}
        if self.scale == "normal":
            layout |= Scaling.layout(shapes, d)
        layout |= Projection.layout(shapes, d)
        if "n_distinct" not in shapes:
            return layout
        n_distinct = shapes.get(f"{INNER}embedding", (0,))[0]
        spectral = self._spectral(n_distinct)
        width = spectral.n_components + 1
        inner = {name.removeprefix(INNER): shape for name, shape in shapes.items() if name.startswith(INNER)}
        inner_d = shapes["projection.directions"][-1] if "projection.directions" in shapes else d
        layout |= {
            INNER + name: replace(array, rows_of=None if array.rows_of is None else INNER + array.rows_of)
            for name, array in spectral.state_layout(inner, inner_d, width).items()
        }
        return layout | {
            "n_distinct": StateArray((), below=n_distinct + 0.5),
            "members": StateArray((n_rows,), finite=True),
        }


def _with_prefix(state: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {INNER + name: array for name, array in state.items()}


class _Program:
    """The program on the features of the graph, for all labelled points and without each fold of them.

    Parameters
    ----------
    inner : FittedMap
        Eigenvectors and walk.
    known, counts : array, shape (l,)
        Rows of the labelled points, and how often each counts.
    groups : array of int, shape (l,)
        Equal for equal labelled points: they are in the same fold.
    weights : array, shape (N,)
        How many points each row stands for.
    """

    def __init__(
        self, inner: FittedMap, known: IndexArray, counts: FloatArray, groups: IndexArray, weights: FloatArray
    ) -> None:
        self.inner, self.known, self.counts, self.groups, self.weights = inner, known, counts, groups, weights

    def run(self) -> tuple[FloatArray, FloatArray, FittedMap]:
        """Return walk and smoothed set, shape (N, 2), the latter without held-out points, and the map with its labels."""
        everything = np.ones(self.known.size, dtype=bool)
        report_step("graph scores: walking to the labelled points, and solving the linear program")
        fitted, features = self._features(everything)
        members = self._find(fitted, features, everything)
        pool = np.setdiff1d(np.flatnonzero(self.weights > 0), self.known)
        held_out = members.copy()
        for fold in range(min(N_FOLDS, int(self.groups.max()) + 1)) if pool.size else ():
            report_step(f"graph scores: fold {fold + 1} of {N_FOLDS}")
            used = self.groups % N_FOLDS != fold
            if used.any():
                others = self._find(*self._features(used), used)
                rows = self.known[~used]
                held_out[rows] = _same_rank(others[rows], others[pool], members[pool], self.weights[pool])
        return np.column_stack([features[:, -1], held_out]), members, fitted

    def _features(self, used: NDArray[np.bool_]) -> tuple[FittedMap, FloatArray]:
        spectral = self.inner.declared
        assert isinstance(spectral, Spectral)  # noqa: S101  the map of GraphScores._spectral
        fitted = spectral.with_labels(self.inner, self.known[used], self.counts[used], weights=self.weights)
        self.inner = replace(self.inner, state={**self.inner.state, "own": fitted.state["own"]})
        return fitted, np.asarray(spectral.training(np.zeros((0, 0)), fitted))  # it needs no points

    def _find(self, fitted: FittedMap, features: FloatArray, used: NDArray[np.bool_]) -> FloatArray:
        """Return the share of members in the neighbourhood of each point."""
        scores = self._solve(features, used)
        inside = np.zeros(features.shape[0])
        if scores is not None:
            others = self.weights > 0
            others[self.known[used]] = False
            is_inside = scores > MARGIN if (scores[others] > MARGIN).any() else scores > 0
            inside[others & is_inside] = 1.0
        inside[self.known[used]] = 1.0
        smooth = smooth_values(fitted, inside, SMOOTHING)
        assert smooth is not None  # noqa: S101  a graph has neighbourhoods
        return smooth

    def _solve(self, features: FloatArray, used: NDArray[np.bool_]) -> FloatArray | None:
        """Return the scores of the points in the program; None if it has no proved answer that says anything."""
        known, counts = self.known[used], self.counts[used]
        if known.size < 2 or counts.sum() <= 1:
            return None
        sample = features[known]
        target = Target(features, counts @ sample / counts.sum(), self.inner.names, None, sample, counts, self.weights)
        block = StandardError(WIDTH).block(target)
        problem = Problem((block,), np.ones(features.shape[0]), self.weights, labelled=known)
        with sentinels_reported():
            try:
                solution = solve(problem)
            except MomentLPError:
                return None
        if solution.status is not Status.OPTIMAL or not solution.multipliers.any():
            return None
        return np.asarray(solution.scores)


def _same_rank(scores: FloatArray, pool: FloatArray, other_pool: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the scores that have the same rank among another pool: two programs score in different units."""
    levels, ranks = mid_ranks(pool, weights)
    others, other_ranks = mid_ranks(other_pool, weights)
    return np.asarray(np.interp(np.interp(scores, levels, ranks), other_ranks, others))
