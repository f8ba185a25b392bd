"""solve_many returns the results in the order of the problems, and one failure does not affect the others."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.many_problems import in_one_and_two_processes, same, small
from helpers.misbehaving import Misbehaving, UnpicklableError

import momentlp as mlp


def raises() -> mlp.Problem:
    raise KeyError("no such file")


def raises_unpicklable_error() -> mlp.Problem:
    raise UnpicklableError("this", "that")


@in_one_and_two_processes
def test_one_failure_does_not_affect_the_others(n_jobs: int) -> None:
    good = small(0)
    mixed: list[Any] = [
        good,
        raises,
        partial(small, 1),
        lambda: sys.exit(3),
        raises_unpicklable_error,
        7,
        lambda: 7,
        small(2),
    ]
    found = mlp.solve_many(mixed, n_jobs=n_jobs)
    assert [isinstance(result, mlp.Solution) for result in found] == [True, False, True, False, False, False, False, True]
    assert same(found[2], mlp.solve(small(1)))
    failed = [result for result in found if isinstance(result, mlp.FailedSolve)]
    assert [failure.index for failure in failed] == [1, 3, 4, 5, 6]
    assert [failure.status for failure in failed] == [mlp.Status.FAILED] * 5
    assert repr(failed[0]) == "FailedSolve(1, KeyError: 'no such file')"
    assert failed[0].summary() == {"status": "failed", "message": "KeyError: 'no such file'"}
    assert isinstance(failed[1].error, SystemExit)
    assert "this and that" in str(failed[2].error)
    with pytest.raises(KeyError, match="no such file"):
        failed[0].raise_()
    with pytest.raises(mlp.DataError, match="problems holds int"):
        failed[3].raise_()
    with pytest.raises(mlp.DataError, match="returned int"):
        failed[4].raise_()


@in_one_and_two_processes
def test_a_solver_that_raises_fails_its_problem(n_jobs: int) -> None:
    given = small(0)
    (found,) = mlp.solve_many([given], Misbehaving(how="fail"), n_jobs=n_jobs)
    assert isinstance(found, mlp.FailedSolve)
    assert found.problem is given
    with pytest.raises(mlp.SolverError, match="'misbehaving' failed with KeyError"):
        found.raise_()


@in_one_and_two_processes
def test_no_problems_give_no_results(n_jobs: int) -> None:
    assert mlp.solve_many([], n_jobs=n_jobs) == []
    assert mlp.solve_many(iter(()), n_jobs=n_jobs) == []


@in_one_and_two_processes
def test_the_result_of_keep_replaces_the_solution(n_jobs: int) -> None:
    given: list[Any] = [small(0), raises, small(1)]

    def keep(solution: mlp.Solution) -> Any:
        if solution.membership[1] < 0.5:
            raise ValueError("nothing to keep")
        return {"objective": solution.objective, "problem": solution.problem}

    found: list[Any] = mlp.solve_many(given, n_jobs=n_jobs, keep=keep)
    expected = [mlp.solve(given[0]), None, mlp.solve(given[2])]
    for one, solution, problem in zip(found, expected, given, strict=True):
        if solution is None or solution.membership[1] < 0.5:
            assert isinstance(one, mlp.FailedSolve)
            assert one.problem is None
        else:
            assert one["objective"] == pytest.approx(solution.objective)
            assert one["problem"] is problem


@in_one_and_two_processes
def test_warnings_in_workers_are_warnings_of_the_caller(n_jobs: int) -> None:
    alone = mlp.Spec(tolerance=mlp.Absolute(1e-9)).compile(np.random.default_rng(0).normal(size=(5, 6)), labelled=[0, 1])
    with pytest.warns(mlp.OnlyLabelledWarning, match="the answer is the labelled set itself"):
        found = mlp.solve_many([alone], n_jobs=n_jobs)
    assert found[0].status is mlp.Status.OPTIMAL
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mlp.solve_many([alone], n_jobs=n_jobs)
    assert isinstance(found[0], mlp.FailedSolve)
    assert isinstance(found[0].error, mlp.OnlyLabelledWarning)


def never() -> Iterator[mlp.Problem]:
    raise AssertionError("a problem was taken")
    yield


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"n_jobs": 1.5}, "n_jobs must be an integer, not 1.5. -1 stands for all cores."),
        ({"n_jobs": True}, "n_jobs"),
        ({"keep": "objective"}, "keep must be a function of a Solution, not 'objective'"),
        ({"progress": 3}, "progress must be True, False or a function"),
        ({"backend": "hihgs"}, "hihgs"),
        ({"tol": -1}, "tol"),
        ({"time_limit": 0}, "time_limit"),
        ({"repair": 1}, "repair"),
        ({"isolate": 1}, "isolate"),
        ({"memory_limit": 10**9}, "memory_limit"),
        ({"isolate": True, "memory_limit": 1}, "memory_limit"),
        ({"backend": "glpk", "threads": 2}, "threads"),
        ({"options": 3}, "options"),
    ],
)
def test_a_wrong_call_is_refused_before_any_work(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(mlp.MomentLPError, match=named):
        mlp.solve_many(never(), **({"n_jobs": 2} | wrong))


def test_other_wrong_calls_are_refused_too() -> None:
    with pytest.raises(TypeError, match="tiem_limit"):
        mlp.solve_many(never(), tiem_limit=3)
    with pytest.raises(mlp.DataError, match="call solve for one"):
        mlp.solve_many(small(0))  # type: ignore[arg-type]
    with pytest.raises(mlp.DataError, match="problems must be a list"):
        mlp.solve_many(3)  # type: ignore[arg-type]


@in_one_and_two_processes
def test_an_option_that_the_solver_refuses_is_a_mistake_in_the_call(n_jobs: int) -> None:
    with pytest.raises(mlp.OptionError, match="no_such_option"):
        mlp.solve_many([small(0)], n_jobs=n_jobs, options={"no_such_option": 1})


@in_one_and_two_processes
def test_errors_of_the_callers_own_functions_reach_the_caller(n_jobs: int) -> None:
    def broken() -> Iterator[mlp.Problem]:
        yield small(0)
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        mlp.solve_many(broken(), n_jobs=n_jobs)


def test_progress_is_called_with_the_number_done_and_the_total() -> None:
    reported: list[tuple[int, int | None]] = []
    mlp.solve_many([small(0), raises, small(1)], progress=lambda done, total: reported.append((done, total)))
    assert reported == [(1, 3), (2, 3), (3, 3)]


def test_an_interrupt_is_raised_and_not_recorded_as_a_failure() -> None:
    def interrupt() -> mlp.Problem:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mlp.solve_many([small(0), interrupt, small(1)])


def test_an_error_that_is_its_own_cause_is_recorded() -> None:
    def wrong() -> mlp.Problem:
        error = ValueError("its own cause")
        raise error from error

    (failed,) = mlp.solve_many([wrong])
    assert isinstance(failed, mlp.FailedSolve)
