"""A pool runs a job in worker processes, notices workers that die, and tries their problems once more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.many_problems import on_linux, small
from helpers.obedient_worker import Unloadable
from helpers.processes import is_running, wait_until

import momentlp as mlp
from momentlp.solving.many import pool
from momentlp.solving.many.job import CallJob, Job
from momentlp.solving.many.pool import run_in_pool

CALL = CallJob("auto", {}, None)


def die_at_first(folder: Path, deaths: int, name: str = "item") -> int:
    """End the process, as often as ``deaths`` says; return the id of the process that survives."""
    attempts = len(list(folder.glob(f"{name}-*")))
    (folder / f"{name}-{attempts}").touch()
    if attempts < deaths:
        os._exit(7)
    return os.getpid()


def count(folder: Path, name: str = "item") -> int:
    return len(list(folder.glob(f"{name}-*")))


def results_of(items: Iterable[Callable[[], Any]], n_workers: int = 1) -> list[tuple[int, bool, Any]]:
    """Return index, success and value of every item, in the order in which they were finished."""
    results: list[tuple[int, bool, Any]] = []
    run_in_pool(CALL, items, lambda index, _, *result: results.append((index, *result)), n_workers, 1)
    return results


def use_worker(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let the pool start another worker module."""
    (folder / "worker_of_this_test.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(pool, "WORKER_MODULE", "worker_of_this_test")


def test_every_item_has_one_result_and_runs_in_another_process() -> None:
    results = results_of([os.getpid] * 5, n_workers=2)
    assert sorted(index for index, _, _ in results) == [0, 1, 2, 3, 4]
    assert all(succeeded for _, succeeded, _ in results)
    assert os.getpid() not in {value for _, _, value in results}


def test_the_caller_gets_the_item_that_it_gave() -> None:
    items, given = [partial(int, "7"), partial(int, "x")], {}

    def on_result(index: int, item: Any, succeeded: bool, value: Any) -> None:
        given[index] = item
        assert (succeeded, value) == (True, 7) if index == 0 else isinstance(value, ValueError)

    run_in_pool(CALL, items, on_result, 1, 1)
    assert [given[0], given[1]] == items


def test_no_process_is_started_without_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WORKER_MODULE", "no.such.module")
    assert results_of([]) == []


def test_a_problem_whose_worker_died_is_tried_once_more(tmp_path: Path) -> None:
    ((_, succeeded, pid),) = results_of([partial(die_at_first, tmp_path, 1)])
    assert succeeded
    assert pid != os.getpid()
    assert count(tmp_path) == 2


def test_a_problem_whose_worker_died_twice_fails(tmp_path: Path) -> None:
    items = [partial(int, "1"), partial(die_at_first, tmp_path, 5), partial(int, "2")]
    results = {index: (succeeded, value) for index, succeeded, value in results_of(items, n_workers=2)}
    assert results[0] == (True, 1)
    assert results[2] == (True, 2)
    succeeded, error = results[1]
    assert not succeeded
    assert isinstance(error, mlp.SolverError)
    assert str(error).startswith("the worker process of problem 1 ended with exit code 7. It was the second attempt")
    assert count(tmp_path) == 2


def test_the_second_attempt_runs_in_a_fresh_process(tmp_path: Path) -> None:
    items = [os.getpid, partial(die_at_first, tmp_path, 1), os.getpid, os.getpid]
    results = results_of(items, n_workers=2)
    position = next(position for position, (index, _, _) in enumerate(results) if index == 1)
    assert results[position][2] not in {pid for _, _, pid in results[:position]}


def test_every_problem_whose_worker_died_is_tried_again(tmp_path: Path) -> None:
    items = [partial(die_at_first, tmp_path, 1, f"item{k}") for k in range(3)]
    assert [succeeded for _, succeeded, _ in results_of(items, n_workers=2)] == [True] * 3
    assert [count(tmp_path, f"item{k}") for k in range(3)] == [2, 2, 2]


def test_a_worker_that_dies_before_it_takes_work_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_worker(tmp_path, monkeypatch, "def main():\n    raise SystemExit(4)\n")
    with pytest.raises(mlp.SolverError, match="a worker process ended with exit code 4 before it could take work"):
        results_of([os.getpid])


def meet(folder: Path, own: str, other: str) -> mlp.Problem:
    """Wait for another process that does the same, so that both are at work at once."""
    (folder / own).touch()
    assert wait_until((folder / other).exists)
    return small(0)


def leave() -> None:
    os._exit(9)


def use_workers_that_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch, starts: Callable[[int], bool], how: str = ""
) -> None:
    """Let the pool start workers of which only some get ready: ``starts`` is called with 0 for the first, 1 for the next.

    The others run the code ``how``, by default one that ends the process.
    """
    dead = [number for number in range(60) if not starts(number)]
    code = (
        "import os\n"
        "from pathlib import Path\n"
        "from momentlp.solving.many import pool_worker\n\n"
        "def main():\n"
        "    for number in range(60):\n"
        "        try:\n"
        f"            os.close(os.open(Path({str(folder)!r}) / f'start-{{number}}', os.O_CREAT | os.O_EXCL))\n"
        "            break\n"
        "        except FileExistsError:\n"
        "            pass\n"
        f"    if number in {dead}:\n"
        f"        {how or 'os._exit(4)'}\n"
        "    pool_worker.main()\n"
    )
    use_worker(folder, monkeypatch, code)


def test_a_replacement_that_dies_while_it_starts_is_replaced_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_workers_that_start(tmp_path, monkeypatch, lambda number: number not in (1, 2))
    items = [partial(int, "1"), partial(die_at_first, tmp_path, 1), partial(int, "3")]
    assert [succeeded for _, succeeded, _ in results_of(items)] == [True] * 3
    assert count(tmp_path, "start") == 4


def test_finished_results_are_kept_if_no_worker_can_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_workers_that_start(tmp_path, monkeypatch, lambda number: number == 0)
    items = [*(partial(int, str(k)) for k in range(10)), partial(die_at_first, tmp_path, 9)]
    results = {index: (succeeded, value) for index, succeeded, value in results_of(items)}
    assert [results[k] for k in range(10)] == [(True, k) for k in range(10)]
    succeeded, error = results[10]
    assert not succeeded
    assert isinstance(error, mlp.SolverError)
    assert "problem 10 has no worker process: 3 in a row did not start, and the last ended with exit code 4" in str(error)


def test_other_problems_go_on_with_the_workers_that_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_workers_that_start(tmp_path, monkeypatch, lambda number: number < 2)
    together = [partial(meet, tmp_path, "a", "b"), partial(meet, tmp_path, "b", "a")]  # both workers have had work
    items = [*together, partial(die_at_first, tmp_path, 9), *(partial(int, str(k)) for k in range(3, 12))]
    results = results_of(items, n_workers=2)
    assert sorted(index for index, _, _ in results) == list(range(12))
    assert [(index, str(error)[:33]) for index, succeeded, error in results if not succeeded] == [
        (2, "problem 2 has no worker process: ")
    ]


def test_every_problem_has_a_result_if_all_workers_are_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_workers_that_start(tmp_path, monkeypatch, lambda number: number == 0)
    results = results_of([partial(int, "1"), *[partial(die_at_first, tmp_path, 9)] * 4])
    assert [succeeded for _, succeeded, _ in results] == [True, False, False, False, False]
    assert all("has no worker process" in str(error) for _, _, error in results[1:])


def test_a_replacement_that_cannot_load_the_job_is_a_failed_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = "pool_worker.unpack = lambda *_: 1 / 0"
    use_workers_that_start(tmp_path, monkeypatch, lambda number: number == 0, refuse)
    results = results_of([partial(int, "1"), partial(die_at_first, tmp_path, 9)])
    assert results[0] == (0, True, 1)
    assert "has no worker process" in str(results[1][2])


def test_a_process_that_the_system_refuses_is_a_failed_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(pool, "_PoolWorker", refuse)
    with pytest.raises(mlp.SolverError, match=r"a worker process could not be started .*Resource temporarily unavailable"):
        results_of([os.getpid])


def test_solve_many_returns_all_answers_but_the_one_without_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_workers_that_start(tmp_path, monkeypatch, lambda number: number < 2)
    problems: list[Any] = [small(k % 3) for k in range(4)]
    problems = [partial(meet, tmp_path, "a", "b"), partial(meet, tmp_path, "b", "a"), *problems[:2], leave, *problems[2:]]
    found = mlp.solve_many(problems, n_jobs=2)
    assert [type(one).__name__ for one in found] == [*["Solution"] * 4, "FailedSolve", *["Solution"] * 2]
    assert "problem 4 has no worker process" in found[4].message


def test_a_worker_whose_messages_cannot_be_read_counts_as_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import struct, sys, time\n"
        "from momentlp.runtime.messages import receive, send\n\n"
        "def main():\n"
        "    receive(sys.stdin.buffer)\n"
        "    send(sys.stdout.buffer, ('ready',))\n"
        "    receive(sys.stdin.buffer)\n"
        "    sys.stdout.buffer.write(struct.pack('<QQ', 1, 3) + b'abc')\n"
        "    sys.stdout.buffer.flush()\n"
        "    time.sleep(3600)\n"
    )
    use_worker(tmp_path, monkeypatch, code)
    monkeypatch.setattr(pool, "SECONDS_TO_END", 0.0)
    ((_, succeeded, error),) = results_of([os.getpid])
    assert not succeeded
    assert "It was the second attempt" in str(error)


def test_a_job_that_a_worker_cannot_load_is_an_error_in_the_call() -> None:
    job = Job("auto", {}, Unloadable())  # type: ignore[arg-type]  # it fails before it is called
    with pytest.raises(mlp.OptionError, match=r"keep or an option cannot be loaded in a worker process .*cannot be loaded"):
        run_in_pool(job, [os.getpid], lambda *_: None, 1, 1)


def test_a_problem_that_a_worker_cannot_load_fails() -> None:
    results = results_of([partial(print, Unloadable()), partial(int, "7")])
    assert results[1] == (1, True, 7)
    _, succeeded, error = results[0]
    assert not succeeded
    assert isinstance(error, mlp.DataError)
    assert "a problem cannot be loaded in a worker process" in str(error)


def test_at_most_two_problems_per_worker_are_taken_ahead() -> None:
    n_taken, n_finished, max_unfinished = 0, 0, 0

    def items() -> Iterator[Any]:
        nonlocal n_taken, max_unfinished
        for _ in range(10):
            n_taken += 1
            max_unfinished = max(max_unfinished, n_taken - n_finished)
            yield partial(int, "7")

    def on_result(*_: object) -> None:
        nonlocal n_finished
        n_finished += 1

    run_in_pool(CALL, items(), on_result, 1, 1)
    assert n_finished == 10
    assert max_unfinished <= 2


@on_linux
def test_all_workers_are_stopped_when_the_caller_raises() -> None:
    pids: list[int] = []

    def on_result(index: int, item: Any, succeeded: bool, pid: int) -> None:
        pids.append(pid)
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        run_in_pool(CALL, [os.getpid] * 4, on_result, 2, 1)
    assert len(pids) == 1
    assert not is_running(pids[0])
