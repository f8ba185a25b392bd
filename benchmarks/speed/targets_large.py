"""The targets for large data: passes over it, peak memory, and the same solution from dask workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import momentlp as mlp
from benchmarks.common.measure import measure_once
from benchmarks.common.peers import REFERENCE
from benchmarks.common.problems import make_case, write_gaussians
from benchmarks.common.report import format_bytes, format_seconds

__all__ = ["from_disk", "many_passes", "over_workers"]

MAX_RUN_SECONDS = 3600.0
MAX_DIFFERENCE = 1e-9  # relative, between two solutions that count as equal
N_BLOCKS = 20  # of the dask array

Line = tuple[str, str, bool | None, str]


def many_passes(scratch: str, shrink: int) -> Iterator[Line]:
    """Certify the solution for a million points in few passes over the data."""
    n = 1_000_000 // shrink
    report = _solve_from_disk(n, 32, scratch)
    passes = report.get("passes")
    figure = "-" if passes is None else f"{passes} passes"
    reached = None if passes is None else passes <= 12
    yield (f"N = {n:,}, m = 32: certified in at most 12 passes", figure, reached, report["remark"])


def from_disk(scratch: str, shrink: int) -> Iterator[Line]:
    """Certify the solution for ten million points on disk, in less memory than they take."""
    n = 10_000_000 // shrink
    report = _solve_from_disk(n, 50, scratch)
    target = f"N = {n:,}, m = 50, float32 on disk ({format_bytes(n * 50 * 4)}): the whole process under 1 GB, certified"
    if "peak" not in report:
        yield (target, "-", None, report["remark"])
        return
    yield (target, format_bytes(report["peak"]), report["peak"] < 1e9, report["remark"])


def over_workers(scratch: str, shrink: int) -> Iterator[Line]:
    """Find the solution of one process with two dask workers, and again with one of them killed."""
    from dask.distributed import Client, LocalCluster

    n, m, log = 1_000_000 // shrink, 32, Path(scratch) / "reads.txt"
    expected = mlp.solve(make_case("gaussians", n=n, m=m).compile())
    write_gaussians(n, m, scratch)

    def solve() -> tuple[mlp.Solution, float]:
        log.write_text("")
        started = time.perf_counter()
        case = make_case("gaussians in dask", n=n, m=m, scratch=scratch, rows=max(1, n // N_BLOCKS), log=str(log))
        return mlp.solve(case.compile()), time.perf_counter() - started

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        solve()  # so that the workers have imported everything
        solution, took = solve()
        remark = f"{format_seconds(took)}, each block read {len(_read_times(log)) / N_BLOCKS:.1f} times"
        yield _compare_solutions(f"N = {n:,} over 2 dask workers: the answer of one process", solution, expected, remark)
        target = "the same with one worker killed in the middle"
        for share in (0.5, 0.25, 0.1, 0.05):  # kill earlier if all blocks had been read
            client.wait_for_workers(2)
            killed: list[float] = []
            victim = min(client.run(os.getpid).values())
            killer = threading.Timer(share * took, _kill, (victim, killed))
            killer.start()
            solution, took_with_loss = solve()
            killer.cancel()
            killer.join()
            n_read_after = sum(moment > killed[0] for moment in _read_times(log)) if killed else 0
            if n_read_after:
                times = f"{format_seconds(took_with_loss)}; killed after {format_seconds(share * took)}"
                remark = f"{times}, {n_read_after} blocks read after that"
                yield _compare_solutions(target, solution, expected, remark)
                return
        yield (target, "-", None, "the data had been read before a worker could be killed")


def _kill(process: int, killed: list[float]) -> None:
    os.kill(process, signal.SIGKILL)
    killed.append(time.time())


def _read_times(log: Path) -> list[float]:
    return [float(line) for line in log.read_text().split()]


def _compare_solutions(target: str, solution: mlp.Solution, expected: mlp.Solution, remark: str) -> Line:
    objective = abs(solution.objective - expected.objective) / max(1.0, abs(expected.objective))
    membership = float(np.abs(solution.membership - expected.membership).max())
    same = objective <= MAX_DIFFERENCE and membership <= MAX_DIFFERENCE and solution.certificate.holds()
    figure = f"objective {objective:.0e}, membership {membership:.0e} off"
    return (f"{target}, to {MAX_DIFFERENCE:g}", figure, same, f"{solution.status.name}; {remark}")


def _solve_from_disk(n: int, m: int, scratch: str) -> dict[str, Any]:
    """Solve from the file in a fresh process, and return its report with a remark."""
    write_gaussians(n, m, scratch)  # here, so that writing is not part of the measured process
    process = measure_once(REFERENCE, "gaussians on disk", {"n": n, "m": m, "scratch": scratch}, MAX_RUN_SECONDS)
    if not process.runs:
        return {"remark": f"gave up: {process.gave_up}"}
    report = process.runs[0]
    remark = f"{format_seconds(report['seconds'])}, objective {report['objective']:,.3f}, gap {report['proof']:.0e}"
    if report["passes"] is None:
        remark += "; the data does not count its passes"
    return report | {"remark": remark + f"; peak {format_bytes(report['peak'])}"}
