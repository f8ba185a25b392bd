"""A solve in a process of its own: a solver that crashes, hangs or eats memory takes nothing else down.

:class:`Isolated` is a backend around another. It sends the scaled problem to a fresh Python process
(:mod:`momentlp.solving.isolation_worker`), lets the backend run there, and reads its answer back; what the answer is worth is decided here, by
the certificate, as for every backend. The process is started by its command line, so that scripts need no
``if __name__ == "__main__"`` and notebooks work, in a session of its own, so that Ctrl-C at the terminal reaches the parent
only, and it ends with the solve, with its parent, or when it is told to.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Integral
from queue import Empty, SimpleQueue
from typing import IO, Any, ClassVar, Self

from momentlp._version import __version__
from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome
from momentlp.backend.registry import get_backend
from momentlp.errors import OptionError, SolverError
from momentlp.points.chunked import load_in_memory
from momentlp.problem.problem import Problem
from momentlp.runtime.messages import receive, send
from momentlp.runtime.subprocesses import describe_exit_code, kill_process_group, start_worker

__all__ = ["Isolated"]

SECONDS_TO_START = 60.0  # Python and a solver load in one or two; more than this is a hang
GRACE, RELATIVE_GRACE = 0.5, 0.1  # a solver that keeps the time itself may answer so much later
SECONDS_TO_END = 2.0  # for a process whose pipes are closed already
LAST_LINES, LONGEST_LINE = 8, 1 << 12  # of what a crashed solver printed
LEAST_MEMORY = 1 << 26  # bytes: with less, the worker could not even say that it has too little
TICK = 0.1  # seconds: on Windows a wait does not notice Ctrl-C before its end


class Isolated(Backend):
    """A backend that runs in a worker process; ``solve(..., isolate=True)`` makes one.

    Parameters
    ----------
    inner : str or Backend
        What runs there. Its class must be importable: one that was typed at a prompt cannot be found by another process.
    memory_limit : int, optional
        Bytes that the worker may take beyond Python and the solver's own code; Linux only.

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
        held = _checked(memory_limit)
        if isinstance(inner, Isolated):
            held = inner.memory_limit if held is None else held
            inner = inner.inner
        self.inner: Backend = inner
        self.memory_limit: int | None = held
        # To callers it is the backend inside; only the time limit, which is kept from here, is always there.
        self.__dict__ |= {word: getattr(inner, word) for word in ("name", "engine", "package", "extra", "version")}
        self.__dict__["capabilities"] = inner.capabilities | {Capability.TIME_LIMIT}

    @classmethod
    def version(cls) -> str:
        """Return the version of momentlp; an instance returns that of its solver."""
        return __version__

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve in a worker process, and end it whatever happens."""
        heard = ["progress"] if options.progress is not None else []
        heard += ["log"] if options.sink is not None and Capability.LOG in self.inner.capabilities else []
        sent = replace(options, log=None, progress=None, time_limit=options.time_limit if self._keeps_time else None)
        parts = {"backend": _packed("backend", self.inner), "options": _packed("options", sent)}
        with _Worker(self.memory_limit, echo=options.verbose) as worker:
            worker.send((parts, heard, self.memory_limit))
            bare = _bare(problem)
            if self._listen(worker, options, time.monotonic() + SECONDS_TO_START) is None:
                raise SolverError(
                    f"backend {self.name!r} did not load within {SECONDS_TO_START:g} s in a worker process: try again, or "
                    "leave out isolate."
                )
            started = time.monotonic()
            worker.send(bare)
            done = self._listen(worker, options, self._deadline(options, started))
            if done is None:
                seconds = time.monotonic() - started
                return Answer(Outcome.LIMIT, None, None, f"stopped after {seconds:.3g} s by time_limit")
            for kind, *content in worker.last_words():
                _relay(kind, content, options)
            answer: Answer = done[0]  # whether it is one is looked at where all answers are
            return answer

    def __repr__(self) -> str:
        return f"Isolated({self.inner!r}, memory_limit={self.memory_limit})"

    @property
    def _keeps_time(self) -> bool:
        return Capability.TIME_LIMIT in self.inner.capabilities

    def _deadline(self, options: Options, started: float) -> float | None:
        """Return when to end the worker. A solver that keeps the time itself may have a point to give: it gets a grace."""
        if options.time_limit is None:
            return None
        return started + options.time_limit + (GRACE + RELATIVE_GRACE * options.time_limit if self._keeps_time else 0.0)

    def _listen(self, worker: _Worker, options: Options, deadline: float | None) -> list[Any] | None:
        """Do what the worker asks for until it has what was asked of it, and return that; None if its time is up."""
        while (message := worker.next(deadline)) is not None:
            kind, *content = message
            if kind == "done":
                return content
            if kind == "error":
                raise content[0]
            if kind == "end":
                raise SolverError(f"backend {self.name!r} {worker.obituary()}")
            _relay(kind, content, options)
        return None


class _Worker:
    """A worker process, with threads that read and write for it: none of its pipes can hold up the caller."""

    def __init__(self, memory_limit: int | None, *, echo: bool) -> None:
        self.memory_limit, self.echo = memory_limit, echo
        self.inbox: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        self.lines: deque[str] = deque(maxlen=LAST_LINES)
        self.threads: list[threading.Thread] = []
        # A thread that allocates reserves 64 MB of address space, most of which it never uses, but which would count.
        limited = {"MALLOC_ARENA_MAX": "1"} if memory_limit is not None else {}
        self.process = start_worker(
            "momentlp.solving.isolation_worker", stderr=subprocess.PIPE, env={**limited, **os.environ}
        )

    def __enter__(self) -> Self:
        self._start(self._read, self.process.stdout)
        self._start(self._overhear, self.process.stderr)
        return self

    def __exit__(self, *_: object) -> None:
        kill_process_group(self.process)
        self.process.wait()
        for thread in self.threads:
            thread.join(SECONDS_TO_END)
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):  # it may be full of what nobody will read
                self.process.stdin.close()

    def send(self, message: Any) -> None:
        """Send without waiting: a worker that does not read is for the deadline to end."""
        self._start(self._write, self.process.stdin, message)

    def next(self, deadline: float | None) -> tuple[Any, ...] | None:
        """Wait for the next message; None if there is none before the deadline."""
        while True:
            left = TICK if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return None
            with contextlib.suppress(Empty):
                return self.inbox.get(timeout=min(TICK, left))

    def last_words(self) -> Iterator[tuple[Any, ...]]:
        """Return what was printed before the answer was given but not yet read."""
        if self.echo:
            self._see_it_end()
            while not self.inbox.empty():
                message = self.inbox.get()
                if message[0] == "output":
                    yield message

    def obituary(self) -> str:
        """Say how the process ended, and what can be done."""
        code = self._see_it_end()
        how = "hung up" if code is None else describe_exit_code(code)
        advice = "save the problem with problem.save(path) and report it, or try another backend"
        if self.memory_limit is not None:
            advice = f"if it ran out of memory, raise memory_limit (now {self.memory_limit} bytes); if not, {advice}"
        printed = "".join(self.lines).strip()
        said = f" Its last words were:\n{printed}" if printed else ""
        return f"crashed: its worker process {how} without an answer. This process is unharmed; {advice}.{said}"

    def _see_it_end(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(SECONDS_TO_END)
            for thread in self.threads:
                thread.join(SECONDS_TO_END)
        return self.process.returncode

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, name="momentlp-worker", daemon=True)
        self.threads.append(thread)
        thread.start()

    def _write(self, stream: IO[bytes], message: Any) -> None:
        with contextlib.suppress(OSError, ValueError):  # it is gone: its end will be reported
            send(stream, message)

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            try:
                while True:
                    self.inbox.put(receive(stream))
            except (EOFError, OSError):
                self.inbox.put(("end",))
            except Exception as error:  # noqa: BLE001  whatever the pickle of an answer raises
                self.inbox.put(("error", SolverError(f"a worker process sent what cannot be read: {error!r}.")))

    def _overhear(self, stream: IO[bytes]) -> None:
        """Keep the last lines that the solver prints, for the case that it crashes."""
        with stream:
            while line := stream.readline(LONGEST_LINE).decode(errors="replace"):
                self.lines.append(line)
                if self.echo:
                    self.inbox.put(("output", line))


def _relay(kind: str, content: list[Any], options: Options) -> None:
    """Do here what the solver does there: print, warn, call the user's functions."""
    if kind == "log" and options.sink is not None:
        options.sink(*content)
    elif kind == "progress" and options.progress is not None:
        options.progress(*content)
    elif kind == "output":
        print(*content, end="", flush=True)  # noqa: T201  the caller asked for it, with verbose=True
    elif kind == "warning":
        warnings.warn_explicit(*content)


def _bare(problem: Problem) -> Problem:
    """Return the problem without what is there for people and for new points: those may be classes of the user's own."""
    blocks = [replace(block, features=load_in_memory(block.features, "isolate=True")) for block in problem.blocks]
    return replace(problem, blocks=tuple(replace(block, fitted=None, labels=()) for block in blocks))


def _packed(argument: str, value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise OptionError(
            f"isolate=True cannot send the {argument} to a worker process ({type(error).__name__}: {error}): use plain "
            "values, and classes and functions from a module that can be imported."
        ) from error


def _checked(memory_limit: Any) -> int | None:
    if memory_limit is None:
        return None
    if isinstance(memory_limit, bool) or not isinstance(memory_limit, Integral) or memory_limit < LEAST_MEMORY:
        raise OptionError(
            f"memory_limit must be a whole number of bytes from {LEAST_MEMORY} on, such as 2 * 10**9 for two gigabytes, "
            f"not {memory_limit!r}."
        )
    if sys.platform != "linux":
        raise OptionError(f"memory_limit can be kept on Linux only, not on {sys.platform}: leave it out.")
    return int(memory_limit)
