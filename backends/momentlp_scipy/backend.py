"""SciPy's ``linprog``.

``linprog`` has no rows with two bounds. Instead of writing every moment twice, each gets a variable z for its value::

    minimise  -w . h    subject to  A^T h - z = 0,   lower <= z <= upper,   0 <= h <= caps

The marginal of an equation is the derivative of the minimum with respect to its right-hand side, and moving that side moves
both bounds of z: the multiplier is minus the marginal.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome
from momentlp.problem.linear_program import LinearProgram
from momentlp.problem.problem import Problem
from momentlp.runtime.interruptible import import_interruptible, run_interruptible
from momentlp_scipy.integer import run_milp
from momentlp_scipy.interrupt import Stopper
from momentlp_scipy.options import NATIVE_OPTIONS, build_settings

__all__ = ["Scipy"]

OUTCOMES = {0: Outcome.OPTIMAL, 1: Outcome.LIMIT, 2: Outcome.INFEASIBLE}  # 3 unbounded, 4 numerical trouble: failures


class Scipy(Backend):
    """``scipy.optimize.linprog``.

    Parameters
    ----------
    **native
        Native options: ``method`` (``"highs"``, ``"highs-ds"`` or ``"highs-ipm"``) and the options of that method.

    Examples
    --------
    >>> from momentlp import Problem, solve
    >>> problem = Problem.from_arrays([[-1.0], [1.0], [3.0]], lower=0.0, upper=0.0)
    >>> solve(problem, Scipy(method="highs-ds")).objective
    2.0
    """

    name: ClassVar[str] = "scipy"
    engine: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "scipy"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.TIME_LIMIT, Capability.ITERATION_LIMIT, Capability.FEASIBILITY_TOLERANCE, Capability.INTEGER}
    )

    @classmethod
    def version(cls) -> str:
        """Return the version of SciPy."""
        import scipy

        return str(scipy.__version__)

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve a problem with ``linprog``."""
        linprog = import_interruptible("scipy.optimize").linprog
        self.reject_unknown(options.native, NATIVE_OPTIONS)
        method, settings = build_settings(options)
        program = problem.linear_program().with_scaled_outliers()
        if program.integer is not None:
            return run_milp(program, options)
        rows = program.matrix.shape[0]
        bounds = np.vstack(
            [
                np.column_stack([program.col_lower, program.col_upper]),
                np.column_stack([program.row_lower, program.row_upper]),
            ]
        )
        stopper = Stopper()
        result = run_interruptible(
            lambda: stopper.call(
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
        return _build_answer(result, program)


def _build_answer(result: Any, program: LinearProgram) -> Answer:
    """Read the point, the marginals and the status that ``linprog`` returned."""
    membership, marginals = result.x, result.eqlin.marginals if "eqlin" in result else None
    has_duals = marginals is not None and np.shape(marginals) == program.row_lower.shape
    return Answer(
        outcome=OUTCOMES.get(result.status, Outcome.FAILED),
        membership=None if membership is None else program.memberships(membership),
        multipliers=-np.asarray(marginals, dtype=np.float64)[: program.n_moments] if has_duals else None,
        message=f"linprog: {' '.join(str(result.message).split())}",
        iterations=int(result.nit) if result.nit is not None else None,
    )
