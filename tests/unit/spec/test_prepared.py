"""Prepared points compile to the same problem as points that are compiled directly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA

import momentlp as mlp
from momentlp.points.statistics import column_spread

random = np.random.default_rng(0)
X = np.vstack([random.normal(size=(40, 3)), random.normal(size=(30, 3)) + 3.0])
known = np.array([2, 5, 11, 17, 30, 38])
MAPS: dict[str, mlp.FeatureMap] = {
    "linear": mlp.Linear(),
    "standardised": mlp.Linear(standardise=True),
    "quadratic": mlp.Quadratic(),
    "kernel": mlp.Kernel(),
    "landmarks": mlp.Kernel(landmarks=6),
    "graph": mlp.Spectral(4, 5),
    "walk": mlp.Spectral(4, 5, walk=0.05, scale="range"),
    "pca": mlp.Transformer(PCA(n_components=2)),
    "many": mlp.Concat([mlp.Linear(), mlp.Spectral(3, 4, walk=0.1), mlp.Kernel(landmarks=4)]),
}


@pytest.fixture(params=MAPS)
def spec(request: pytest.FixtureRequest) -> mlp.Spec:
    return mlp.Spec(features=MAPS[request.param], tolerance=mlp.StandardError(0.7), constraints=[mlp.Share(0.0, 0.9)])


def assert_equal(first: mlp.Problem, second: mlp.Problem, rows: Any = slice(None)) -> None:
    """Check that two problems are the same; ``rows`` says which points of the first the second has."""
    assert first.names == second.names
    assert np.array_equal(first.caps[rows], second.caps)
    for block, expected in zip(first.blocks, second.blocks, strict=True):
        features = [b.features.toarray() if sp.issparse(b.features) else b.features for b in (block, expected)]
        assert np.allclose(features[0][rows], features[1], atol=1e-9)
        assert (block.width is None) == (expected.width is None)
        for name in ("origin", "shift", "width") if block.width is not None else ("origin", "shift", "lower", "upper"):
            assert np.allclose(getattr(block, name), getattr(expected, name), atol=1e-9), name


def test_prepared_points_compile_to_the_same_problem(spec: mlp.Spec) -> None:
    prepared = spec.prepare(X)
    mask = np.isin(np.arange(70), known)
    for labelled in (known, known[:3], mask):
        assert_equal(prepared.compile(labelled=labelled), spec.compile(X, labelled=labelled))
    assert prepared.n_features == sum(block.origin.size for block in prepared.compile(labelled=known).blocks[:-1])


def test_a_prepared_sample_compiles_to_the_same_problem(spec: mlp.Spec) -> None:
    sample = random.normal(size=(8, 3))
    assert_equal(spec.prepare(X, sample=sample).compile(), spec.compile(X, sample=sample))


@pytest.mark.parametrize("name", ["linear", "quadratic", "landmarks", "graph"])
def test_a_mean_compiles_to_the_same_problem(name: str) -> None:
    spec = mlp.Spec(features=MAPS[name], tolerance=mlp.Relative(0.5))
    mean = np.linspace(0.0, 1.0, spec.prepare(X).n_features)
    assert np.array_equal(spec.prepare(X).compile(mean=mean).blocks[0].origin, mean)
    assert_equal(spec.prepare(X).compile(mean=mean), spec.compile(X, mean=mean))


def test_precomputing_does_not_change_the_problem(spec: mlp.Spec) -> None:
    prepared = spec.prepare(X)
    precomputed = prepared.precompute_for(known)
    for labelled in (known, known[1:4], np.array([60, 61, 62])):
        assert_equal(precomputed.compile(labelled=labelled), prepared.compile(labelled=labelled))


def test_points_of_weight_zero_do_not_change_the_problem(spec: mlp.Spec) -> None:
    """The fitted maps, the mean and the tolerances are those of the other points."""
    weight = random.integers(0, 3, size=70).astype(float)
    weight[known] = [1, 2, 1, 1, 0, 3]
    kept = np.flatnonzero(weight)
    all_points = spec.compile(X, labelled=known, sample_weight=weight)
    without = spec.compile(X[kept], labelled=np.flatnonzero(np.isin(kept, known)), sample_weight=weight[kept])
    assert_equal(all_points, without, kept)


def test_points_of_weight_zero_do_not_change_the_problem_of_a_sample(spec: mlp.Spec) -> None:
    sample = random.normal(size=(8, 3))
    weight = np.where(np.arange(70) % 4 == 0, 0.0, 1.0)
    kept = weight > 0
    assert_equal(spec.compile(X, sample=sample, sample_weight=weight), spec.compile(X[kept], sample=sample), kept)


def test_points_of_weight_zero_have_features_and_membership_zero(spec: mlp.Spec) -> None:
    weight = np.ones(70)
    weight[[1, 50]] = 0.0
    problem = spec.compile(X, labelled=known, sample_weight=weight)
    for block in problem.blocks[:-1]:
        assert np.allclose(block.features[[1, 50]], block.fitted(X[[1, 50]]))
    solution = mlp.solve(problem)
    assert solution.membership[[1, 50]].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("tolerance", [mlp.Relative(0.3, standardised=True), mlp.Absolute(2.0, standardised=True)])
def test_standard_deviations_for_tolerances_use_the_weights(tolerance: mlp.Tolerance) -> None:
    weight = np.where(np.arange(70) < 50, 1.0, 0.0)
    spec = mlp.Spec(tolerance=tolerance)
    assert_equal(spec.compile(X, labelled=known, sample_weight=weight), spec.compile(X[:50], labelled=known), slice(50))


# Labelled points that count more than once


@pytest.mark.parametrize("counts", [[1, 1, 1, 1, 1, 1], [3, 0, 1, 2, 0, 1], [0, 0, 5, 0, 0, 2]])
@pytest.mark.parametrize("name", ["linear", "quadratic", "landmarks"])
def test_counts_stand_for_repeated_labelled_points(name: str, counts: list[int]) -> None:
    """Both the mean and its standard error use the counts."""
    spec = mlp.Spec(features=MAPS[name], tolerance=mlp.StandardError(1.0))
    counted = spec.prepare(X).compile(labelled=known, counts=counts).blocks[0]
    repeated = spec.compile(X, sample=np.repeat(X[known], counts, axis=0)).blocks[0]
    assert np.allclose(counted.origin, repeated.origin)
    assert np.allclose(counted.width, repeated.width)
    sample = counted.fitted(np.repeat(X[known], counts, axis=0))
    assert np.allclose(counted.origin, sample.mean(axis=0))
    assert np.allclose(counted.width, sample.std(axis=0, ddof=1) / np.sqrt(len(sample)))


def test_without_counts_labelled_points_count_by_weight() -> None:
    weight = np.ones(70)
    weight[known] = [1, 2, 3, 1, 1, 4]
    prepared = mlp.Spec(tolerance=mlp.StandardError(1.0)).prepare(X, sample_weight=weight)
    assert_equal(prepared.compile(labelled=known), prepared.compile(labelled=known, counts=weight[known]))
    assert np.allclose(
        prepared.compile(labelled=known).blocks[0].origin, np.average(X[known], axis=0, weights=weight[known])
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labelled": known, "counts": [1.0, 2.0]}, r"counts must hold 6 number\(s\)"),
        ({"labelled": known, "counts": [1, 1, -1, 1, 1, 1]}, "counts must not be negative, but entry 2 is -1"),
        ({"labelled": known, "counts": np.zeros(6)}, "counts are zero for every labelled point"),
        ({"mean": np.zeros(3), "counts": [1.0]}, "counts say how often labelled points count, but there are none"),
        ({"labelled": []}, "labelled selects no point"),
        ({"mean": np.zeros(2)}, r"mean must hold 3 number\(s\)"),
    ],
)
def test_unusable_counts_labels_and_means_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mlp.Spec().prepare(X).compile(**given)


def test_labelled_points_of_weight_zero_are_refused() -> None:
    weight = np.where(np.isin(np.arange(70), known), 0.0, 1.0)
    with pytest.raises(mlp.DataError, match="sample_weight is zero for every labelled point"):
        mlp.Spec().compile(X, labelled=known, sample_weight=weight)


def test_a_walk_needs_labelled_points() -> None:
    with pytest.raises(mlp.CompileError, match="Spectral needs labelled points, but only the mean was given"):
        mlp.Spec(features=MAPS["walk"]).compile(X, mean=np.zeros(5))


def test_a_walk_in_a_constraint_is_refused() -> None:
    walk = mlp.Moment(mlp.Spectral(3, 5, walk=0.1), [0.0] * 4, mlp.Relative(1.0))
    with pytest.raises(mlp.CompileError, match="labelled"):
        mlp.Spec(constraints=[walk]).compile(X, labelled=known)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("unit", [1.0, 0.1])
def test_the_spread_of_a_column_counts_rows_by_their_weight(form: Any, unit: float) -> None:
    """A constant column has spread 0, also with weights that are rounded, such as 0.1."""
    random = np.random.default_rng(0)
    table = np.column_stack([random.normal(size=(200, 2)) * (random.random((200, 2)) < 0.4), np.full(200, 0.1)])
    times = random.integers(0, 4, size=200)
    spread = column_spread(form(table), constant=7.0, weights=times * unit)
    assert spread == pytest.approx([*np.repeat(table[:, :2], times, axis=0).std(axis=0), 7.0])


def test_sparse_rows_in_single_precision_have_the_mean_of_their_float64_copy() -> None:
    rows = np.array([[0.1, 0.7, 0.2], [0.3, 0.1, 0.9], [0.6, 0.2, 0.4]], dtype=np.float32)
    sparse, dense = (mlp.Spec().compile(points, labelled=[0, 1, 2]) for points in (sp.csr_array(rows), rows.astype(float)))
    np.testing.assert_array_max_ulp(sparse.blocks[0].origin, dense.blocks[0].origin, maxulp=1)


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_the_mean_of_many_labelled_rows_is_not_rounded(build: Any) -> None:
    points = np.full((1001, 2), 0.1)
    points[:1000:2, 1] = 0.3  # the mean of half 0.1 and half 0.3 is 0.2
    origin = mlp.Spec().compile(build(points), labelled=range(1000)).blocks[0].origin
    assert origin[0] == 0.1
    np.testing.assert_array_max_ulp(origin[1:], np.array([0.2]), maxulp=1)
