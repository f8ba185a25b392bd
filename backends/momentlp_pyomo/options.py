"""The options of Pyomo: which of its solvers runs, and with which settings.

Pyomo passes options on to a solver without checking whether the solver accepted them. So the options of HiGHS are tried on
a HiGHS object of our own first.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from momentlp.backend.interface import Options
from momentlp.errors import OptionError
from momentlp.runtime.interruptible import import_interruptible

__all__ = ["HIGHS_NAMES", "build_settings", "find_solver"]

HIGHS_NAMES = ("highs", "appsi_highs")  # Pyomo's names for solvers that run HiGHS
COMMON_OPTIONS = {
    "iteration_limit": ("simplex_iteration_limit", "ipm_iteration_limit"),
    "feasibility_tolerance": ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
}
# HiGHS stops at 99.99% of its bound, and allows a set to violate moments by 1e-6.
INTEGER_SETTINGS = {"mip_rel_gap": 0.0, "mip_feasibility_tolerance": 1e-9}


def find_solver(name: Any) -> Any:
    """Return a solver of Pyomo by its name; raise OptionError if there is none, or it is not installed."""
    import pyomo.environ as pyo

    if not isinstance(name, str):
        raise OptionError(f"pyomo's option 'solver' must be the name of a solver, not {name!r}.")
    if name not in pyo.SolverFactory:
        raise OptionError(f"Pyomo knows no solver {name!r}: 'pyomo help --solvers' lists those it knows.")
    if name in HIGHS_NAMES:
        with suppress(ImportError):  # if highspy is missing, the solver below is not available
            import_interruptible("highspy")
    solver = pyo.SolverFactory(name)
    if not solver.available(exception_flag=False):
        raise OptionError(
            f"Pyomo knows the solver {name!r}, but it is not installed here. Install it, or leave out solver= to use HiGHS; "
            "for GLPK without its executable, solve with backend='glpk'."
        )
    return solver


def build_settings(name: str, native: Mapping[str, Any], options: Options, *, is_whole: bool = False) -> dict[str, Any]:
    """Return the options for the solver itself.

    Parameters
    ----------
    name : str
        The solver's name in Pyomo.
    native : mapping
        Native options without ``solver``.
    options : Options
        The common options.
    is_whole : bool
        Whether memberships must be integers.

    Raises
    ------
    OptionError
        If HiGHS refuses one of them, or a common option was given for another solver than HiGHS.
    """
    settings: dict[str, Any] = {}
    for common, natives in COMMON_OPTIONS.items():
        if (value := getattr(options, common)) is None:
            continue
        if name not in HIGHS_NAMES:
            raise OptionError(f"pyomo can pass {common} to HiGHS only: give {name} its own option for it instead.")
        settings |= dict.fromkeys(natives, value)
    if is_whole and name in HIGHS_NAMES:
        settings |= INTEGER_SETTINGS
        if options.feasibility_tolerance is not None:
            settings["mip_feasibility_tolerance"] = options.feasibility_tolerance
        if options.iteration_limit is not None:
            settings["mip_max_nodes"] = options.iteration_limit
    settings |= native
    if name in HIGHS_NAMES:
        _check_highs_settings(settings)
    return settings


def _check_highs_settings(settings: Mapping[str, Any]) -> None:
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for option, value in settings.items():
        try:
            accepted = highs.setOptionValue(option, value) == highspy.HighsStatus.kOk
        except TypeError:
            accepted = False
        if not accepted:
            raise OptionError(f"HiGHS, through pyomo, refuses {value!r} for option {option!r}.")
