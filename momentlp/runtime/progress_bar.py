"""Show the progress of a long run on standard error."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

__all__ = ["show_progress"]

SECONDS_BETWEEN_LINES = 30.0  # in a file, where every report is a line of its own
SECONDS_BETWEEN_UPDATES = 0.25  # on a terminal, where every report replaces the last one


@contextlib.contextmanager
def show_progress(progress: bool | Callable[[int, int | None], Any], total: int | None) -> Iterator[Callable[[int], Any]]:
    """Return a context manager that gives a function to call with the number of problems that are done.

    Parameters
    ----------
    progress : bool or callable
        True shows a bar on a terminal and lines of text elsewhere, False shows nothing. A function is called with the
        number of problems done and the total.
    total : int or None
        The number of all problems; None if it is not known.

    Examples
    --------
    >>> with show_progress(print, 2) as report_done:
    ...     report_done(1)
    1 2
    """
    if callable(progress):
        yield lambda done: progress(done, total)
    elif not progress:
        yield lambda _: None
    elif sys.stderr.isatty() and find_spec("rich") is not None:
        from rich import progress as bars
        from rich.console import Console

        columns = (bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeRemainingColumn())
        with bars.Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("", total=total)
            yield lambda done: bar.update(task, completed=done)
    else:
        yield _TextProgress(total).report
        if sys.stderr.isatty():
            sys.stderr.write("\n")


class _TextProgress:
    """Progress in plain text: on a terminal one line that is written again, in a file a new line from time to time."""

    def __init__(self, total: int | None) -> None:
        self.total = total
        self.started = self.last_report = time.monotonic()

    def report(self, done: int) -> None:
        now, is_terminal = time.monotonic(), sys.stderr.isatty()
        interval = SECONDS_BETWEEN_UPDATES if is_terminal else SECONDS_BETWEEN_LINES
        if now - self.last_report < interval and not (is_terminal and done == self.total):
            return
        self.last_report = now
        text = f"{done} solved"
        if self.total is not None:
            time_left = timedelta(seconds=round((now - self.started) / done * (self.total - done)))
            text = f"{done} of {self.total} solved, {time_left} left"
        sys.stderr.write(f"\r{text:<60}" if is_terminal else f"{text}\n")
        sys.stderr.flush()
