"""What only the HiGHS backend does: it changes the method where the simplex method cycles, and knows HiPO."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from helpers.gaussian import gaussian_problem

import momentlp as mlp
from momentlp.errors import OptionError
from momentlp_highs import Highs, cycling


def contradiction(n: int = 2000) -> mlp.Problem:
    """Sizes of five groups that do not add up to the size of the whole: HiGHS's dual simplex cycles on its parts."""
    random = np.random.default_rng(5)
    X = random.normal(size=(n, 8))
    labelled = np.flatnonzero(X[:, 0] > 0.8)[:500]
    groups = np.eye(5)[random.integers(0, 5, n)]
    sizes = np.append(np.full(5, n / 200), n / 40 + 0.001)
    problem = mlp.Spec(tolerance=mlp.Absolute(0.0)).compile(X, labelled=labelled)
    return problem.with_rows(np.column_stack([groups, np.ones(n)]), sizes, sizes, list("abcdef"))


@pytest.mark.parametrize("backend", ["highs", "sifting"])
def test_contradicting_sizes_of_groups_are_infeasible(backend: str) -> None:
    assert mlp.solve(contradiction(), backend).status is mlp.Status.INFEASIBLE


def few_iterations(n_rows: int, n_columns: int) -> int:
    return 3


def test_another_method_takes_over_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(np.random.default_rng(0).normal(size=(200, 4)), mean=np.zeros(4))
    expected = mlp.solve(problem, "highs").objective
    monkeypatch.setattr(cycling, "iteration_budget", few_iterations)
    solution = mlp.solve(problem, "highs")
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.objective == pytest.approx(expected)


def test_if_all_methods_cycle_the_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(np.random.default_rng(0).normal(size=(200, 4)), mean=np.zeros(4))
    monkeypatch.setattr(cycling, "iteration_budget", few_iterations)
    monkeypatch.setattr(cycling, "OTHER_METHODS", ({"simplex_strategy": 4},))
    answer = Highs().run(problem, mlp.Options())
    assert answer.outcome is mlp.Outcome.FAILED
    assert "cycling" in answer.message


def test_a_limit_of_the_caller_stays_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(np.random.default_rng(0).normal(size=(200, 4)), mean=np.zeros(4))
    assert mlp.solve(problem, "highs", iteration_limit=2).status is mlp.Status.LIMIT
    assert mlp.solve(problem, "highs", options={"simplex_iteration_limit": 2}).status is mlp.Status.LIMIT


def test_hipo_solves_where_it_is_installed_and_is_explained_where_it_is_not() -> None:
    problem = gaussian_problem(300)
    if find_spec("highspy_extras") is None:
        with pytest.raises(OptionError, match="highspy-extras"):
            mlp.solve(problem, "highs", options={"solver": "hipo"})
    else:
        solution = mlp.solve(problem, "highs", options={"solver": "hipo"})
        assert solution.certificate.holds()
