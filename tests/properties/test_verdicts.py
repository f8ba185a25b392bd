"""Verdicts that were wrong once, on data that real files contain: each must stay right, on every backend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp

ROWS = np.array([[0.1, 0.7, 0.2], [0.3, 0.1, 0.9], [0.6, 0.2, 0.4]], dtype=np.float32)


def offset_points(seed: int, n: int, d: int) -> np.ndarray:
    return 1e6 + 1e-3 * np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("size", [1e3, 1e6, 1e8, 1e9, 1e10, 1e12, 1e15, 1e17])
def test_outliers_of_both_signs_hide_no_other_point(backend: str, size: float) -> None:
    """Either outlier mends either moment by a tiny change, but no change mends both. The optimum is the two outliers."""
    X = np.array([[1.0, -1.0]] * 50 + [[size, size], [-size, -size]])
    solution = mlp.solve(mlp.Spec().compile(X, mean=[0.0, 0.0]), backend)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    assert solution.objective == pytest.approx(2.0, rel=1e-6)
    assert np.abs(X[:50].T @ solution.membership[:50]).max() < 1e-6


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [1e7, 1e9, 1e11])
def test_clouds_with_sentinels_of_both_signs(backend: str, seed: int, size: float) -> None:
    random = np.random.default_rng(seed)
    X = random.normal(size=(40, 3))
    X[:2], X[2:4] = size, -size
    solution = mlp.solve(mlp.Spec().compile(X, labelled=range(4, 16)), backend)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    exact = solution.certificate.exact()
    assert exact.optimum is not None
    assert solution.objective == pytest.approx(float(exact.optimum), rel=1e-6)


@pytest.mark.parametrize(("weight", "cap"), [(1e8, 1e-8), (1e9, 1e-8), (1e12, 1e-10)])
def test_a_tiny_cap_with_a_huge_weight_is_not_free(backend: str, weight: float, cap: float) -> None:
    problem = mlp.Problem.from_arrays([[-1.0], [0.0], [0.0]], 0.0, 0.0, weights=[weight, 1.0, 1.0], caps=[cap, 1.0, 1.0])
    solution = mlp.solve(problem, backend)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    assert solution.objective == pytest.approx(2.0)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float64, lambda X: sp.csr_array(X, dtype=np.float64)])
def test_the_labelled_points_have_their_mean_in_every_form(backend: str, form, known: bool) -> None:
    spec = mlp.Spec(constraints=[mlp.Known(positives=[0, 1, 2])] if known else [])
    solution = mlp.solve(spec.compile(form(ROWS), labelled=[0, 1, 2]), backend)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    assert solution.objective == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_mean_beside_a_constant_is_outside(backend: str, dtype: type) -> None:
    X = np.full((5, 1), 1000.0, dtype=dtype)
    assert mlp.solve(mlp.Spec().compile(X, mean=[1000.0005]), backend).status is mlp.Status.EMPTY


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_neighbouring_numbers_are_not_a_constant(backend: str, dtype: type) -> None:
    one = np.float32(1000.0)
    X = np.array([[one]] * 2 + [[np.nextafter(one, np.float32(2000.0))]] * 3).astype(dtype)
    assert mlp.solve(mlp.Spec().compile(X, mean=[1000.0]), backend).objective == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(("n", "d"), [(6, 2), (4, 5), (8, 3)])
@pytest.mark.filterwarnings("ignore::momentlp.OnlyLabelledWarning")
def test_far_from_zero_the_labelled_set_stays_feasible(backend: str, seed: int, n: int, d: int, known: bool) -> None:
    """The mean of three numbers near 1e6 is rounded by 1e-10, which matters beside a spread of 1e-3."""
    spec = mlp.Spec(constraints=[mlp.Known(positives=[0, 1, 2])] if known else [])
    solution = mlp.solve(spec.compile(offset_points(seed, n, d), labelled=[0, 1, 2]), backend)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    assert solution.objective >= 3 - 1e-5  # the rounding of the mean is worth 2e-6 points here


@pytest.mark.parametrize("cap", [1e-12, 1e-9, 1e-3, 1.0, 1e9])
def test_what_is_infeasible_is_so_in_every_unit(backend: str, cap: float) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    spec = mlp.Spec(constraints=[mlp.Share(low=0.9)])
    problem = spec.compile(X, labelled=[0, 1, 2], sample_weight=np.full(20, cap))
    assert mlp.solve(problem, backend).status is mlp.Status.INFEASIBLE


def place_outliers(order: np.ndarray, n: int = 6400, size: float = 1e15) -> np.ndarray:
    """Almost all entries are zero, three points are (1, -1), and two outliers cancel."""
    A = np.zeros((n, 2))
    A[order[:5]] = [(size, size), (-size, -size), (1, -1), (1, -1), (1, -1)]
    return A


@pytest.mark.filterwarnings("ignore::momentlp.SentinelWarning")
@pytest.mark.parametrize(
    "order", [(0, 100, 7, 8, 9), (1, 101, 8, 9, 10), (5, 6, 0, 64, 128), (6399, 0, 100, 200, 300)], ids=str
)
@pytest.mark.parametrize("in_chunks", [False, True])
def test_where_outliers_stand_does_not_matter(order: tuple[int, ...], in_chunks: bool, tmp_path) -> None:
    A = place_outliers(np.array(order))
    if in_chunks:
        np.save(tmp_path / "A.npy", A)
        A = np.load(tmp_path / "A.npy", mmap_mode="r")
    solution = mlp.solve(mlp.Problem.from_arrays(A, 0.0, 0.0))
    assert solution.status is not mlp.Status.OPTIMAL or solution.objective == pytest.approx(6397.0)
    assert in_chunks or solution.status is mlp.Status.OPTIMAL


@pytest.mark.filterwarnings("ignore::momentlp.SentinelWarning")
def test_outliers_at_the_head_of_a_file_do_not_set_the_scale(tmp_path) -> None:
    A = np.tile([[1.0, 1.0], [-1.0, -1.0]], (3200, 1))
    A[:32], A[32:64], A[64:70], A[[70, 80, 90]] = 1e15, -1e15, 0.0, (1.0, -1.0)
    A[[71, 81, 91]] = 0.0
    np.save(tmp_path / "A.npy", A)
    for points in (A, np.load(tmp_path / "A.npy", mmap_mode="r")):
        solution = mlp.solve(mlp.Problem.from_arrays(points, 0.0, 0.0))
        assert solution.status is not mlp.Status.OPTIMAL or solution.objective == pytest.approx(6397.0)


@pytest.mark.parametrize("seed", [59, 3, 7])
def test_a_set_of_very_light_points_is_not_empty(backend: str, seed: int) -> None:
    """Three points that sum to zero weigh 1e-12 of the others, all of which lie on one side of the mean."""
    random = np.random.default_rng(seed)
    heavy = random.normal(size=(20, 3))
    heavy[:, 0] = np.abs(heavy[:, 0]) + 1
    light = random.integers(-(2**20), 2**20, size=(3, 3)).astype(float)
    light[2] = -light[0] - light[1]
    light *= 2.0**-10
    light[:, 0] = 0
    turn = np.round(np.linalg.qr(random.normal(size=(3, 3)))[0] * 2**20) / 2**20
    weights = np.append(np.ones(20), np.full(3, 10.0 ** random.uniform(-16, -11)))
    problem = mlp.Spec(tolerance=mlp.Absolute(0.0)).compile(np.vstack([heavy @ turn, light @ turn]), mean=np.zeros(3))
    solution = mlp.solve(replace(problem, weights=weights), backend)
    assert solution.status is not mlp.Status.EMPTY


def test_the_labelled_set_is_never_too_heavy(backend: str) -> None:
    """Landmarks that nearly coincide: with the mean as it was rounded there is room for 3.9994 of four labelled points."""
    X = np.array([-2, 4, -2, 4, -6, 6, 4, 6, 4, 0, -6, 4])[:, None] * np.array([1.0, -1.5])
    problem = mlp.Spec(features=mlp.Kernel(landmarks=3)).compile(X, labelled=[0, 1, 5, 9])
    solution = mlp.solve(problem, backend)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    assert solution.objective >= 4 - 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_independent_points_are_empty_whatever_their_weights_and_caps(backend: str, seed: int) -> None:
    """Four independent points have only h = 0. Multipliers are so large that their own rounding hides it."""
    random = np.random.default_rng(seed)
    A = random.normal(size=(4, 4))
    weights, caps = 10.0 ** random.uniform(-8, 8, 4), 10.0 ** random.uniform(-8, 8, 4)
    solution = mlp.solve(mlp.Problem.from_arrays(A, 0.0, 0.0, weights=weights, caps=caps), backend)
    assert solution.status is mlp.Status.EMPTY, solution.message
