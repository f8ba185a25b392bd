"""The process of one peer: build the case, import what the peer needs, then run whenever a line arrives.

:class:`benchmarks.common.measure.RunningPeer` starts it as ``python -m benchmarks.common.peer_process ORDER``, where ORDER
is JSON, and reads one line of JSON for each run.

Peak memory is the kernel's ``VmHWM`` after the first run, less what the process held when it was ready (data and imports).
``ru_maxrss`` cannot be used: a child process starts with the peak of its parent.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.common.peers import PEERS, PeerResult
from benchmarks.common.problems import make_case


def serve(order: dict[str, Any]) -> None:
    """Build the case, report that it is ready, and run the peer for every line of standard input."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # solvers may print to standard output

    def report(**fields: Any) -> None:
        print(json.dumps(fields), file=replies, flush=True)

    try:
        run, arguments = _prepare(order)
    except Exception as error:  # noqa: BLE001  reported to the parent process
        report(error=_describe_error(error))
        return
    held = _reset_peak()
    report(ready=True)
    for _ in sys.stdin:
        started = time.perf_counter()
        try:
            result = run(*arguments)
        except Exception as error:  # noqa: BLE001  reported to the parent process
            report(error=_describe_error(error))
            return
        seconds, peak = time.perf_counter() - started, _peak()
        report(seconds=seconds, memory=peak - held, peak=peak, **asdict(result))


def _prepare(order: dict[str, Any]) -> tuple[Callable[..., PeerResult], tuple[Any, ...]]:
    peer = PEERS[order["peer"]]
    for module in peer.modules:
        importlib.import_module(module)
    # A peer that wants more memory gets an error of its own. Without a limit, the kernel would choose a process to end.
    resource.setrlimit(resource.RLIMIT_DATA, (order["memory"], order["memory"]))
    case = make_case(order["case"], **order["numbers"])
    return peer.run, (case,) if peer.takes_case else case.arrays()


def _peak() -> int:
    """Return the maximum number of bytes that this process has held since :func:`_reset_peak`."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


def _reset_peak() -> int:
    """Start the peak again from the bytes held now, and return them."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _describe_error(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"not installed: {error.name}"
    if isinstance(error, MemoryError):
        return "out of memory"
    return f"{type(error).__name__}: {error}".splitlines()[0]


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
