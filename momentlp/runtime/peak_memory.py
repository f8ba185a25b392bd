"""How much memory a piece of work took at its peak, solver and all."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["PeakMemory", "peak_memory"]

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


class PeakMemory:
    """Bytes by which the process grew at its highest point; None where the system cannot tell."""

    def __init__(self) -> None:
        self.bytes: int | None = None


@contextmanager
def peak_memory() -> Iterator[PeakMemory]:
    """Measure the peak growth of resident memory inside a ``with`` block.

    Linux keeps a high-water mark per process that can be reset; memory that Python or C hold on to from earlier work is
    returned first, so that it does not hide what the block takes. Elsewhere nothing is measured.
    """
    result = PeakMemory()
    before = _reset()
    yield result
    if before is not None:
        result.bytes = max(0, _read("VmHWM") - before)


def _reset() -> int | None:
    if not sys.platform.startswith("linux"):
        return None
    gc.collect()
    with suppress(OSError, AttributeError):  # not glibc: the mark is reset all the same
        ctypes.CDLL(None).malloc_trim(0)
    try:
        CLEAR.write_text("5")
        return _read("VmRSS")
    except (OSError, StopIteration):
        return None


def _read(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024
