"""HiGHS, through highspy: the default backend.

Matrices go over in one call. Two of HiGHS's defaults are changed where this kind of problem is known to gain by it (both
can be set back through ``options``): the moments arrive scaled, so HiGHS does not scale them again; and a dense matrix
leaves presolve nothing to remove, so it is switched off there.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from momentlp.arrays import FloatArray
from momentlp.backend import Answer, Backend, Capability, Options, Outcome
from momentlp.errors import OptionError, SolverError
from momentlp.linear_program import LinearProgram
from momentlp.problem import Problem
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
        import highspy

        return str(highspy.Highs().version())

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve with HiGHS."""
        import highspy

        highs = highspy.Highs()
        _set(highs, "output_flag", False)
        program = problem.linear_program()
        _configure(highs, program, options)
        _pass(highs, program)
        shape = program.matrix.shape
        del program  # HiGHS holds a copy of its own
        run_interruptibly(highs, options)
        return _read(highs, problem, shape)


def _configure(highs: Any, program: LinearProgram, options: Options) -> None:
    rows, columns = program.matrix.shape
    dense = program.matrix.nnz > DENSE * rows * columns
    settings: dict[str, Any] = {
        "simplex_scale_strategy": 0,
        "presolve": "off" if dense else "choose",
        "small_matrix_value": 1e-12,
    }
    for common, natives in COMMON.items():
        if (value := getattr(options, common)) is not None:
            settings |= dict.fromkeys(natives, value)
    if options.sink is not None:
        settings |= {"output_flag": True, "log_to_console": False}
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


def _read(highs: Any, problem: Problem, shape: tuple[int, int]) -> Answer:
    status = highs.getModelStatus()
    solution, info = highs.getSolution(), highs.getInfo()

    def values(valid: bool, numbers: Any, expected: int, wanted: int) -> FloatArray | None:
        array = np.asarray(numbers, dtype=np.float64)
        return array[:wanted] if valid and array.size == expected else None

    return Answer(
        outcome=OUTCOMES.get(status.name, Outcome.FAILED),
        membership=values(solution.value_valid, solution.col_value, shape[1], problem.n_points),
        multipliers=values(solution.dual_valid, solution.row_dual, shape[0], problem.n_moments),
        message=f"HiGHS: {highs.modelStatusToString(status)}",
        iterations=max(info.simplex_iteration_count, 0)
        + max(info.ipm_iteration_count, 0)
        + max(info.crossover_iteration_count, 0)
        + max(info.pdlp_iteration_count, 0),
    )
