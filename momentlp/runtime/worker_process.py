"""What every worker process does first and last: free its streams, end with its parent, flush, exit."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from typing import Any, NoReturn

__all__ = ["PR_SET_PDEATHSIG", "die_with_parent", "exit_immediately", "flush_output", "redirect_stream"]

PR_SET_PDEATHSIG = 1  # of Linux: the signal to get when the parent dies


def redirect_stream(descriptor: int, mode: str) -> Any:
    """Return a standard stream under another number, and point its own at nothing (input) or at the error stream."""
    stream = os.fdopen(os.dup(descriptor), mode)
    if mode == "rb":
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, descriptor)
        os.close(nothing)
    else:
        os.dup2(2, descriptor)
    return stream


def die_with_parent() -> None:
    """On Linux, ask the kernel: it also ends a solver that never lets go of Python's lock."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def flush_output() -> None:
    """Let go of what was printed, also by C, whose buffers Python does not know."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)


def exit_immediately(code: int) -> NoReturn:
    """End without the rites of Python: a solver's own could still crash or hang."""
    os._exit(code)
