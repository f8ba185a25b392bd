"""solve_many and its worker processes: what is sent to them, how they die, and that none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.many_problems import on_linux, same, small
from helpers.misbehaving import segfault
from helpers.paths import TESTS
from helpers.processes import MAX_SECONDS, is_running, wait_until

import momentlp as mlp
from momentlp.runtime.pickling import pack, unpack


def raises() -> mlp.Problem:
    raise KeyError("no such file")


def dies_once(path: Path) -> mlp.Problem:
    if not path.exists():
        path.touch()
        os._exit(1)
    return small(4)


def test_a_problem_fails_if_its_worker_dies_twice_and_the_others_do_not(tmp_path: Path) -> None:
    crash = segfault if os.name == "posix" else partial(os._exit, 9)
    mixed: list[Any] = [small(0), partial(dies_once, tmp_path / "died"), crash, small(1)]
    found: list[Any] = mlp.solve_many(mixed, n_jobs=2)
    assert [type(result).__name__ for result in found] == ["Solution", "Solution", "FailedSolve", "Solution"]
    assert all(same(found[index], mlp.solve(small(label))) for index, label in ((0, 0), (1, 4), (3, 1)))
    how = "was killed by SIGSEGV" if os.name == "posix" else "ended with exit code 9"
    with pytest.raises(mlp.SolverError, match=f"worker process of problem 2 {how}"):
        found[2].raise_()


def test_objects_that_cannot_be_sent_are_reported() -> None:
    with pytest.raises(mlp.OptionError, match="keep or an option cannot be sent to a worker"):
        mlp.solve_many([small(0)], n_jobs=2, keep=lambda _, held=(item for item in ()): held)  # type: ignore[misc]
    found = mlp.solve_many(
        [small(0), lambda held=(item for item in ()): held], n_jobs=2, keep=lambda s: iter(s.multipliers.data)
    )  # type: ignore[list-item, misc]
    assert [type(result.error) for result in found if isinstance(result, mlp.FailedSolve)] == [mlp.DataError] * 2


def test_without_cloudpickle_only_what_can_be_imported_can_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    import joblib  # noqa: F401  it may need cloudpickle itself

    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    unpacked = unpack(pack(partial(small, 1), lambda _: None), lambda _: None)
    assert same(mlp.solve(unpacked()), mlp.solve(small(1)))
    monkeypatch.setattr(raises, "__module__", "__main__")
    named = [
        (lambda: small(0), r"<locals>.<lambda> \(line \d+ of .*test_solve_many_processes.py\)"),
        (raises, "problem 1 .*raises"),
    ]
    found = mlp.solve_many([function for function, _ in named], n_jobs=2)
    for one, (_, name) in zip(found, named, strict=True):
        with pytest.raises(mlp.DataError, match=f"{name}.*pip install cloudpickle"):
            one.raise_()  # type: ignore[union-attr]
    with pytest.raises(mlp.OptionError, match=r"keep.*<lambda>.*pip install cloudpickle"):
        mlp.solve_many([small(0)], n_jobs=2, keep=lambda solution: solution)


def test_settings_reach_the_workers_and_each_has_its_share_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joblib.cpu_count", lambda: 6)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "5")
    lines: list[str] = []

    def keep(solution: mlp.Solution) -> tuple[mlp.Solution, str | None, str | None]:
        return solution, os.environ.get("OMP_NUM_THREADS"), os.environ.get("MKL_NUM_THREADS")

    start = mlp.solve(small(2))
    found: list[Any] = mlp.solve_many([small(0)], "highs", n_jobs=2, keep=keep, start=start, time_limit=60, log=lines.append)
    assert same(found[0][0], mlp.solve(small(0)))
    assert found[0][1:] == ("3", "5")
    assert "HiGHS" in "".join(lines)


SCRIPT = """
    import os, signal, sys, time
    from pathlib import Path
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores SIGINT
    import numpy as np, momentlp as mlp
    from helpers.misbehaving import write_pids_and_hang

    X = np.zeros((200_000, 1))
    folder = sys.argv[1]

    def hang(number, X=X):
        write_pids_and_hang(f"{folder}/{number}")

    try:
        mlp.solve_many([lambda number=number: hang(number) for number in range(5)], n_jobs=2)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@on_linux
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_stops_everything_and_no_process_outlives_the_caller(kind: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        reported = [tmp_path / "0", tmp_path / "1"]  # two workers run functions of the script itself
        is_hanging = wait_until(lambda: all(path.exists() for path in reported))
        if not is_hanging:
            process.kill()
        assert is_hanging
        workers, started = zip(*(map(int, path.read_text().split()) for path in reported), strict=True)
        assert all(map(is_running, (*workers, *started)))
        process.send_signal(kind)
        process.wait(MAX_SECONDS)  # the workers never return: the caller must stop them
        if kind is signal.SIGKILL:  # the kernel kills the workers, but not the processes they started
            assert wait_until(lambda: not any(map(is_running, workers)))
            for pid in started:
                os.kill(pid, signal.SIGKILL)
        else:
            assert not any(map(is_running, (*workers, *started)))
            assert (*process.communicate(), process.returncode) == ("interrupted\n", "", 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]
