"""Run one contestant on one task in a process of its own, and judge the set it returns."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.common.folders import ROOT
from benchmarks.matching.task import Task, excess, save_task

__all__ = ["Measurement", "measure"]

GRACE = 30.0  # seconds beyond the limit, for reading the data, imports and building the model; HiGHS may overrun its limit


@dataclass(frozen=True)
class Measurement:
    """What one contestant found.

    Attributes
    ----------
    contestant : str
    size : int or None
        How many rows it chose; None if it returned nothing.
    excess : float
        By how much the worst moment is beyond its tolerance, in units of the tolerance.
    seconds : float
        From the task in memory to the set; NaN if it returned nothing.
    bound : float
    proof : str
        ``"proved"``, ``"claimed"`` or empty.
    value : float
        Of the linear program.
    remark : str
    """

    contestant: str
    size: int | None = None
    excess: float = math.nan
    seconds: float = math.nan
    bound: float = math.nan
    proof: str = ""
    value: float = math.nan
    remark: str = ""


def measure(contestant: str, task: Task, seconds: float, python: str | None = None) -> Measurement:
    """Run a contestant, and judge its set by the arrays of the task.

    Parameters
    ----------
    contestant : str
        A name of :data:`benchmarks.matching.contestants.CONTESTANTS`.
    task : Task
    seconds : float
        The limit the contestant is given. Its process is ended :data:`GRACE` seconds later.
    python : str, optional
        The interpreter. Default: the one that runs.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.npz"
        save_task(task, path)
        order = [python or sys.executable, "-m", "benchmarks.matching.contestants", contestant, str(path), f"{seconds:g}"]
        try:
            run = subprocess.run(order, capture_output=True, text=True, timeout=seconds + GRACE, check=False, cwd=ROOT)
        except subprocess.TimeoutExpired:
            return Measurement(contestant, remark=f"no answer {GRACE:g} s after the limit; ended")
        except OSError as error:
            return Measurement(contestant, remark=f"did not start: {error}")
    lines = run.stdout.strip().splitlines()
    if not lines:
        said = run.stderr.strip().splitlines()
        return Measurement(contestant, remark=f"ended with code {run.returncode}: {said[-1] if said else 'no message'}")
    reply = json.loads(lines[-1])
    if "error" in reply:
        return Measurement(contestant, remark=reply["error"])
    chosen = np.asarray(reply.pop("chosen"), dtype=np.int64)
    return Measurement(contestant, size=chosen.size, excess=excess(task, chosen), **reply)
