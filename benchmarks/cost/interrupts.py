"""Measure how soon Ctrl-C ends a solve, and what isolation in a process of its own costs, for every backend.

Run ``python -m benchmarks.cost.interrupts``. A solve is interrupted at several moments after its start. The time is that
from the signal to KeyboardInterrupt.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import subprocess
import sys
import time

import momentlp as mlp
from momentlp.runtime.text_table import align_columns
from momentlp.testing import half_space

CHILD = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np, momentlp as mlp
points, moments, backend, isolate = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == "True"
X = np.random.default_rng(0).normal(size=(points, moments))
problem = mlp.Spec(tolerance=mlp.Absolute(1e-6)).compile(X, labelled=range(points // 20))
mlp.solve(mlp.Problem.from_arrays([[1.0]], 0.0, 1.0), backend)  # loads the solver
print("ready", flush=True)
try:
    mlp.solve(problem, backend, isolate=isolate)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
"""
DELAYS = (0.05, 0.3, 1.0, 2.0, 4.0)  # seconds after the start


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Measure how soon Ctrl-C ends a solve.")
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--moments", type=int, default=64)
    parser.add_argument("--backend", action="append", help="may be repeated; default: all that can be used here")
    arguments = parser.parse_args()
    names = arguments.backend or [info.name for info in mlp.backends() if info.available]
    rows = [["backend", "Ctrl-C, median s", "longest s", "isolated, longest s", "isolating costs s"]]
    for name in names:
        here, alone = ([_measure_latency(arguments, name, isolate, delay) for delay in DELAYS] for isolate in (False, True))
        latencies, isolated = ([value for value in values if value is not None] for values in (here, alone))
        rows.append(
            [
                name,
                _format(latencies, statistics.median),
                _format(latencies, max),
                _format(isolated, max),
                f"{_isolation_cost(name):.1f}",
            ]
        )
    print(f"{arguments.points:,} points, {arguments.moments} moments, interrupted {len(DELAYS)} times each")
    print(align_columns(rows))


def _measure_latency(arguments: argparse.Namespace, name: str, isolate: bool, delay: float) -> float | None:
    """Return the seconds from signal to KeyboardInterrupt; None if the solve had ended before."""
    command = [sys.executable, "-c", CHILD, str(arguments.points), str(arguments.moments), name, str(isolate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        child.stdout.readline()
        time.sleep(delay)
        sent = time.time()
        child.send_signal(signal.SIGINT)
        lines = [line for line in child.stdout if line.startswith("interrupted")]  # Pyomo prints lines too
        return float(lines[0].split()[1]) - sent if lines else None


def _isolation_cost(name: str) -> float:
    """Return the median time that isolation adds to a small solve."""
    problem, _ = half_space(50, 2, seed=0)
    mlp.solve(problem, name)
    times = {isolate: [] for isolate in (False, True)}
    for _ in range(3):
        for isolate, seconds in times.items():
            started = time.perf_counter()
            mlp.solve(problem, name, isolate=isolate)
            seconds.append(time.perf_counter() - started)
    return statistics.median(times[True]) - statistics.median(times[False])


def _format(values: list[float], summary: object) -> str:
    return f"{summary(values):.2f}" if values else "done before"


if __name__ == "__main__":
    main()
