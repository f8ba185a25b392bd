"""Processes are started with the import path of this one, and killed with all that they started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.processes import is_running, wait_until

from momentlp.runtime.subprocesses import describe_exit_code, kill_process_group, start_worker


def write_module(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> str:
    (folder / "module_of_this_test.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    return "module_of_this_test"


def test_a_worker_calls_main_of_a_module_on_the_import_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys\n\ndef main():\n    print(sys.path, input(), sep='|')\n"
    with start_worker(write_module(tmp_path, monkeypatch, code)) as process:
        output, _ = process.communicate(b"hello\n")
    assert output.decode().rstrip() == f"{sys.path}|hello"
    assert process.returncode == 0


def test_further_arguments_are_those_of_popen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys\n\ndef main():\n    sys.stderr.write('to standard error')\n"
    with start_worker(write_module(tmp_path, monkeypatch, code), stderr=subprocess.PIPE) as process:
        assert process.communicate()[1] == b"to standard error"


@pytest.mark.skipif(os.name != "posix", reason="sessions")
def test_a_worker_has_a_session_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os\n\ndef main():\n    print(os.getsid(0) == os.getpid())\n"
    with start_worker(write_module(tmp_path, monkeypatch, code)) as process:
        assert process.communicate()[0] == b"True\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_killing_a_worker_kills_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import subprocess, time\n\ndef main():\n"
        "    print(subprocess.Popen(['sleep', '600']).pid, flush=True)\n    time.sleep(600)\n"
    )
    with start_worker(write_module(tmp_path, monkeypatch, code)) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert is_running(child)
        kill_process_group(process)
    assert wait_until(lambda: not is_running(child))
    kill_process_group(process)  # it has ended: nothing happens


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "ended with exit code 0"),
        (3, "ended with exit code 3"),
        (-2, "was killed by SIGINT"),
        (-99, "was killed by signal 99"),
    ],
)
def test_exit_codes_are_described(code: int, text: str) -> None:
    assert describe_exit_code(code) == text
