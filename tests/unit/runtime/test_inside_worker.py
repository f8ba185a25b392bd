"""Inside a worker process the standard streams are free, and warnings and errors go to the parent."""

from __future__ import annotations

import pytest

from momentlp.runtime.inside_worker import MessageChannel
from momentlp.runtime.worker_process import WORKER_EXITED, WorkerProcess

MODULE = "helpers.obedient_worker"


def test_input_and_output_of_a_worker_do_not_mix_with_messages(capfd: pytest.CaptureFixture[str]) -> None:
    with WorkerProcess(MODULE) as worker:
        worker.send(("read and print",))
        worker.send(("echo", 1))
        assert worker.next_message() == ("input", b"")
        assert worker.next_message() == ("echo", 1)
    assert capfd.readouterr() == ("", "not a message")


def test_warnings_are_sent_to_the_parent_with_a_category_that_it_knows() -> None:
    with WorkerProcess(MODULE) as worker:
        worker.send(("warn",))
        assert worker.next_message() == ("warning", "a known kind", FutureWarning, "file.py", 7)
        assert worker.next_message() == ("warning", "an unknown kind", UserWarning, "file.py", 8)


def test_an_error_is_sent_to_the_parent() -> None:
    with WorkerProcess(MODULE) as worker:
        worker.send(("fail",))
        message = worker.next_message()
    assert message is not None
    assert message[0] == "error"
    assert repr(message[1]) == "KeyError('basis')"


def test_a_callback_sends_its_argument() -> None:
    with WorkerProcess(MODULE) as worker:
        worker.send(("callback",))
        assert worker.next_message() == ("log", "a line")


def test_a_worker_ends_when_its_parent_closes_the_pipe() -> None:
    with WorkerProcess(MODULE) as worker:
        assert worker.process.stdin is not None
        worker.process.stdin.close()
        assert worker.next_message() == (WORKER_EXITED,)
        assert worker.describe_exit() == "ended with exit code 0"


def test_a_worker_without_a_reader_exits(monkeypatch: pytest.MonkeyPatch) -> None:
    class BrokenPipe:
        def write(self, data: bytes) -> None:
            raise BrokenPipeError

    codes: list[int] = []
    monkeypatch.setattr("momentlp.runtime.inside_worker.exit_immediately", codes.append)
    MessageChannel(BrokenPipe()).send("done")  # type: ignore[arg-type]  # all that send uses is write
    assert codes == [1]
