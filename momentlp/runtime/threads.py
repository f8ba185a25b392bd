"""Call a function for many arguments in several threads, and take the results in order.

NumPy releases Python's global lock while it computes, so threads share a pass over large arrays without copying them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain, islice
from threading import Thread
from typing import Any, TypeVar

import numpy as np

from momentlp.runtime.blas_threads import n_cores, one_blas_thread

__all__ = ["limit_threads", "map_in_threads", "map_while_reading", "max_threads", "split_for_threads"]

MAX_THREADS = 8  # more threads read no faster: the memory is the limit
MAX_SPANS, MIN_SPAN_ENTRIES = 16, 1 << 19
_LIMIT: ContextVar[int | None] = ContextVar("momentlp_max_threads", default=None)

Result = TypeVar("Result")


def max_threads() -> int:
    """Return how many threads to use: the cores of this process, at most 8, and at most ``OMP_NUM_THREADS`` if it is set."""
    limit = _LIMIT.get()
    if limit is not None:
        return limit
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(n_cores(), MAX_THREADS, int(asked) if asked.isdecimal() and int(asked) else MAX_THREADS)


@contextmanager
def limit_threads(number: int | None) -> Iterator[None]:
    """Use at most this many threads inside a ``with`` block; None changes nothing."""
    before = _LIMIT.set(_LIMIT.get() if number is None else number)
    try:
        yield
    finally:
        _LIMIT.reset(before)


def split_for_threads(n_rows: int, n_columns: int) -> tuple[slice, ...]:
    """Split the rows of an array into at most 16 spans for threads; one span if the array is small.

    The number of threads does not matter, so sums over spans are rounded in the same way on every machine.

    Examples
    --------
    >>> split_for_threads(3, 1 << 19)
    (slice(0, 1, None), slice(1, 2, None), slice(2, 3, None))
    """
    step = max(1, -(-n_rows // MAX_SPANS), MIN_SPAN_ENTRIES // max(1, n_columns))
    return tuple(slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def map_in_threads(work: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
    """Return ``work(*each)`` for each tuple of ``arguments``, in their order.

    Parameters
    ----------
    work : callable
        A function that changes nothing that the calls share.
    arguments : sequence of tuple

    Examples
    --------
    >>> map_in_threads(pow, [(2, 3), (3, 2)])
    [8, 9]
    """
    n_threads = min(max_threads(), len(arguments))
    if len(arguments) == 1:
        return [work(*arguments[0])]
    if n_threads < 2:
        with one_blas_thread():  # so that sums are rounded as they are with more threads
            return [work(*each) for each in arguments]
    results: list[Any] = [None] * len(arguments)
    errors: list[BaseException] = []
    numbers, in_thread = iter(range(len(arguments))), _prepare(work)

    def take_turns() -> None:
        try:
            for number in numbers:  # next() of an iterator over a range is atomic, so each number is taken once
                if errors:
                    return
                results[number] = in_thread(*arguments[number])
        except BaseException as error:  # noqa: BLE001  raised below, in the calling thread
            errors.append(error)

    others = [Thread(target=take_turns, name=f"momentlp-{number}") for number in range(1, n_threads)]
    with one_blas_thread():
        for thread in others:
            thread.start()
        take_turns()
        for thread in others:
            thread.join()
    if errors:
        raise errors[0]
    return results


def map_while_reading(work: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
    """Yield ``work(*each)`` for each tuple of ``arguments``, in their order.

    The arguments are made in the calling thread, a few ahead of the results: reading the next chunk of a file overlaps with
    computing. If there is only one tuple, or one core, everything is done in the calling thread.

    Parameters
    ----------
    work : callable
        A function that changes nothing that the calls share.
    arguments : iterable of tuple

    Yields
    ------
    object
        The result of each call.

    Examples
    --------
    >>> list(map_while_reading(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    remaining, n_threads = iter(arguments), max_threads()
    first = list(islice(remaining, 2)) if n_threads > 1 else []
    if len(first) < 2:
        yield from (work(*each) for each in chain(first, remaining))
        return
    in_thread = _prepare(work)
    pending: deque[Future[Result]] = deque()
    with one_blas_thread(), ThreadPoolExecutor(n_threads, thread_name_prefix="momentlp") as pool:
        try:
            for each in chain(first, remaining):
                pending.append(pool.submit(in_thread, *each))
                if len(pending) > n_threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _prepare(work: Callable[..., Result]) -> Callable[..., Result]:
    """Return a function that does the same in a new thread: with numpy's error handling of this one, and no more threads."""
    state = np.geterr()

    def in_thread(*each: Any) -> Result:
        with np.errstate(**state), limit_threads(1):
            return work(*each)

    return in_thread
