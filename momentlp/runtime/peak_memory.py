"""Measure the peak memory of a piece of work, including the memory of the solver."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["PeakMemory", "peak_memory"]

STATUS_FILE = Path("/proc/self/status")
CLEAR_FILE = Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # Linux, proc(5): written to clear_refs, it sets the peak to the memory in use now


class PeakMemory:
    """The result of :func:`peak_memory`.

    Attributes
    ----------
    bytes : int or None
        By how much the memory of the process grew at its peak; None if the system cannot measure it.
    """

    def __init__(self) -> None:
        self.bytes: int | None = None


@contextmanager
def peak_memory() -> Iterator[PeakMemory]:
    """Measure by how much the resident memory grows at its peak inside a ``with`` block.

    Linux records the peak of every process, and the record can be reset. Memory that Python or C keep from earlier work is
    returned to the system first: the block would use it again, and its growth would seem too small. On other systems
    nothing is measured.
    """
    result = PeakMemory()
    before = _reset_peak()
    yield result
    if before is not None:
        result.bytes = max(0, _read_status("VmHWM") - before)


def _reset_peak() -> int | None:
    """Reset the recorded peak; return the bytes in use now, or None if the system has no such record."""
    if not sys.platform.startswith("linux"):
        return None
    gc.collect()
    with suppress(OSError, AttributeError):  # C libraries other than glibc have no malloc_trim
        ctypes.CDLL(None).malloc_trim(0)
    try:
        CLEAR_FILE.write_text(RESET_PEAK)
        return _read_status("VmRSS")
    except (OSError, StopIteration):
        return None


def _read_status(field: str) -> int:
    """Return a field of the status file, which is in kilobytes, in bytes."""
    line = next(line for line in STATUS_FILE.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024
