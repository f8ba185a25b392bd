"""A job solves a problem, keeps what the caller wants, and catches errors."""

from __future__ import annotations

import sys

import pytest
from helpers.many_problems import same, small

import momentlp as mlp
from momentlp.solving.many.job import CallJob, Job


def interrupt() -> mlp.Problem:
    raise KeyboardInterrupt


def test_a_problem_or_a_function_that_returns_one_is_solved() -> None:
    job = Job("auto", {}, None)
    for item in (small(1), lambda: small(1)):
        succeeded, solution = job.run(item)
        assert succeeded
        assert same(solution, mlp.solve(small(1)))


def test_settings_are_arguments_of_solve() -> None:
    lines: list[str] = []
    assert Job("highs", {"log": lines.append}, None).run(small(0))[0]
    assert "HiGHS" in "".join(lines)


def test_the_result_of_keep_is_the_result_of_the_job() -> None:
    assert Job("auto", {}, lambda solution: solution.status).run(small(0)) == (True, mlp.Status.OPTIMAL)


def test_errors_of_the_solver_of_keep_and_of_the_items_are_returned() -> None:
    def fail(*_: object) -> mlp.Problem:
        raise KeyError("mine")

    for job, item in ((Job("auto", {}, fail), small(0)), (Job("auto", {}, None), fail), (CallJob("auto", {}, None), fail)):
        succeeded, error = job.run(item)
        assert not succeeded
        assert isinstance(error, KeyError)
    succeeded, error = Job("auto", {"tol": -1}, None).run(small(0))
    assert not succeeded
    assert isinstance(error, mlp.OptionError)
    assert isinstance(Job("auto", {}, None).run(lambda: sys.exit(3))[1], SystemExit)


def test_an_interrupt_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        Job("auto", {}, None).run(interrupt)


def test_an_item_that_is_not_a_problem_is_named() -> None:
    job = Job("auto", {}, None)
    assert str(job.run(7)[1]).startswith("problems holds int where a Problem belongs")
    assert str(job.run(lambda: 7)[1]).startswith("a function among problems returned int where a Problem belongs")


def test_the_number_of_threads_is_set_unless_the_caller_chose_one_or_the_solver_takes_none() -> None:
    assert Job("highs", {}, None).with_solver_threads(3).settings == {"threads": 3}
    assert Job("highs", {"threads": 1}, None).with_solver_threads(3).settings == {"threads": 1}
    assert Job("highs", {"options": {"threads": 1}}, None).with_solver_threads(3).settings == {"options": {"threads": 1}}
    assert Job("glpk", {}, None).with_solver_threads(3).settings == {}


def test_a_setting_is_replaced_in_a_copy() -> None:
    job = CallJob("auto", {"tol": 1e-6}, None)
    changed = job.with_setting("tol", 1e-3)
    assert (job.settings, changed.settings) == ({"tol": 1e-6}, {"tol": 1e-3})
    assert type(changed) is CallJob


def test_a_call_job_returns_what_the_function_returns() -> None:
    assert CallJob("auto", {}, None).run(lambda: 7) == (True, 7)
