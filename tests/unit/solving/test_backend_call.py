"""A backend that breaks its contract is at fault; an error of the caller's own function stays the caller's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.scripted_backend import ScriptedBackend

import momentlp as mlp
from momentlp.solving.backend_call import CallerFunction, call_backend
from momentlp.testing import half_space

PROBLEM, _ = half_space(120, 3, seed=0)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("not an answer", "returned str, but it must return an Answer"),
        (mlp.Answer(mlp.Outcome.OPTIMAL, np.ones(5), np.zeros(3), ""), r"returned membership of shape \(5,\), not \(120,\)"),
        (mlp.Answer(mlp.Outcome.OPTIMAL, np.ones(120), np.zeros((3, 1)), ""), r"multipliers of shape \(3, 1\), not \(3,\)"),
        (mlp.Answer(mlp.Outcome.OPTIMAL, ["many"] * 120, None, ""), "returned membership that cannot be read as numbers"),
    ],
    ids=["another type", "a short membership", "folded multipliers", "text"],
)
def test_a_broken_contract_is_the_fault_of_the_backend(answer: Any, fault: str) -> None:
    with pytest.raises(mlp.SolverError, match=f"backend 'scripted' .*{fault}"):
        mlp.solve(PROBLEM, ScriptedBackend(answer))


def test_lists_of_numbers_become_arrays() -> None:
    answer = mlp.Answer(mlp.Outcome.OPTIMAL, [1] * 120, [0, 0, 0], "")  # type: ignore[arg-type]
    checked = call_backend(ScriptedBackend(answer), PROBLEM, mlp.Options())
    assert isinstance(checked.membership, np.ndarray)
    assert checked.membership.dtype == np.float64
    assert isinstance(checked.multipliers, np.ndarray)


def test_an_error_of_the_backend_becomes_a_solver_error() -> None:
    def fail(problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        raise KeyError("basis")

    with pytest.raises(mlp.SolverError, match=r"backend 'scripted' failed with KeyError: 'basis'.*problem\.save") as caught:
        mlp.solve(PROBLEM, ScriptedBackend(fail))
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("error", [mlp.OptionError("no such option."), MemoryError()], ids=repr)
def test_errors_that_say_enough_pass_unchanged(error: Exception) -> None:
    def fail(problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        raise error

    with pytest.raises(type(error)) as caught:
        mlp.solve(PROBLEM, ScriptedBackend(fail))
    assert caught.value is error


@pytest.mark.parametrize("backend", ["highs", "glpk"])
def test_an_error_in_a_callback_reaches_the_caller(backend: str) -> None:
    def fail(text: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        mlp.solve(half_space(400, 12, seed=4)[0], backend, log=fail)
    assert mlp.solve(PROBLEM, backend).status is mlp.Status.OPTIMAL


def test_an_error_of_the_same_type_from_elsewhere_is_not_the_callers() -> None:
    def swallow_and_fail(problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        assert options.log is not None
        try:
            options.log("line")
        except ZeroDivisionError:
            raise ZeroDivisionError("in the solver") from None
        raise AssertionError

    def fail(text: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(mlp.SolverError, match="in the solver"):
        mlp.solve(PROBLEM, ScriptedBackend(swallow_and_fail, mlp.Capability.LOG), log=fail)


def test_the_first_error_of_a_callback_is_kept() -> None:
    errors = [ValueError("first"), ValueError("second")]

    def fail() -> None:
        raise errors[fail_count.pop()]

    fail_count = [1, 0]
    watched = CallerFunction(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"first|second"):
            watched()
    assert watched.error is errors[0]
