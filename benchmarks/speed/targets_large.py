"""The targets that are about data: how often it is read, how little of it is held, and who holds it."""

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
from benchmarks.common.measure import alone
from benchmarks.common.peers import REFERENCE
from benchmarks.common.problems import make, written
from benchmarks.common.report import bytes_of, seconds_of

__all__ = ["from_disk", "many_passes", "over_workers"]

LIMIT = 3600.0  # seconds
SAME = 1e-9  # relative
BLOCKS = 20  # of the dask array

Line = tuple[str, str, bool | None, str]


def many_passes(scratch: str, shrink: int) -> Iterator[Line]:
    """Certify the answer for a million points in few passes over the data."""
    n = 1_000_000 // shrink
    reported = _once(n, 32, scratch)
    passes = reported.get("passes")
    figure = "-" if passes is None else f"{passes} passes"
    reached = None if passes is None else passes <= 12
    yield (f"N = {n:,}, m = 32: certified in at most 12 passes", figure, reached, reported["remark"])


def from_disk(scratch: str, shrink: int) -> Iterator[Line]:
    """Certify the answer for ten million points on disk, in less memory than they take."""
    n = 10_000_000 // shrink
    reported = _once(n, 50, scratch)
    target = f"N = {n:,}, m = 50, float32 on disk ({bytes_of(n * 50 * 4)}): the whole process under 1 GB, certified"
    if "peak" not in reported:
        yield (target, "-", None, reported["remark"])
        return
    yield (target, bytes_of(reported["peak"]), reported["peak"] < 1e9, reported["remark"])


def over_workers(scratch: str, shrink: int) -> Iterator[Line]:
    """Get the answer of one process from two dask workers, and again with one of them killed."""
    from dask.distributed import Client, LocalCluster

    n, m, log = 1_000_000 // shrink, 32, Path(scratch) / "reads.txt"
    expected = mlp.solve(make("gaussians", n=n, m=m).compile())
    written(n, m, scratch)

    def solve() -> tuple[mlp.Solution, float]:
        log.write_text("")
        started = time.perf_counter()
        case = make("gaussians in dask", n=n, m=m, scratch=scratch, rows=max(1, n // BLOCKS), log=str(log))
        return mlp.solve(case.compile()), time.perf_counter() - started

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        solve()  # the workers import what they need
        solution, took = solve()
        remark = f"{seconds_of(took)}, each block read {len(_times(log)) / BLOCKS:.1f} times"
        yield _same(f"N = {n:,} over 2 dask workers: the answer of one process", solution, expected, remark)
        target = "the same with one worker killed in the middle"
        for share in (0.5, 0.25, 0.1, 0.05):  # earlier, should all have been read by then
            client.wait_for_workers(2)
            killed: list[float] = []
            victim = min(client.run(os.getpid).values())
            killer = threading.Timer(share * took, _kill, (victim, killed))
            killer.start()
            solution, bereft = solve()
            killer.cancel()
            killer.join()
            later = sum(moment > killed[0] for moment in _times(log)) if killed else 0
            if later:
                remark = f"{seconds_of(bereft)}; killed after {seconds_of(share * took)}, {later} blocks read after that"
                yield _same(target, solution, expected, remark)
                return
        yield (target, "-", None, "the data had been read before a worker could be killed")


def _kill(process: int, killed: list[float]) -> None:
    os.kill(process, signal.SIGKILL)
    killed.append(time.time())


def _times(log: Path) -> list[float]:
    return [float(line) for line in log.read_text().split()]


def _same(target: str, solution: mlp.Solution, expected: mlp.Solution, remark: str) -> Line:
    objective = abs(solution.objective - expected.objective) / max(1.0, abs(expected.objective))
    membership = float(np.abs(solution.membership - expected.membership).max())
    same = objective <= SAME and membership <= SAME and solution.certificate.holds()
    figure = f"objective {objective:.0e}, membership {membership:.0e} off"
    return (f"{target}, to {SAME:g}", figure, same, f"{solution.status.name}; {remark}")


def _once(n: int, m: int, scratch: str) -> dict[str, Any]:
    """Solve from the file in a fresh process, and return what it told, with a remark."""
    written(n, m, scratch)  # here, so that writing is no part of that process
    way = alone(REFERENCE, "gaussians on disk", {"n": n, "m": m, "scratch": scratch}, LIMIT)
    if not way.runs:
        return {"remark": f"gave up: {way.gave_up}"}
    reported = way.runs[0]
    remark = f"{seconds_of(reported['seconds'])}, objective {reported['objective']:,.3f}, gap {reported['proof']:.0e}"
    if reported["passes"] is None:
        remark += "; the data does not count its passes"
    return reported | {"remark": remark + f"; peak {bytes_of(reported['peak'])}"}
