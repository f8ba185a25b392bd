"""Infeasibility: the elastic problem always has a solution, and its multipliers prove what is infeasible."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp
from momentlp.proof.infeasibility import append_points, elastic_problem, proves_infeasible


def random_problem(seed: int, *, sparse: bool) -> mlp.Problem:
    """Return a random problem. With an odd seed it is infeasible: the first moment cannot reach its lower bound."""
    random = np.random.default_rng(seed)
    A = random.integers(-3, 4, (12, 3)).astype(float)
    reachable = np.maximum(A[:, 0], 0.0).sum()
    lower = np.array([reachable + (1.0 if seed % 2 else -1.0), -5.0, -np.inf])
    return mlp.Problem.from_arrays(sp.csr_array(A) if sparse else A, lower, [np.inf, np.inf, 40.0])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_elastic_optimum_is_negative_if_and_only_if_the_problem_is_infeasible(seed: int, sparse: bool) -> None:
    problem = random_problem(seed, sparse=sparse)
    elastic = mlp.solve(elastic_problem(problem))
    is_feasible = mlp.solve(problem).status is not mlp.Status.INFEASIBLE
    assert elastic.certificate.holds()
    assert (elastic.objective > -1e-7) == is_feasible
    assert proves_infeasible(problem, elastic.multipliers, 1e-9) == (not is_feasible)


def test_multipliers_at_an_infinite_bound_prove_nothing() -> None:
    problem = mlp.Problem.from_arrays([[1.0], [1.0]], 3.0, np.inf)  # two points cannot weigh three
    assert proves_infeasible(problem, np.array([-1.0]), 1e-9)
    assert not proves_infeasible(problem, np.array([1.0]), 1e-9)
    assert not proves_infeasible(problem, np.array([0.0]), 1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_appended_points_have_the_rows_they_were_given(sparse: bool) -> None:
    X = np.random.default_rng(0).normal(size=(6, 2))
    problem = mlp.Spec(tolerance=mlp.Relative(0.1)).compile(sp.csr_array(X) if sparse else X, labelled=[0, 1])
    rows = sp.csr_array(np.arange(8.0).reshape(2, 4))
    longer = append_points(problem, rows, np.array([2.0, 3.0]), np.array([4.0, 5.0]))
    assert np.allclose(longer.A.toarray(), np.vstack([problem.A.toarray(), rows.toarray()]))
    assert longer.weights[6:].tolist() == [2.0, 3.0]
    assert longer.caps[6:].tolist() == [4.0, 5.0]
