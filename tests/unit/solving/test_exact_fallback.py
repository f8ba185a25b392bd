"""Exact arithmetic proves what floats cannot, within its limits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.scripted_backend import ScriptedBackend

import momentlp as mlp
from momentlp.solving import exact_fallback
from momentlp.solving.exact_fallback import is_small, solve_exactly

NOTHING = ScriptedBackend(mlp.Answer(mlp.Outcome.FAILED, None, None, "singular basis"))
# Points 0 and 1 must have equal memberships, so they cancel. Points 2 and 3 are thirty decades smaller.
CANCELLING = mlp.Problem.from_arrays([[1e15, 1.0], [-1e15, -1.0], [1e-15, 0.0], [-3e-15, 0.0]], 0.0, 0.0)
# One point per decade from 1e-15 to 1e15, and room for all up to 1e10 and a part of the next.
DECADES = 10.0 ** np.arange(-15.0, 16.0)
ONE_PER_DECADE = mlp.Problem.from_arrays(DECADES[:, None], -np.inf, 1.5e10)


def start(problem: mlp.Problem) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(problem.n_points), np.zeros(problem.n_moments)


def test_entries_that_cancel_leave_small_ones_exact() -> None:
    found = solve_exactly(CANCELLING, *start(CANCELLING), None)
    assert found is not None
    assert found.status is mlp.Status.OPTIMAL
    assert found.membership.tolist() == [1.0, 1.0, 1.0, float(Fraction(1e-15) / Fraction(3e-15))]


def test_a_problem_over_thirty_decades_is_proved() -> None:
    solution = mlp.solve(ONE_PER_DECADE, NOTHING)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.certificate.holds(1e-12)
    assert solution.repairs == ("solved exactly",)
    assert solution.engine == "exact arithmetic"
    assert "exact" in solution.seconds
    inside = [Fraction(value) for value in DECADES.tolist() if value <= 1e10]
    part = (Fraction(1.5e10) - sum(inside)) / Fraction(1e11)
    assert solution.membership.tolist() == [1.0] * 26 + [float(part)] + [0.0] * 4


def test_the_rounding_of_a_mean_is_allowed_for() -> None:
    """The mean of 0.1, 0.2 and 0.4 is not a float. Without a tolerance, no set has exactly the nearest float as its mean."""
    X = np.array([[0.1, 0.3], [0.2, 0.1], [0.4, 0.8]])
    problem = mlp.Spec(tolerance=mlp.Absolute(0.0)).compile(X, labelled=[0, 1, 2])
    found = solve_exactly(problem, *start(problem), None)
    assert found is not None
    assert found.status is mlp.Status.OPTIMAL
    assert found.membership == pytest.approx(np.ones(3), abs=1e-9)
    assert found.multipliers.shape == (2,)  # one multiplier per moment again, not one per side
    assert mlp.Certificate.of(problem, found.membership, found.multipliers).holds()


def test_infeasibility_is_proved_exactly() -> None:
    problem = mlp.Problem.from_arrays(np.full((4, 1), 1e-15), 5e-15, np.inf)
    found = solve_exactly(problem, *start(problem), None)
    assert found is not None
    assert found.status is mlp.Status.INFEASIBLE
    solution = mlp.solve(problem, NOTHING)
    assert solution.status is mlp.Status.INFEASIBLE
    assert solution.repairs == ("solved exactly",)


def test_an_empty_problem_is_proved_empty() -> None:
    problem = mlp.Spec(tolerance=mlp.Absolute(0.0)).compile([[1.0], [2.0]], mean=[5.0])
    solution = mlp.solve(problem, NOTHING)
    assert solution.status is mlp.Status.EMPTY
    assert solution.repairs == ("solved exactly",)


@pytest.mark.parametrize("shape", [(501, 40), (60, 41)], ids=["entries", "moments"])
def test_a_large_problem_is_left_alone(shape: tuple[int, int]) -> None:
    problem = mlp.Problem.from_arrays(np.random.default_rng(0).normal(size=shape), -1.0, 1.0)
    assert solve_exactly(problem, *start(problem), None) is None
    solution = mlp.solve(problem, NOTHING)
    assert solution.status is mlp.Status.FAILED
    assert solution.message == "singular basis (nothing was proved; try another backend)"


def test_it_gives_up_when_its_time_is_over() -> None:
    problem = mlp.Problem.from_arrays(np.random.default_rng(0).normal(size=(400, 30)), -1.0, 1.0)
    assert solve_exactly(problem, *start(problem), 1e-9) is None


def test_it_gives_up_after_its_last_pivot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_fallback, "MAX_PIVOTS", 0)
    assert solve_exactly(CANCELLING, *start(CANCELLING), None) is None


@pytest.mark.parametrize(("limit", "expected"), [(None, 10.0), (3.0, 3.0), (60.0, 10.0)])
def test_it_never_gets_more_time_than_its_own_limit(
    limit: float | None, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float] = []
    prove = exact_fallback.prove

    def record(*arguments: object, time_limit: float, pivot_limit: int) -> object:
        limits.append(time_limit)
        return prove(*arguments, time_limit=time_limit, pivot_limit=pivot_limit)  # type: ignore[arg-type]

    monkeypatch.setattr(exact_fallback, "prove", record)
    assert solve_exactly(CANCELLING, *start(CANCELLING), limit) is not None
    assert limits == [expected]


def test_few_points_with_many_moments_are_small() -> None:
    """A vertex of four points has at most four of them between their bounds, however many moments there are."""
    few_points = mlp.Problem.from_arrays(np.zeros((4, 200)), 0.0, 0.0)
    assert is_small(few_points)
    assert not is_small(mlp.Problem.from_arrays(np.zeros((200, 60)), 0.0, 0.0))
