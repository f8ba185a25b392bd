"""Wait for other processes, and see whether they run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

MAX_SECONDS = 60.0  # that a test waits for another process before it fails


def is_running(pid: int) -> bool:
    """Return whether a process runs; Linux only. A zombie, which has ended and waits for its parent, does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition: Callable[[], bool]) -> bool:
    """Wait until a condition holds, and return True; return False if it does not hold in time."""
    end = time.monotonic() + MAX_SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
