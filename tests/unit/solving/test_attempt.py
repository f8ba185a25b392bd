"""One attempt: an answer that does not prove itself is polished, and the solver is asked again within its limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.scripted_backend import ScriptedBackend, optimal_answer, optimal_pair

import momentlp as mlp
from momentlp.solving.attempt import TIGHT_TOLERANCE, Attempt, Request, remaining_options, run_attempt
from momentlp.solving.step_timer import StepTimer
from momentlp.testing import half_space

PROBLEM, SIZE = half_space(120, 3, seed=0)
ROUGH = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(np.random.default_rng(0).normal(size=(80, 2)), mean=[0.5, 0.5])
TOLERANCE = mlp.Capability.FEASIBILITY_TOLERANCE


def attempt(solver: mlp.Backend, problem: mlp.Problem = PROBLEM, *, repair: bool = True, **options: Any) -> Attempt:
    return run_attempt(problem, Request(solver, mlp.Options(**options), 1e-7, repair, StepTimer()))


def careless(*, improves: bool = True, outcome: mlp.Outcome = mlp.Outcome.OPTIMAL) -> ScriptedBackend:
    """A solver that returns half of the optimal pair, which polishing cannot mend, unless it is asked for more."""

    def answer(problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        h, y = optimal_pair(problem)
        share = 1.0 if options.feasibility_tolerance and improves else 0.5
        return mlp.Answer(outcome, share * h, share * y, "fine", iterations=7)

    return ScriptedBackend(answer, TOLERANCE, mlp.Capability.ITERATION_LIMIT, mlp.Capability.TIME_LIMIT)


def imprecise(problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
    h, y = optimal_pair(problem)
    return mlp.Answer(mlp.Outcome.OPTIMAL, h, y * (1 + 1e-4), "nearly")


def test_an_answer_that_proves_itself_is_taken_as_it_is() -> None:
    solver = ScriptedBackend(optimal_answer(), TOLERANCE)
    found = attempt(solver)
    assert found.certificate.holds()
    assert found.certificate.objective == pytest.approx(SIZE)
    assert found.repairs == ()
    assert len(solver.seen) == 1


def test_a_rough_answer_is_polished_and_says_so() -> None:
    found = attempt(ScriptedBackend(imprecise), ROUGH)
    assert found.repairs == ("polished",)
    assert found.certificate.holds()
    assert mlp.solve(ROUGH, ScriptedBackend(imprecise)).repairs == ("polished",)


def test_without_repair_a_rough_answer_stays_rough() -> None:
    solver = ScriptedBackend(imprecise, TOLERANCE)
    found = attempt(solver, ROUGH, repair=False)
    assert found.repairs == ()
    assert not found.certificate.holds()
    assert len(solver.seen) == 1


def test_only_an_answer_that_is_called_optimal_is_polished() -> None:
    def stopped(problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        return replace(imprecise(problem, options), outcome=mlp.Outcome.LIMIT)

    assert attempt(ScriptedBackend(stopped), ROUGH).repairs == ()


def test_a_solver_that_stops_short_is_asked_again_with_a_tighter_tolerance() -> None:
    solver = careless()
    found = attempt(solver)
    assert found.repairs == ("asked again",)
    assert found.certificate.holds()
    assert [options.feasibility_tolerance for options in solver.seen] == [None, TIGHT_TOLERANCE]
    assert found.answer.iterations == 14  # of both runs


def test_the_second_run_has_other_units() -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    X[0] = 1e6  # an outlier decides the largest entry, not the typical one
    largest: list[float] = []

    def answer(problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        largest.append(float(np.abs(problem.A.toarray()).max()))
        return mlp.Answer(mlp.Outcome.FAILED, None, None, "no")

    attempt(ScriptedBackend(answer, TOLERANCE), mlp.Problem.from_arrays(X, -1.0, 1.0))
    first, second = largest
    assert 1 <= first < 2
    assert second > 1e5


def test_a_second_answer_that_is_no_better_is_dropped() -> None:
    solver = careless(improves=False)
    found = attempt(solver)
    assert len(solver.seen) == 2
    assert "asked again" not in found.repairs
    assert found.answer.iterations == 7


@pytest.mark.parametrize(
    "options", [{"feasibility_tolerance": 1e-8}, {"iteration_limit": 1000}, {"time_limit": 1e-9}], ids=str
)
def test_a_solver_is_not_asked_again_beyond_what_the_caller_allows(options: dict[str, Any]) -> None:
    solver = careless(improves=False)
    attempt(solver, **options)
    assert len(solver.seen) == 1


def test_a_solver_without_a_tolerance_is_not_asked_again() -> None:
    solver = ScriptedBackend(careless().answer)
    attempt(solver)
    assert len(solver.seen) == 1


@pytest.mark.parametrize(
    ("outcome", "runs"),
    [(mlp.Outcome.OPTIMAL, 2), (mlp.Outcome.FAILED, 2), (mlp.Outcome.INFEASIBLE, 2), (mlp.Outcome.LIMIT, 1)],
)
def test_a_limit_is_no_reason_to_ask_again(outcome: mlp.Outcome, runs: int) -> None:
    solver = careless(outcome=outcome)
    attempt(solver)
    assert len(solver.seen) == runs


def test_infeasible_is_a_reason_to_ask_again_only_where_the_empty_set_is_feasible() -> None:
    solver = ScriptedBackend(mlp.Answer(mlp.Outcome.INFEASIBLE, None, None, "no"), TOLERANCE)
    attempt(solver, mlp.Problem.from_arrays(np.ones((3, 1)), 2.0, 3.0))
    assert len(solver.seen) == 1


def test_a_proof_of_emptiness_is_not_questioned() -> None:
    """The multipliers prove that no set has the mean, though h violates a bound."""
    problem = mlp.Spec(tolerance=mlp.Absolute(0.0)).compile([[1.0], [1.5]], mean=[0.0])
    solver = ScriptedBackend(mlp.Answer(mlp.Outcome.FAILED, np.array([0.5, 0.0]), np.array([1.0]), ""), TOLERANCE)
    found = attempt(solver, problem)
    assert not found.certificate.holds()
    assert len(solver.seen) == 1


def test_every_step_is_timed() -> None:
    request = Request(careless(), mlp.Options(), 1e-7, True, StepTimer())
    run_attempt(PROBLEM, request)
    assert set(request.timer.seconds) == {"scale", "run", "certify"}
    assert request.timer.total == sum(request.timer.seconds.values()) > 0


def test_the_time_that_is_left_is_what_the_steps_did_not_take() -> None:
    timer = StepTimer()
    timer.seconds = {"scale": 1.0, "run": 2.5}
    assert remaining_options(mlp.Options(), timer) == mlp.Options()
    assert remaining_options(mlp.Options(time_limit=5.0), timer) == mlp.Options(time_limit=1.5)
    assert remaining_options(mlp.Options(time_limit=3.5), timer) is None


@pytest.mark.parametrize("backend", [info.name for info in mlp.backends() if info.available])
def test_numbers_that_overflow_in_other_units_leave_the_first_answer(backend: str) -> None:
    """Distances to a far point, as a kernel: from 1 down to the smallest numbers that there are."""
    far = np.random.default_rng(0).normal(39.9, 1.0, 19)
    columns = np.append(np.exp(-0.45 * far**2), 1.0)[:, None]
    assert 0 < np.median(columns) < 1e-300
    solution = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(0.0)).compile(columns, labelled=[0, 1]), backend)
    assert solution.status in (mlp.Status.OPTIMAL, mlp.Status.FAILED)
    assert solution.status is mlp.Status.OPTIMAL or solution.message
