"""BLAS has one thread inside the block, however blocks are nested or overlap, and its own number afterwards."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
import scipy.linalg  # noqa: F401  its BLAS library must be loaded to be counted
from helpers.processes import MAX_SECONDS
from threadpoolctl import ThreadpoolController

from momentlp.runtime.blas_threads import n_cores, one_blas_thread

CONTROLLER = ThreadpoolController().select(user_api="blas")


def n_threads() -> set[int]:
    return {library["num_threads"] for library in CONTROLLER.info()}


OUTSIDE = n_threads()  # by default as many as there are cores
pytestmark = pytest.mark.skipif({1} == OUTSIDE, reason="BLAS has one thread without a limit too")


def test_blas_has_one_thread_inside_and_its_own_number_afterwards() -> None:
    with one_blas_thread():
        assert n_threads() == {1}
    assert n_threads() == OUTSIDE


def test_the_inner_of_two_blocks_does_not_remove_the_limit() -> None:
    with one_blas_thread():
        with one_blas_thread():
            assert n_threads() == {1}
        assert n_threads() == {1}
    assert n_threads() == OUTSIDE


def test_an_error_inside_removes_the_limit() -> None:
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert n_threads() == OUTSIDE


# In a process of its own: if the limit is not removed, all later tests would have one thread.
OVERLAP = """
    import threading
    import scipy.linalg
    from threadpoolctl import ThreadpoolController
    from momentlp.runtime.blas_threads import one_blas_thread

    controller = ThreadpoolController().select(user_api="blas")
    other_is_inside, this_has_left = threading.Event(), threading.Event()

    def n_threads():
        return max(library["num_threads"] for library in controller.info())

    def other():
        with one_blas_thread():
            other_is_inside.set()
            this_has_left.wait()
            print(n_threads())

    print(n_threads())
    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        other_is_inside.wait()
        print(n_threads())
    this_has_left.set()
    thread.join()
    print(n_threads())
"""


@pytest.fixture(scope="module")
def overlap() -> list[int]:
    """The number of threads before, inside both blocks, inside the second only, and after: the first leaves first."""
    command = [sys.executable, "-c", textwrap.dedent(OVERLAP)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=MAX_SECONDS)
    return [int(line) for line in done.stdout.split()]


def test_the_limit_holds_while_any_thread_is_inside(overlap: list[int]) -> None:
    assert overlap[1:3] == [1, 1]


def test_the_limit_is_removed_if_another_thread_leaves_last(overlap: list[int]) -> None:
    assert overlap[3] == overlap[0]


def test_there_is_at_least_one_core() -> None:
    assert n_cores() >= 1


def test_a_process_that_is_bound_to_one_core_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {5}, raising=False)
    assert n_cores() == 1
