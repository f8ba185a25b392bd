"""HiGHS, through highspy: the default backend.

Matrices go over in one call. Three of HiGHS's defaults are changed where this kind of problem is known to gain by it (all
can be set back through ``options``): the moments arrive scaled, so HiGHS does not scale them again; a dense matrix leaves
presolve nothing to remove, so it is switched off there; and entries count from 1e-12 on, not from 1e-9.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome
from momentlp.errors import OptionError, SolverError
from momentlp.points.arrays import FloatArray
from momentlp.problem.linear_program import LinearProgram
from momentlp.problem.problem import Problem
from momentlp.runtime.interruptible import import_interruptible
from momentlp_highs.running import run_interruptibly

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
}  # every other status is a failure

COMMON = {
    "time_limit": ("time_limit",),
    "iteration_limit": ("simplex_iteration_limit", "ipm_iteration_limit", "pdlp_iteration_limit"),
    "feasibility_tolerance": ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
    "threads": ("threads",),
}

NEAR = 1e-9  # this close to a bound, relative to its cap, a membership starts there
DENSE = 0.5  # share of entries that are not zero from which presolve is switched off


class Highs(Backend):
    """HiGHS. Native options are those of HiGHS itself, by name: ``Highs(solver="ipm")``."""

    name: ClassVar[str] = "highs"
    engine: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "highspy"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)

    @classmethod
    def version(cls) -> str:
        """Return the version of the HiGHS library."""
        return str(import_interruptible("highspy").Highs().version())

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve with HiGHS."""
        import highspy

        highs = highspy.Highs()
        _set(highs, "output_flag", False)
        program = problem.linear_program().with_scaled_outliers()
        _configure(highs, program, options)
        _pass(highs, program)
        if options.start is not None:
            _start(highs, program, *options.start)
        program = replace(program, matrix=None, cost=program.cost[:0])  # HiGHS holds a copy of its own
        run_interruptibly(highs, options)
        return _read(highs, program)


def _configure(highs: Any, program: LinearProgram, options: Options) -> None:
    rows, columns = program.matrix.shape
    dense = program.matrix.nnz > DENSE * rows * columns
    settings: dict[str, Any] = {"presolve": "off" if dense else "choose", "small_matrix_value": 1e-12}
    if program.unit is None:  # no outliers: the scaling of the moments is all it needs
        settings["simplex_scale_strategy"] = 0
    for common, natives in COMMON.items():
        if (value := getattr(options, common)) is not None:
            settings |= dict.fromkeys(natives, value)
    if options.sink is not None:
        settings |= {"output_flag": True, "log_to_console": False}
    most = 8 * (os.cpu_count() or 1)
    if options.threads is not None and options.threads > most:
        raise OptionError(
            f"threads is {options.threads}, far more than the {os.cpu_count()} cores here: give at most {most}."
        )
    for name, value in (settings | dict(options.native)).items():
        _set(highs, name, value)


def _set(highs: Any, name: str, value: Any) -> None:
    """Set an option; whole numbers are taken where HiGHS wants a float."""
    import highspy

    known, kind = highs.getOptionType(name)
    if known != highspy.HighsStatus.kOk:
        raise OptionError(f"highs has no option {name!r}: see the list of options in the documentation of HiGHS.")
    if kind == highspy.HighsOptionType.kDouble and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    try:
        status = highs.setOptionValue(name, value)
    except TypeError:
        status = highspy.HighsStatus.kError
    if status != highspy.HighsStatus.kOk:
        raise OptionError(f"highs refuses {value!r} for option {name!r}: see its range in the documentation of HiGHS.")


def _pass(highs: Any, program: LinearProgram) -> None:
    import highspy

    rows, columns = program.matrix.shape
    status = highs.passModel(
        columns,
        rows,
        program.matrix.nnz,
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMaximize),
        0.0,
        program.cost,
        program.col_lower,
        program.col_upper,
        program.row_lower,
        program.row_upper,
        program.matrix.indptr,
        program.matrix.indices,
        program.matrix.data,
        np.zeros(columns, dtype=np.int32),  # all continuous; an empty array would be read past its end
    )
    # A warning says that entries below small_matrix_value were dropped: the certificate will tell whether that matters.
    if status == highspy.HighsStatus.kError:
        raise SolverError("highs refused the model. Save it with problem.save(path) and report it.")


def _start(highs: Any, program: LinearProgram, h: FloatArray, y: FloatArray) -> None:
    """Begin from the basis that (h, y) suggests: what is between its bounds is in it.

    HiGHS completes a basis that has too few members and mends one that is singular, so a guess does no harm.
    """
    import highspy

    at = highspy.HighsBasisStatus
    statuses = np.array([at.kLower, at.kBasic, at.kUpper], dtype=object)
    unit = 1.0 if program.unit is None else program.unit[: program.n_points]
    caps = program.col_upper[: program.n_points] * unit
    columns = np.where(h <= NEAR * caps, 0, np.where(h >= (1 - NEAR) * caps, 2, 1))
    extra_columns, extra_rows = program.col_lower.size - h.size, program.row_lower.size - y.size  # the size n and its row
    rows = np.where(y == 0, 1, np.where(y > 0, 2, 0))
    basis = highspy.HighsBasis()
    basis.col_status = [*statuses[columns], *[at.kBasic] * extra_columns]
    basis.row_status = [*statuses[rows], *[at.kLower] * extra_rows]
    basis.valid = basis.alien = True
    if highs.setBasis(basis) == highspy.HighsStatus.kError:
        raise SolverError("highs refused the start. Save the problem with problem.save(path) and report it.")


def _read(highs: Any, program: LinearProgram) -> Answer:
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
