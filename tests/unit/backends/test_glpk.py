"""GLPK's simplex may cycle where columns are nearly parallel: it is stopped, and another method is tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import momentlp as mlp

glpk = pytest.importorskip("swiglpk")
solver = pytest.importorskip("momentlp_glpk.solver")

N_POINTS, N_MOMENTS = 43, 7
MAX_ITERATIONS = 40_000  # of two runs with three methods each; when it cycled, one run took 332,000 and more


def nearly_parallel(seed: int, n_labelled: int) -> mlp.Problem:
    """Return a problem with seven columns that differ by about 1e-7."""
    random = np.random.default_rng(seed)
    x, noise = random.normal(size=N_POINTS), random.normal(size=(N_POINTS, N_MOMENTS - 1))
    X = np.column_stack([x, x[:, None] + 1.3e-7 * noise])
    return mlp.Spec(tolerance=mlp.Absolute(1e-8)).compile(X, labelled=range(n_labelled))


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Record the method and the iteration limit of every call of GLPK's simplex."""
    calls: list[tuple[int, int]] = []
    original = glpk.glp_simplex

    def simplex(handle: Any, control: Any) -> Any:
        calls.append((control.meth, control.it_lim))
        return original(handle, control)

    monkeypatch.setattr(glpk, "glp_simplex", simplex)
    return calls


@pytest.mark.parametrize(("seed", "n_labelled"), [(0, 10), (2, 17), (7, 4), (7, 17), (10, 4)])
def test_nearly_parallel_columns_are_solved_within_the_budget(seed: int, n_labelled: int) -> None:
    solution = mlp.solve(nearly_parallel(seed, n_labelled), "glpk")
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.certificate.holds()
    assert solution.iterations is not None
    assert solution.iterations <= MAX_ITERATIONS


def test_a_slice_of_a_small_problem_is_short(slices: list[tuple[int, int]]) -> None:
    mlp.solve(nearly_parallel(0, 10), "glpk")
    assert max(limit for _, limit in slices) <= solver.MAX_SLICE


def test_a_method_that_cycles_is_replaced_by_another(slices: list[tuple[int, int]]) -> None:
    mlp.solve(nearly_parallel(0, 10), "glpk", repair=False)
    methods = list(dict.fromkeys(method for method, _ in slices))
    assert methods[:2] == [glpk.GLP_DUALP, glpk.GLP_PRIMAL]


def test_a_method_that_the_caller_chose_is_not_replaced(slices: list[tuple[int, int]]) -> None:
    mlp.solve(nearly_parallel(0, 10), "glpk", repair=False, options={"meth": "dualp"})
    assert {method for method, _ in slices} == {glpk.GLP_DUALP}


def test_if_every_method_cycles_the_run_fails_and_the_problem_is_solved_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "MIN_BUDGET", 1)
    monkeypatch.setattr(solver, "BUDGET_PER_VARIABLE", 0)
    problem = mlp.Spec(tolerance=mlp.Absolute(0.5)).compile(np.random.default_rng(0).normal(size=(30, 3)), labelled=range(5))
    alone = mlp.solve(problem, "glpk", repair=False)
    assert alone.status is mlp.Status.FAILED
    assert alone.message.startswith("GLPK: no end after 3 iterations, so the simplex is probably cycling")
    repaired = mlp.solve(problem, "glpk")
    assert repaired.status is mlp.Status.OPTIMAL
    assert "solved exactly" in repaired.repairs


def test_the_iteration_limit_of_the_caller_is_a_limit_and_no_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "MIN_BUDGET", 1)
    monkeypatch.setattr(solver, "BUDGET_PER_VARIABLE", 0)
    solution = mlp.solve(nearly_parallel(0, 10), "glpk", iteration_limit=3)
    assert solution.status is mlp.Status.LIMIT
    assert solution.iterations == 3
