"""The other end of :mod:`momentlp.solving.isolation`: a process that runs one solve and ends.

It talks to its parent over two pipes that no solver can reach: the standard streams are moved aside before anything else is
done, so that what a solver prints is not taken for an answer. Messages are pickles. Those run code, but both ends are ours,
run the same code for the same user, and the pipes have no name by which anyone else could write to them. The workers of
:mod:`momentlp.solving.many.pool`, which run many solves, use the same line.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import struct
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NoReturn

from momentlp.backend.interface import Answer, Backend, Outcome
from momentlp.errors import MomentLPError, OptionError, SolverError

__all__ = [
    "MessageChannel",
    "die_with_parent",
    "error_text",
    "exit_immediately",
    "flush_output",
    "main",
    "picklable_error",
    "receive",
    "redirect_stream",
    "send",
]

LENGTH = struct.Struct("<Q")
OUT_OF_MEMORY = "stopped by memory_limit: the solver needs more memory"
PR_SET_PDEATHSIG = 1  # of Linux: the signal to get when the parent dies


def send(stream: IO[bytes], message: Any) -> None:
    """Write a message: the number of parts, their lengths, the parts. Arrays are parts of their own, sent as they lie."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    stream.write(LENGTH.pack(len(parts)) + b"".join(LENGTH.pack(part.nbytes) for part in parts))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read a message; raise EOFError if the other end is gone."""
    (count,) = LENGTH.unpack(_read(stream, LENGTH.size))
    lengths = [LENGTH.unpack(_read(stream, LENGTH.size))[0] for _ in range(count)]
    head, *buffers = [_read(stream, length) for length in lengths]
    return pickle.loads(head, buffers=buffers)  # noqa: S301  see above: both ends are ours


def _read(stream: Any, length: int) -> bytearray:
    data = bytearray(length)
    view, filled = memoryview(data), 0
    while filled < length:
        got = stream.readinto(view[filled:])
        if not got:
            raise EOFError
        filled += got
    return data


def main() -> NoReturn:
    """Take the orders, load the solver, say so, take the problem, solve, answer, and be gone."""
    orders, reports = redirect_stream(0, "rb"), redirect_stream(1, "wb")
    die_with_parent()
    line = MessageChannel(reports)
    memory_limit: int | None = None
    try:
        parts, heard, memory_limit = receive(orders)
        backend, options = _unpacked("backend", parts), _unpacked("options", parts)
        type(backend).version()
        all_there = threading.Event()
        threading.Thread(target=_watch, args=(orders, all_there), daemon=True).start()  # while there is memory for a thread
        _limit_memory(memory_limit)
        line.send("done", "ready")
        started = time.monotonic()
        problem = receive(orders)
        all_there.set()
        line.forward_warnings()
        if options.time_limit is not None:
            options = replace(options, time_limit=max(1e-3, options.time_limit - (time.monotonic() - started)))
        line.answer(backend, backend.run(problem, replace(options, **{name: line.caller(name) for name in heard})))
    except EOFError:
        pass  # the parent is gone
    except MemoryError:
        line.send("done", Answer(Outcome.LIMIT, None, None, OUT_OF_MEMORY))
    except Exception as error:  # noqa: BLE001  raised again in the parent
        if memory_limit is not None and "can't start new thread" in str(error):
            line.send("done", Answer(Outcome.LIMIT, None, None, OUT_OF_MEMORY))
        else:
            line.fail(error)
    except SystemExit as error:
        exit_immediately(error.code if isinstance(error.code, int) else 1)
    exit_immediately(0)


class MessageChannel:
    """The line to the parent; a solver may use it from several threads."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def send(self, kind: str, *content: Any) -> None:
        """Send a message; end if nobody is there to read it."""
        with self._lock:
            try:
                send(self._stream, (kind, *content))
            except OSError:
                exit_immediately(1)  # the parent is gone

    def caller(self, kind: str) -> Callable[[Any], None]:
        """Return a function that calls the user's function of that name, in the parent."""
        return lambda content: self.send(kind, content)

    def forward_warnings(self) -> None:
        """Send every warning on: the filters of the parent decide what becomes of it."""

        def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any) -> None:
            known = category if _importable(category) else UserWarning
            self.send("warning", str(message), known, filename, lineno)

        warnings.simplefilter("always")
        warnings.showwarning = show

    def answer(self, backend: Backend, answer: Any) -> None:
        """Send what the backend returned, or say that it cannot be sent."""
        flush_output()
        try:
            pickle.loads(pickle.dumps(answer))  # noqa: S301  our own
        except Exception as error:  # noqa: BLE001  whatever pickle or a class of the backend's raises
            self.fail(
                SolverError(f"backend {backend.name!r} returned what cannot leave its worker process ({error_text(error)}).")
            )
        else:
            self.send("done", answer)

    def fail(self, error: Exception) -> None:
        """Send an error."""
        flush_output()
        self.send("error", picklable_error(error))


def picklable_error(error: BaseException, copied: Callable[[BaseException], BaseException] | None = None) -> BaseException:
    """Return a copy of an error, as it will arrive, with where it came from if it is a bug; its text, if it cannot be sent.

    Parameters
    ----------
    error : exception
    copied : callable, optional
        Sends an object to and fro; by pickle, if not given.

    Examples
    --------
    >>> picklable_error(SolverError("the basis is lost."))
    SolverError('the basis is lost.')
    """
    if not isinstance(error, MomentLPError):
        error.add_note("In the worker process:\n" + "".join(traceback.format_exception(error)))
    try:
        return copied(error) if copied is not None else pickle.loads(pickle.dumps(error))  # noqa: S301  our own
    except Exception:  # noqa: BLE001  an error class may refuse to be pickled in any way
        return RuntimeError(error_text(error))


def error_text(error: BaseException) -> str:
    """Return the kind of an error and what it says.

    Examples
    --------
    >>> error_text(SolverError("the basis is lost."))
    'SolverError: the basis is lost.'
    """
    return f"{type(error).__name__}: {error}"


def _unpacked(name: str, parts: dict[str, bytes]) -> Any:
    try:
        return pickle.loads(parts[name])  # noqa: S301  see above: both ends are ours
    except Exception as error:
        raise OptionError(
            f"isolate=True cannot load the {name} in a worker process ({error_text(error)}): define what it is "
            "made of in a module that can be imported, not at a prompt, in a notebook or in the script itself."
        ) from error


def _importable(category: type[Warning]) -> bool:
    return getattr(sys.modules.get(category.__module__), category.__qualname__, None) is category


def redirect_stream(descriptor: int, mode: str) -> Any:
    """Return a standard stream under another number, and point its own at nothing (input) or at the error stream."""
    stream = os.fdopen(os.dup(descriptor), mode)
    if mode == "rb":
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, descriptor)
        os.close(nothing)
    else:
        os.dup2(2, descriptor)
    return stream


def die_with_parent() -> None:
    """On Linux, ask the kernel: it also ends a solver that never lets go of Python's lock."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _watch(orders: IO[bytes], all_there: threading.Event) -> None:
    """Wait for the end of the orders, which comes when the parent is gone, and end with whatever the solver started."""
    all_there.wait()
    orders.read(1)
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def _limit_memory(memory_limit: int | None) -> None:
    """Allow so much address space beyond what Python and the loaded solver take."""
    if memory_limit is None:
        return
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(
        resource.RLIMIT_AS, (min(used + memory_limit, sys.maxsize), resource.getrlimit(resource.RLIMIT_AS)[1])
    )


def flush_output() -> None:
    """Let go of what was printed, also by C, whose buffers Python does not know."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)


def exit_immediately(code: int) -> NoReturn:
    """End without the rites of Python: a solver's own could still crash or hang."""
    os._exit(code)
