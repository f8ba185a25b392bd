"""One call of a backend: its errors become a SolverError, and its answer is checked for type and shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from momentlp.backend.interface import Answer, Backend, Options
from momentlp.errors import MomentLPError, SolverError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem

__all__ = ["CallerFunction", "call_backend"]


class CallerFunction:
    """A function of the caller, ``log`` or ``progress``, that records what it raised.

    A backend passes such an error on. :func:`call_backend` recognises it here and raises it unchanged, instead of calling it
    a bug of the solver.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.error: BaseException | None = None

    @classmethod
    def wrap(cls, function: Any) -> Any:
        """Wrap a function. A value that is not a function is returned as it is, for ``Options`` to accept or refuse."""
        return cls(function) if callable(function) else function

    def __call__(self, *arguments: Any) -> None:
        """Call the function; record and raise its error."""
        try:
            self.function(*arguments)
        except BaseException as error:
            self.error = self.error or error  # a solver may call again before it stops
            raise


def call_backend(solver: Backend, scaled: Problem, options: Options) -> Answer:
    """Run a backend on a scaled problem and check that it keeps its contract.

    Returns
    -------
    Answer
        With float arrays of the right shapes, or None where the backend gave none. The values may be anything.

    Raises
    ------
    SolverError
        If the backend raises an error of its own, or returns something that is not an answer to this problem.
    """
    try:
        answer = solver.run(scaled, options)
    except (MomentLPError, MemoryError):
        raise
    except Exception as error:
        if any(isinstance(call, CallerFunction) and call.error is error for call in (options.log, options.progress)):
            raise
        raise SolverError(
            f"backend {solver.name!r} failed with {type(error).__name__}: {error}. This is a bug in the solver or in its "
            "backend; save the problem with problem.save(path) and report it, or try another backend."
        ) from error
    if not isinstance(answer, Answer):
        raise SolverError(f"backend {solver.name!r} returned {type(answer).__name__}, but it must return an Answer.")
    h = _check_array(solver, "membership", answer.membership, scaled.n_points)
    y = _check_array(solver, "multipliers", answer.multipliers, scaled.n_moments)
    return replace(answer, membership=h, multipliers=y)


def _check_array(solver: Backend, field: str, values: Any, length: int) -> FloatArray | None:
    if values is None:
        return None
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SolverError(f"backend {solver.name!r} returned {field} that cannot be read as numbers.") from None
    if array.shape != (length,):
        raise SolverError(f"backend {solver.name!r} returned {field} of shape {array.shape}, not ({length},).")
    return array
