"""Say what a long computation is doing, step by step, to whoever asked for it.

A fit has many steps, in modules that know nothing of each other. Each says what it begins with ``report_step``. Nothing
happens unless the caller asked with ``show_steps``, so no function has to pass the wish on.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar

__all__ = ["report_step", "show_steps"]

_report: ContextVar[Callable[[str], object] | None] = ContextVar("momentlp_report_step", default=None)


def report_step(text: str) -> None:
    """Say which step begins now.

    Parameters
    ----------
    text : str
        A few words, such as ``"solving the linear program"``.
    """
    report = _report.get()
    if report is not None:
        report(text)


@contextlib.contextmanager
def show_steps(wanted: bool) -> Iterator[None]:
    """Return a context manager inside which each step is a line on standard error, with the seconds since the beginning.

    Parameters
    ----------
    wanted : bool
        False changes nothing: steps are shown only if an outer context manager shows them.

    Examples
    --------
    >>> with show_steps(True):
    ...     report_step("a step")  # standard error: "[momentlp]    0.0 s  a step"
    """
    if not wanted:
        yield
        return
    started = time.monotonic()

    def write(text: str) -> None:
        sys.stderr.write(f"[momentlp] {time.monotonic() - started:6.1f} s  {text}\n")
        sys.stderr.flush()

    token = _report.set(write)
    try:
        yield
    finally:
        _report.reset(token)
