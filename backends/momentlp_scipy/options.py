"""The options of ``linprog``: the common ones translated, and the native ones checked.

``linprog`` only warns about an option it does not know, so names and values are checked here.
"""

from __future__ import annotations

from typing import Any

from momentlp.backend.interface import Options
from momentlp.errors import OptionError
from momentlp.runtime.argument_checks import check_bool, check_integer, check_number

__all__ = ["NATIVE_OPTIONS", "build_settings"]

METHODS = ("highs", "highs-ds", "highs-ipm")
EDGE_WEIGHT_STRATEGIES = ("dantzig", "devex", "steepest-devex", "steepest")
# For each option the type of its value, or the values it may have.
NATIVE_OPTIONS: dict[str, Any] = {
    "method": METHODS,
    "presolve": bool,
    "maxiter": int,
    "time_limit": float,
    "disp": bool,
    "primal_feasibility_tolerance": float,
    "dual_feasibility_tolerance": float,
    "ipm_optimality_tolerance": float,
    "simplex_dual_edge_weight_strategy": EDGE_WEIGHT_STRATEGIES,
}
METHOD_OF_OPTION = {"ipm_optimality_tolerance": "highs-ipm", "simplex_dual_edge_weight_strategy": "highs-ds"}
MIN_TOLERANCE = 1e-10  # HiGHS accepts no smaller one


def build_settings(options: Options) -> tuple[str, dict[str, Any]]:
    """Return the method, and the other options as ``linprog`` takes them.

    Raises
    ------
    OptionError
        If a value is not one that ``linprog`` accepts, or an option belongs to another method.
    """
    settings: dict[str, Any] = {"presolve": False}  # dense rows leave presolve nothing to remove
    if options.time_limit is not None:
        settings["time_limit"] = float(options.time_limit)
    if options.iteration_limit is not None:
        settings["maxiter"] = int(options.iteration_limit)
    if options.feasibility_tolerance is not None:
        settings["primal_feasibility_tolerance"] = options.feasibility_tolerance
        settings["dual_feasibility_tolerance"] = options.feasibility_tolerance
    if options.verbose:
        settings["disp"] = True
    settings |= dict(options.native)
    method = settings.pop("method", "highs")
    _check_choice("method", method, METHODS)
    for option, only in METHOD_OF_OPTION.items():
        if option in settings and method != only:
            raise OptionError(f"scipy's option {option!r} belongs to method {only!r}, not {method!r}.")
    for option, value in settings.items():
        _check_value(option, value)
    return method, settings


def _check_value(option: str, value: Any) -> None:
    kind, name = NATIVE_OPTIONS[option], f"scipy's option {option!r}"
    if isinstance(kind, tuple):
        _check_choice(option, value, kind)
    elif kind is bool:
        check_bool(name, value)
    elif kind is int:
        check_integer(name, value, minimum=0)
    elif option.endswith("tolerance"):
        check_number(name, value, minimum=MIN_TOLERANCE)
    else:
        check_number(name, value, minimum=0, infinite=True)


def _check_choice(option: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise OptionError(f"scipy's option {option!r} must be one of {', '.join(choices)}, not {value!r}.")
