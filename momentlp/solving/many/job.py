"""What :func:`momentlp.solve_many` does with every problem, in this process or at the far end of :mod:`momentlp.solving.many.pool`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from momentlp.backend.interface import Backend, Capability
from momentlp.backend.registry import get_backend
from momentlp.errors import DataError
from momentlp.problem.problem import Problem
from momentlp.runtime.messages import MessageChannel, error_text, picklable_error, receive
from momentlp.runtime.pickling import Parcel, pack, unpack
from momentlp.runtime.shared_arrays import map_shared_array, memory_key
from momentlp.runtime.worker_process import die_with_parent, exit_immediately, flush_output, redirect_stream
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve

__all__ = ["PROBLEM_TOKEN", "CallJob", "Job", "main"]

PROBLEM_TOKEN = "problem"  # what a worker calls the problem that it was given


@dataclass(frozen=True)
class Job:
    """How to solve a problem, and what to keep of its solution.

    Examples
    --------
    >>> problem = Problem.from_arrays([[-1.0], [1.0]], lower=0.0, upper=0.0)
    >>> Job("auto", {}, lambda solution: solution.objective).done(problem)
    (True, 2.0)
    >>> Job("auto", {}, None).done(7)
    (False, DataError('problems holds int where a Problem belongs: compile one with Spec.compile.'))
    """

    backend: str | Backend
    settings: dict[str, Any]
    keep: Callable[[Solution], Any] | None

    def done(self, item: Any) -> tuple[bool, Any]:
        """Return whether it was done, and what came of it: a value or an error."""
        try:
            return True, self._do(item)
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a solver or the caller's function raises
            return False, error

    def limited(self, threads: int) -> Job:
        """Return the job with so many threads for the solver, if it has threads and nobody has spoken of them."""
        solver = get_backend(self.backend)
        native = {**solver.native, **(self.settings.get("options") or {})}
        spoken = self.settings.get("threads") is not None or "threads" in native
        if spoken or Capability.THREADS not in solver.capabilities:
            return self
        return self.having("threads", threads)

    def having(self, setting: str, value: Any) -> Job:
        """Return the job with another setting."""
        return replace(self, settings={**self.settings, setting: value})

    def _do(self, item: Any) -> Any:
        problem = item() if callable(item) and not isinstance(item, Problem) else item
        if not isinstance(problem, Problem):
            whose = "a function among problems returned" if problem is not item else "problems holds"
            raise DataError(f"{whose} {type(problem).__name__} where a Problem belongs: compile one with Spec.compile.")
        solution = solve(problem, self.backend, **self.settings)
        return solution if self.keep is None else self.keep(solution)


class CallJob(Job):
    """A job that calls every item, a function without arguments, for work that is more than one solve.

    Examples
    --------
    >>> CallJob("auto", {}, None).done(lambda: 7)
    (True, 7)
    """

    def _do(self, item: Any) -> Any:
        return item()


def main() -> NoReturn:
    """Be a worker: take the job, then one problem after the other, until the parent closes the line."""
    orders, reports = redirect_stream(0, "rb"), redirect_stream(1, "wb")
    die_with_parent()
    line = MessageChannel(reports)
    try:
        parcel, heard = receive(orders)
        try:
            job: Job = unpack(parcel, map_shared_array)
        except Exception as error:  # noqa: BLE001  whatever the import of the caller's module raises
            line.send("refused", f"backend, keep or an option cannot be loaded in a worker process ({error_text(error)}).")
            exit_immediately(1)
        if heard:
            job = job.having("log", line.caller("log"))
        line.send("ready")
        while True:
            answer = _answer(job, receive(orders))
            flush_output()
            line.send("result", answer)
            del answer
    except EOFError:
        exit_immediately(0)


def _answer(job: Job, parcel: Parcel) -> Parcel:
    """Solve one problem and pack what came of it, with the warnings, which the filters of the parent are to judge."""
    arrays: dict[Any, Any] = {}
    item: Any = None
    value: Any

    def find(token: Any) -> Any:
        if token not in arrays:
            arrays[token] = map_shared_array(token)
        return arrays[token]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            item = unpack(parcel, find)
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever the import of the caller's module raises
            reason = f"a problem cannot be loaded in a worker process ({error_text(error)})"
            good, value = False, DataError(f"{reason}: what it is made of must be importable there.")
        else:
            good, value = job.done(item)
    if not good:
        value = picklable_error(value, lambda error: unpack(pack(error, lambda _: None), map_shared_array))
    tokens = {memory_key(array): token for token, array in arrays.items()}

    def token(thing: object) -> Any:
        if thing is item and isinstance(item, Problem):
            return PROBLEM_TOKEN
        return tokens.get(memory_key(thing)) if isinstance(thing, np.ndarray) else None

    heard = [(one.message, one.category, one.filename, one.lineno) for one in caught]
    try:
        return pack((good, value, heard), token)
    except Exception as error:  # noqa: BLE001  whatever the pickle of a caller's object raises
        reason = f"what keep returned, or a warning, cannot leave its worker process ({error_text(error)})."
        return pack((False, DataError(reason), []), token)
