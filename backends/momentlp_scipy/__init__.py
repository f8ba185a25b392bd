"""SciPy's ``linprog``. It runs a HiGHS of its own inside, so it is no second opinion on ``highs``.

``linprog`` has no rows with two bounds. Instead of writing every moment twice, each gets a variable for its value::

    minimise  -w . h    subject to  A^T h - z = 0,   lower <= z <= upper,   0 <= h <= caps

The marginal of an equation is the derivative of the minimum by its right-hand side, and moving that moves both bounds of
z: the multiplier is minus the marginal.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome
from momentlp.errors import OptionError
from momentlp.problem.problem import Problem
from momentlp.runtime.interruptible import import_interruptible, run_interruptible
from momentlp_scipy.stopping import Stopper

__all__ = ["Scipy"]

METHODS = ("highs", "highs-ds", "highs-ipm")
# linprog only warns about an option it does not know, so the names are checked here.
KNOWN = {
    "method": METHODS,
    "presolve": bool,
    "maxiter": int,
    "time_limit": float,
    "disp": bool,
    "primal_feasibility_tolerance": float,
    "dual_feasibility_tolerance": float,
    "ipm_optimality_tolerance": float,
    "simplex_dual_edge_weight_strategy": str,
}
STRATEGIES = ("dantzig", "devex", "steepest-devex", "steepest")
ONLY = {"ipm_optimality_tolerance": ("highs-ipm",), "simplex_dual_edge_weight_strategy": ("highs-ds",)}
OUTCOMES = {0: Outcome.OPTIMAL, 1: Outcome.LIMIT, 2: Outcome.INFEASIBLE}  # 3 unbounded, 4 numerical trouble: failures


class Scipy(Backend):
    """``scipy.optimize.linprog``. Native options: ``method`` (highs, highs-ds, highs-ipm) and those of that method."""

    name: ClassVar[str] = "scipy"
    engine: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "scipy"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.TIME_LIMIT, Capability.ITERATION_LIMIT, Capability.FEASIBILITY_TOLERANCE}
    )

    @classmethod
    def version(cls) -> str:
        """Return the version of SciPy."""
        import scipy

        return str(scipy.__version__)

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve with linprog."""
        linprog = import_interruptible("scipy.optimize").linprog
        method, settings = self._settings(options)
        program = problem.linear_program().with_scaled_outliers()
        rows = program.matrix.shape[0]
        bounds = np.vstack(
            [
                np.column_stack([program.col_lower, program.col_upper]),
                np.column_stack([program.row_lower, program.row_upper]),
            ]
        )
        stopper = Stopper()
        result = run_interruptible(
            lambda: stopper.watched(
                linprog,
                -np.concatenate([program.cost, np.zeros(rows)]),
                A_eq=sp.hstack([program.matrix, -sp.eye_array(rows)], format="csc"),
                b_eq=np.zeros(rows),
                bounds=bounds,
                method=method,
                options=settings,
            ),
            stop=stopper.stop,
        )
        membership, marginals = result.x, result.eqlin.marginals if "eqlin" in result else None
        usable = marginals is not None and np.shape(marginals) == (rows,)
        return Answer(
            outcome=OUTCOMES.get(result.status, Outcome.FAILED),
            membership=None if membership is None else program.memberships(membership),
            multipliers=-np.asarray(marginals, dtype=np.float64)[: problem.n_moments] if usable else None,
            message=f"linprog: {' '.join(str(result.message).split())}",
            iterations=int(result.nit) if result.nit is not None else None,
        )

    def _settings(self, options: Options) -> tuple[str, dict[str, Any]]:
        self.reject_unknown(options.native, KNOWN)
        settings: dict[str, Any] = {"presolve": False}  # dense rows leave it nothing to remove
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
        if method not in METHODS:
            raise OptionError(f"scipy's option 'method' must be one of {', '.join(METHODS)}, not {method!r}.")
        for option, methods in ONLY.items():
            if option in settings and method not in methods:
                raise OptionError(f"scipy's option {option!r} belongs to method {methods[0]!r}, not {method!r}.")
        for option, value in settings.items():
            _check_type(option, value, KNOWN[option])
        return method, settings


def _check_type(option: str, value: Any, expected: Any) -> None:
    allowed = (int, float) if expected is float else expected
    if not isinstance(value, allowed) or (expected is not bool and isinstance(value, bool)):
        raise OptionError(f"scipy's option {option!r} must be of type {expected.__name__}, not {value!r}.")
    if option.endswith("tolerance") and not 1e-10 <= value < np.inf:
        raise OptionError(f"scipy's option {option!r} must be at least 1e-10, not {value!r}.")
    if option in ("maxiter", "time_limit") and not value >= 0:
        raise OptionError(f"scipy's option {option!r} must not be negative, but it is {value!r}.")
    if option == "simplex_dual_edge_weight_strategy" and value not in STRATEGIES:
        raise OptionError(f"scipy's option {option!r} must be one of {', '.join(STRATEGIES)}, not {value!r}.")
