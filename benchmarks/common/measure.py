"""One process for each way: its time on command, its peak memory, and an end to it when it takes too long.

A way runs in a process of its own that makes the case, imports what it needs, and then waits to be told to run. So ways take
turns as :func:`timing.interleaved` wants them, packages that cannot live together (OR-tools and highspy each bring a HiGHS:
google/or-tools#5246) never meet, and a limit is kept by ending the process, whatever it is busy with.

Peak memory is the kernel's ``VmHWM`` after the first run, less what the process held when it was ready: data and imports.
``ru_maxrss`` will not do: a child starts with the peak of its parent.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.common.timing import GaveUpError, interleaved

__all__ = ["Measured", "Way", "alone", "side_by_side"]

STARTING = 900.0  # seconds that making the case may take
SHARE = 0.7  # of the memory that is available a way may take
AT_ONCE = 20_000_000  # entries of A up to which the ways are held in memory together


class Way:
    """A way to solve a case, in a process of its own. Call it to run it once; it raises GaveUpError when it cannot.

    Attributes
    ----------
    runs : list of dict
        What each run told: its ``seconds``, and the fields of :class:`peers.Found`.
    memory, peak : float
        Bytes that the process held at the peak of its first run: beyond data and imports, and in all.
    gave_up : str
        Why there are no more runs; empty if there could be.
    """

    def __init__(self, peer: str, case: str, numbers: dict[str, Any], limit: float) -> None:
        self.peer, self.limit = peer, limit
        self.runs: list[dict[str, Any]] = []
        self.memory, self.peak, self.gave_up = math.nan, math.nan, ""
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the process
        order = json.dumps({"peer": peer, "case": case, "numbers": numbers, "memory": _allowed()})
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), order],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
        )  # fmt: skip
        try:
            self._read(STARTING)
        except GaveUpError:
            self.close()

    def __call__(self) -> float:
        """Run once and return the objective."""
        if self.gave_up:
            raise GaveUpError(self.gave_up)
        assert self._process.stdin is not None
        self._process.stdin.write("run\n")
        self._process.stdin.flush()
        reported = self._read(self.limit)
        if not self.runs:
            self.memory, self.peak = reported["memory"], reported["peak"]
        self.runs.append(reported)
        return float(reported["objective"])

    def _read(self, limit: float) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None
        ready, _, _ = select.select([stdout], [], [], limit)
        line = stdout.readline() if ready else ""
        reported = json.loads(line) if line else {"error": f"over {limit:g} s" if not ready else self._how_it_ended()}
        if "error" in reported:
            self.gave_up = reported["error"]
            self.close()
            raise GaveUpError(self.gave_up)
        return dict(reported)

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().strip().splitlines()
        return f"ended with code {code}: {said[-1] if said else 'nothing said'}"

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


def alone(peer: str, case: str, numbers: dict[str, Any], limit: float) -> Way:
    """Run a way once, in a fresh process, and return it, ended: its time, its memory, or why it gave up."""
    with Way(peer, case, numbers, limit) as way, suppress(GaveUpError):
        way()
    return way


@dataclass(frozen=True)
class Measured:
    """One way on one case: the seconds of each round that counts, with and without modelling, and what it told."""

    peer: str
    seconds: list[float]
    solving: list[float]
    way: Way

    @property
    def modelling(self) -> float:
        """Median seconds before a solver had the problem; NaN where that cannot be told apart."""
        return statistics.median([t - s for t, s in zip(self.seconds, self.solving, strict=True)] or [math.nan])


def side_by_side(
    peers: Iterable[str], case: str, numbers: dict[str, Any], *, limit: float, rounds: int, budget: float
) -> dict[str, Measured]:
    """Run ways on one case, taking turns; one after the other, once each, where all together would fill the memory."""
    if numbers.get("n", 0) * numbers.get("m", 0) > AT_ONCE:
        turns = {peer: alone(peer, case, numbers, limit) for peer in peers}
        return {peer: _measured(peer, way, [run["seconds"] for run in way.runs]) for peer, way in turns.items()}
    with ExitStack() as stack:
        ways = {peer: stack.enter_context(Way(peer, case, numbers, limit)) for peer in peers}
        seconds = interleaved(ways, rounds, budget)
    return {peer: _measured(peer, way, seconds[peer]) for peer, way in ways.items()}


def _measured(peer: str, way: Way, seconds: list[float]) -> Measured:
    runs = way.runs[len(way.runs) - len(seconds) :]
    reported = [math.nan if run["modelling"] is None else run["modelling"] for run in runs]
    return Measured(peer, seconds, [t - m for t, m in zip(seconds, reported, strict=True)], way)


def _allowed() -> int:
    available = int(Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0]) * 1024
    return int(SHARE * available)


def _peak() -> int:
    """Return the largest number of bytes that this process held in memory since :func:`_reset_peak`."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


def _reset_peak() -> int:
    """Let the peak start again from what is held now, and return that."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _serve(order: dict[str, Any]) -> None:
    """Be the process of a way: make the case, say so, then run whenever a line arrives."""
    tell = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # solvers print what they like

    def report(**reported: Any) -> None:
        print(json.dumps(reported), file=tell, flush=True)

    try:
        run, arguments = _prepare(order)
    except Exception as error:  # noqa: BLE001  told to the parent
        report(error=_first_line(error))
        return
    held = _reset_peak()
    report(ready=True)
    for _ in sys.stdin:
        started = time.perf_counter()
        try:
            found = run(*arguments)
        except Exception as error:  # noqa: BLE001  told to the parent
            report(error=_first_line(error))
            return
        seconds, peak = time.perf_counter() - started, _peak()
        report(seconds=seconds, memory=peak - held, peak=peak, **asdict(found))


def _prepare(order: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    import resource

    import peers
    import problems

    peer = peers.PEERS[order["peer"]]
    for module in peer.modules:
        importlib.import_module(module)
    # A way that wants more gets an error of its own; otherwise the kernel would choose which process to end.
    resource.setrlimit(resource.RLIMIT_DATA, (order["memory"], order["memory"]))
    case = problems.make(order["case"], **order["numbers"])
    return peer.run, case.arrays() if peer.takes == "arrays" else (case,)


def _first_line(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"not installed: {error.name}"
    if isinstance(error, MemoryError):
        return "out of memory"
    return f"{type(error).__name__}: {error}".splitlines()[0]


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
