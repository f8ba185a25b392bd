"""Ctrl-C stops a solve at once, and the process can solve again afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from helpers.paths import TESTS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")

MAX_SECONDS = 3.0  # the documentation promises one; a busy machine may take longer

SCRIPT = """
    import os, signal, threading, time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores SIGINT
    import numpy as np, momentlp as mlp
    from helpers.misbehaving import Misbehaving

    line = os.dup(1)  # Pyomo redirects standard output while its solver runs

    def say(*words):
        os.write(line, (" ".join(map(str, words)) + "\\n").encode())

    def report_running():
        while not {running}:
            time.sleep(0.01)
        time.sleep({wait})
        say("running")

    X = np.random.default_rng(0).normal(size=({points}, 500))
    problem = mlp.Spec(tolerance=mlp.Absolute(1e-6)).compile(X, mean=np.full(500, 0.001))
    small = mlp.Spec().compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    if {warm}:
        mlp.solve(small, {again})
    threading.Thread(target=report_running, daemon=True).start()
    try:
        mlp.solve(problem, {backend}{options})
        say("finished")
    except KeyboardInterrupt:
        say("interrupted")
    for _ in range(2):
        solution = mlp.solve(small, {again})
        say(solution.status.name, solution.objective)
"""

PYOMO_MESSAGES = (
    "ERROR: Constructing component",
    "KeyboardInterrupt",
)  # what Pyomo prints about the model that it could not finish
SOLVER_RUNS = "any(thread.name == 'momentlp-solver' for thread in threading.enumerate())"


def interrupt(
    backend: str,
    options: str = "",
    *,
    wait: float,
    running: str = "True",
    warm: bool = True,
    points: int = 2000,
    again: str | None = None,
) -> float:
    """Interrupt a long solve in another process and check that the process can solve again.

    Parameters
    ----------
    backend, options : str
        Arguments of ``solve``, as code.
    wait : float
        Seconds between the moment when ``running`` is true and the interrupt.
    running : str
        A condition, as code.
    warm : bool
        Whether a small solve comes first, so that the solver is loaded.
    points : int
    again : str, optional
        The backend of the two solves after the interrupt, as code.

    Returns
    -------
    float
        Seconds from the signal to the interrupt.
    """
    again = again or backend
    words = {"backend": backend, "options": options, "running": running, "wait": wait, "warm": warm, "again": again}
    script = SCRIPT.format(**words, points=points)
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        started = time.perf_counter()
        while (line := process.stdout.readline()).lstrip().startswith(PYOMO_MESSAGES):
            pass
        assert line == "interrupted\n"
        seconds = time.perf_counter() - started
        assert process.communicate(timeout=60)[0] == "OPTIMAL 3.0\n" * 2
    assert process.returncode == 0
    print(f"{backend}{options}: {seconds:.2f} s")  # noqa: T201  shown with pytest -s
    return seconds


@pytest.mark.parametrize("backend", ["highs", "scipy", "pyomo"])
def test_an_interrupt_stops_a_solver_in_another_thread(backend: str) -> None:
    points = 1000 if backend == "pyomo" else 2000  # Pyomo builds its model slowly
    assert interrupt(repr(backend), running=SOLVER_RUNS, wait=1.0, points=points) < MAX_SECONDS


def test_an_interrupt_stops_glpk() -> None:
    assert interrupt("'glpk'", wait=1.5) < MAX_SECONDS


def test_an_interrupt_stops_a_solver_that_cannot_be_asked_to_stop() -> None:
    assert interrupt("'scipy'", ", options={'method': 'highs-ipm'}", running=SOLVER_RUNS, wait=1.0) < MAX_SECONDS


@pytest.mark.parametrize("wait", [0.05, 2.5])  # while the worker starts, and while its solver hangs
def test_an_interrupt_stops_an_isolated_solver(wait: float) -> None:
    backend = "Misbehaving(how='hold_the_lock')"
    assert interrupt(backend, ", isolate=True", wait=wait, warm=False, again="'highs', isolate=True") < MAX_SECONDS


@pytest.mark.parametrize("warm", [False, True], ids=["load", "build"])
def test_pyomo_can_be_interrupted_while_it_is_loaded_and_while_it_builds_its_model(warm: bool) -> None:
    assert interrupt("'pyomo'", wait=0.4, warm=warm) < MAX_SECONDS
