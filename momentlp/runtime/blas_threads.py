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
    """The limit of this process. All threads share it: the first one to enter sets it, the last one to leave removes it.

    The number of threads is set through the library controllers of threadpoolctl, not through its context manager: from
    version 3.8 on, only the thread that entered the context can leave it, but here any thread may be the last one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._libraries: list[Any] = []
        self._n_threads_outside: list[int] = []

    def enter(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._libraries = self._libraries or _find_blas_libraries()  # kept: finding them takes milliseconds
                self._n_threads_outside = [library.get_num_threads() for library in self._libraries]
                self._set_threads([1] * len(self._libraries))
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._set_threads(self._n_threads_outside)

    def _set_threads(self, n_threads: list[int]) -> None:
        for library, number in zip(self._libraries, n_threads, strict=True):
            _release_control(library)
            library.set_num_threads(number)
            _release_control(library)


def _find_blas_libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  scipy has a BLAS library of its own, which must be loaded to be limited
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _release_control(library: Any) -> None:
    """Let any thread set the number of threads next; threadpoolctl before 3.8 has no such restriction."""
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


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
