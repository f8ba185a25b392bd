"""The parent's side: a worker process, its messages, and how it ended.

Threads read the pipes of the worker, so the parent never waits for a worker that neither reads nor writes. When the worker
ends, in whatever way, the reading thread puts a last message of kind :data:`WORKER_EXITED` into the inbox.
:mod:`momentlp.runtime.inside_worker` is the worker's side.
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import IO, Any, Literal, Self

from momentlp.runtime.messages import receive, send
from momentlp.runtime.subprocesses import describe_exit_code, kill_process_group, start_worker

__all__ = ["POLL_SECONDS", "SECONDS_TO_END", "STDERR_LINE", "UNREADABLE", "WORKER_EXITED", "Inbox", "WorkerProcess"]

Message = tuple[Any, ...]  # the kind of the message, then its content
Inbox = SimpleQueue[tuple["WorkerProcess", Message]]

# Kinds of messages that the worker does not send itself.
WORKER_EXITED = "worker exited"  # no content: the worker closed its pipe, usually because it died
UNREADABLE = "unreadable"  # content: the exception that reading a message raised
STDERR_LINE = "stderr line"  # content: a line that the worker printed

POLL_SECONDS = 0.1  # on Windows a wait does not notice Ctrl-C before its end, so waits are short
SECONDS_TO_END = 2.0  # for a process that has closed its pipes, and for threads that read closed pipes
N_LAST_LINES = 8  # lines of standard error that are kept to explain a crash
MAX_LINE_BYTES = 1 << 12  # a longer line is cut: a solver may print without line ends


class WorkerProcess:
    """A worker process as seen from its parent. Leaving its ``with`` block kills it.

    Parameters
    ----------
    module : str
        Import path of the module whose function ``main`` the worker runs.
    inbox : Inbox, optional
        Where the messages go, as pairs of this object and the message. Several workers may share one. By default the worker
        has its own.
    environment : dict, optional
        Environment variables; by default those of this process.
    stderr : {"inherit", "keep", "forward"}
        ``"inherit"``: the worker's standard error is that of this process. ``"keep"``: the last lines are kept in
        ``last_lines``. ``"forward"``: they are kept, and each line is also a message of kind :data:`STDERR_LINE`.

    Attributes
    ----------
    process : subprocess.Popen
    inbox : Inbox
    last_lines : deque of str
    """

    def __init__(
        self,
        module: str,
        inbox: Inbox | None = None,
        *,
        environment: dict[str, str] | None = None,
        stderr: Literal["inherit", "keep", "forward"] = "inherit",
    ) -> None:
        self.inbox: Inbox = SimpleQueue() if inbox is None else inbox
        self.last_lines: deque[str] = deque(maxlen=N_LAST_LINES)
        self._forwards_stderr = stderr == "forward"
        self._threads: list[threading.Thread] = []
        self.process = start_worker(module, env=environment, stderr=None if stderr == "inherit" else subprocess.PIPE)
        self._stdin: Any = self.process.stdin  # always a pipe: start_worker makes it one
        self._start_thread(self._read_messages, self.process.stdout)
        if self.process.stderr is not None:
            self._start_thread(self._read_stderr, self.process.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def send(self, message: Any) -> None:
        """Send a message and wait until it is written. If the worker is gone, do nothing: its exit is reported."""
        with contextlib.suppress(OSError, ValueError):  # a broken pipe, or a pipe that `stop` has closed
            send(self._stdin, message)

    def send_in_background(self, message: Any) -> None:
        """Send a message without waiting: the worker may be busy and not read. Wait for a reply before the next one."""
        self._start_thread(self.send, message)

    def next_message(self, deadline: float | None = None) -> Message | None:
        """Wait for the next message of a worker that has its own inbox.

        Parameters
        ----------
        deadline : float, optional
            In seconds of :func:`time.monotonic`; by default there is none.

        Returns
        -------
        tuple or None
            None if no message came before the deadline.
        """
        while True:
            seconds_left = POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if seconds_left <= 0:
                return None
            with contextlib.suppress(Empty):
                return self.inbox.get(timeout=min(POLL_SECONDS, seconds_left))[1]

    def wait_for_exit(self, seconds: float = SECONDS_TO_END) -> int | None:
        """Wait until the process has ended and all its output is read; return its exit code, or None if it still runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
            self._join_threads()
        return self.process.returncode

    def describe_exit(self) -> str:
        """Say how the process ended, such as "was killed by SIGSEGV"."""
        code = self.wait_for_exit()
        return "closed its pipes" if code is None else describe_exit_code(code)

    def kill(self) -> None:
        """Kill the process and all that it started, without waiting for its end."""
        kill_process_group(self.process)

    def stop(self, grace: float = 0.0) -> None:
        """End the process and release its pipes and threads.

        Parameters
        ----------
        grace : float
            Seconds that the process has to end by itself before it is killed.
        """
        if grace > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(grace)
        self.kill()
        self.process.wait()
        self._join_threads()
        with contextlib.suppress(OSError):  # data that was not read may be left in the pipe
            self._stdin.close()

    def _start_thread(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, name="momentlp-worker-pipe", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _join_threads(self) -> None:
        for thread in self._threads:
            thread.join(SECONDS_TO_END)

    def _read_messages(self, stream: IO[bytes]) -> None:
        """Put every message into the inbox. The last one says that the worker exited, or sent what cannot be read."""
        with stream:
            try:
                while True:
                    self.inbox.put((self, receive(stream)))
            except (EOFError, OSError):
                self.inbox.put((self, (WORKER_EXITED,)))
            except Exception as error:  # noqa: BLE001  unpickling an object of another package can raise anything
                self.inbox.put((self, (UNREADABLE, error)))

    def _read_stderr(self, stream: IO[bytes]) -> None:
        with stream:
            while line := stream.readline(MAX_LINE_BYTES).decode(errors="replace"):
                self.last_lines.append(line)
                if self._forwards_stderr:
                    self.inbox.put((self, (STDERR_LINE, line)))
