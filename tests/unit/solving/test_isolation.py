"""A crash or hang of an isolated solver does not affect the caller, and its answer is checked like any other answer."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import misbehaving
from helpers.misbehaving import KeepsTime, Misbehaving, Reports, ReportsAndHangs
from helpers.paths import TESTS
from helpers.processes import is_running, wait_until

import momentlp as mlp
from momentlp.solving.isolation import Isolated
from momentlp.testing import half_space
from momentlp_glpk import Glpk

PROBLEM, SIZE = half_space(120, 3, seed=0)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Linux only")


def isolated(how: str, **options: Any) -> mlp.Solution:
    return mlp.solve(PROBLEM, Misbehaving(how=how), isolate=True, **options)


def test_the_time_limit_is_a_deadline_for_the_worker() -> None:
    """Checked without a worker: one that has no deadline would hang the other tests."""
    isolated_backend = Isolated(Misbehaving(how="hangs"), None)
    assert isolated_backend._deadline(mlp.Options(time_limit=2.0), started=10.0) == 12.0
    assert isolated_backend._deadline(mlp.Options(), started=10.0) is None


def test_every_backend_gives_the_same_answer_isolated(backend: str) -> None:
    limits = {"memory_limit": 10**9} if sys.platform == "linux" else {}
    direct, isolated_solution = (
        mlp.solve(PROBLEM, backend),
        mlp.solve(PROBLEM, backend, isolate=True, time_limit=60, **limits),
    )
    assert isolated_solution.status is mlp.Status.OPTIMAL, isolated_solution.message
    assert isolated_solution.objective == pytest.approx(SIZE)
    np.testing.assert_array_equal(isolated_solution.membership, direct.membership)
    assert (isolated_solution.backend, isolated_solution.engine, isolated_solution.version) == (
        direct.backend,
        direct.engine,
        direct.version,
    )


def test_an_isolated_backend_has_the_attributes_of_the_inner_one() -> None:
    solver = Isolated(Glpk(meth="primal"), memory_limit=10**9)
    assert (solver.name, solver.engine, solver.package, solver.extra) == ("glpk", "GLPK", "swiglpk", "glpk")
    assert solver.native == {"meth": "primal"}
    assert solver.version() == Glpk.version()
    assert repr(solver) == "Isolated(Glpk(meth='primal'), memory_limit=1000000000)"
    assert isinstance(Isolated(solver).inner, Glpk)
    assert Isolated(Misbehaving(how="do_nothing")).capabilities == {mlp.Capability.TIME_LIMIT}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("abort", r"killed by SIGABRT(.|\n)*last lines that it printed:\n(.|\n)*assertion failed: basis != NULL"),
        ("segfault", "killed by SIGSEGV"),
        ("exit_at_once", "ended with exit code 0 without an answer"),
        ("exit_with_code_3", "ended with exit code 3 without an answer"),
    ],
)
def test_a_crash_raises_an_error_that_says_how_the_worker_ended(how: str, message: str) -> None:
    with pytest.raises(mlp.SolverError, match=rf"backend 'misbehaving' crashed: its worker process (.|\n)*{message}"):
        isolated(how)


@pytest.mark.parametrize("how", ["sleep", "spin", "hold_the_lock"])
def test_a_solver_that_hangs_is_stopped_at_the_time_limit(how: str) -> None:
    solution = isolated(how, time_limit=0.3)
    assert solution.status is mlp.Status.LIMIT
    match = re.fullmatch(r"stopped after (\S+) s by time_limit", solution.message)
    assert match is not None, solution.message
    assert float(match[1]) >= 0.3
    assert solution.objective == 0.0
    assert SIZE <= solution.bound < np.inf


def test_a_backend_that_keeps_time_gets_the_limit() -> None:
    message = mlp.solve(PROBLEM, KeepsTime(), isolate=True, time_limit=30).message
    assert 0 < float(message.removeprefix("time_limit=")) <= 30
    assert mlp.solve(PROBLEM, KeepsTime(), isolate=True).message == "time_limit=None"


@LINUX
def test_memory_is_limited() -> None:
    solution = isolated("use_memory", memory_limit=2 * 10**8)
    assert solution.status is mlp.Status.LIMIT
    assert "memory_limit" in solution.message
    assert solution.bound >= SIZE
    assert "used 400000000 bytes" in isolated("use_memory", memory_limit=10**9).message


@LINUX
def test_the_problem_itself_counts_against_the_memory_limit() -> None:
    large = mlp.Problem.from_arrays(np.ones((10**6, 12)), 0.0, 1.0)
    solution = mlp.solve(large, Misbehaving(how="return_text"), isolate=True, memory_limit=7 * 10**7)
    assert solution.status is mlp.Status.LIMIT
    assert "memory_limit" in solution.message


@LINUX
def test_a_crash_under_a_memory_limit_mentions_the_limit() -> None:
    with pytest.raises(mlp.SolverError, match=r"SIGABRT(.|\n)*raise memory_limit \(now 1000000000 bytes\)"):
        isolated("abort", memory_limit=10**9)


@pytest.mark.parametrize("limit", [0, -1, 1.5, "2 GB", True])
def test_a_memory_limit_must_be_a_number_of_bytes(limit: Any) -> None:
    with pytest.raises(mlp.OptionError, match=r"memory_limit must be an integer of at least 67108864, .* number of bytes"):
        mlp.solve(PROBLEM, isolate=True, memory_limit=limit)


def test_arguments_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(mlp.OptionError, match="memory_limit limits a worker process: add isolate=True"):
        mlp.solve(PROBLEM, memory_limit=10**9)
    with pytest.raises(mlp.OptionError, match="isolate must be True or False"):
        mlp.solve(PROBLEM, isolate="yes")  # type: ignore[arg-type]
    with pytest.raises(mlp.OptionError, match="cannot honour threads"):
        mlp.solve(PROBLEM, "glpk", isolate=True, threads=2)


def test_a_memory_limit_is_refused_on_other_systems_than_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(mlp.OptionError, match="memory_limit works on Linux only"):
        mlp.solve(PROBLEM, isolate=True, memory_limit=10**9)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("return_text", "returned str, but it must return an Answer"),
        ("return_a_function", "returned what cannot be sent to the parent process"),
        ("return_a_short_membership", r"returned membership of shape \(3,\)"),
        ("fail_with_unpicklable_error", "failed with RuntimeError: UnpicklableError: this and that"),
    ],
)
def test_an_isolated_backend_that_breaks_its_contract_is_named(how: str, message: str) -> None:
    with pytest.raises(mlp.SolverError, match=f"backend 'misbehaving' {message}"):
        isolated(how)


def test_an_error_says_where_in_the_worker_it_came_from() -> None:
    with pytest.raises(mlp.SolverError, match=r"'misbehaving' failed with KeyError: 'basis'.*problem\.save") as caught:
        isolated("fail")
    assert isinstance(caught.value.__cause__, KeyError)
    assert 'raise KeyError("basis")' in caught.value.__cause__.__notes__[0]


def test_an_error_of_momentlp_keeps_its_class() -> None:
    with pytest.raises(mlp.OptionError, match=r"^how must be better than this\.$"):
        isolated("refuse")
    with pytest.raises(mlp.OptionError, match="highs has no option 'presolv'"):
        mlp.solve(PROBLEM, isolate=True, options={"presolv": "on"})


def test_a_class_that_only_this_process_has_cannot_be_sent() -> None:
    class Local(Misbehaving):
        pass

    with pytest.raises(mlp.OptionError, match="isolate=True cannot send the backend to a worker process"):
        mlp.solve(PROBLEM, Local(how="do_nothing"), isolate=True)
    with pytest.raises(mlp.OptionError, match="isolate=True cannot send the options to a worker process"):
        mlp.solve(PROBLEM, isolate=True, options={"presolve": lambda: "on"})


def test_a_class_of_the_script_itself_cannot_be_loaded() -> None:
    script = """
        import momentlp as mlp
        from momentlp_highs import Highs

        class Own(Highs):
            pass

        problem = mlp.Spec().compile([[0.0], [1.0]], labelled=[0])
        try:
            mlp.solve(problem, Own(), isolate=True)
        except mlp.OptionError as error:
            print(error)
        print(mlp.solve(problem, isolate=True).status.name)  # no __main__ guard is needed
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    refused, solved = done.stdout.splitlines()
    assert "cannot load the backend in a worker process" in refused
    assert "in a module that can be imported" in refused
    assert solved == "OPTIMAL"


def test_feature_maps_and_labels_are_not_sent() -> None:
    unsendable: Any = threading.Lock()
    blocks = tuple(replace(block, fitted=unsendable) for block in PROBLEM.blocks)
    assert mlp.solve(replace(PROBLEM, blocks=blocks), isolate=True).objective == pytest.approx(SIZE)


def test_sparse_and_infeasible_problems_can_be_isolated() -> None:
    problem = mlp.Problem.from_arrays(sp.csr_array(np.eye(6)), 2.0, np.inf)
    assert mlp.solve(problem, isolate=True).status is mlp.Status.INFEASIBLE


def test_output_of_a_solver_does_not_mix_with_its_answer(capfd: pytest.CaptureFixture[str]) -> None:
    assert isolated("print_in_every_way").objective == pytest.approx(SIZE)
    assert capfd.readouterr() == ("", "")


def test_verbose_shows_what_a_solver_prints(capsys: pytest.CaptureFixture[str]) -> None:
    isolated("print_in_every_way", verbose=True)
    out = capsys.readouterr().out
    assert all(message in out for message in ("raw bytes", "said with print", "said with puts"))


@pytest.mark.parametrize("backend", ["highs", "scipy"])  # one that has a log to forward, one that prints
def test_verbose_shows_the_log(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    mlp.solve(PROBLEM, backend, isolate=True, verbose=True)
    assert "HiGHS run time" in capsys.readouterr().out


def test_log_and_progress_are_called_in_the_thread_of_the_caller() -> None:
    stream, reports, threads = io.StringIO(), [], set()

    def record(progress: mlp.Progress) -> None:
        reports.append(progress.iterations)
        threads.add(threading.current_thread())

    mlp.solve(PROBLEM, Reports(), isolate=True, log=stream, progress=record)
    assert stream.getvalue() == "line 0\nline 1\nline 2\n"
    assert reports == [0, 1, 2]
    assert threads == {threading.current_thread()}


def test_the_log_of_a_solver_reaches_the_caller() -> None:
    stream = io.StringIO()
    mlp.solve(PROBLEM, Glpk(), isolate=True, log=stream)
    assert "GLPK" in stream.getvalue()


def test_an_error_in_a_callback_reaches_the_caller() -> None:
    error = ZeroDivisionError("mine")

    def fail(text: str) -> None:
        raise error

    with pytest.raises(ZeroDivisionError) as caught:
        mlp.solve(PROBLEM, isolate=True, log=fail)
    assert caught.value is error


def test_a_warning_in_the_worker_is_a_warning_of_the_caller() -> None:
    with pytest.warns(misbehaving.OwnWarning, match="the basis is rough"):
        isolated("warn")
    with pytest.raises(mlp.SolverError, match="failed with OwnWarning: the basis is rough"):
        isolated("warn")  # as without isolation, where the filters of this run make it an error


@LINUX
def test_no_file_thread_or_process_is_left_behind() -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def children() -> list[str]:
        return Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()

    isolated("do_nothing")
    files, threads, before = open_files(), threading.active_count(), children()
    for _ in range(2):
        isolated("do_nothing")
        isolated("sleep", time_limit=0.01)
        with pytest.raises(mlp.SolverError):
            isolated("exit_at_once")
    assert (open_files(), threading.active_count()) == (files, threads)
    assert children() == before


@LINUX
def test_processes_that_the_solver_started_end_with_it(tmp_path: Path) -> None:
    def interrupt(text: str) -> None:
        raise ZeroDivisionError(text)

    with pytest.raises(ZeroDivisionError, match="hanging"):
        mlp.solve(PROBLEM, ReportsAndHangs(path=str(tmp_path / "pids")), isolate=True, log=interrupt)
    worker, child = map(int, (tmp_path / "pids").read_text().split())
    assert wait_until(lambda: not is_running(worker) and not is_running(child))


@LINUX
def test_a_worker_does_not_survive_its_parent(tmp_path: Path) -> None:
    script = f"""
        import momentlp as mlp
        from helpers.misbehaving import Misbehaving
        problem = mlp.Spec().compile([[0.0], [1.0]], labelled=[0])
        mlp.solve(problem, Misbehaving(how="write_pids_and_hang", path={str(tmp_path / "pids")!r}), isolate=True)
    """
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], env=environment) as parent:
        assert wait_until((tmp_path / "pids").exists)
        worker, child = map(int, (tmp_path / "pids").read_text().split())
        assert is_running(worker)
        parent.kill()
    gone = wait_until(lambda: not is_running(worker))
    # The worker held Python's lock, so the kernel killed it; the kernel does not kill the process that the worker started.
    os.kill(child, signal.SIGKILL)
    assert gone


def test_several_threads_can_isolate_at_the_same_time() -> None:
    problems = [half_space(120, 3, seed=seed) for seed in range(3)]
    with ThreadPoolExecutor(3) as pool:
        solutions = list(pool.map(lambda pair: mlp.solve(pair[0], "glpk", isolate=True), problems))
    for (_, size), solution in zip(problems, solutions, strict=True):
        assert solution.objective == pytest.approx(size)


def test_compare_can_isolate_each_backend() -> None:
    rows = mlp.compare(PROBLEM, [Misbehaving(how="abort"), "highs"], isolate=True)
    assert [row["status"] for row in rows] == ["error", "optimal"]
    assert "SIGABRT" in rows[0]["message"]
