"""HiGHS, through highspy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome
from momentlp.problem.linear_program import LinearProgram
from momentlp.problem.problem import Problem
from momentlp.runtime.interruptible import import_interruptible
from momentlp_highs.cycling import run_without_cycling
from momentlp_highs.interrupt import run_highs
from momentlp_highs.model import pass_program, set_start
from momentlp_highs.options import set_option, set_options

__all__ = ["Highs"]

OUTCOMES = {
    "kOptimal": Outcome.OPTIMAL,
    "kInfeasible": Outcome.INFEASIBLE,
    "kUnboundedOrInfeasible": Outcome.INFEASIBLE,  # caps are finite: nothing here is unbounded
    "kTimeLimit": Outcome.LIMIT,
    "kIterationLimit": Outcome.LIMIT,
    "kMemoryLimit": Outcome.LIMIT,
    "kInterrupt": Outcome.LIMIT,
    "kHighsInterrupt": Outcome.LIMIT,
    "kSolutionLimit": Outcome.LIMIT,
}  # every other status is a failure
SHARE_OF_STEP = 0.999  # of the least difference between the weights of two sets: a smaller gap is none
INFINITE = 1e300  # an objective of HiGHS that is larger means that it has none


class Highs(Backend):
    """HiGHS.

    Parameters
    ----------
    **native
        Native options: any option of HiGHS, by its name, such as ``solver="ipm"`` or ``presolve="on"``.

    Examples
    --------
    >>> from momentlp import Problem, solve
    >>> problem = Problem.from_arrays([[-1.0], [1.0], [3.0]], lower=0.0, upper=0.0)
    >>> solve(problem, Highs(presolve="on")).objective
    2.0
    """

    name: ClassVar[str] = "highs"
    engine: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "highspy"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)

    @classmethod
    def version(cls) -> str:
        """Return the version of the HiGHS library."""
        return str(import_interruptible("highspy").Highs().version())

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve a problem with HiGHS."""
        import highspy

        highs = highspy.Highs()
        set_option(highs, "output_flag", False)  # before anything else: HiGHS prints from the first call on
        program = problem.linear_program().with_scaled_outliers()
        set_options(highs, program, options)
        pass_program(highs, program)
        if program.integer is not None:
            if problem.weight_step > 0:  # sets that differ by less than a step weigh the same
                set_option(highs, "mip_abs_gap", options.native.get("mip_abs_gap", SHARE_OF_STEP * problem.weight_step))
            run_highs(highs, options)
            return _build_integer_answer(highs, program)
        if options.start is not None:
            set_start(highs, program, *options.start)
        program = replace(program, matrix=None, cost=program.cost[:0])  # free the memory: HiGHS holds its own copy
        is_cycling = run_without_cycling(highs, options, lambda: run_highs(highs, options))
        answer = _build_answer(highs, program)
        if is_cycling:
            message = f"HiGHS: no end after {answer.iterations} iterations, so it is probably cycling"
            return replace(answer, outcome=Outcome.FAILED, message=message)
        return answer


def _build_integer_answer(highs: Any, program: LinearProgram) -> Answer:
    """Read the best set and the bound that branch and bound claims; there are no duals."""
    status, info, solution = highs.getModelStatus(), highs.getInfo(), highs.getSolution()
    has_set = bool(solution.value_valid) and abs(info.objective_function_value) < INFINITE
    return Answer(
        outcome=OUTCOMES.get(status.name, Outcome.FAILED),
        membership=program.memberships(solution.col_value) if has_set else None,
        multipliers=None,
        message=f"HiGHS: {highs.modelStatusToString(status)} by branch and bound, {max(0, info.mip_node_count)} nodes",
        iterations=max(0, int(info.mip_node_count)),
        claimed_bound=float(info.mip_dual_bound) if abs(info.mip_dual_bound) < INFINITE else None,
    )


def _build_answer(highs: Any, program: LinearProgram) -> Answer:
    """Read the point, the duals and the status that HiGHS holds."""
    status = highs.getModelStatus()
    solution, info = highs.getSolution(), highs.getInfo()
    columns, rows = solution.col_value, solution.row_dual
    has_point = solution.value_valid and len(columns) == program.col_lower.size
    has_duals = solution.dual_valid and len(rows) == program.row_lower.size
    counts = (
        info.simplex_iteration_count,
        info.ipm_iteration_count,
        info.crossover_iteration_count,
        info.pdlp_iteration_count,
    )
    return Answer(
        outcome=OUTCOMES.get(status.name, Outcome.FAILED),
        membership=program.memberships(columns) if has_point else None,
        multipliers=np.asarray(rows, dtype=np.float64)[: program.n_moments] if has_duals else None,
        message=f"HiGHS: {highs.modelStatusToString(status)}",
        iterations=sum(max(count, 0) for count in counts),
    )
