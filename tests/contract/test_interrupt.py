"""Ctrl-C stops a solve, and the process can solve again afterwards.

Each test starts a Python process that solves the same problem again and again. It waits until the process reports that a
solve is under way, sends SIGINT, and waits for the report of a KeyboardInterrupt. HiGHS, SciPy and GLPK take longer than
``MAX_SECONDS`` to solve the large problem, so an interrupt that waits for the end of a solve fails the test.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.available_backends import BACKENDS
from helpers.paths import TESTS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")

MAX_SECONDS = 60.0  # for everything that must end; the documentation promises one second, a busy machine may take longer

SCRIPT = """
    import os, signal, sys, threading, time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores SIGINT
    import numpy as np, momentlp as mlp
    from helpers.misbehaving import ReportsAndHangs

    output = os.dup(1)  # Pyomo redirects standard output while its solver runs

    def report(*values):
        os.write(output, (" ".join(map(str, values)) + "\\n").encode())

    def solver_thread_runs():
        return any(thread.name == "momentlp-solver" for thread in threading.enumerate())

    def main_thread_is_in(function):
        frame = sys._current_frames()[threading.main_thread().ident]
        while frame is not None and frame.f_code.co_name != function:
            frame = frame.f_back
        return frame is not None

    def report_running():
        while not ({running}):
            time.sleep(0.001)
        report("running")

    n, m = {shape}
    X = np.random.default_rng(0).normal(size=(n, m))
    problem = mlp.Spec(tolerance=mlp.Absolute(1e-6)).compile(X, mean=np.full(m, 0.001))
    small = mlp.Spec().compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    if {load_first}:
        mlp.solve(small, {backend_afterwards})
    threading.Thread(target=report_running, daemon=True).start()
    try:
        while True:
            mlp.solve(problem, {arguments})
    except KeyboardInterrupt:
        report("interrupted")
    for _ in range(2):
        solution = mlp.solve(small, {backend_afterwards})
        report(solution.status.name, solution.objective)
"""

# What Pyomo prints about a model that it could not finish.
PYOMO_MESSAGES = ("ERROR: Constructing component", "KeyboardInterrupt")
LARGE, SMALLER = (4000, 1000), (1000, 500)  # Pyomo builds a large model too slowly
# How the process sees that a solve is under way, as code.
IN_BACKEND = "main_thread_is_in('run')"
IN_SOLVER_THREAD = "solver_thread_runs()"


def check_interrupt(
    arguments: str,
    *,
    running: str,
    load_first: bool = True,
    shape: tuple[int, int] = LARGE,
    backend_afterwards: str | None = None,
) -> None:
    """Interrupt a solve in another process and check that the process can solve again.

    Parameters
    ----------
    arguments : str
        Arguments of ``solve`` after the problem, as code.
    running : str
        A condition, as code: when it is true, the process is interrupted.
    load_first : bool
        Whether a small problem is solved first, so that the solver is loaded.
    shape : tuple of int
        Number of points and of moments.
    backend_afterwards : str, optional
        Arguments of the two solves after the interrupt, as code. Default: ``arguments``.
    """
    script = SCRIPT.format(
        arguments=arguments,
        running=running,
        load_first=load_first,
        shape=shape,
        backend_afterwards=backend_afterwards or arguments,
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        with kill_after(process, MAX_SECONDS):
            assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        with kill_after(process, MAX_SECONDS):
            while (line := process.stdout.readline()).lstrip().startswith(PYOMO_MESSAGES):
                pass
        assert line == "interrupted\n"
        with kill_after(process, MAX_SECONDS):
            assert process.stdout.read() == "OPTIMAL 3.0\n" * 2
            assert process.wait() == 0


@contextmanager
def kill_after(process: subprocess.Popen[str], seconds: float) -> Iterator[None]:
    """Kill a process if the block takes longer; reading from the process then meets the end of its output."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_interrupt_stops_every_backend(backend: str) -> None:
    in_thread = backend in ("highs", "scipy", "pyomo")
    running = IN_SOLVER_THREAD if in_thread else IN_BACKEND
    check_interrupt(repr(backend), running=running, shape=SMALLER if backend == "pyomo" else LARGE)


def test_an_interrupt_stops_a_solver_that_cannot_be_asked_to_stop() -> None:
    check_interrupt(
        "'scipy', options={'method': 'highs-ipm'}", running=IN_SOLVER_THREAD, shape=SMALLER, backend_afterwards="'scipy'"
    )


def test_an_interrupt_stops_an_isolated_solver_while_its_worker_starts() -> None:
    check_interrupt("'highs', isolate=True", running="main_thread_is_in('_wait_for_reply')", load_first=False, shape=SMALLER)


def test_an_interrupt_stops_an_isolated_solver_that_hangs(tmp_path: Path) -> None:
    running = tmp_path / "running"
    check_interrupt(
        f"ReportsAndHangs(path={str(running)!r}), isolate=True",
        running=f"os.path.exists({str(running)!r})",
        load_first=False,
        shape=SMALLER,
        backend_afterwards="'highs', isolate=True",
    )


def test_an_interrupt_does_not_leave_pyomo_half_imported() -> None:
    is_importing = f"'pyomo.environ' in sys.modules and {IN_SOLVER_THREAD}"
    check_interrupt("'pyomo'", running=is_importing, load_first=False, shape=SMALLER)


def test_an_interrupt_stops_pyomo_while_it_builds_a_model() -> None:
    check_interrupt("'pyomo'", running="main_thread_is_in('to_model')", shape=SMALLER)
