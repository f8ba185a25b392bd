"""Pyomo: a readable model of the problem, and any solver that Pyomo has.

``to_model`` writes a problem as a ``ConcreteModel`` that people can read and extend. ``to_problem`` takes such a model,
extended or not, back to matrix form, so that every backend can solve it and the certificate covers what was added.

Pyomo redirects the output of the whole process while a solver runs, so one solve runs at a time.
"""

from __future__ import annotations

import threading
import time
from typing import Any, ClassVar

import numpy as np

from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.proof.dual_bound import dual_bound
from momentlp.runtime.interruptible import import_interruptible
from momentlp.solution.solution import Solution
from momentlp_pyomo.interrupt import make_interruptible
from momentlp_pyomo.options import HIGHS_NAMES, build_settings, find_solver

__all__ = ["Pyomo"]

MODEL_MODULE = "momentlp_pyomo.model"  # it imports Pyomo, which takes a second: loaded when needed
OUTCOMES = {
    "optimal": Outcome.OPTIMAL,
    "maxTimeLimit": Outcome.LIMIT,
    "maxIterations": Outcome.LIMIT,
    "maxEvaluations": Outcome.LIMIT,
    "userInterrupt": Outcome.LIMIT,
    "resourceInterrupt": Outcome.LIMIT,
    "infeasible": Outcome.INFEASIBLE,
    "infeasibleOrUnbounded": Outcome.INFEASIBLE,  # caps are finite: nothing here is unbounded
}  # every other termination condition is a failure

_solve_lock = threading.RLock()


class Pyomo(Backend):
    """Pyomo.

    Parameters
    ----------
    **native
        Native options: ``solver``, any name that Pyomo knows (default ``"highs"``); the others go to that solver.

    Examples
    --------
    >>> from momentlp import Problem, solve
    >>> problem = Problem.from_arrays([[-1.0], [1.0], [3.0]], lower=0.0, upper=0.0)
    >>> solve(problem, Pyomo(solver="appsi_highs")).objective
    2.0
    """

    name: ClassVar[str] = "pyomo"
    engine: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "pyomo"
    extra: ClassVar[str | None] = "pyomo"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.TIME_LIMIT, Capability.ITERATION_LIMIT, Capability.FEASIBILITY_TOLERANCE, Capability.INTEGER}
    )

    @classmethod
    def version(cls) -> str:
        """Return the version of Pyomo."""
        return str(import_interruptible("pyomo.version").version)

    def run(self, problem: Problem, options: Options) -> Answer:
        """Build the model and solve it with one of Pyomo's solvers."""
        pyo = import_interruptible("pyomo.environ")
        native = dict(options.native)
        name = native.pop("solver", "highs")
        with _solve_lock:
            solver = make_interruptible(find_solver(name))
            settings = build_settings(name, native, options, is_whole=problem.is_whole)
            started = time.perf_counter()
            model = self.to_model(problem)
            if not problem.is_whole:
                model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
            arguments: dict[str, Any] = {"load_solutions": False, "tee": options.verbose, "options": settings}
            if options.time_limit is not None:
                left = options.time_limit - (time.perf_counter() - started)
                if left <= 0:
                    return Answer(Outcome.LIMIT, None, None, "Pyomo: the time limit passed while the model was built")
                arguments["timelimit"] = left
            try:
                results = solver.solve(model, **arguments)
            except IndexError:  # HiGHS rejects rows with entries above 1e15, and Pyomo looks for their duals
                return Answer(Outcome.FAILED, None, None, f"Pyomo with {name}: the solver rejected a row of the model")
            return _build_answer(results, model, problem, name)

    def to_model(self, problem: Problem) -> Any:
        """Write a problem as a Pyomo model.

        Parameters
        ----------
        problem : Problem

        Returns
        -------
        pyomo.environ.ConcreteModel
            ``membership[i]`` is the membership of point i, ``moments[name]`` the row of a moment, ``size`` the objective.
        """
        model = import_interruptible(MODEL_MODULE)
        with _solve_lock:
            return model.to_model(problem)

    def to_problem(self, model: Any) -> Problem:
        """Take a linear Pyomo model back to matrix form.

        Parameters
        ----------
        model : pyomo.environ.ConcreteModel

        Returns
        -------
        Problem

        Raises
        ------
        ModelError
            If the model is not linear, has no objective to maximise, or a variable without finite bounds.
        """
        problem: Problem = import_interruptible(MODEL_MODULE).to_problem(model)
        return problem

    def load_values(self, model: Any, solution: Solution) -> None:
        """Give the variables of a model the values of a solution.

        Parameters
        ----------
        model : pyomo.environ.ConcreteModel
            The model that the solved problem was made from. Its ``dual`` suffix, if it has one, gets the multipliers.
        solution : Solution
        """
        import_interruptible(MODEL_MODULE).load_values(model, solution)


def _build_answer(results: Any, model: Any, problem: Problem, name: str) -> Answer:
    """Read the point and the duals that Pyomo's solver found; without an optimum there are none to read."""
    condition = str(results.solver.termination_condition)
    outcome = OUTCOMES.get(condition, Outcome.FAILED)
    has_point = (outcome is Outcome.OPTIMAL or problem.is_whole) and len(results.solution) > 0
    if has_point:
        model.solutions.load_from(results)
    membership = [variable.value for variable in model.membership.values()]
    if problem.is_whole:
        return Answer(
            outcome=outcome,
            membership=np.array(membership, dtype=np.float64) if has_point and None not in membership else None,
            multipliers=None,
            message=f"Pyomo with {name}: {condition}, by branch and bound",
            engine="HiGHS" if name in HIGHS_NAMES else name,
            claimed_bound=_read_bound(results),
        )
    duals = [model.dual.get(model.moments[key], 0.0) if key in model.moments else 0.0 for key in model.moment_names]
    is_complete = has_point and None not in membership
    return Answer(
        outcome=outcome,
        membership=np.array(membership, dtype=np.float64) if is_complete else None,
        multipliers=_fix_sign(problem, np.array(duals, dtype=np.float64)) if is_complete else None,
        message=f"Pyomo with {name}: {condition}",
        iterations=_read_iterations(results),
        engine="HiGHS" if name in HIGHS_NAMES else name,
    )


def _fix_sign(problem: Problem, duals: FloatArray) -> FloatArray:
    """Return the duals in the sign of this package.

    Pyomo's solver plugins disagree about the sign for a maximisation. Any y gives a true bound, so the sign with the
    smaller bound is chosen.
    """
    return min(duals, -duals, key=lambda y: dual_bound(problem, y))


def _read_bound(results: Any) -> float | None:
    try:
        bound = float(results.problem.upper_bound)
    except (AttributeError, TypeError, ValueError):
        return None
    return bound if np.isfinite(bound) else None


def _read_iterations(results: Any) -> int | None:
    try:
        return int(results.solver.iterations)
    except (AttributeError, TypeError, ValueError):
        return None
