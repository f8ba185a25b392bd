"""A run that is ended at any moment can be continued, ends with the same files, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.paths import TESTS
from helpers.waiting_experiment import N_FREE, N_TASKS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")

MAX_WAIT = 120.0  # seconds; only a run that hangs takes so long
CURVES = ["usps-curves", "--data", "digits", "--jobs", "2"]
SIGNALS = [signal.SIGKILL, signal.SIGINT]


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the contents of all tables and pictures."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".csv", ".md", ".png", ".svg")
    }


def count_results(folder: Path) -> int:
    """Return the number of lines in all journals of a folder."""
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("results.jsonl"))


def wait_until(condition: Callable[[], object]) -> bool:
    """Wait until a condition is true; False if it never is."""
    deadline = time.monotonic() + MAX_WAIT
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def start(command: list[str], folder: Path = TESTS) -> subprocess.Popen[str]:
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def reproduce(arguments: list[str], folder: Path) -> list[str]:
    return [sys.executable, "-m", "momentlp", "reproduce", *arguments, "--out", str(folder)]


def interrupt(command: list[str], folder: Path, n_results: int, sign: signal.Signals) -> subprocess.Popen[str]:
    """Start a run, end it by a signal as soon as its journal holds ``n_results`` results, and return the ended process."""
    process = start(command)
    try:
        assert wait_until(lambda: count_results(folder) >= n_results or process.poll() is not None)
    finally:
        process.send_signal(sign)
        process.communicate(timeout=MAX_WAIT)
    return process


@pytest.mark.parametrize("sign", SIGNALS)
def test_a_run_that_is_ended_between_tasks_continues_with_the_missing_ones(tmp_path: Path, sign: signal.Signals) -> None:
    """The tasks that are left wait for a file, so the run cannot end before the signal, however fast the machine is."""
    gate = tmp_path / "gate"
    script = "from helpers.waiting_experiment import main; main()"
    parts, whole = ([sys.executable, "-c", script, str(tmp_path / name), str(gate)] for name in ("parts", "whole"))
    for _ in range(3):
        assert interrupt(parts, tmp_path / "parts", N_FREE, sign).returncode != 0
        assert count_results(tmp_path / "parts") == N_FREE
    assert not read_files(tmp_path / "parts")
    gate.touch()
    for command in (parts, whole):
        subprocess.run(command, cwd=TESTS, check=True)
    assert count_results(tmp_path / "parts") == N_TASKS
    assert read_files(tmp_path / "parts") == read_files(tmp_path / "whole")
    assert len(read_files(tmp_path / "whole")) == 3


@pytest.mark.parametrize("sign", SIGNALS)
def test_a_run_that_was_ended_goes_on_and_ends_the_same(tmp_path: Path, sign: signal.Signals) -> None:
    check_interrupted([*CURVES, "--splits", "6"], tmp_path, [1, 2, 3], sign)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["usps-curves", "beyond", "figure1"])
def test_a_run_that_was_ended_many_times_ends_the_same(tmp_path: Path, name: str) -> None:
    data = ["--data", "digits"] if name != "figure1" else []
    check_interrupted([name, "--splits", "12", "--jobs", "2", *data], tmp_path, list(range(1, 12)), signal.SIGKILL)


def check_interrupted(arguments: list[str], folder: Path, n_results: list[int], sign: signal.Signals) -> None:
    """End a run once for each number of results, let it end, and compare with a run that was never ended."""
    parts, whole = (reproduce(arguments, folder / name) for name in ("parts", "whole"))
    for n in n_results:
        interrupt(parts, folder / "parts", n, sign)
    for command in (parts, whole):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert read_files(folder / "parts") == read_files(folder / "whole")
    assert len(read_files(folder / "whole")) >= 4


def test_no_worker_outlives_a_run_that_was_killed(tmp_path: Path) -> None:
    process = start(reproduce([*CURVES, "--splits", "1000"], tmp_path))
    workers: list[int] = []
    try:
        assert wait_until(lambda: workers.extend(list_children(process.pid)) or workers)
    finally:
        process.kill()
        process.communicate(timeout=MAX_WAIT)
    assert wait_until(lambda: not any(is_alive(worker) for worker in workers))


def test_ctrl_c_says_that_the_run_can_be_continued(tmp_path: Path) -> None:
    process = start(reproduce([*CURVES, "--splits", "1000"], tmp_path))
    assert wait_until(lambda: count_results(tmp_path))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=MAX_WAIT)
    assert process.returncode == 130
    assert "run the same command again to continue" in " ".join(errors.split())


def list_children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    children = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            children.append(int(entry.parent.name))
    return children


def is_alive(process: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
