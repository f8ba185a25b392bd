"""The contract between momentlp and a backend: options are checked, and a backend receives well-scaled numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import momentlp as mlp


class Recorder(mlp.Backend):
    """Keeps the matrix it receives, and returns the empty set."""

    name, engine, package = "recorder", "none", "numpy"
    received: np.ndarray

    @classmethod
    def version(cls) -> str:
        return "1"

    def run(self, problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        self.received = problem.A.toarray()
        return mlp.Answer(mlp.Outcome.LIMIT, np.zeros(problem.n_points), np.zeros(problem.n_moments), "recorded")


def receive(problem: mlp.Problem) -> np.ndarray:
    """Return the matrix A that a backend receives."""
    recorder = Recorder()
    mlp.solve(problem, recorder, repair=False)
    return recorder.received


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e9 / 7])
def test_rounding_errors_of_a_constant_feature_are_not_scaled_up(value: float) -> None:
    """The mean of three times 0.1 is not 0.1 in floats. Scaled to 1, the difference would be an infeasible equation."""
    X = np.column_stack([np.full(9, value), np.arange(9.0)])
    problem = mlp.Spec().compile(X, mean=[(value + value + value) / 3 * (1 + 2.0**-52), 1.0])
    assert 0 < np.abs(problem.A.toarray()[:, 0]).max() < 1e-6  # there is a rounding error
    assert np.abs(receive(problem)[:, 0]).max() < 1e-9  # and solvers do not see it


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_a_backend_receives_moments_of_about_one(unit: float) -> None:
    X = unit * np.arange(9.0)[:, None]
    assert 0.5 <= np.abs(receive(mlp.Spec().compile(X, labelled=[0, 1, 2]))).max() <= 16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": 0}, "time_limit must be a number above 0, not 0"),
        ({"time_limit": True}, "time_limit must be a number above 0, not True"),
        ({"time_limit": float("nan")}, "time_limit must be a number above 0, not nan"),
        ({"feasibility_tolerance": "small"}, "feasibility_tolerance must be a number above 0, not 'small'"),
        ({"iteration_limit": -1}, "iteration_limit must be an integer from 0 to 2147483647, not -1"),
        ({"iteration_limit": 2.0}, "iteration_limit must be an integer from 0 to 2147483647, not 2.0"),
        ({"threads": 0}, "threads must be an integer from 1 to 2147483647, not 0"),
        ({"verbose": 1}, "verbose must be True or False, not 1"),
        ({"log": "here"}, "log must be a function of a text, not 'here'"),
        ({"progress": 1}, "progress must be a function of a Progress, not 1"),
        ({"native": [1]}, r"options must be a mapping of native options, not \[1\]"),
    ],
)
def test_a_bad_option_is_named_with_its_value(options: dict[str, Any], message: str) -> None:
    with pytest.raises(mlp.OptionError, match=message):
        mlp.Options(**options)


def test_options_of_numpy_become_plain_numbers() -> None:
    options = mlp.Options(time_limit=np.float32(2), iteration_limit=np.int64(3), verbose=np.bool_(True))
    assert (type(options.time_limit), type(options.iteration_limit), type(options.verbose)) == (float, int, bool)


def test_options_name_the_capabilities_that_they_need() -> None:
    assert mlp.Options(verbose=True).asked() == set()
    assert mlp.Options(time_limit=1.0, log=print).asked() == {mlp.Capability.TIME_LIMIT, mlp.Capability.LOG}


def test_every_capability_is_an_option() -> None:
    assert all(hasattr(mlp.Options(), capability.value) for capability in set(mlp.Capability) - {mlp.Capability.INTEGER})


def test_the_log_goes_to_the_function_or_to_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    assert mlp.Options().sink is None
    for options in (mlp.Options(log=lines.append, verbose=True), mlp.Options(verbose=True)):
        assert options.sink is not None
        options.sink("a line\n")
    assert lines == ["a line\n"]
    assert capsys.readouterr().out == "a line\n"


def test_a_backend_names_the_native_options_it_does_not_know() -> None:
    backend = Recorder(depth=2)
    assert repr(backend) == "Recorder(depth=2)"
    backend.reject_unknown({"depth": 2}, {"depth": int, "width": int})
    with pytest.raises(mlp.OptionError, match="recorder has no option 'dpth'; it knows depth, width"):
        backend.reject_unknown({"dpth": 2}, {"depth": int, "width": int})
