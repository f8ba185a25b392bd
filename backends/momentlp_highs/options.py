"""The options of HiGHS: the common ones translated, some defaults changed, and the native ones set and checked.

Some of HiGHS's defaults are changed because the problems here are of one kind. All can be set back by native options.

- The moments arrive scaled, so HiGHS does not scale them again, unless there are outliers.
- A dense matrix leaves presolve nothing to remove, so presolve is off there.
- Entries of the matrix count from 1e-12 on, not from 1e-9.
- Where memberships must be whole, HiGHS searches until its bound is reached.
"""

from __future__ import annotations

import os
from typing import Any

from momentlp.backend.interface import Options
from momentlp.errors import OptionError
from momentlp.problem.linear_program import LinearProgram

__all__ = ["set_option", "set_options"]

COMMON_OPTIONS = {
    "time_limit": ("time_limit",),
    "iteration_limit": ("simplex_iteration_limit", "ipm_iteration_limit", "pdlp_iteration_limit"),
    "feasibility_tolerance": ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
    "threads": ("threads",),
}
INTEGER_OPTIONS = {"iteration_limit": ("mip_max_nodes",), "feasibility_tolerance": ("mip_feasibility_tolerance",)}
INTEGER_SETTINGS = {  # HiGHS stops at 99.99% of its bound, and allows a set to violate moments by 1e-6
    "mip_rel_gap": 0.0,
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
}
MIN_DENSE_SHARE = 0.5  # share of entries that are not zero from which presolve is switched off
MIN_MATRIX_VALUE = 1e-12  # smaller entries of the matrix are dropped
MAX_THREADS_PER_CORE = 8  # HiGHS starts every thread it is asked for: too many exhaust the machine


def set_options(highs: Any, program: LinearProgram, options: Options) -> None:
    """Set everything that the program and the user ask for; native options come last."""
    rows, columns = program.matrix.shape
    is_dense = program.matrix.nnz > MIN_DENSE_SHARE * rows * columns
    settings: dict[str, Any] = {
        "presolve": "off" if is_dense else "choose",
        "small_matrix_value": MIN_MATRIX_VALUE,
    }
    if program.unit is None:  # no outliers: the moments are scaled already
        settings["simplex_scale_strategy"] = 0
    common_options = COMMON_OPTIONS
    if program.integer is not None:
        settings |= INTEGER_SETTINGS
        common_options = {common: (*natives, *INTEGER_OPTIONS.get(common, ())) for common, natives in COMMON_OPTIONS.items()}
    for common, natives in common_options.items():
        if (value := getattr(options, common)) is not None:
            settings |= dict.fromkeys(natives, value)
    if options.sink is not None:
        settings |= {"output_flag": True, "log_to_console": False}
    _check_threads(options.threads)
    for name, value in (settings | dict(options.native)).items():
        set_option(highs, name, value)


def _check_threads(threads: int | None) -> None:
    max_threads = MAX_THREADS_PER_CORE * (os.cpu_count() or 1)
    if threads is not None and threads > max_threads:
        raise OptionError(
            f"threads is {threads}, far more than the {os.cpu_count()} cores here: give at most {max_threads}."
        )


def set_option(highs: Any, name: str, value: Any) -> None:
    """Set one option by its name in HiGHS. An integer is accepted where HiGHS wants a float.

    Raises
    ------
    OptionError
        If HiGHS has no such option, or refuses the value.
    """
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
        if (name, value) == ("solver", "hipo"):
            raise OptionError(
                "highs has no HiPO here: install the package highspy-extras of the same version as highspy "
                "(pip install 'momentlp[hipo]'), or use another solver, such as 'ipm'."
            )
        raise OptionError(f"highs refuses {value!r} for option {name!r}: see its range in the documentation of HiGHS.")
