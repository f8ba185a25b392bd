"""Stopping ``linprog``, which offers no way to."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Stopper"]


class Stopper:
    """Ends a ``linprog`` that runs in another thread, by taking the rest of its time limit away.

    ``linprog`` keeps its HiGHS object to itself, as a local variable. Once Ctrl-C was pressed, and only then, that object is
    looked up among the variables of the running thread, and its time limit is set to zero: the simplex notices within an
    iteration. Where no such object is found, or it does not notice (the interior point method reads its limit once, at the
    start), nothing is lost but the core that goes on working.
    """

    def __init__(self) -> None:
        self._thread: int | None = None

    def watched(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Call a function, and remember in which thread."""
        self._thread = threading.get_ident()
        return function(*arguments, **keywords)

    def stop(self) -> None:
        """Ask whatever HiGHS the function is running to stop."""
        for value in self._variables():
            if type(value).__name__.endswith("Highs") and callable(getattr(value, "setOptionValue", None)):
                value.setOptionValue("time_limit", 0.0)

    def _variables(self) -> Iterator[Any]:
        frame = sys._current_frames().get(self._thread or 0)  # noqa: SLF001  a documented function, in spite of its name
        while frame is not None:
            yield from list(frame.f_locals.values())
            frame = frame.f_back
