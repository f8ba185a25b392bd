"""Interrupting ``linprog``, which offers no way to do so."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Stopper"]


class Stopper:
    """Stops a ``linprog`` that runs in another thread by setting its time limit to zero.

    ``linprog`` keeps its HiGHS object in a local variable. After Ctrl-C, and only then, that object is searched among the
    local variables of the running thread, and its time limit is set to zero. The simplex method notices within an iteration.
    The interior-point method reads its limit once, at the start, so it does not notice. Then, or where no such object is
    found, the solver goes on in its thread until it ends, and its result is discarded.
    """

    def __init__(self) -> None:
        self._thread: int | None = None

    def call(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Call a function, and remember in which thread it runs."""
        self._thread = threading.get_ident()
        return function(*arguments, **keywords)

    def stop(self) -> None:
        """Ask every HiGHS object of that thread to stop."""
        for value in self._local_variables():
            if type(value).__name__.endswith("Highs") and callable(getattr(value, "setOptionValue", None)):
                value.setOptionValue("time_limit", 0.0)

    def _local_variables(self) -> Iterator[Any]:
        frame = sys._current_frames().get(self._thread or 0)  # noqa: SLF001  a documented function, in spite of its name
        while frame is not None:
            yield from list(frame.f_locals.values())
            frame = frame.f_back
