"""Python processes that are started by their command line, and ended with all that they have started.

Scripts need no ``if __name__ == "__main__"`` for such a process, and notebooks work.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any

__all__ = ["describe_exit_code", "kill_process_group", "start_worker"]

BOOT = "import sys; sys.path[:] = sys.argv[2:]; from importlib import import_module; import_module(sys.argv[1]).main()"


def start_worker(module: str, **settings: Any) -> subprocess.Popen[bytes]:
    """Start a Python that calls ``main`` of a module, in a session of its own: Ctrl-C at the terminal is for this process.

    Parameters
    ----------
    module : str
    **settings
        As for :class:`subprocess.Popen`. Its input and output are pipes.
    """
    return subprocess.Popen(  # noqa: S603  Python itself, with the paths it has
        [sys.executable, "-c", BOOT, module, *map(str, sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        **settings,
    )


def kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and, where the system can, whatever it has started."""
    if process.returncode is None:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()


def describe_exit_code(code: int) -> str:
    """Say what the exit code of a process means.

    Examples
    --------
    >>> describe_exit_code(3), describe_exit_code(-9)
    ('ended with exit code 3', 'was killed by SIGKILL')
    """
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was killed by {next((one.name for one in signal.Signals if one.value == -code), f'signal {-code}')}"
