"""The graph of neighbours: averages, walks to the labelled points, and values at new points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

import momentlp as mlp
from momentlp.features.graph import Graph

random = np.random.default_rng(0)
X = np.vstack([random.normal(size=(50, 2)), random.normal(size=(40, 2)) + 4.0])
GRAPH = Graph.of(X, 5)


def walk(weights: sp.csr_array, restart: float) -> np.ndarray:
    """Return the probabilities that a walk from point i ends at j, by a dense inverse: ``r (I - (1 - r) P)^-1``."""
    dense = weights.toarray()
    step = dense / dense.sum(axis=1, keepdims=True)
    return restart * np.linalg.inv(np.eye(len(dense)) - (1 - restart) * step)


# The graph


def test_a_graph_is_symmetric_and_in_one_piece() -> None:
    far = np.vstack([X, X + 1e3, X - 1e5])
    weights = Graph.of(far, 4).weights
    assert abs(weights - weights.T).max() == 0
    assert connected_components(weights)[0] == 1
    assert weights.data.min() > 0
    assert weights.data.max() <= 1


def test_links_join_nearest_neighbours() -> None:
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1)[:, :5]
    joined = np.zeros((90, 90), dtype=bool)
    joined[np.arange(90)[:, None], nearest] = True
    joined |= joined.T
    assert np.array_equal(GRAPH.weights.toarray() > 0, joined)  # the nearest neighbours already connect these points
    assert GRAPH.width == pytest.approx(np.median(distance[joined]))
    assert GRAPH.reach == pytest.approx(distance.min(axis=1).max())
    assert np.allclose(GRAPH.weights.toarray()[joined], np.maximum(np.exp(-((distance[joined] / GRAPH.width) ** 2)), 1e-6))


def test_points_whose_squared_distance_is_zero_are_joined() -> None:
    """The squared distance is zero in floats, and a sparse matrix does not store zeros."""
    points = np.vstack([X, [[0.0, 9.0], [1e-170, 9.0], [-1e-170, 9.0]]])
    weights = Graph.of(points, 2).weights.toarray()
    assert (weights[[90, 90, 91], [91, 92, 92]] == 1.0).all()
    assert np.array_equal(weights, weights.T)


# Averages over the graph


@pytest.mark.parametrize("restart", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_an_average_is_the_mean_where_walks_end(restart: float, columns: tuple[int, ...]) -> None:
    values = random.normal(size=(90, *columns))
    assert np.allclose(GRAPH.average(values, restart), walk(GRAPH.weights, restart) @ values, atol=1e-9)


@pytest.mark.parametrize("restart", [0.02, 0.3, 1.0])
def test_the_average_of_a_constant_is_the_constant(restart: float) -> None:
    assert np.allclose(GRAPH.average(np.full(90, 7.0), restart), 7.0)
    assert np.array_equal(GRAPH.average(np.zeros(90), restart), np.zeros(90))


def test_with_restart_one_an_average_is_the_value_itself() -> None:
    values = random.normal(size=90)
    assert np.allclose(GRAPH.average(values, 1.0), values)


# The walk to the labelled points


def with_labels(features: mlp.Spectral, points: np.ndarray, known: list[int], counts: list[float]) -> mlp.FittedMap:
    return features.with_labels(features.fit(points), np.array(known), np.array(counts, dtype=float))


@pytest.mark.parametrize("counts", [[1, 1, 1, 1, 1, 1], [1, 2, 3, 1, 1, 4], [0.5, 0.1, 0.2, 1, 7, 0]])
def test_a_labelled_point_is_scored_as_if_it_were_not_labelled(counts: list[float]) -> None:
    """The score of a point is the share of walks that end at labelled points, without its own label."""
    known = [0, 3, 10, 20, 41, 60]
    fitted = with_labels(mlp.Spectral(4, 5, walk=0.05), X, known, counts)
    ends = walk(GRAPH.weights, 0.05)
    seeds = np.bincount(known, counts, minlength=90)
    for point in range(90):
        others = seeds.copy()
        others[point] = 0.0
        expected = np.log(ends[point] @ others / others.sum())
        assert fitted.state["walk"][point] == pytest.approx(expected, abs=1e-3), point


def test_equal_points_are_one_node() -> None:
    """Two equal labelled points count twice, and neither contributes to the score of the other: no copy is unlabelled."""
    points = np.vstack([X, X[:4]])
    twice = with_labels(mlp.Spectral(4, 5, walk=0.05), points, [0, 90, 10, 20], [1, 1, 1, 1])
    once = with_labels(mlp.Spectral(4, 5, walk=0.05), X, [0, 10, 20], [2, 1, 1])
    assert np.allclose(twice.state["walk"][[10, 20, 50]], once.state["walk"][[10, 20, 50]], atol=1e-9)
    without_own = np.log(walk(GRAPH.weights, 0.05)[0][[10, 20]].sum() / 2)
    assert twice.state["walk"][[0, 90]] == pytest.approx([without_own] * 2, abs=1e-3)
    assert np.array_equal(twice.state["embedding"], once.state["embedding"])
    assert twice.state["node"][90:].tolist() == [0, 1, 2, 3]


def test_a_weight_stands_for_equal_points() -> None:
    """A labelled row of weight two is two equal points, both labelled."""
    spectral = mlp.Spectral(4, 5, walk=0.05)
    weights = np.ones(90)
    weights[0] = 2.0
    known, counts = np.array([0, 10, 20]), np.array([2.0, 1.0, 1.0])
    weighted = spectral.with_labels(spectral.fit(X), known, counts, weights=weights)
    repeated = with_labels(spectral, np.vstack([X, X[:1]]), [0, 90, 10, 20], [1, 1, 1, 1])
    assert weighted.state["walk"][known] == pytest.approx(repeated.state["walk"][known])


def test_one_of_many_copies_is_scored_like_the_others() -> None:
    """Twenty equal points, five of them labelled: nearly all of their labels count for each of the five."""
    points = np.vstack([X, np.repeat(X[:1], 19, axis=0)])
    scores = with_labels(mlp.Spectral(4, 5, walk=0.05), points, [0, 90, 91, 92, 93, 10], [1] * 6).state["walk"]
    assert scores[0] == scores[93]
    assert 0 < scores[108] - scores[0] < 0.1  # an unlabelled copy


def test_minus_zero_is_zero() -> None:
    points = np.vstack([np.round(X), np.where(np.round(X) == 0, -0.0, np.round(X))])
    assert np.array_equal(*np.split(mlp.Spectral(3, 5).fit(points).state["node"], 2))


def test_the_only_labelled_point_gets_the_minimum_score() -> None:
    fitted = with_labels(mlp.Spectral(4, 5, walk=0.05), X, [0], [1.0])
    nothing = with_labels(mlp.Spectral(4, 5, walk=0.05), X, [50], [1.0])
    assert fitted.state["walk"][0] == pytest.approx(np.log(1e-9))  # the minimum score
    assert fitted.state["walk"][50] > fitted.state["walk"][0]
    assert nothing.state["walk"][0] > fitted.state["walk"][0]


# New points


def test_points_of_the_fit_get_their_own_values() -> None:
    features = mlp.Spectral(4, 5, walk=0.05)
    fitted = with_labels(features, X, [0, 3, 10], [1, 1, 1])
    unlabelled = np.setdiff1d(np.arange(90), [0, 3, 10])
    assert np.array_equal(fitted(X)[unlabelled], features.training(X, fitted)[unlabelled])
    values = random.random(90)
    assert np.array_equal(features.interpolate(values, X, fitted), values)


def test_interpolated_values_decrease_to_zero_far_away() -> None:
    features = mlp.Spectral(4, 5)
    fitted = features.fit(X)
    line = np.column_stack([np.linspace(4.0, 100.0, 50), np.full(50, 4.0)])
    found = features.interpolate(np.ones(90), line, fitted)
    assert found[0] == pytest.approx(1.0)
    assert (np.diff(found) <= 1e-12).all()
    assert found[-1] == 0.0


def test_interpolated_values_lie_between_minimum_and_maximum() -> None:
    features = mlp.Spectral(4, 5)
    values = random.random(90)
    found = features.interpolate(values, X[:45] + 0.01, features.fit(X))
    assert (found >= values.min()).all()
    assert (found <= values.max()).all()


def test_smoothing_is_the_average_over_the_graph() -> None:
    features = mlp.Spectral(4, 5)
    values = random.random(94)
    fitted = features.fit(np.vstack([X, X[:4]]))
    shared = values[:90].copy()
    shared[:4] = (values[:4] + values[90:]) / 2  # equal points have the mean of their values
    expected = walk(GRAPH.weights, 0.1) @ shared
    assert np.allclose(features.smooth(values, fitted, 0.1), np.concatenate([expected, expected[:4]]), atol=1e-9)


# Units


def test_with_scale_range_units_do_not_matter() -> None:
    units = np.array([1e-5, 1e7])
    original, scaled = (mlp.Spectral(4, 5, scale="range").fit(X * unit) for unit in (1.0, units))
    assert np.allclose(original.state["embedding"], scaled.state["embedding"], atol=1e-8)
    new = random.normal(size=(20, 2))
    assert np.allclose(original(new), scaled(new * units), atol=1e-8)
    bare = mlp.Spectral(4, 5).fit(X * units)
    assert not np.allclose(original.state["embedding"], bare.state["embedding"], atol=0.1)


def test_with_scale_range_a_constant_column_does_not_matter() -> None:
    flat = np.column_stack([X, np.full(90, 3.0)])
    original, scaled = (mlp.Spectral(4, 5, scale="range").fit(points) for points in (X, flat))
    assert np.allclose(original.state["embedding"], scaled.state["embedding"], atol=1e-8)


def test_sparse_points_have_the_same_graph() -> None:
    points = np.where(X > 0.2, X, 0.0)
    features = mlp.Spectral(4, 5, scale="range")
    dense, sparse = features.fit(points), features.fit(sp.csr_array(points))
    assert np.allclose(dense.state["graph.data"], sparse.state["graph.data"], atol=1e-6)
    assert np.array_equal(dense.state["node"], sparse.state["node"])


def test_a_sample_beside_the_points_is_scored_like_labelled_rows() -> None:
    spec = mlp.Spec(features=mlp.Spectral(3, 5, walk=0.02), tolerance=mlp.StandardError(2.0))
    beside = spec.compile(X[8:], sample=X[:8]).blocks[0]
    among = spec.compile(np.vstack([X[8:], X[:8]]), labelled=np.arange(82, 90)).blocks[0]
    assert beside.origin[-1] == pytest.approx(among.origin[-1])
