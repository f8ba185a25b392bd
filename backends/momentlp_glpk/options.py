"""The native options of GLPK: their names, and the values that GLPK accepts.

GLPK aborts the whole process on a bad control parameter, so every value is checked before it is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from momentlp.backend.interface import Options
from momentlp.errors import OptionError
from momentlp.runtime.argument_checks import check_bool, check_number

__all__ = ["INTERIOR_OPTIONS", "METHODS", "SIMPLEX_OPTIONS", "check_common_options", "check_tolerance", "set_controls"]

# For each option the type of its value, or a table of its values and the constants of GLPK they stand for.
SIMPLEX_OPTIONS: dict[str, Any] = {
    "meth": {"primal": "GLP_PRIMAL", "dual": "GLP_DUAL", "dualp": "GLP_DUALP"},
    "pricing": {"std": "GLP_PT_STD", "pse": "GLP_PT_PSE"},
    "r_test": {"std": "GLP_RT_STD", "har": "GLP_RT_HAR", "flip": "GLP_RT_FLIP"},
    "presolve": bool,
    "tol_bnd": float,
    "tol_dj": float,
    "tol_piv": float,
}
INTERIOR_OPTIONS: dict[str, Any] = {
    "ord_alg": {"none": "GLP_ORD_NONE", "qmd": "GLP_ORD_QMD", "amd": "GLP_ORD_AMD", "symamd": "GLP_ORD_SYMAMD"}
}
METHODS: dict[str, dict[str, Any]] = {"simplex": SIMPLEX_OPTIONS, "interior": INTERIOR_OPTIONS, "exact": {}}
# Common options that a method of GLPK has no counterpart for.
UNSUPPORTED = {
    "interior": ("time_limit", "iteration_limit", "feasibility_tolerance", "progress"),
    "exact": ("feasibility_tolerance", "progress"),
}
MIN_TOLERANCE, MAX_TOLERANCE = 1e-12, 1e-3  # GLPK aborts on tolerances that are not above 0 and below 1


def check_common_options(method: str, native: Mapping[str, Any], options: Options) -> None:
    """Raise OptionError for a common option that the method cannot honour."""
    for common in UNSUPPORTED.get(method, ()):
        if getattr(options, common) is not None:
            raise OptionError(f"glpk's method {method!r} has no {common}: leave it out or use method='simplex'.")
    if native.get("presolve") and options.progress is not None:
        raise OptionError("glpk reports no progress while it presolves: leave out progress or presolve.")


def check_tolerance(option: str, value: Any) -> float:
    """Return a tolerance that GLPK accepts; raise OptionError for any other."""
    return check_number(f"glpk's option {option!r}", value, minimum=MIN_TOLERANCE, maximum=MAX_TOLERANCE)


def set_controls(control: Any, native: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Set control parameters of GLPK, by GLPK's own names.

    Parameters
    ----------
    control : glp_smcp or glp_iptcp
        The control structure of the simplex or of the interior-point method.
    native : mapping
        Names and values that the user gave.
    known : mapping
        ``SIMPLEX_OPTIONS`` or ``INTERIOR_OPTIONS``. It holds every name in ``native``.

    Raises
    ------
    OptionError
        If a value is not one that GLPK accepts.
    """
    import swiglpk as glpk

    for option, value in native.items():
        kind = known[option]
        if isinstance(kind, dict):
            if value not in tuple(kind):
                raise OptionError(f"glpk's option {option!r} must be one of {', '.join(kind)}, not {value!r}.")
            setattr(control, option, getattr(glpk, kind[value]))
        elif kind is bool:
            setattr(control, option, glpk.GLP_ON if check_bool(f"glpk's option {option!r}", value) else glpk.GLP_OFF)
        else:
            setattr(control, option, check_tolerance(option, value))
