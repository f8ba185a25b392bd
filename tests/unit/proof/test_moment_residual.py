"""The residual of the moments: the change of memberships that brings all of them back at once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import momentlp as mlp
from momentlp.problem.problem import Problem
from momentlp.proof.moment_residual import compute_moment_residual


def residual(problem: Problem, h: object, weight: float = 1e12) -> float:
    h = np.asarray(h, dtype=float)
    zeros = np.zeros(problem.n_moments)
    return compute_moment_residual(problem, h, zeros, problem.A.T @ h, zeros, weight)


def minimum_change(problem: Problem, h: np.ndarray) -> float:
    """Return the minimum total change, in points, from the definition; infinity if there is none."""
    A, n = problem.A.toarray() * problem.caps[:, None], problem.n_points
    share = h / problem.caps
    sides = [(sign * A.T, bound) for sign, bound in ((1.0, problem.upper), (-1.0, -problem.lower))]
    rows = np.vstack([np.hstack([M, -M]) for M, _ in sides])
    limits = np.concatenate([bound - M @ share for M, bound in sides])
    kept = np.isfinite(limits)
    bounds = [(0.0, value) for value in np.concatenate([1 - share, share])]
    result = linprog(np.ones(2 * n), A_ub=rows[kept], b_ub=limits[kept], bounds=bounds)
    return float(result.fun) if result.status == 0 else np.inf


def test_a_feasible_set_has_no_residual() -> None:
    problem = mlp.Problem.from_arrays([[1.0], [-1.0]], 0.0, 0.0)
    assert residual(problem, [1.0, 1.0]) == 0.0


def test_a_violation_within_rounding_is_none() -> None:
    problem = mlp.Problem.from_arrays([[1.0], [-1.0 - 2**-52]], 0.0, 0.0)
    assert residual(problem, [1.0, 1.0]) == 0.0


def test_changes_are_counted_in_points_of_their_own_caps() -> None:
    problem = mlp.Problem.from_arrays([[1.0], [-1.0], [4.0]], -1.0, 1.0, caps=2.0)
    h = [2.0, 0.0, 0.5]  # A^T h = 4, beyond the upper bound by 3
    # Half a unit of the third point, then one unit of another, over the cap of 2.
    assert residual(problem, h) == pytest.approx(0.75)


def test_what_the_change_costs_of_the_objective_counts() -> None:
    problem = mlp.Problem.from_arrays([[-1.0], [0.0]], 0.0, 0.0, weights=[1e8, 1.0], caps=[1e-8, 1.0])
    assert residual(problem, [1e-8, 1.0], weight=0.25) == pytest.approx(4.0)  # a weight of 1 is lost, four times the unit
    heavy = mlp.Problem.from_arrays([[-1.0], [1.0]], 0.0, 0.0, weights=[1e8, 1.0])
    assert residual(heavy, [1e-6, 0.0], weight=1.0) >= 0.99e-6


def test_an_outlier_on_the_wrong_side_does_not_make_a_violation_small() -> None:
    problem = mlp.Problem.from_arrays([[1.0], [1.0], [1e9]], 0.0, 1.0)
    # The outlier is out already: it cannot bring the moment down.
    assert residual(problem, [1.0, 1.0, 0.0]) == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, 1e12, 1e15, 1e18])
def test_outliers_that_bring_back_one_moment_each_do_not_bring_back_both(size: float) -> None:
    A = [[1.0, -1.0]] * 50 + [[size, size], [-size, -size]]
    assert residual(mlp.Problem.from_arrays(A, 0.0, 0.0), np.ones(52)) > 1.0


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_minimum_of_the_linear_program(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, m = int(random.integers(3, 30)), int(random.integers(1, 5))
    caps, lower = 10.0 ** random.uniform(-2, 2, n), -random.integers(0, 2, m).astype(float)
    problem = mlp.Problem.from_arrays(random.normal(size=(n, m)) / caps[:, None], lower, -lower, caps=caps)
    h = caps * np.clip(random.uniform(-0.5, 1.5, n), 0, 1)
    near = np.linalg.lstsq(problem.A.toarray().T, -(problem.A.T @ h), rcond=None)[0]
    h = np.clip(h + near * random.uniform(0.99, 1.0), 0.0, caps)
    expected = minimum_change(problem, h)
    found = residual(problem, h)
    # Points strictly inside are tried first, so the change may be larger than the minimum, never smaller. Beyond one point
    # it is that of the worst moment alone.
    assert found >= expected - 1e-9 if found <= 1.0 else expected > 0.05


def test_points_at_their_bounds_change_where_no_point_is_between() -> None:
    problem = mlp.Problem.from_arrays([[1.0, 0.0], [-1.0, 0.0], [1e-9, 1.0], [0.0, -1.0]], 0.0, 0.0)
    assert residual(problem, np.ones(4)) == pytest.approx(1e-9, rel=1e-6)


def test_points_in_chunks_have_the_residual_of_points_in_memory(tmp_path) -> None:
    random = np.random.default_rng(0)
    X, h = random.normal(size=(400, 3)), np.where(random.random(400) < 0.5, 1.0, 0.0)
    h[:10] = 0.5
    h[:10] -= np.linalg.lstsq(X[:10].T, X.T @ h, rcond=None)[0] * (1 - 1e-6)
    if h.min() < 0 or h.max() > 1:
        X[10:] *= 1e-3
        h[:10] = 0.5 - np.linalg.lstsq(X[:10].T, X[10:].T @ h[10:] + X[:10].T @ np.full(10, 0.5), rcond=None)[0] * (1 - 1e-6)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    in_memory, in_chunks = (residual(mlp.Problem.from_arrays(points, 0.0, 0.0), h) for points in (X, mapped))
    assert 0 < in_memory < 1e-3
    assert in_chunks == pytest.approx(in_memory)
