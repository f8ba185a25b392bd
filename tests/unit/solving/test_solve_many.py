"""Many problems at once: in order, each on its own, and with one copy of the data."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.misbehaving import Misbehaving, StubbornError, segfault
from helpers.places import TESTS

import momentlp as mlp
from momentlp.runtime import progress_bar as bar
from momentlp.runtime import shared_arrays as shared
from momentlp.runtime.pickling import pack, unpack
from momentlp.solving.many.job import Job

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1500, 100))  # above shared.LARGE
SPEC = mlp.Spec(tolerance=mlp.Absolute(5.0))
SMALL = np.arange(40.0).reshape(20, 2)
BOTH = pytest.mark.parametrize("n_jobs", [1, 2])
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def small(label: int) -> mlp.Problem:
    return SPEC.compile(SMALL, labelled=[label, 10])


def problems(number: int, points: Any = X) -> list[mlp.Problem]:
    return [SPEC.compile(points, labelled=[3 * k, 3 * k + 1, 3 * k + 2]) for k in range(number)]


def raises() -> mlp.Problem:
    raise KeyError("no such file")


def raises_stubbornly() -> mlp.Problem:
    raise StubbornError("this", "that")


def objective(solution: mlp.Solution) -> float:
    return solution.objective


def same(one: Any, other: mlp.Solution) -> bool:
    return one.status is other.status and np.allclose(one.membership, other.membership, atol=1e-9)


def shared_memory_of_this_process() -> int:
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sum("memfd:momentlp" in link for link in links)


class ViewOf:
    """A function that gives another view of the points to every pickle."""

    def __init__(self, points: Any) -> None:
        self.points = points

    def __getstate__(self) -> dict[str, Any]:
        return {"points": self.points[:]}

    def __call__(self) -> mlp.Problem:
        return problems(1, self.points)[0]


@dataclass
class Seen:
    """What a worker sees of a problem."""

    solution: mlp.Solution
    pid: int
    kind: str
    file: str  # that the features are mapped from
    private: int  # kilobytes of that map that the process has to itself
    first: float | None


def look(folder: Path, solution: mlp.Solution) -> Seen:
    """Look at the features, write to them where that is possible, and wait until the other worker has looked too."""
    features: Any = solution.problem.blocks[0].features
    kind, file, private, first = type(features).__name__, "", 0, None
    if kind == "MemoryMapped":
        file = Path(features._array.filename).name
    elif sys.platform == "linux":
        file, private = how_it_is_mapped(features.data if sp.issparse(features) else features)
    if kind == "ndarray":
        first = float(features[0, 0])
        features[0, 0] = 1e9
    (folder / str(os.getpid())).touch()
    wait_for(lambda: len(list(folder.iterdir())) == 2)
    return Seen(solution, os.getpid(), kind, file, private, first)


def how_it_is_mapped(array: np.ndarray) -> tuple[str, int]:
    address, file, private, inside = array.__array_interface__["data"][0], "", 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.split(maxsplit=5)
        if "-" in head[0] and not head[0].endswith(":"):
            start, end = (int(part, 16) for part in head[0].split("-"))
            inside = start <= address < end
            file = f"{head[4]} {head[5]}" if inside and len(head) == 6 else file
        elif inside and head[0] == "Anonymous:":
            private = int(head[1])
    return file, private


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Any, Any]]]:
    """What two workers saw of problems of several kinds, each beside what was given. (They take a second to start.)"""
    path = tmp_path_factory.mktemp("data") / "X.npy"
    np.save(path, np.concatenate([X[:100], X]))
    file = np.load(path, mmap_mode="r")
    parts = (file[100:], file[:50], file[100::3], file[:, 3:90:2])
    given: dict[str, list[Any]] = {
        "dense": problems(3),
        "made there": [partial(SPEC.compile, X, labelled=[0, 1, 2]), ViewOf(X), ViewOf(X + 0.0)],
        "sparse": problems(2, sp.random(300, 20, density=0.5, format="csr", random_state=0)),
        "mapped": [SPEC.compile(part, labelled=[0, 1, 2]) for part in parts],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "LARGE", 20_000)  # bytes: the numbers of the sparse ones are more
        keep = partial(look, tmp_path_factory.mktemp("seen"))
        found = iter(mlp.solve_many([one for kind in given.values() for one in kind], n_jobs=2, keep=keep))
    return {kind: [(one, next(found)) for one in ones] for kind, ones in given.items()}


def test_answers_are_those_of_solve_in_the_order_of_the_problems(seen: dict[str, Any]) -> None:
    for problem, solution in ((given, found.solution) for given, found in seen["dense"] + seen["sparse"]):
        one = mlp.solve(problem)
        assert same(solution, one)
        assert solution.problem is problem
        assert solution.certificate.problem is problem
        assert solution.certificate.membership is solution.membership
        assert solution.certificate.figures() == pytest.approx(one.certificate.figures(), rel=1e-6, abs=1e-9)
        assert (solution.backend, solution.engine, solution.version) == (one.backend, one.engine, one.version)
        assert solution.iterations > 0
        assert set(solution.seconds) == set(one.seconds)
        assert solution.membership.flags.writeable


def test_a_problem_made_in_a_worker_comes_back_with_its_solution_but_its_data_does_not(seen: dict[str, Any]) -> None:
    expected = mlp.solve(problems(1)[0])
    (_, made), (_, from_view), (maker, from_another) = seen["made there"]
    assert all(same(one.solution, expected) for one in (made, from_view, from_another))
    assert made.solution.problem.blocks[0].features is X
    assert np.shares_memory(from_view.solution.problem.blocks[0].features, X)
    assert np.shares_memory(from_another.solution.problem.blocks[0].features, maker.points)


@on_linux
def test_processes_share_one_copy_of_the_features(seen: dict[str, Any]) -> None:
    dense = [found for _, found in seen["dense"] + seen["made there"][:2]]
    assert len({found.pid for found in dense}) == 2
    assert os.getpid() not in {found.pid for found in dense}
    assert {found.kind for found in dense} == {"ndarray"}  # which nothing takes for a file on disk
    for ones in (dense, [found for _, found in seen["sparse"]]):
        assert len({found.file for found in ones}) == 1
        assert "memfd:momentlp" in ones[0].file
        assert {found.private for found in ones} == {0}
    assert shared_memory_of_this_process() == 0


def test_what_a_worker_writes_to_shared_data_is_its_own_affair(seen: dict[str, Any]) -> None:
    assert {found.first for _, found in seen["dense"] + seen["made there"]} == {X[0, 0]}
    assert X.max() < 1e9


def test_a_map_of_a_file_is_mapped_from_that_file(seen: dict[str, Any]) -> None:
    for problem, found in seen["mapped"]:
        assert (found.kind, found.file) == ("MemoryMapped", "X.npy")
        assert found.solution.objective == pytest.approx(mlp.solve(problem).objective)


@BOTH
def test_one_failure_does_not_lose_the_others(n_jobs: int) -> None:
    good = small(0)
    mixed: list[Any] = [good, raises, partial(small, 1), lambda: sys.exit(3), raises_stubbornly, 7, lambda: 7, small(2)]
    found = mlp.solve_many(mixed, n_jobs=n_jobs)
    assert [type(one).__name__ for one in found] == ["Solution", "FailedSolve"] + ["Solution"] + ["FailedSolve"] * 4 + [
        "Solution"
    ]
    assert same(found[2], mlp.solve(small(1)))
    failed = [one for one in found if isinstance(one, mlp.FailedSolve)]
    assert [one.index for one in failed] == [1, 3, 4, 5, 6]
    assert [one.status for one in failed] == [mlp.Status.FAILED] * 5
    assert repr(failed[0]) == "FailedSolve(1, KeyError: 'no such file')"
    assert failed[0].summary() == {"status": "failed", "message": "KeyError: 'no such file'"}
    assert isinstance(failed[1].error, SystemExit)
    assert "this and that" in str(failed[2].error)
    with pytest.raises(KeyError, match="no such file"):
        failed[0].raise_()
    with pytest.raises(mlp.DataError, match="problems holds int"):
        failed[3].raise_()
    with pytest.raises(mlp.DataError, match="returned int"):
        failed[4].raise_()


@BOTH
def test_a_solver_that_raises_fails_its_problem(n_jobs: int) -> None:
    given = small(0)
    (found,) = mlp.solve_many([given], Misbehaving(how="fail"), n_jobs=n_jobs)
    assert isinstance(found, mlp.FailedSolve)
    assert found.problem is given
    with pytest.raises(mlp.SolverError, match="'misbehaving' failed with KeyError"):
        found.raise_()


def dies_once(path: Path) -> mlp.Problem:
    if not path.exists():
        path.touch()
        os._exit(1)
    return small(4)


def test_the_death_of_a_worker_fails_its_problem_only_and_only_if_it_dies_alone_too(tmp_path: Path) -> None:
    crash = segfault if os.name == "posix" else partial(os._exit, 9)
    mixed: list[Any] = [small(0), partial(dies_once, tmp_path / "died"), crash, small(1)]
    found: list[Any] = mlp.solve_many(mixed, n_jobs=2)
    assert [type(one).__name__ for one in found] == ["Solution", "Solution", "FailedSolve", "Solution"]
    assert all(same(found[place], mlp.solve(small(label))) for place, label in ((0, 0), (1, 4), (3, 1)))
    how = "was killed by SIGSEGV" if os.name == "posix" else "ended with exit code 9"
    with pytest.raises(mlp.SolverError, match=f"worker process of problem 2 {how}"):
        found[2].raise_()


@BOTH
def test_no_problems_have_no_answers(n_jobs: int) -> None:
    assert mlp.solve_many([], n_jobs=n_jobs) == []
    assert mlp.solve_many(iter(()), n_jobs=n_jobs) == []


@BOTH
def test_problems_are_taken_when_they_are_needed(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "LARGE", 1000)
    drawn, most, piled, done = 0, 0, 0, 0

    def fresh() -> Iterator[mlp.Problem]:
        nonlocal drawn, most, piled
        for _ in range(24):
            drawn += 1
            most = max(most, drawn - done)
            piled = max(piled, shared_memory_of_this_process() if sys.platform == "linux" else 0)
            yield SPEC.compile(RNG.normal(size=(100, 2)), labelled=[0, 1])

    def count(number: int, total: int | None) -> None:
        nonlocal done
        assert total is None
        assert number == done + 1
        done = number

    found = mlp.solve_many(fresh(), n_jobs=n_jobs, keep=objective, progress=count)
    assert (drawn, done, len(found)) == (24, 24, 24)
    assert most <= (2 * n_jobs + 1 if n_jobs > 1 else 1)
    assert piled <= 2 * n_jobs + 1  # the array of a problem that is done is let go
    if sys.platform == "linux":
        assert shared_memory_of_this_process() == 0


def test_elsewhere_arrays_are_shared_in_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (given,) = problems(1, np.asfortranarray(X))
    (found,) = mlp.solve_many([given], n_jobs=2)
    assert same(found, mlp.solve(given))
    assert list(tmp_path.iterdir()) == []


@BOTH
def test_keep_takes_the_place_of_the_solution(n_jobs: int) -> None:
    given: list[Any] = [small(0), raises, small(1)]

    def keep(solution: mlp.Solution) -> Any:
        if solution.membership[1] < 0.5:
            raise ValueError("nothing to keep")
        return {"objective": solution.objective, "problem": solution.problem}

    found: list[Any] = mlp.solve_many(given, n_jobs=n_jobs, keep=keep)
    expected = [mlp.solve(given[0]), None, mlp.solve(given[2])]
    for one, solution, problem in zip(found, expected, given, strict=True):
        if solution is None or solution.membership[1] < 0.5:
            assert isinstance(one, mlp.FailedSolve)
            assert one.problem is None
        else:
            assert one["objective"] == pytest.approx(solution.objective)
            assert one["problem"] is problem


def test_what_cannot_be_sent_is_said() -> None:
    with pytest.raises(mlp.OptionError, match="keep or an option cannot be sent to a worker"):
        mlp.solve_many([small(0)], n_jobs=2, keep=lambda _, held=(one for one in ()): held)  # type: ignore[misc]
    found = mlp.solve_many(
        [small(0), lambda held=(one for one in ()): held], n_jobs=2, keep=lambda s: iter(s.multipliers.data)
    )  # type: ignore[list-item, misc]
    assert [type(one.error) for one in found if isinstance(one, mlp.FailedSolve)] == [mlp.DataError] * 2


def test_without_cloudpickle_only_what_can_be_imported_can_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    import joblib  # noqa: F401  which may itself need it

    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    there = unpack(pack(partial(small, 1), lambda _: None), lambda _: None)
    assert same(mlp.solve(there()), mlp.solve(small(1)))
    monkeypatch.setattr(raises, "__module__", "__main__")
    named = [(lambda: small(0), r"<locals>.<lambda> \(line \d+ of .*test_solve_many.py\)"), (raises, "problem 1 .*raises")]
    found = mlp.solve_many([function for function, _ in named], n_jobs=2)
    for one, (_, name) in zip(found, named, strict=True):
        with pytest.raises(mlp.DataError, match=f"{name}.*pip install cloudpickle"):
            one.raise_()  # type: ignore[union-attr]
    with pytest.raises(mlp.OptionError, match=r"keep.*<lambda>.*pip install cloudpickle"):
        mlp.solve_many([small(0)], n_jobs=2, keep=lambda solution: solution)


@BOTH
def test_warnings_of_workers_are_raised_here(n_jobs: int) -> None:
    alone = mlp.Spec(tolerance=mlp.Absolute(1e-9)).compile(RNG.normal(size=(5, 6)), labelled=[0, 1])
    with pytest.warns(mlp.OnlyLabelledWarning, match="the answer is the labelled set itself"):
        found = mlp.solve_many([alone], n_jobs=n_jobs)
    assert found[0].status is mlp.Status.OPTIMAL
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mlp.solve_many([alone], n_jobs=n_jobs)
    assert isinstance(found[0], mlp.FailedSolve)
    assert isinstance(found[0].error, mlp.OnlyLabelledWarning)


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


def test_the_solver_has_its_share_of_threads_unless_the_caller_says_otherwise() -> None:
    assert Job("highs", {}, None).limited(3).settings == {"threads": 3}
    assert Job("highs", {"threads": 1}, None).limited(3).settings == {"threads": 1}
    assert Job("highs", {"options": {"threads": 1}}, None).limited(3).settings == {"options": {"threads": 1}}
    assert Job("glpk", {}, None).limited(3).settings == {}


def never() -> Iterator[mlp.Problem]:
    raise AssertionError("a problem was taken")
    yield


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": 1.5}, "n_jobs"),
        ({"n_jobs": True}, "n_jobs"),
        ({"keep": "objective"}, "keep"),
        ({"progress": 3}, "progress"),
        ({"backend": "hihgs"}, "hihgs"),
        ({"tol": -1}, "tol"),
        ({"time_limit": 0}, "time_limit"),
        ({"repair": 1}, "repair"),
        ({"isolate": 1}, "isolate"),
        ({"memory_limit": 10**9}, "memory_limit"),
        ({"isolate": True, "memory_limit": 1}, "memory_limit"),
        ({"backend": "glpk", "threads": 2}, "threads"),
        ({"options": 3}, "options"),
    ],
)
def test_a_wrong_call_is_refused_before_any_work(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(mlp.MomentLPError, match=named):
        mlp.solve_many(never(), **({"n_jobs": 2} | wrong))


def test_other_wrong_calls_are_refused_too() -> None:
    with pytest.raises(TypeError, match="tiem_limit"):
        mlp.solve_many(never(), tiem_limit=3)
    with pytest.raises(mlp.DataError, match="call solve for one"):
        mlp.solve_many(small(0))  # type: ignore[arg-type]
    with pytest.raises(mlp.DataError, match="problems must be a list"):
        mlp.solve_many(3)  # type: ignore[arg-type]


@BOTH
def test_an_option_that_the_solver_refuses_is_a_mistake_in_the_call(n_jobs: int) -> None:
    with pytest.raises(mlp.OptionError, match="no_such_option"):
        mlp.solve_many([small(0)], n_jobs=n_jobs, options={"no_such_option": 1})


@BOTH
def test_what_the_callers_own_code_raises_reaches_the_caller(n_jobs: int) -> None:
    def broken() -> Iterator[mlp.Problem]:
        yield small(0)
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        mlp.solve_many(broken(), n_jobs=n_jobs)


def test_progress_tells_how_many_there_are() -> None:
    reported: list[tuple[int, int | None]] = []
    mlp.solve_many([small(0), raises, small(1)], progress=lambda done, total: reported.append((done, total)))
    assert reported == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("rich", [True, False])
def test_progress_is_shown_on_a_terminal(
    rich: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(bar, "find_spec", lambda _: rich or None)
    mlp.solve_many([small(0), small(1)], progress=True)
    shown = capsys.readouterr().err
    assert "2/2" in shown if rich else "2 of 2 solved, 0:00:00 left" in shown


def test_progress_in_a_file_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mlp.solve_many([small(0), small(1)], progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(bar, "SECONDS_BETWEEN_LINES", (0.0, 0.0))
    mlp.solve_many(iter([small(0), small(1)]), progress=True)
    assert capsys.readouterr().err == "1 solved\n2 solved\n"


SCRIPT = """
    import os, signal, sys, time
    from pathlib import Path
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background does not have
    import numpy as np, momentlp as mlp
    from helpers.misbehaving import tell_pids_and_sleep

    X = np.zeros((200_000, 1))
    folder = sys.argv[1]

    def hang(number, X=X):
        tell_pids_and_sleep(f"{folder}/{number}")

    try:
        mlp.solve_many([lambda number=number: hang(number) for number in range(5)], n_jobs=2)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for(condition: Callable[[], bool], give_up: Callable[[], object] = lambda: None) -> None:
    end = time.monotonic() + 20
    while not condition():
        if time.monotonic() > end:
            give_up()
            pytest.fail("waited in vain")
        time.sleep(0.02)


@on_linux
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_stops_everything_and_no_process_outlives_the_caller(kind: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        reported = [tmp_path / "0", tmp_path / "1"]  # two are at work, in functions of the script itself
        wait_for(lambda: all(path.exists() for path in reported), process.kill)
        workers, started = zip(*(map(int, path.read_text().split()) for path in reported), strict=True)
        assert not any(map(is_gone, (*workers, *started)))
        process.send_signal(kind)
        stopped = time.monotonic()
        process.wait(20)
        assert time.monotonic() - stopped < 3
        if kind is signal.SIGKILL:  # the kernel ends the workers; what they have started is beyond it
            wait_for(lambda: all(map(is_gone, workers)))
            for pid in started:
                os.kill(pid, signal.SIGKILL)
        else:
            assert all(map(is_gone, (*workers, *started)))
            assert (*process.communicate(), process.returncode) == ("interrupted\n", "", 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]


def test_an_interrupt_is_no_failure() -> None:
    def interrupt() -> mlp.Problem:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mlp.solve_many([small(0), interrupt, small(1)])


def test_an_error_that_is_its_own_cause() -> None:
    def wrong() -> mlp.Problem:
        error = ValueError("its own cause")
        raise error from error

    (failed,) = mlp.solve_many([wrong])
    assert isinstance(failed, mlp.FailedSolve)
