"""A parent exchanges messages with its worker process, and notices how it ends."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from helpers.processes import is_running

from momentlp.runtime.worker_process import STDERR_LINE, UNREADABLE, WORKER_EXITED, Inbox, WorkerProcess

MODULE = "helpers.obedient_worker"


def ask(worker: WorkerProcess, *request: Any) -> tuple[Any, ...] | None:
    worker.send(request)
    return worker.next_message()


def test_messages_are_answered_in_order() -> None:
    with WorkerProcess(MODULE) as worker:
        for k in range(3):
            worker.send(("echo", k))
        assert [worker.next_message() for _ in range(3)] == [("echo", 0), ("echo", 1), ("echo", 2)]


def test_a_large_array_arrives_unchanged() -> None:
    array = np.arange(300_000.0).reshape(3, -1)
    with WorkerProcess(MODULE) as worker:
        reply = ask(worker, "echo", array)
    assert reply is not None
    np.testing.assert_array_equal(reply[1], array)


def test_several_workers_can_share_an_inbox() -> None:
    inbox: Inbox = SimpleQueue()
    with WorkerProcess(MODULE, inbox) as one, WorkerProcess(MODULE, inbox) as other:
        one.send(("echo", "one"))
        other.send(("echo", "other"))
        received = dict(inbox.get() for _ in range(2))
    assert received == {one: ("echo", "one"), other: ("echo", "other")}


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_of_a_worker_is_reported_with_its_code(code: int) -> None:
    with WorkerProcess(MODULE) as worker:
        assert ask(worker, "exit", code) == (WORKER_EXITED,)
        assert worker.describe_exit() == f"ended with exit code {code}"


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_killed_worker_is_reported_with_the_signal() -> None:
    with WorkerProcess(MODULE) as worker:
        assert ask(worker, "hang") == ("hanging",)
        worker.kill()
        assert worker.next_message() == (WORKER_EXITED,)
        assert worker.describe_exit() == "was killed by SIGKILL"


def test_a_worker_that_closes_its_pipes_and_goes_on_is_reported_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WorkerProcess.wait_for_exit, "__defaults__", (0.01,))
    with WorkerProcess(MODULE) as worker:
        assert ask(worker, "close pipe") == (WORKER_EXITED,)
        assert worker.describe_exit() == "closed its pipes"
        assert worker.process.poll() is None
    assert worker.process.returncode is not None


def test_a_message_that_cannot_be_read_is_reported() -> None:
    with WorkerProcess(MODULE) as worker:
        message = ask(worker, "send unreadable")
    assert message is not None
    assert message[0] == UNREADABLE
    assert isinstance(message[1], LookupError)


def test_sending_to_a_worker_that_is_gone_does_nothing() -> None:
    with WorkerProcess(MODULE) as worker:
        assert ask(worker, "exit", 0) == (WORKER_EXITED,)
        worker.wait_for_exit()
        worker.send(("echo", bytes(10**6)))
    worker.send(("echo", 1))  # its pipe is closed now


def test_sending_in_the_background_does_not_wait_for_a_worker_that_does_not_read() -> None:
    with WorkerProcess(MODULE) as worker:
        assert ask(worker, "hang") == ("hanging",)
        worker.send_in_background(("echo", bytes(10**7)))  # more than a pipe holds: a blocking send would never return
        assert worker.process.poll() is None


def test_a_wait_ends_at_its_deadline() -> None:
    with WorkerProcess(MODULE) as worker:
        assert worker.next_message(time.monotonic() - 1) is None
        assert worker.next_message(time.monotonic() + 0.01) is None


def test_the_last_lines_of_standard_error_are_kept() -> None:
    with WorkerProcess(MODULE, stderr="keep") as worker:
        assert ask(worker, "print", "".join(f"line {k}\n" for k in range(20))) == ("printed",)
        assert ask(worker, "exit", 0) == (WORKER_EXITED,)
        worker.wait_for_exit()
    assert list(worker.last_lines) == [f"line {k}\n" for k in range(12, 20)]


def test_a_line_without_an_end_is_cut() -> None:
    with WorkerProcess(MODULE, stderr="keep") as worker:
        assert ask(worker, "print", "x" * 5000) == ("printed",)
        assert ask(worker, "exit", 0) == (WORKER_EXITED,)
        worker.wait_for_exit()
    assert [len(line) for line in worker.last_lines] == [4096, 904]


def test_lines_of_standard_error_can_be_forwarded() -> None:
    with WorkerProcess(MODULE, stderr="forward") as worker:
        worker.send(("print", "a line\n"))
        assert sorted(filter(None, (worker.next_message() for _ in range(2)))) == [("printed",), (STDERR_LINE, "a line\n")]


def test_by_default_standard_error_is_that_of_the_parent(capfd: pytest.CaptureFixture[str]) -> None:
    with WorkerProcess(MODULE) as worker:
        assert ask(worker, "print", "a line\n") == ("printed",)
    assert capfd.readouterr().err == "a line\n"
    assert not worker.last_lines


def test_a_worker_has_the_given_environment() -> None:
    with WorkerProcess(MODULE, environment={**os.environ, "MOMENTLP_TEST": "7"}) as worker:
        assert ask(worker, "get variable", "MOMENTLP_TEST") == ("variable", "7")


def test_a_worker_may_end_by_itself_before_it_is_stopped() -> None:
    worker = WorkerProcess(MODULE)
    worker.send(("exit", 5))
    worker.stop(grace=60)
    assert worker.describe_exit() == "ended with exit code 5"


def n_open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_stopped_worker_leaves_no_process_thread_or_pipe() -> None:
    threads, files = threading.active_count(), n_open_files()
    with WorkerProcess(MODULE, stderr="keep") as worker:
        assert ask(worker, "hang") == ("hanging",)
    assert not is_running(worker.process.pid)
    assert (threading.active_count(), n_open_files()) == (threads, files)
