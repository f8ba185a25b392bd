"""Threads: results in order, one error, no threads left behind, reading ahead by a few chunks."""

from __future__ import annotations

import threading
import time
import warnings

import numpy as np
import pytest

from momentlp.runtime.threads import limit_threads, map_in_threads, map_while_reading, max_threads, split_for_threads


@pytest.fixture(autouse=True)
def _four_threads():
    with limit_threads(4):
        yield


def _slow_first(number: int) -> int:
    time.sleep(0.02 if number == 0 else 0.0)
    return number


@pytest.mark.parametrize("call", [map_in_threads, map_while_reading])
def test_results_come_in_order(call) -> None:
    assert list(call(_slow_first, [(number,) for number in range(40)])) == list(range(40))


@pytest.mark.parametrize("call", [map_in_threads, map_while_reading])
@pytest.mark.parametrize("n", [0, 1])
def test_nothing_or_one_thing_is_done_in_the_calling_thread(call, n: int) -> None:
    found = list(call(lambda _: threading.current_thread(), [(number,) for number in range(n)]))
    assert found == [threading.current_thread()] * n


@pytest.mark.parametrize("call", [map_in_threads, map_while_reading])
def test_an_error_is_raised_in_the_calling_thread_and_no_thread_is_left(call) -> None:
    before = set(threading.enumerate())

    def work(number: int) -> int:
        if number == 5:
            raise ValueError("five")
        return number

    with pytest.raises(ValueError, match="five"):
        list(call(work, [(number,) for number in range(1000)]))
    assert set(threading.enumerate()) == before


def test_after_an_error_the_rest_is_not_computed() -> None:
    done = []

    def work(number: int) -> None:
        if number == 0:
            raise ValueError("zero")
        time.sleep(0.001)
        done.append(number)

    with pytest.raises(ValueError, match="zero"):
        map_in_threads(work, [(number,) for number in range(2000)])
    assert len(done) < 1000


@pytest.mark.parametrize("call", [map_in_threads, map_while_reading])
def test_numpy_treats_errors_as_in_the_calling_thread(call) -> None:
    values = [(np.array([1.0, 0.0]),)] * 20
    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        warnings.simplefilter("error")
        assert all(np.isinf(result[1]) for result in call(lambda x: 1.0 / x, values))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        list(call(lambda x: 1.0 / x, values))


def test_threads_do_not_start_threads() -> None:
    assert set(map_in_threads(lambda _: max_threads(), [(number,) for number in range(8)])) == {1}


def test_reading_is_a_few_chunks_ahead_and_not_more() -> None:
    read = []

    def arguments():
        for number in range(50):
            read.append(number)
            yield (number,)

    results = map_while_reading(_slow_first, arguments())
    assert next(results) == 0
    assert len(read) <= 6  # one for each thread, one waiting, one to know that there is more
    results.close()
    assert len(read) <= 6


def test_an_error_while_reading_is_raised() -> None:
    def arguments():
        yield (1,)
        yield (2,)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(map_while_reading(_slow_first, arguments()))


def test_the_number_of_threads_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with limit_threads(None):
        assert max_threads() == 4  # the outer limit stays
    with limit_threads(1):
        assert set(map_in_threads(lambda _: threading.current_thread(), [(0,), (1,)])) == {threading.current_thread()}
    from momentlp.runtime import threads

    monkeypatch.setattr(threads, "_LIMIT", type(threads._LIMIT)("fresh", default=None))
    monkeypatch.setattr(threads, "n_cores", lambda: 64)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert max_threads() == 8
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert max_threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert max_threads() == 8


@pytest.mark.parametrize(("n_rows", "n_columns", "n_spans"), [(10, 3, 1), (0, 3, 0), (1_000_000, 32, 16), (40_000, 32, 3)])
def test_spans_cover_all_rows(n_rows: int, n_columns: int, n_spans: int) -> None:
    spans = split_for_threads(n_rows, n_columns)
    assert len(spans) == n_spans
    assert [row for span in spans for row in range(span.start, span.stop)] == list(range(n_rows))
