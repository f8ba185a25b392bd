"""Work in a thread of its own, so that Ctrl-C reaches the caller while a solver is busy.

Python delivers Ctrl-C to the main thread, and only between two steps of Python. A solver that works in C for minutes holds
it off for as long; one that lets go of Python's lock can be left to another thread, with the main one free to listen.
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

PATIENCE = 0.2  # seconds that an interrupted solver has to come to rest before the caller gets the prompt back
LOOK = 0.05  # seconds between two requests to stop
SECONDS_AT_EXIT = 10.0  # for work left behind: a solver that comes back to a Python that is going down would crash


def run_interruptible(work: Callable[[], T], stop: Callable[[], object]) -> T:
    """Run ``work`` in another thread and return what it returns, or raise what it raises.

    If the wait is interrupted, ``stop`` is called again and again, from a thread of its own, until the work has ended. The
    interrupt is raised as soon as it has, or after a moment at the latest: work that is slow to notice is left behind, its
    result is thrown away, and it ends when it looks. So ``work`` must own all that it touches.

    Parameters
    ----------
    work : callable
        Must let go of Python's lock while it is busy.
    stop : callable
        Asks the work to end. It may be called at any time, also before the work has properly begun, and more than once.

    Examples
    --------
    >>> run_interruptible(lambda: 6 * 7, stop=lambda: None)
    42
    """
    done = threading.Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def labour() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            errors.append(error)
        finally:
            done.set()

    def insist() -> None:
        while not done.wait(LOOK):
            stop()
        atexit.unregister(done.wait)

    try:
        threading.Thread(target=labour, name="momentlp-aside", daemon=True).start()
        # Not Thread.join(): interrupted, it may take a running thread for a finished one.
        while not done.wait(0.1):
            pass
    except BaseException:
        stop()
        atexit.register(done.wait, SECONDS_AT_EXIT)
        threading.Thread(target=insist, name="momentlp-stop", daemon=True).start()
        done.wait(PATIENCE)
        raise
    if errors:
        raise errors[0]
    return results[0]


def import_interruptible(module: str) -> Any:
    """Import a module so that Ctrl-C cannot leave half of it behind.

    Python keeps the parts of a package that were loaded before an interrupt, but not how they hang together, and the package
    is of no use to the process any more. In a thread of its own the import goes on to its end, and the next one finds it.

    Examples
    --------
    >>> import_interruptible("json.decoder").JSONDecoder().decode("[1]")
    [1]
    """
    load = partial(importlib.import_module, module)
    return load() if module in sys.modules else run_interruptible(load, stop=lambda: None)
