"""Contestants that solve the program of a task: momentlp, HiGHS, CP-SAT, and rounding of the linear program."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.matching.answer import ContestantAnswer
from benchmarks.matching.task import Floats, Task, linear_program

__all__ = ["solve_linear_program", "with_cp_sat", "with_highs", "with_momentlp", "with_rounding"]

INTEGER_SCALE = 1e6  # of the largest coefficient of a row, for CP-SAT


def with_momentlp(task: Task, seconds: float, backend: str = "auto") -> ContestantAnswer:
    """Call what a user calls: ``profile_match``, ``cardinality_match``, or ``solve`` of a whole problem."""
    import momentlp as mlp

    options: dict[str, Any] = {"backend": backend, "time_limit": seconds}
    if task.kind == "sum":
        problem = mlp.Problem.from_arrays(task.moments, -task.delta, task.delta)
        solution = mlp.solve(replace(problem, whole=True), **options)
        h, bound, status, claimed = solution.membership, solution.bound, solution.status, solution.claimed_bound
    else:
        if task.kind == "mean":
            match = mlp.matching.profile_match(task.moments, task.target, tolerance=task.tolerance, unit="target", **options)
        else:
            match = mlp.matching.cardinality_match(task.moments, task.codes, tolerance=task.tolerance, **options)
        h, bound, status, claimed = match.weights, match.bound, match.status, match.solution.claimed_bound
    remark = status.value + ("" if claimed is None else f"; branch and bound claims {claimed:,.0f}")
    return ContestantAnswer(np.flatnonzero(h > 0.5).tolist(), float(bound), "proved", remark=remark)


def with_highs(task: Task, seconds: float) -> ContestantAnswer:
    """Solve the integer program of all points by HiGHS, and prove it as ever."""
    return with_momentlp(task, seconds, "highs")


def solve_linear_program(task: Task, seconds: float) -> ContestantAnswer:
    """Solve the linear program only."""
    h, bound = _solve_fuzzy(task, seconds)
    fractional = int(((h > 0) & (h < 1)).sum())
    return ContestantAnswer(bound=math.floor(bound + 1e-9 * bound), proof="proved", value=float(h.sum()),
                            remark=f"{fractional} memberships are fractional")  # fmt: skip


def with_rounding(task: Task, seconds: float, share: float = 1.0) -> ContestantAnswer:
    """Solve the linear program with a share of the tolerance, and choose the points of membership above 1/2."""
    h, bound = _solve_fuzzy(replace(task, delta=share * task.delta), seconds)
    proved = math.floor(bound + 1e-9 * bound) if share == 1.0 else math.nan  # a narrower program bounds only its own sets
    chosen = np.flatnonzero(h > 0.5)
    remark = ""
    if task.kind == "groups":
        sizes = [int((task.codes[chosen] == code).sum()) for code in (1, 0)]
        remark = "" if sizes[0] == sizes[1] else f"the groups have {sizes[0]} and {sizes[1]} rows"
    return ContestantAnswer(chosen.tolist(), proved, "proved" if share == 1.0 else "", remark=remark)


def _solve_fuzzy(task: Task, seconds: float) -> tuple[Floats, float]:
    import momentlp as mlp

    solution = mlp.solve(mlp.Problem.from_arrays(*linear_program(task)), time_limit=seconds)
    return solution.membership, float(solution.bound)


def with_cp_sat(task: Task, seconds: float) -> ContestantAnswer:
    """Solve the integer program by CP-SAT, with coefficients rounded to integers.

    Coefficients of upper bounds are rounded up, of lower bounds down, so that every set it finds is within the tolerance.
    The bound it claims is that of the narrower program.
    """
    from ortools.sat.python import cp_model

    A, lower, upper = linear_program(task)
    model = cp_model.CpModel()
    points = [model.new_bool_var(f"h{i}") for i in range(len(A))]
    for column, low, high in zip(A.T, lower, upper, strict=True):
        scale = 1.0 if (column == np.rint(column)).all() else INTEGER_SCALE / float(np.abs(column).max())
        if np.isfinite(high):
            model.add(_weighted_sum(points, np.ceil(column * scale)) <= math.floor(high * scale))
        if np.isfinite(low):
            model.add(_weighted_sum(points, np.floor(column * scale)) >= math.ceil(low * scale))
    model.maximize(sum(points))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = os.cpu_count() or 1
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    chosen = [i for i, point in enumerate(points) if solver.value(point)] if found else []
    bound = float(solver.best_objective_bound) if status != cp_model.UNKNOWN or solver.best_objective_bound else math.nan
    return ContestantAnswer(chosen, math.floor(bound + 1e-6) if math.isfinite(bound) else bound, "claimed",
                            remark=solver.status_name(status))  # fmt: skip


def _weighted_sum(points: list[Any], coefficients: NDArray[np.float64]) -> Any:
    from ortools.sat.python import cp_model

    some = np.flatnonzero(coefficients)
    return cp_model.LinearExpr.weighted_sum([points[i] for i in some], coefficients[some].astype(np.int64).tolist())
