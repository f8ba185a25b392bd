"""Polishing: a rough answer becomes the vertex, and no answer becomes worse."""

from __future__ import annotations

import numpy as np
import pytest

import momentlp as mlp
from momentlp.proof.dual_bound import dual_bound
from momentlp.proof.polish import admissible_multipliers, polish, polish_to_feasible


@pytest.fixture
def solution() -> mlp.Solution:
    X = np.random.default_rng(0).normal(size=(100, 3))
    return mlp.solve(mlp.Spec(tolerance=mlp.Absolute([2.0, 3.0, 2.5])).compile(X, mean=[0.4, -0.5, 0.6]))


def test_a_rough_answer_becomes_the_vertex(solution: mlp.Solution) -> None:
    random = np.random.default_rng(1)
    fractional = (solution.membership > 1e-9) & (solution.membership < 1 - 1e-9)
    h = solution.membership + np.where(fractional, random.normal(size=100) * 1e-4, 0.0)
    y = solution.multipliers * (1 + random.normal(size=3) * 1e-4)
    assert mlp.Certificate.of(solution.problem, h, y).error > 1e-6
    assert mlp.Certificate.of(solution.problem, *polish(solution.problem, h, y)).holds(1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_no_pair_becomes_worse(solution: mlp.Solution, seed: int) -> None:
    random = np.random.default_rng(seed)
    h, y = random.random(100), random.normal(size=3)
    before = mlp.Certificate.of(solution.problem, h, y).error
    assert mlp.Certificate.of(solution.problem, *polish(solution.problem, h, y)).error <= before


def test_without_fractional_points_the_pair_stays(solution: mlp.Solution) -> None:
    h, y = np.zeros(100), np.zeros(3)
    polished = polish(solution.problem, h, y)
    assert polished[0] is h
    assert polished[1] is y


def test_admissible_multipliers_give_a_finite_bound() -> None:
    problem = mlp.Problem.from_arrays(np.ones((3, 3)), [-np.inf, 0.0, -1.0], [2.0, np.inf, 1.0])
    y = np.array([-1.0, 1.0, -1.0])
    assert dual_bound(problem, y) == np.inf
    assert admissible_multipliers(problem, y).tolist() == [0.0, 0.0, -1.0]
    assert np.isfinite(dual_bound(problem, admissible_multipliers(problem, y)))


def test_memberships_move_to_a_feasible_set_where_there_is_no_vertex() -> None:
    """All points are at a bound and one moment is violated by 1e-6. No point is fractional: there is no vertex to find."""
    problem = mlp.Problem.from_arrays([[1.0, 0.0], [-1.0, 0.0], [1e-6, 1.0], [0.0, -1.0]], 0.0, 0.0)
    h, y = np.ones(4), np.array([0.0, 0.0])
    certificate = mlp.Certificate.of(problem, h, y)
    assert certificate.primal_residual > 1e-7
    moved = polish_to_feasible(certificate)
    assert moved.primal_residual < 1e-12
    assert np.abs(moved.membership - h).sum() == pytest.approx(1e-6, rel=1e-3)
    assert polish_to_feasible(moved) is moved
