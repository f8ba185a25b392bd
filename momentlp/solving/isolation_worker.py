"""The worker process of :mod:`momentlp.solving.isolation`: it runs one solve and ends.

The exchange with the parent:

1. The worker receives the backend and the options (pickles), the names of the callbacks that the parent wants, and the
   memory limit. It loads the solver and replies ``("done", "ready")``.
2. It receives the problem, solves it, and replies ``("done", answer)`` or ``("error", exception)``. Meanwhile it sends
   messages of kind ``"log"``, ``"progress"`` and ``"warning"``.
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
from momentlp.errors import OptionError, SolverError
from momentlp.runtime.inside_worker import MessageChannel, die_with_parent, exit_immediately, flush_output, redirect_stream
from momentlp.runtime.messages import error_text, receive

__all__ = ["main"]

OUT_OF_MEMORY = "stopped by memory_limit: the solver needs more memory"
MIN_TIME_LIMIT = 1e-3  # seconds: a solver's time limit must be above 0


def main() -> NoReturn:
    """Run one solve and exit."""
    requests, replies = redirect_stream(0, "rb"), redirect_stream(1, "wb")
    die_with_parent()
    channel = MessageChannel(replies)
    memory_limit: int | None = None
    try:
        pickles, callbacks, memory_limit = receive(requests)
        backend, options = _unpickle_argument("backend", pickles), _unpickle_argument("options", pickles)
        type(backend).version()  # loads the solver
        problem_received = threading.Event()
        # The thread starts before the memory is limited: a thread needs memory for its stack.
        threading.Thread(target=_die_when_parent_is_gone, args=(requests, problem_received), daemon=True).start()
        _limit_memory(memory_limit)
        channel.send("done", "ready")
        started = time.monotonic()
        problem = receive(requests)
        problem_received.set()
        channel.forward_warnings()
        if options.time_limit is not None:
            seconds_left = options.time_limit - (time.monotonic() - started)
            options = replace(options, time_limit=max(MIN_TIME_LIMIT, seconds_left))
        options = replace(options, **{name: channel.make_callback(name) for name in callbacks})
        _send_answer(channel, backend.name, backend.run(problem, options))
    except EOFError:
        pass  # the parent is gone
    except MemoryError:
        channel.send("done", Answer(Outcome.LIMIT, None, None, OUT_OF_MEMORY))
    except Exception as error:  # noqa: BLE001  raised again in the parent
        if memory_limit is not None and "can't start new thread" in str(error):
            channel.send("done", Answer(Outcome.LIMIT, None, None, OUT_OF_MEMORY))
        else:
            channel.send_error(error)
    except SystemExit as error:
        exit_immediately(error.code if isinstance(error.code, int) else 1)
    exit_immediately(0)


def _send_answer(channel: MessageChannel, backend: str, answer: Any) -> None:
    """Send what the backend returned, or an error that says why it cannot be sent."""
    flush_output()
    try:
        pickle.loads(pickle.dumps(answer))  # noqa: S301  our own pickle
    except Exception as error:  # noqa: BLE001  pickling an object of another package can raise anything
        reason = f"backend {backend!r} returned what cannot be sent to the parent process ({error_text(error)})."
        channel.send_error(SolverError(reason))
    else:
        channel.send("done", answer)


def _unpickle_argument(name: str, pickles: dict[str, bytes]) -> Any:
    try:
        return pickle.loads(pickles[name])  # noqa: S301  the parent sent it: see momentlp.runtime.messages
    except Exception as error:
        raise OptionError(
            f"isolate=True cannot load the {name} in a worker process ({error_text(error)}): define its classes and "
            "functions in a module that can be imported, not at a prompt, in a notebook or in the script itself."
        ) from error


def _die_when_parent_is_gone(requests: IO[bytes], problem_received: threading.Event) -> None:
    """Wait until the parent closes its pipe, which it does by ending; then kill this process and all that it started."""
    problem_received.wait()
    requests.read(1)
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def _limit_memory(memory_limit: int | None) -> None:
    """Limit the address space of this process to what it has now plus ``memory_limit`` bytes."""
    if memory_limit is None:
        return
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (min(used + memory_limit, sys.maxsize), hard_limit))
