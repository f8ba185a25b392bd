"""Start and end Python processes.

A process is started by a command line, not by the multiprocessing module. So scripts need no
``if __name__ == "__main__"``, and functions of a notebook work.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any

__all__ = ["describe_exit_code", "kill_process_group", "start_worker"]

# The program of a worker. Its arguments are the module to run, then the import path of this process.
RUN_MAIN = "import sys; sys.path[:] = sys.argv[2:]; from importlib import import_module; import_module(sys.argv[1]).main()"


def start_worker(module: str, **popen_arguments: Any) -> subprocess.Popen[bytes]:
    """Start a Python process that calls the function ``main`` of a module.

    The process has a session of its own: Ctrl-C at the terminal interrupts this process, not the worker.

    Parameters
    ----------
    module : str
        Import path of the module.
    **popen_arguments
        Further arguments of :class:`subprocess.Popen`.

    Returns
    -------
    subprocess.Popen
        Its standard input and output are pipes.
    """
    return subprocess.Popen(  # noqa: S603  the command is this Python itself
        [sys.executable, "-c", RUN_MAIN, module, *map(str, sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        **popen_arguments,
    )


def kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and, except on Windows, all processes that it started."""
    if process.returncode is None:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()


def describe_exit_code(code: int) -> str:
    """Describe the exit code of a process in words; a negative code is the number of a signal.

    Examples
    --------
    >>> describe_exit_code(3), describe_exit_code(-9)
    ('ended with exit code 3', 'was killed by SIGKILL')
    """
    if code >= 0:
        return f"ended with exit code {code}"
    name = next((known.name for known in signal.Signals if known.value == -code), f"signal {-code}")
    return f"was killed by {name}"
