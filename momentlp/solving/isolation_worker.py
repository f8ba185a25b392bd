"""The other end of :mod:`momentlp.solving.isolation`: a process that runs one solve and ends.

It talks to its parent over two pipes that no solver can reach: the standard streams are moved aside before anything else is
done, so that what a solver prints is not taken for an answer. Messages are pickles. Those run code, but both ends are ours,
run the same code for the same user, and the pipes have no name by which anyone else could write to them. The workers of
:mod:`momentlp.solving.many.pool`, which run many solves, use the same line.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NoReturn

from momentlp.backend.interface import Answer, Outcome
from momentlp.errors import OptionError
from momentlp.runtime.messages import MessageChannel, error_text, receive
from momentlp.runtime.worker_process import die_with_parent, exit_immediately, redirect_stream

__all__ = [
    "main",
]

OUT_OF_MEMORY = "stopped by memory_limit: the solver needs more memory"


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
        line.answer(backend.name, backend.run(problem, replace(options, **{name: line.caller(name) for name in heard})))
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


def _unpacked(name: str, parts: dict[str, bytes]) -> Any:
    try:
        return pickle.loads(parts[name])  # noqa: S301  see above: both ends are ours
    except Exception as error:
        raise OptionError(
            f"isolate=True cannot load the {name} in a worker process ({error_text(error)}): define what it is "
            "made of in a module that can be imported, not at a prompt, in a notebook or in the script itself."
        ) from error


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
