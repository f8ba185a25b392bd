"""Running HiGHS so that it can be watched and stopped."""

from __future__ import annotations

import threading
import time
from typing import Any

from momentlp.backend.interface import Options, Progress
from momentlp.runtime.interruptible import run_interruptible

__all__ = ["run_interruptibly"]

SECONDS_BETWEEN_REPORTS = 0.1


def run_interruptibly(highs: Any, options: Options) -> None:
    """Run in a thread of its own, so that Ctrl-C reaches this one and can ask HiGHS to stop.

    A fresh thread also means a fresh scheduler: HiGHS keeps one per thread, and refuses to change its size.
    """
    listener = _Listener(options)
    listener.attach(highs)
    run_interruptible(lambda: listener.guard(highs.run), stop=listener.stop.set)
    if listener.failure is not None:
        raise listener.failure


class _Listener:
    """What HiGHS calls while it runs. Nothing raised in here may travel through HiGHS: it is kept, and raised afterwards."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.stop = threading.Event()
        self.failure: BaseException | None = None
        self.started = self.last_report = time.perf_counter()

    def attach(self, highs: Any) -> None:
        from highspy import cb

        kinds = cb.HighsCallbackType
        self.logging = kinds.kCallbackLogging
        highs.setCallback(self, None)
        highs.startCallback(kinds.kCallbackSimplexInterrupt)
        highs.startCallback(kinds.kCallbackIpmInterrupt)
        if self.options.sink is not None:
            highs.startCallback(self.logging)

    def __call__(self, kind: Any, message: str, out: Any, into: Any, _: Any) -> None:
        self.guard(self.write, message) if kind == self.logging else self.guard(self.report, out)
        if self.stop.is_set() and kind != self.logging:
            into.user_interrupt = True

    def guard(self, action: Any, *arguments: Any) -> None:
        try:
            action(*arguments)
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            self.failure = self.failure or error
            self.stop.set()

    def write(self, message: str) -> None:
        if self.options.sink is not None and not self.stop.is_set():
            self.options.sink(message)

    def report(self, out: Any) -> None:
        now = time.perf_counter()
        due = now - self.last_report >= SECONDS_BETWEEN_REPORTS and not self.stop.is_set()
        if self.options.progress is not None and due:
            self.last_report = now
            iterations = max(int(out.simplex_iteration_count), int(out.ipm_iteration_count), 0)
            self.options.progress(Progress(iterations, now - self.started))
