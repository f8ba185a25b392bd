"""Keep linear algebra to one thread while its matrices are small.

BLAS libraries split even small products over all cores, and their threads then wait for the next product in a busy loop. If
the machine has anything else to do, a solve with thousands of small products takes ten times as long.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["n_cores", "one_blas_thread"]


class _BlasLimit:
    """The limit of this process. All threads share it: the first one to enter sets it, the last one to leave removes it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._controller: Any = None
        self._limit: Any = None

    def enter(self) -> None:
        import scipy.linalg  # noqa: F401  scipy has a BLAS library of its own, which must be loaded to be limited
        from threadpoolctl import ThreadpoolController

        with self._lock:
            if self._n_inside == 0:
                self._controller = self._controller or ThreadpoolController()  # kept: making one takes milliseconds
                self._limit = self._controller.limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limit.__exit__(None, None, None)


_LIMIT = _BlasLimit()


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside a ``with`` block.

    Blocks may be nested. Several threads may be inside at once and leave in any order.
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
