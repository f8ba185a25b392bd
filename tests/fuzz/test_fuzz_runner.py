"""The runner of the fuzzers finds every target and reports what it found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import run
from fuzz.targets import TARGETS


def test_the_runner_says_when_atheris_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["run.py", "--seconds", "1"])
    assert run.main() == 2
    assert "pip install atheris" in capsys.readouterr().out


def test_the_runner_runs_a_target_and_finds_nothing(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "fuzz.run",
        "--engine",
        "random",
        "--seconds",
        "1",
        "--target",
        "data_csv",
        "--out",
        tmp_path,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=run.TESTS)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split()[1]) > 0
    assert "0 finding(s)" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_runner_knows_every_target() -> None:
    assert set(run.NAMES) == set(TARGETS)
