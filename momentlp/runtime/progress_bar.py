"""How far a long run has come, on the error stream."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

__all__ = ["show_progress"]

SECONDS_BETWEEN_LINES = (30.0, 0.25)  # in a file, and on a terminal


@contextlib.contextmanager
def show_progress(asked: bool | Callable[[int, int | None], Any], total: int | None) -> Iterator[Callable[[int], Any]]:
    """Give a function to call with how many problems are done.

    Parameters
    ----------
    asked : bool or callable
        True for a bar, False for nothing, or a function that is told how many are done and how many there are.
    total : int or None

    Examples
    --------
    >>> with show_progress(print, 2) as shown:
    ...     shown(1)
    1 2
    """
    if callable(asked):
        yield lambda done: asked(done, total)
    elif not asked:
        yield lambda _: None
    elif sys.stderr.isatty() and find_spec("rich") is not None:
        from rich import progress as bars
        from rich.console import Console

        columns = (bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeRemainingColumn())
        with bars.Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("", total=total)
            yield lambda done: bar.update(task, completed=done)
    else:
        yield _Lines(total).show
        if sys.stderr.isatty():
            sys.stderr.write("\n")


class _Lines:
    """Progress in plain words: one line over and over on a terminal, a line now and then in a file."""

    def __init__(self, total: int | None) -> None:
        self.total = total
        self.started = self.last = time.monotonic()

    def show(self, done: int) -> None:
        now, terminal = time.monotonic(), sys.stderr.isatty()
        if now - self.last < SECONDS_BETWEEN_LINES[terminal] and not (terminal and done == self.total):
            return
        self.last = now
        words = f"{done} solved"
        if self.total is not None:
            left = timedelta(seconds=round((now - self.started) / done * (self.total - done)))
            words = f"{done} of {self.total} solved, {left} left"
        sys.stderr.write(f"\r{words:<60}" if terminal else f"{words}\n")
        sys.stderr.flush()
