"""The worker's side: what code inside a worker process needs to talk to its parent and to end.

A worker reads messages from its standard input and writes messages to its standard output. :func:`redirect_stream` moves
both to other file descriptors first, so that nothing a solver reads or prints can mix with the messages.
:mod:`momentlp.runtime.worker_process` is the parent's side.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import IO, Any, NoReturn

from momentlp.runtime.messages import picklable_error, send

__all__ = ["MessageChannel", "die_with_parent", "exit_immediately", "flush_output", "redirect_stream"]

STDERR = 2  # file descriptor
PR_SET_PDEATHSIG = 1  # Linux, prctl(2): choose the signal that this process gets when its parent dies


class MessageChannel:
    """Send messages to the parent process, from any thread.

    Parameters
    ----------
    stream : binary file
        The pipe to the parent.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def send(self, kind: str, *content: Any) -> None:
        """Send a message. If the parent is gone, end this process."""
        with self._lock:
            try:
                send(self._stream, (kind, *content))
            except OSError:
                exit_immediately(1)

    def send_error(self, error: Exception) -> None:
        """Send an error, which the parent raises."""
        flush_output()
        self.send("error", picklable_error(error))

    def make_callback(self, kind: str) -> Callable[[Any], None]:
        """Return a function of one argument that sends its argument to the parent, as a message of this kind."""
        return lambda content: self.send(kind, content)

    def forward_warnings(self) -> None:
        """Send every later warning to the parent, whose warning filters decide what to do with it."""

        def send_warning(
            message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
        ) -> None:
            sendable_category = category if _is_importable(category) else UserWarning
            self.send("warning", str(message), sendable_category, filename, lineno)

        warnings.simplefilter("always")
        warnings.showwarning = send_warning


def redirect_stream(descriptor: int, mode: str) -> Any:
    """Move a standard stream to a new file descriptor and return it, opened.

    Parameters
    ----------
    descriptor : int
        0 for standard input, 1 for standard output.
    mode : str
        ``"rb"`` for input: afterwards the old descriptor reads an empty file.
        ``"wb"`` for output: afterwards the old descriptor writes to standard error.
    """
    stream = os.fdopen(os.dup(descriptor), mode)
    if mode == "rb":
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, descriptor)
        os.close(empty)
    else:
        os.dup2(STDERR, descriptor)
    return stream


def die_with_parent() -> None:
    """On Linux, ask the kernel to kill this process when its parent dies.

    The kernel can also end a solver that never releases Python's global lock. A thread that watches the parent could not.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def flush_output() -> None:
    """Write out everything printed so far, including what C code printed: C has buffers of its own."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)


def exit_immediately(code: int) -> NoReturn:
    """End this process without Python's clean-up, in which code of a solver could crash or hang."""
    os._exit(code)


def _is_importable(category: type[Warning]) -> bool:
    return getattr(sys.modules.get(category.__module__), category.__qualname__, None) is category
