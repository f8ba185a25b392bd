"""Work in another thread returns, raises, and can be interrupted."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.processes import MAX_SECONDS

from momentlp.runtime.interruptible import MAX_SECONDS_TO_STOP, import_interruptible, run_interruptible


@pytest.fixture(autouse=True)
def _handle_sigint() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt: a process that was started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_it_returns_and_raises_what_the_work_does() -> None:
    def fail() -> None:
        raise KeyError("mine")

    assert run_interruptible(lambda: [1, 2], stop=fail) == [1, 2]
    with pytest.raises(KeyError, match="mine"):
        run_interruptible(fail, stop=lambda: None)


def test_the_work_runs_in_another_thread() -> None:
    assert run_interruptible(threading.current_thread, stop=lambda: None) is not threading.current_thread()


def test_interrupted_work_is_asked_to_stop_until_it_does() -> None:
    requests: list[None] = []
    ended = threading.Event()

    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        while len(requests) < 3:  # it ignores the first requests
            time.sleep(0.01)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work, stop=lambda: requests.append(None))
    assert ended.wait(MAX_SECONDS)


def test_interrupted_work_that_does_not_stop_is_left_behind() -> None:
    free, ended = threading.Event(), threading.Event()

    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        free.wait(MAX_SECONDS)
        ended.set()

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work, stop=lambda: None)
    assert time.monotonic() - started >= MAX_SECONDS_TO_STOP
    assert not ended.is_set()
    free.set()
    assert ended.wait(MAX_SECONDS)


def test_an_interrupted_import_goes_on_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    may_end = tmp_path / "may_end"
    code = f"""
import pathlib, signal, time
signal.raise_signal(signal.SIGINT)
while not pathlib.Path({str(may_end)!r}).exists():
    time.sleep(0.01)
complete = True
"""
    (tmp_path / "slow_module_of_this_test.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        with pytest.raises(KeyboardInterrupt):
            import_interruptible("slow_module_of_this_test")
        may_end.touch()
        assert import_interruptible("slow_module_of_this_test").complete  # waits for the first import
    finally:
        sys.modules.pop("slow_module_of_this_test", None)
