"""Ctrl-C stops a solve at once, and the process goes on as if nothing had been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator

import pytest
from helpers.places import TESTS

from momentlp.runtime.interruptible import PATIENCE, run_interruptible

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")

SECONDS = 3.0  # one is promised; a busy machine gets some more

SCRIPT = """
    import os, signal, threading, time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background does not have
    import numpy as np, momentlp as mlp
    from helpers.misbehaving import Misbehaving

    line = os.dup(1)  # Pyomo takes the standard output for itself while its solver runs

    def say(*words):
        os.write(line, (" ".join(map(str, words)) + "\\n").encode())

    def tell():
        while not {running}:
            time.sleep(0.01)
        time.sleep({wait})
        say("running")

    X = np.random.default_rng(0).normal(size=({points}, 500))
    problem = mlp.Spec(tolerance=mlp.Absolute(1e-6)).compile(X, mean=np.full(500, 0.001))
    small = mlp.Spec().compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    if {warm}:
        mlp.solve(small, {again})
    threading.Thread(target=tell, daemon=True).start()
    try:
        mlp.solve(problem, {backend}{options})
        say("finished")
    except KeyboardInterrupt:
        say("interrupted")
    for _ in range(2):
        solution = mlp.solve(small, {again})
        say(solution.status.name, solution.objective)
"""

PYOMO_COMPLAINS = ("ERROR: Constructing component", "KeyboardInterrupt")  # of the model it could not finish
ASIDE = "any(thread.name == 'momentlp-aside' for thread in threading.enumerate())"


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
    """Interrupt a long solve in another process; return the seconds until it stopped, once all that follows is checked.

    The signal is sent some seconds after ``running`` holds there; ``warm`` lets a small solve come first, so that the solver
    is loaded, and two follow with ``again``.
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
        while (line := process.stdout.readline()).lstrip().startswith(PYOMO_COMPLAINS):
            pass
        assert line == "interrupted\n"
        seconds = time.perf_counter() - started
        assert process.communicate(timeout=60)[0] == "OPTIMAL 3.0\n" * 2
    assert process.returncode == 0
    print(f"{backend}{options}: {seconds:.2f} s")  # noqa: T201  shown with pytest -s
    return seconds


@pytest.mark.parametrize("backend", ["highs", "scipy", "pyomo"])
def test_an_interrupt_stops_a_solver_that_runs_aside(backend: str) -> None:
    points = 1000 if backend == "pyomo" else 2000  # Pyomo takes its time to build
    assert interrupt(repr(backend), running=ASIDE, wait=1.0, points=points) < SECONDS


def test_an_interrupt_stops_glpk() -> None:
    assert interrupt("'glpk'", wait=1.5) < SECONDS


def test_an_interrupt_stops_even_what_does_not_listen() -> None:
    assert interrupt("'scipy'", ", options={'method': 'highs-ipm'}", running=ASIDE, wait=1.0) < SECONDS


@pytest.mark.parametrize("wait", [0.05, 2.5])  # while the worker starts, and while its solver hangs
def test_an_interrupt_stops_an_isolated_solver(wait: float) -> None:
    backend = "Misbehaving(how='hold_the_lock')"
    assert interrupt(backend, ", isolate=True", wait=wait, warm=False, again="'highs', isolate=True") < SECONDS


@pytest.mark.parametrize("warm", [False, True], ids=["imported", "built"])
def test_pyomo_can_be_interrupted_while_it_is(warm: bool) -> None:
    assert interrupt("'pyomo'", wait=0.4, warm=warm) < SECONDS


def test_work_aside_returns_and_raises_what_the_work_does() -> None:
    def fail() -> None:
        raise KeyError("mine")

    assert run_interruptible(lambda: [1, 2], stop=fail) == [1, 2]
    with pytest.raises(KeyError, match="mine"):
        run_interruptible(fail, stop=lambda: None)


@pytest.fixture(autouse=True)
def _listening() -> Iterator[None]:
    """Listen to SIGINT, which a process that was started in the background does not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _interrupt_soon(seconds: float) -> None:
    threading.Timer(seconds, signal.raise_signal, [signal.SIGINT]).start()


def test_work_aside_is_asked_to_stop_until_it_does() -> None:
    asked: list[float] = []
    ended = threading.Event()

    def work() -> None:
        while len(asked) < 3:  # it does not listen at first
            time.sleep(0.01)
        ended.set()

    _interrupt_soon(0.2)
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work, stop=lambda: asked.append(time.perf_counter()))
    assert ended.wait(10)


def test_work_aside_that_never_listens_is_left_behind() -> None:
    free = threading.Event()
    _interrupt_soon(0.1)
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(free.wait, stop=lambda: None)
    assert PATIENCE <= time.perf_counter() - started < SECONDS
    free.set()
