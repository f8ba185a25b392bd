"""Measure peers side by side: seconds, peak memory, and a limit of time that is kept.

Each peer runs in a process of its own (:mod:`benchmarks.common.peer_process`). So the peers can take turns, packages that
cannot share a process (OR-tools and highspy each bring a HiGHS: google/or-tools#5246) never meet, and a peer that takes too
long is ended with its process.
"""

from __future__ import annotations

import json
import math
import select
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.common.folders import ROOT
from benchmarks.common.timing import GaveUpError, time_interleaved

__all__ = ["Measurement", "RunningPeer", "measure_once", "measure_side_by_side"]

MAX_START_SECONDS = 900.0  # that building the case may take
MAX_MEMORY_SHARE = 0.7  # of the available memory that one peer may take
MAX_ENTRIES_TOGETHER = 20_000_000  # entries of A up to which all peers are held in memory at the same time


class RunningPeer:
    """A peer with its case, in a process of its own. Call it to run it once.

    Parameters
    ----------
    peer : str
        A name of :data:`benchmarks.common.peers.PEERS`.
    case : str
        A name that :func:`benchmarks.common.problems.make_case` knows.
    numbers : dict
        Its arguments.
    limit : float
        Seconds after which a run is ended.

    Attributes
    ----------
    runs : list of dict
        What each run reported: its ``seconds``, and the fields of :class:`benchmarks.common.peers.PeerResult`.
    memory, peak : float
        Bytes at the peak of the first run: beyond data and imports, and in total.
    gave_up : str
        Why there are no more runs; empty while there can be.
    """

    def __init__(self, peer: str, case: str, numbers: dict[str, Any], limit: float) -> None:
        self.peer, self.limit = peer, limit
        self.runs: list[dict[str, Any]] = []
        self.memory, self.peak, self.gave_up = math.nan, math.nan, ""
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the process
        order = json.dumps({"peer": peer, "case": case, "numbers": numbers, "memory": _max_memory()})
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.common.peer_process", order],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, cwd=ROOT,
        )  # fmt: skip
        with suppress(GaveUpError):
            self._read(MAX_START_SECONDS)

    def __call__(self) -> float:
        """Run once and return the objective.

        Raises
        ------
        GaveUpError
            If the peer is not installed, fails, or takes longer than the limit.
        """
        if self.gave_up:
            raise GaveUpError(self.gave_up)
        assert self._process.stdin is not None
        self._process.stdin.write("run\n")
        self._process.stdin.flush()
        report = self._read(self.limit)
        if not self.runs:
            self.memory, self.peak = report["memory"], report["peak"]
        self.runs.append(report)
        return float(report["objective"])

    def _read(self, limit: float) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None
        ready, _, _ = select.select([stdout], [], [], limit)
        line = stdout.readline() if ready else ""
        report = json.loads(line) if line else {"error": f"over {limit:g} s" if not ready else self._describe_exit()}
        if "error" in report:
            self.gave_up = report["error"]
            self.close()
            raise GaveUpError(self.gave_up)
        return dict(report)

    def _describe_exit(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return f"ended with code {code}: {lines[-1] if lines else 'no message'}"

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


@dataclass(frozen=True)
class Measurement:
    """One peer on one case: seconds of each round that counts, with and without modelling, and the ended process."""

    peer: str
    seconds: list[float]
    solving: list[float]
    process: RunningPeer

    @property
    def modelling(self) -> float:
        """Median seconds before a solver had the problem; NaN where they cannot be measured."""
        return statistics.median([t - s for t, s in zip(self.seconds, self.solving, strict=True)] or [math.nan])


def measure_once(peer: str, case: str, numbers: dict[str, Any], limit: float) -> RunningPeer:
    """Run a peer once in a fresh process, end the process, and return it with what it reported."""
    with RunningPeer(peer, case, numbers, limit) as process, suppress(GaveUpError):
        process()
    return process


def measure_side_by_side(
    peers: Iterable[str], case: str, numbers: dict[str, Any], *, limit: float, rounds: int, budget: float
) -> dict[str, Measurement]:
    """Run peers on one case in turns. Where all together would fill the memory, run each once, one after the other."""
    if numbers.get("n", 0) * numbers.get("m", 0) > MAX_ENTRIES_TOGETHER:
        ended = {peer: measure_once(peer, case, numbers, limit) for peer in peers}
        return {
            peer: _build_measurement(peer, process, [run["seconds"] for run in process.runs])
            for peer, process in ended.items()
        }
    with ExitStack() as stack:
        running = {peer: stack.enter_context(RunningPeer(peer, case, numbers, limit)) for peer in peers}
        seconds = time_interleaved(running, rounds, budget)
    return {peer: _build_measurement(peer, process, seconds[peer]) for peer, process in running.items()}


def _build_measurement(peer: str, process: RunningPeer, seconds: list[float]) -> Measurement:
    runs = process.runs[len(process.runs) - len(seconds) :]
    modelling = [math.nan if run["modelling"] is None else run["modelling"] for run in runs]
    return Measurement(peer, seconds, [t - m for t, m in zip(seconds, modelling, strict=True)], process)


def _max_memory() -> int:
    """Return the bytes that a peer may take."""
    available = int(Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0]) * 1024
    return int(MAX_MEMORY_SHARE * available)
