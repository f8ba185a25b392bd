"""Solve in a separate process, so that a solver that crashes, hangs or takes too much memory harms nothing else.

:class:`Isolated` is a backend around another backend. It sends the scaled problem to a new Python process
(:mod:`momentlp.solving.isolation_worker`), the backend runs there, and the answer is read back. The certificate judges the
answer in this process, as for every backend. The worker process ends with the solve or with its parent, whichever ends
first.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, NoReturn

from momentlp._version import __version__
from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome
from momentlp.backend.registry import get_backend
from momentlp.errors import OptionError, SolverError
from momentlp.points.chunked import load_in_memory
from momentlp.problem.problem import Problem
from momentlp.runtime.argument_checks import check_integer
from momentlp.runtime.worker_process import STDERR_LINE, UNREADABLE, WORKER_EXITED, WorkerProcess

__all__ = ["Isolated"]

WORKER_MODULE = "momentlp.solving.isolation_worker"
MAX_SECONDS_TO_START = 60.0  # Python and a solver load in one or two seconds; a worker that takes longer hangs
# A solver that keeps the time limit itself may answer this much later, in seconds and as a share of the limit.
GRACE_SECONDS, GRACE_SHARE = 0.5, 0.1
MIN_MEMORY_BYTES = 1 << 26  # with less, the worker could not even report that it has too little


class Isolated(Backend):
    """Run another backend in a worker process. ``solve(..., isolate=True)`` uses this class.

    Parameters
    ----------
    inner : str or Backend
        The backend to run. Its class must be importable: a class that was typed at a prompt does not exist in another
        process.
    memory_limit : int, optional
        Bytes that the worker may take in addition to Python and the code of the solver; Linux only.

    Examples
    --------
    >>> import momentlp as mlp
    >>> from momentlp_highs import Highs
    >>> problem = mlp.Spec().compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    >>> solution = mlp.solve(problem, Isolated(Highs(), memory_limit=2 * 10**9), time_limit=60)
    >>> solution.status.name, solution.backend
    ('OPTIMAL', 'highs')
    """

    name: ClassVar[str] = "isolated"
    engine: ClassVar[str] = "any"
    package: ClassVar[str] = "momentlp"

    def __init__(self, inner: str | Backend, memory_limit: int | None = None) -> None:
        inner = get_backend(inner)
        super().__init__(**inner.native)
        limit = _check_memory_limit(memory_limit)
        if isinstance(inner, Isolated):
            limit = inner.memory_limit if limit is None else limit
            inner = inner.inner
        self.inner: Backend = inner
        self.memory_limit: int | None = limit
        # Callers see the inner backend. Only the time limit is added: this process can always keep it.
        self.__dict__ |= {word: getattr(inner, word) for word in ("name", "engine", "package", "extra", "version")}
        self.__dict__["capabilities"] = inner.capabilities | {Capability.TIME_LIMIT}

    @classmethod
    def version(cls) -> str:
        """Return the version of momentlp; an instance returns the version of its inner backend."""
        return __version__

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve in a worker process. The process has ended when this method returns or raises."""
        callbacks = ["progress"] if options.progress is not None else []
        callbacks += ["log"] if options.sink is not None and Capability.LOG in self.inner.capabilities else []
        sent = replace(options, log=None, progress=None, time_limit=options.time_limit if self._inner_keeps_time else None)
        pickles = {"backend": _pickle_argument("backend", self.inner), "options": _pickle_argument("options", sent)}
        with self._start_worker(options) as worker:
            worker.send_in_background((pickles, callbacks, self.memory_limit))
            bare_problem = _remove_feature_maps(problem)
            if self._wait_for_reply(worker, options, time.monotonic() + MAX_SECONDS_TO_START) is None:
                raise SolverError(
                    f"backend {self.name!r} did not load within {MAX_SECONDS_TO_START:g} s in a worker process: try again, "
                    "or leave out isolate."
                )
            started = time.monotonic()
            worker.send_in_background(bare_problem)
            reply = self._wait_for_reply(worker, options, self._deadline(options, started))
            if reply is None:
                seconds = time.monotonic() - started
                return Answer(Outcome.LIMIT, None, None, f"stopped after {seconds:.3g} s by time_limit")
            if options.verbose:
                for kind, *content in _remaining_output(worker):
                    _relay(kind, content, options)
            answer: Answer = reply[0]  # it may be anything: solve checks it, as it checks the answers of all backends
            return answer

    def __repr__(self) -> str:
        return f"Isolated({self.inner!r}, memory_limit={self.memory_limit})"

    @property
    def _inner_keeps_time(self) -> bool:
        return Capability.TIME_LIMIT in self.inner.capabilities

    def _start_worker(self, options: Options) -> WorkerProcess:
        # With a memory limit, C's malloc gets one arena: every further arena reserves 64 MB of address space, which counts
        # against the limit although most of it is never used.
        limited = {"MALLOC_ARENA_MAX": "1"} if self.memory_limit is not None else {}
        environment = {**limited, **os.environ}
        return WorkerProcess(WORKER_MODULE, environment=environment, stderr="forward" if options.verbose else "keep")

    def _deadline(self, options: Options, started: float) -> float | None:
        """Return when to stop the worker. A solver that keeps the time itself gets longer: it may have a point to return."""
        if options.time_limit is None:
            return None
        grace = GRACE_SECONDS + GRACE_SHARE * options.time_limit if self._inner_keeps_time else 0.0
        return started + options.time_limit + grace

    def _wait_for_reply(self, worker: WorkerProcess, options: Options, deadline: float | None) -> list[Any] | None:
        """Handle messages until the worker has done what it was asked for.

        Returns
        -------
        list or None
            The content of its reply; None if the deadline has passed.

        Raises
        ------
        SolverError
            If the worker process ended without a reply.
        Exception
            Whatever was raised in the worker.
        """
        while (message := worker.next_message(deadline)) is not None:
            kind, *content = message
            if kind == "done":
                return content
            if kind == "error":
                raise content[0]
            if kind == UNREADABLE:
                raise SolverError(f"the worker process of backend {self.name!r} sent what cannot be read: {content[0]!r}.")
            if kind == WORKER_EXITED:
                self._on_worker_exit(worker)
            _relay(kind, content, options)
        return None

    def _on_worker_exit(self, worker: WorkerProcess) -> NoReturn:
        """Raise an error that says how the worker process ended, and what the caller can do."""
        how = worker.describe_exit()
        advice = "save the problem with problem.save(path) and report it, or try another backend"
        if self.memory_limit is not None:
            advice = f"if it ran out of memory, raise memory_limit (now {self.memory_limit} bytes); if not, {advice}"
        printed = "".join(worker.last_lines).strip()
        last_lines = f" The last lines that it printed:\n{printed}" if printed else ""
        raise SolverError(
            f"backend {self.name!r} crashed: its worker process {how} without an answer. This process is not affected; "
            f"{advice}.{last_lines}"
        )


def _remaining_output(worker: WorkerProcess) -> Iterator[tuple[Any, ...]]:
    """Return the lines that the worker printed before its answer and that are not yet read."""
    worker.wait_for_exit()
    while not worker.inbox.empty():
        _, message = worker.inbox.get()
        if message[0] == STDERR_LINE:
            yield message


def _relay(kind: str, content: list[Any], options: Options) -> None:
    """Do in this process what the solver did in the worker: print, warn, or call the caller's function."""
    if kind == "log" and options.sink is not None:
        options.sink(*content)
    elif kind == "progress" and options.progress is not None:
        options.progress(*content)
    elif kind == STDERR_LINE:
        print(*content, end="", flush=True)  # noqa: T201  the caller asked for it, with verbose=True
    elif kind == "warning":
        warnings.warn_explicit(*content)


def _remove_feature_maps(problem: Problem) -> Problem:
    """Return the problem without fitted maps and names of features: no solver needs them, and workers may not know them."""
    blocks = [replace(block, features=load_in_memory(block.features, "isolate=True")) for block in problem.blocks]
    return replace(problem, blocks=tuple(replace(block, fitted=None, labels=()) for block in blocks))


def _pickle_argument(argument: str, value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise OptionError(
            f"isolate=True cannot send the {argument} to a worker process ({type(error).__name__}: {error}): use plain "
            "values, and classes and functions from a module that can be imported."
        ) from error


def _check_memory_limit(memory_limit: Any) -> int | None:
    if memory_limit is None:
        return None
    hint = "It is a number of bytes: 2 * 10**9 is two gigabytes."
    n_bytes = check_integer("memory_limit", memory_limit, minimum=MIN_MEMORY_BYTES, hint=hint)
    if sys.platform != "linux":
        raise OptionError(f"memory_limit works on Linux only, not on {sys.platform}: leave it out.")
    return n_bytes
