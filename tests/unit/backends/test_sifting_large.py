"""From a sample to all points: the Newton step, the start near a hyperplane, and passes that keep the sides."""

from __future__ import annotations

import numpy as np
import pytest

import momentlp as mlp
from momentlp_sifting import Sifting, sifting
from momentlp_sifting.columns import DenseColumns
from momentlp_sifting.interior_point import follow_central_path
from momentlp_sifting.newton_step import newton_step
from momentlp_sifting.pricing import Sides, price_points, sum_inside
from momentlp_sifting.program import Program
from momentlp_sifting.row_structure import RowStructure

N, D = 60_000, 8


@pytest.fixture(scope="module")
def problem() -> mlp.Problem:
    random = np.random.default_rng(0)
    X = random.normal(size=(N, D))
    X[: N // 5] += 0.5
    return mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(X, labelled=np.arange(400))


@pytest.fixture(scope="module")
def optimum(problem: mlp.Problem) -> mlp.Solution:
    solution = mlp.solve(problem, "highs")
    assert solution.status is mlp.Status.OPTIMAL
    return solution


def _program(problem: mlp.Problem, points: np.ndarray, share: float = 1.0) -> Program:
    structure = RowStructure.of(problem)
    Z = structure.matrix(problem).rows(points)
    return Program(
        DenseColumns(Z),
        structure,
        problem.weights[points],
        problem.caps[points],
        share * problem.lower,
        share * problem.upper,
    )


def test_a_newton_step_leaves_a_fraction_of_the_error_of_sampling(problem: mlp.Problem, optimum: mlp.Solution) -> None:
    points = np.sort(np.random.default_rng(1).choice(N, 4000, replace=False))
    sample = _program(problem, points, 4000 / N)
    small = mlp.Problem.from_arrays(problem.A.rows(points), sample.lower, sample.upper)
    y = mlp.solve(small, "highs").multipliers
    structure = sample.structure
    task = sifting.Task(structure.matrix(problem), problem.weights, problem.caps, problem.lower, problem.upper)
    reached = structure.to_rows(sum_inside(task, structure.to_columns(y)))
    bounds = np.where(y > 0, problem.upper, np.where(y < 0, problem.lower, 0.0))
    step = newton_step(sample, y, 4000 / N * (reached - bounds), 0.1)
    assert step is not None
    better, move = step
    before, after = (np.median(np.abs(problem.A @ (at - optimum.multipliers))) for at in (y, better))
    assert after < before / 3
    assert move == pytest.approx(before, rel=0.5)


def test_no_newton_step_from_too_few_points(problem: mlp.Problem) -> None:
    sample = _program(problem, np.arange(200))
    y = np.ones(problem.n_moments)
    assert newton_step(sample, y, np.ones(y.size), 0.1) is None
    assert newton_step(_program(problem, np.arange(4000)), y, np.full(y.size, np.nan), 0.1) is None
    assert newton_step(_program(problem, np.arange(4000)), np.zeros(y.size), np.ones(y.size), 0.1) is None


@pytest.mark.parametrize("noise", [0.0, 0.03, 0.1])
def test_the_interior_point_method_starts_near_a_hyperplane(
    problem: mlp.Problem, optimum: mlp.Solution, noise: float
) -> None:
    scores = problem.weights - problem.A @ optimum.multipliers
    band = np.flatnonzero(np.abs(scores) < 0.1)
    program = _program(problem, band)
    inside = np.where(scores > 0, problem.caps, 0.0)
    inside[band] = 0.0
    fixed = problem.A.T @ inside
    program = Program(
        program.Z, program.structure, program.weights, program.caps, program.lower - fixed, program.upper - fixed
    )
    random = np.random.default_rng(2)
    near = optimum.multipliers * (1 + noise * random.normal(size=problem.n_moments))
    found, steps = follow_central_path(program, lambda: False, near)
    assert not found.diverged
    assert steps < 15
    assert np.abs(program.forward(found.y - optimum.multipliers)).max() < 0.02


@pytest.mark.parametrize("n_labelled", [100, 400, 2000])
def test_a_feasible_band_does_not_count_as_infeasible(n_labelled: int, problem: mlp.Problem) -> None:
    X = problem.blocks[0].features
    solution = mlp.solve(mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(X, labelled=np.arange(n_labelled)), "sifting")
    assert solution.status is mlp.Status.OPTIMAL
    assert "3 passes" in solution.message  # the Newton step, the band, and the proof that no point changes sides


def test_the_order_of_the_points_does_not_matter(problem: mlp.Problem, optimum: mlp.Solution) -> None:
    X = problem.blocks[0].features
    order = np.argsort(X[:, 0])
    shuffled = mlp.Problem.from_arrays(problem.A.rows(order), problem.lower, problem.upper)
    for seed in range(3):
        found = mlp.solve(shuffled, Sifting(random_state=seed))
        assert found.status is mlp.Status.OPTIMAL
        assert found.objective == pytest.approx(optimum.objective, abs=1e-6)


def test_a_pass_keeps_sides_or_computes_them_again(problem: mlp.Problem, tmp_path) -> None:
    np.save(tmp_path / "points.npy", problem.blocks[0].features)
    table = mlp.open_points(tmp_path / "points.npy", chunk_rows=7000)
    stored = mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(table, labelled=np.arange(400))
    random = np.random.default_rng(3)
    first, second = random.normal(size=(2, D + 1)) * 0.3
    taken = np.sort(random.choice(N, 50, replace=False))
    results = []
    for each in (problem, stored):
        A = RowStructure.of(each).matrix(each)
        task = sifting.Task(A, each.weights, each.caps, each.lower, each.upper)
        before = price_points(task, first, None, np.zeros(0, dtype=np.intp), 0.01, N)
        results.append((task, before, price_points(task, second, before.sides, taken, 0.01, N)))
    (task, before, found), (other, other_before, other_found) = results
    assert isinstance(before.sides, Sides)
    assert before.sides.inside is not None
    assert other_before.sides.inside is None
    assert np.array_equal(before.sides.memberships(task), other_before.sides.memberships(other))
    assert found.n_changed == other_found.n_changed > 0
    for name in ("points", "inside"):
        assert np.array_equal(getattr(found, name), getattr(other_found, name))
    assert np.allclose(found.rows, other_found.rows, atol=1e-12)
    assert np.allclose(found.fixed, other_found.fixed, atol=1e-7)
    h = np.where(task.weights - task.A @ second > 0, task.caps, 0.0)
    h[taken] = h[found.points] = 0.0
    assert np.allclose(found.fixed, task.A.T @ h, atol=1e-7)
