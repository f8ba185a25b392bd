"""Verdicts that were wrong once, on data that real files contain: each must stay right, on every backend."""

from __future__ import annotations

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


@pytest.mark.parametrize("cap", [1e-9, 1e-3, 1.0, 1e9])
def test_what_is_infeasible_is_so_in_every_unit(backend: str, cap: float) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    spec = mlp.Spec(constraints=[mlp.Share(low=0.9)])
    problem = spec.compile(X, labelled=[0, 1, 2], sample_weight=np.full(20, cap))
    assert mlp.solve(problem, backend).status is mlp.Status.INFEASIBLE
