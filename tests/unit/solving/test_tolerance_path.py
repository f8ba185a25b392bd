"""The path holds the solution of every tolerance, found with less work than separate solves."""

from typing import Any

import numpy as np
import pytest
from helpers.gaussian import gaussian_problem, gaussians

import momentlp as mlp


@pytest.mark.parametrize("n", [300, 2500])
def test_every_solution_of_a_path_is_that_of_a_separate_solve(n: int) -> None:
    problem = gaussian_problem(n)
    tolerances = np.geomspace(0.1 * n, 0.001 * n, 8)
    found = mlp.path(problem, tolerances)
    assert len(found) == 8
    assert all(solution.certificate.holds() for solution in found)
    for eps, solution in zip(tolerances, found, strict=True):
        X, sample = gaussians(n)
        cold = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(float(eps))).compile(X, sample=sample), "glpk")
        assert solution.objective == pytest.approx(cold.objective, rel=1e-7)
    assert (np.diff(found.objectives) <= 1e-6).all()
    assert found.memberships.shape == (8, n)
    np.testing.assert_array_equal(found.tolerances, tolerances)


def test_stop_ends_the_path() -> None:
    tolerances = [30.0, 10.0, 3.0, 1.0]
    first, second, *_ = mlp.path(gaussian_problem(300), tolerances).objectives
    found = mlp.path(gaussian_problem(300), tolerances, stop=lambda solution: solution.objective < (first + second) / 2)
    assert found.tolerances.tolist() == tolerances[:2]


def test_relative_tolerances_are_multiples_of_the_standard_errors() -> None:
    X, sample = gaussians(400)
    problem = mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(X, sample=sample)
    for z, solution in zip([2.0, 1.0, 0.5], mlp.path(problem, [2.0, 1.0, 0.5], relative=True), strict=True):
        direct = mlp.solve(mlp.Spec(tolerance=mlp.StandardError(z)).compile(X, sample=sample))
        assert solution.objective == pytest.approx(direct.objective, rel=1e-9)


def test_a_tolerance_of_zero_may_be_on_the_path() -> None:
    """For a tolerance on the mean, zero gives one row per moment; any other value gives two."""
    X, _ = gaussians(200, 3)
    problem = mlp.Spec(tolerance=mlp.Relative(0.2)).compile(X, labelled=np.arange(20))
    found = mlp.path(problem, [0.2, 0.0, 0.1])
    assert [solution.problem.n_moments for solution in found] == [6, 3, 6]
    direct = mlp.solve(mlp.Spec(tolerance=mlp.Relative(0.0)).compile(X, labelled=np.arange(20)))
    assert found[1].objective == pytest.approx(direct.objective, rel=1e-9)


def test_constraints_hold_along_the_path() -> None:
    X, sample = gaussians(300)
    problem = mlp.Spec(tolerance=mlp.Absolute(5.0), constraints=[mlp.Share(0.0, 0.1)]).compile(X, sample=sample)
    assert (mlp.path(problem, [50.0, 20.0]).objectives <= 30 + 1e-6).all()


def test_backends_without_a_start_work_too() -> None:
    assert mlp.path(gaussian_problem(100), [5.0, 2.0], "glpk").statuses == (mlp.Status.OPTIMAL,) * 2


def test_entry_is_the_smallest_tolerance_at_which_a_point_is_in() -> None:
    problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    assert mlp.path(problem, [8.0, 4.0, 0.0]).entry().tolist() == [0.0, 0.0, 0.0, 4.0]


def test_entry_of_a_point_that_is_never_in_is_infinite() -> None:
    spec = mlp.Spec(tolerance=mlp.Absolute(1.0), constraints=[mlp.Known(negatives=[3])])
    problem = spec.compile([[0.0], [1.0], [2.0], [1.0]], mean=[1.0])
    assert mlp.path(problem, [8.0, 0.0]).entry().tolist() == [0.0, 0.0, 0.0, np.inf]


@pytest.mark.parametrize(
    ("tolerances", "message"),
    [([], "empty"), ([1.0, -1.0], "entry 1"), ([np.nan], "entry 0"), ("30", "numbers"), (3.0, "numbers")],
)
def test_unusable_tolerances_are_refused(tolerances: object, message: str) -> None:
    with pytest.raises(mlp.DataError, match=message):
        mlp.path(gaussian_problem(50), tolerances)  # type: ignore[arg-type]


def test_a_problem_without_tolerance_is_refused() -> None:
    plain = mlp.Problem.from_arrays(np.eye(3), -1.0, 1.0)
    with pytest.raises(mlp.DataError, match="no tolerance"):
        mlp.path(plain, [1.0])
    with pytest.raises(mlp.DataError, match="must be a Problem"):
        mlp.path("problem", [1.0])  # type: ignore[arg-type]
    with pytest.raises(mlp.OptionError, match="leave out start"):
        mlp.path(gaussian_problem(50), [1.0], start=None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"relative": 1}, "relative must be True or False, not 1"),
        ({"stop": 3}, "stop must be a function of a Solution, not 3"),
    ],
    ids=str,
)
def test_arguments_of_another_type_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mlp.OptionError, match=message):
        mlp.path(gaussian_problem(50), [1.0], **arguments)
