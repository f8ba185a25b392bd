"""A solution: the figures, names and further solves that it offers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.scripted_backend import ScriptedBackend, optimal_answer

import momentlp as mlp
from momentlp.testing import half_space

PROBLEM, SIZE = half_space(120, 3, seed=0)
SOLUTION = mlp.solve(PROBLEM)


def test_a_summary_holds_plain_values() -> None:
    summary = SOLUTION.summary()
    assert summary["status"] == "optimal"
    assert summary["objective"] == pytest.approx(SIZE)
    assert all(isinstance(value, (str, int, float, bool)) for value in summary.values())


def test_scores_are_positive_inside_and_negative_outside() -> None:
    np.testing.assert_allclose(SOLUTION.scores, PROBLEM.weights - PROBLEM.A.toarray() @ SOLUTION.multipliers)
    clear = np.abs(SOLUTION.scores) > 1e-6
    assert np.array_equal(SOLUTION.scores[clear] > 0, SOLUTION.membership[clear] > 0.5)


def test_the_bound_is_never_below_the_objective() -> None:
    too_large = ScriptedBackend(optimal_answer(membership=np.ones(120)))  # it violates the moments
    solution = mlp.solve(PROBLEM, too_large, repair=False)
    assert solution.certificate.bound < solution.certificate.objective
    assert solution.bound == solution.objective == 120.0


def test_the_direction_has_length_one_and_separates_the_mean_from_the_points() -> None:
    X = np.random.default_rng(0).uniform(1.0, 2.0, size=(30, 3))
    solution = mlp.solve(mlp.Spec().compile(X, mean=np.zeros(3)))
    assert solution.status is mlp.Status.EMPTY
    assert np.linalg.norm(solution.direction) == pytest.approx(1.0)
    assert (X @ solution.direction > 0).all()


def test_without_multipliers_there_is_no_direction_and_no_conflict() -> None:
    everything = mlp.solve(mlp.Problem.from_arrays(np.eye(3), -5.0, 5.0))
    assert everything.objective == 3.0
    assert everything.direction.tolist() == [0.0, 0.0, 0.0]
    assert everything.conflict() == ()


def test_the_conflict_is_sorted_by_its_effect_on_the_scores() -> None:
    problem = mlp.Problem.from_arrays([[1.0, 100.0, 1.0], [-1.0, 50.0, 1.0]], -1.0, 1.0, names=["small", "large", "none"])
    solution = replace(mlp.solve(problem), multipliers=np.array([-3.0, 1.0, 0.0]))
    assert solution.conflict() == ("large", "small")


def test_a_solution_explains_itself_with_the_backend_that_found_it() -> None:
    solution = mlp.solve(mlp.Spec().compile([[0.0], [1.0]], mean=[5.0]), "glpk")
    assert solution.resolve is not None
    assert solution.resolve(PROBLEM).backend == "glpk"


def test_a_solution_without_a_backend_cannot_explain_itself() -> None:
    with pytest.raises(mlp.SolverError, match=r"get the solution from momentlp\.solve"):
        replace(SOLUTION, resolve=None).explain()


def test_the_table_of_a_failed_solution_shows_its_message() -> None:
    failed = mlp.solve(PROBLEM, ScriptedBackend(optimal_answer(multipliers=None)), repair=False)
    assert "Solution: FAILED" in failed._repr_html_()
    assert "trust me (but the certificate does not hold" in failed._repr_html_()
    assert "message" not in SOLUTION._repr_html_()
