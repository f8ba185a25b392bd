"""Running HiGHS so that it can be watched and interrupted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from momentlp.backend.interface import Options, Progress
from momentlp.runtime.interruptible import run_interruptible

__all__ = ["run_highs"]

INFINITE = 1e300  # HiGHS has no set, or no bound, yet
SECONDS_BETWEEN_REPORTS = 0.1  # HiGHS calls back at every iteration; users need progress less often


def run_highs(highs: Any, options: Options) -> None:
    """Run HiGHS in another thread, so that Ctrl-C reaches this thread and can ask HiGHS to stop.

    HiGHS keeps one scheduler per thread and refuses to change its size. A new thread has a new scheduler, so each solve
    can have its own number of threads.

    Raises
    ------
    BaseException
        Whatever ``options.log`` or ``options.progress`` raised.
    """
    callback = _Callback(options)
    callback.attach(highs)
    run_interruptible(lambda: callback.guard(highs.run), stop=callback.stop.set)
    if callback.failure is not None:
        raise callback.failure


class _Callback:
    """The function that HiGHS calls while it runs: it passes on log and progress, and asks HiGHS to stop.

    No exception may pass through HiGHS. The first one is kept in ``failure``, and HiGHS is stopped.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.stop = threading.Event()
        self.failure: BaseException | None = None
        self.started = self.last_report = time.perf_counter()

    def attach(self, highs: Any) -> None:
        """Register with HiGHS."""
        from highspy import cb

        kinds = cb.HighsCallbackType
        self.logging = kinds.kCallbackLogging
        highs.setCallback(self, None)
        highs.startCallback(kinds.kCallbackSimplexInterrupt)
        highs.startCallback(kinds.kCallbackIpmInterrupt)
        highs.startCallback(kinds.kCallbackMipInterrupt)
        self.integer = kinds.kCallbackMipInterrupt
        if self.options.sink is not None:
            highs.startCallback(self.logging)

    def __call__(self, kind: Any, message: str, data_out: Any, data_in: Any, _: Any) -> None:
        if kind == self.logging:
            self.guard(self.write_log, message)
            return
        self.guard(self.report_progress, data_out, kind == self.integer)
        if self.stop.is_set():
            data_in.user_interrupt = True

    def guard(self, action: Callable[..., Any], *arguments: Any) -> None:
        """Call a function and keep what it raises."""
        try:
            action(*arguments)
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            self.failure = self.failure or error
            self.stop.set()

    def write_log(self, message: str) -> None:
        """Pass on a line of the log."""
        if self.options.sink is not None and not self.stop.is_set():
            self.options.sink(message)

    def report_progress(self, data_out: Any, is_integer: bool) -> None:
        """Report progress, if the last report is long enough ago."""
        now = time.perf_counter()
        is_due = now - self.last_report >= SECONDS_BETWEEN_REPORTS and not self.stop.is_set()
        if self.options.progress is not None and is_due:
            self.last_report = now
            iterations = max(int(data_out.simplex_iteration_count), int(data_out.ipm_iteration_count), 0)
            objective = bound = None
            if is_integer:
                iterations = max(int(data_out.mip_node_count), 0)
                objective, bound = (
                    float(value) if abs(value) < INFINITE else None
                    for value in (data_out.mip_primal_bound, data_out.mip_dual_bound)
                )
            self.options.progress(Progress(iterations, now - self.started, objective, bound))
