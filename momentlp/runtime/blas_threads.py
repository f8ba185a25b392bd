"""One thread for linear algebra, while the pieces are small.

BLAS libraries hand even small products to all cores and keep them spinning in wait for the next. On a machine with anything
else to do, a solve of thousands of small products then takes ten times as long.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["n_cores", "one_blas_thread"]


class _Limit:
    """The limit, shared by all threads of this process that want it: the first sets it, the last takes it back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._controller: Any = None
        self._limit: Any = None

    def enter(self) -> None:
        import scipy.linalg  # noqa: F401  its BLAS is a library of its own, which must be there to be limited
        from threadpoolctl import ThreadpoolController

        with self._lock:
            if self._holders == 0:
                self._controller = self._controller or ThreadpoolController()  # looking up libraries takes milliseconds
                self._limit = self._controller.limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._holders += 1

    def leave(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limit.__exit__(None, None, None)


_LIMIT = _Limit()


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread inside; several threads may be inside at once, and leave in any order."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
