"""Run a solver in another thread, so that Ctrl-C works while it is busy.

Python handles Ctrl-C in the main thread only, and only between two steps of Python code. A solver that runs C code for
minutes in the main thread delays it for minutes. If the solver releases Python's global lock, it can run in another thread
while the main thread waits and handles Ctrl-C.
"""

from __future__ import annotations

import atexit
import importlib
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

__all__ = ["import_interruptible", "run_interruptible"]

T = TypeVar("T")

POLL_SECONDS = 0.1  # on Windows a wait does not notice Ctrl-C before its end, so waits are short
MAX_SECONDS_TO_STOP = 0.2  # that the caller waits for interrupted work to end, before the interrupt is raised
SECONDS_BETWEEN_STOP_REQUESTS = 0.05
MAX_SECONDS_AT_EXIT = 10.0  # that Python waits at its exit for work that still runs: it would crash in a closed Python


def run_interruptible(work: Callable[[], T], stop: Callable[[], object]) -> T:
    """Run ``work`` in another thread and return what it returns, or raise what it raises.

    If Ctrl-C interrupts the wait, ``stop`` is called repeatedly, from a thread of its own, until the work has ended. The
    interrupt is raised when the work has ended, but at the latest after ``MAX_SECONDS_TO_STOP``. Work that has not ended by
    then goes on until it notices the request; its result is discarded. So ``work`` must not use objects that the caller
    changes later.

    Parameters
    ----------
    work : callable
        Must release Python's global lock while it is busy.
    stop : callable
        Asks the work to end. It may be called at any time, also before the work has really begun, and more than once.

    Examples
    --------
    >>> run_interruptible(lambda: 6 * 7, stop=lambda: None)
    42
    """
    done = threading.Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def run_work() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            errors.append(error)
        finally:
            done.set()

    def request_stop() -> None:
        while not done.wait(SECONDS_BETWEEN_STOP_REQUESTS):
            stop()
        atexit.unregister(done.wait)

    try:
        threading.Thread(target=run_work, name="momentlp-solver", daemon=True).start()
        # Not Thread.join(): after an interrupt it may report that a running thread has ended.
        while not done.wait(POLL_SECONDS):
            pass
    except BaseException:
        stop()
        atexit.register(done.wait, MAX_SECONDS_AT_EXIT)
        threading.Thread(target=request_stop, name="momentlp-stop-request", daemon=True).start()
        done.wait(MAX_SECONDS_TO_STOP)
        raise
    if errors:
        raise errors[0]
    return results[0]


def import_interruptible(module: str) -> Any:
    """Import a module so that Ctrl-C cannot leave it half imported.

    If an interrupt stops an import, Python keeps the submodules that were loaded so far but not their connections, and the
    package cannot be used in this process any more. In another thread the import continues to its end, and the next import
    finds the complete module.

    Examples
    --------
    >>> import_interruptible("json.decoder").JSONDecoder().decode("[1]")
    [1]
    """
    load = partial(importlib.import_module, module)
    return load() if module in sys.modules else run_interruptible(load, stop=lambda: None)
