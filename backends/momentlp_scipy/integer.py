"""Whole sets by ``scipy.optimize.milp``."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.backend.interface import Answer, Options, Outcome
from momentlp.errors import OptionError
from momentlp.problem.linear_program import LinearProgram
from momentlp.runtime.argument_checks import check_bool, check_integer, check_number
from momentlp.runtime.interruptible import import_interruptible, run_interruptible
from momentlp_scipy.interrupt import Stopper

__all__ = ["run_milp"]

OUTCOMES = {0: Outcome.OPTIMAL, 1: Outcome.LIMIT, 2: Outcome.INFEASIBLE}  # every other status is a failure


def run_milp(program: LinearProgram, options: Options) -> Answer:
    """Solve a program with integer columns.

    Parameters
    ----------
    program : LinearProgram
    options : Options
        ``iteration_limit`` is a number of nodes. ``milp`` lets nobody choose a feasibility tolerance.

    Raises
    ------
    OptionError
        If ``milp`` does not know an option, or refuses its value.
    """
    optimize = import_interruptible("scipy.optimize")
    stopper = Stopper()
    result = run_interruptible(
        lambda: stopper.call(
            optimize.milp,
            -program.cost,
            integrality=np.zeros(program.cost.size) if program.integer is None else program.integer.astype(int),
            bounds=optimize.Bounds(program.col_lower, program.col_upper),
            constraints=optimize.LinearConstraint(program.matrix, program.row_lower, program.row_upper),
            options=_build_settings(options),
        ),
        stop=stopper.stop,
    )
    bound = result.get("mip_dual_bound")
    return Answer(
        outcome=OUTCOMES.get(result.status, Outcome.FAILED),
        membership=None if result.x is None else program.memberships(result.x),
        multipliers=None,
        message=f"milp: {' '.join(str(result.message).split())}",
        iterations=None if result.get("mip_node_count") is None else int(result.mip_node_count),
        claimed_bound=None if bound is None or not np.isfinite(bound) else -float(bound),
    )


def _build_settings(options: Options) -> dict[str, Any]:
    """Return the options as ``milp`` takes them."""
    if options.feasibility_tolerance is not None:
        raise OptionError("scipy has no feasibility_tolerance for whole sets: leave it out, or use backend='highs'.")
    settings: dict[str, Any] = {"mip_rel_gap": 0.0, "disp": options.verbose, "presolve": False}  # with it, HiGHS prints
    if options.time_limit is not None:
        settings["time_limit"] = float(options.time_limit)
    if options.iteration_limit is not None:
        settings["node_limit"] = int(options.iteration_limit)
    for option, value in options.native.items():
        name = f"scipy's option {option!r}"
        if option in ("disp", "presolve"):
            check_bool(name, value)
        elif option == "node_limit":
            check_integer(name, value, minimum=0)
        elif option in ("time_limit", "mip_rel_gap"):
            check_number(name, value, minimum=0, infinite=option == "time_limit")
        else:
            raise OptionError(f"scipy's option {option!r} does not exist for whole sets: leave it out.")
        settings[option] = value
    return settings
