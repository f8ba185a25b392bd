"""Pyomo: a readable model of the problem, and any solver that Pyomo has.

``to_model`` writes a problem as a ``ConcreteModel`` for people to read and extend; ``to_problem`` takes such a model,
extended or not, back to matrix form, so that every backend can solve it and the certificate covers what was added.

Pyomo redirects the output of the whole process while a solver runs, so one solve runs at a time.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

import numpy as np

from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome
from momentlp.errors import OptionError
from momentlp.problem.problem import Problem
from momentlp.proof.certificate import dual_bound
from momentlp.runtime.interruptible import import_interruptible, run_interruptible
from momentlp.solution.solution import Solution

__all__ = ["Pyomo"]

MODEL = "momentlp_pyomo.model"  # it imports Pyomo, which takes a second
HIGHS = ("highs", "appsi_highs")
COMMON = {
    "iteration_limit": ("simplex_iteration_limit", "ipm_iteration_limit"),
    "feasibility_tolerance": ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
}
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

_one_at_a_time = threading.RLock()


class Pyomo(Backend):
    """Pyomo. Native options: ``solver`` (any name that Pyomo knows; default ``"highs"``); the rest go to that solver."""

    name: ClassVar[str] = "pyomo"
    engine: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "pyomo"
    extra: ClassVar[str | None] = "pyomo"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.TIME_LIMIT, Capability.ITERATION_LIMIT, Capability.FEASIBILITY_TOLERANCE}
    )

    @classmethod
    def version(cls) -> str:
        """Return the version of Pyomo."""
        return str(import_interruptible("pyomo.version").version)

    def to_model(self, problem: Problem) -> Any:
        """Write a problem as a Pyomo model."""
        model = import_interruptible(MODEL)
        with _one_at_a_time:
            return model.to_model(problem)

    def to_problem(self, model: Any) -> Problem:
        """Take a linear Pyomo model back to matrix form."""
        problem: Problem = import_interruptible(MODEL).to_problem(model)
        return problem

    def load_values(self, model: Any, solution: Solution) -> None:
        """Give the variables of a model the values found."""
        import_interruptible(MODEL).load_values(model, solution)

    def run(self, problem: Problem, options: Options) -> Answer:
        """Build the model and solve it with one of Pyomo's solvers."""
        pyo = import_interruptible("pyomo.environ")
        native = dict(options.native)
        name = native.pop("solver", "highs")
        with _one_at_a_time:
            solver = _interruptible(_solver(name))
            settings = _settings(name, native, options)
            started = time.perf_counter()
            model = self.to_model(problem)
            model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
            arguments: dict[str, Any] = {"load_solutions": False, "tee": options.verbose, "options": settings}
            if options.time_limit is not None:
                left = options.time_limit - (time.perf_counter() - started)
                if left <= 0:
                    return Answer(Outcome.LIMIT, None, None, "Pyomo: the time limit passed while the model was built")
                arguments["timelimit"] = left
            results = solver.solve(model, **arguments)
            condition = str(results.solver.termination_condition)
            outcome = OUTCOMES.get(condition, Outcome.FAILED)
            has_point = outcome is Outcome.OPTIMAL and _load(model, results)
            membership = [variable.value for variable in model.membership.values()]
            duals = [model.dual.get(model.moments[key], 0.0) if key in model.moments else 0.0 for key in model.moment_names]
        complete = has_point and None not in membership
        return Answer(
            outcome=outcome,
            membership=np.array(membership, dtype=np.float64) if complete else None,
            multipliers=_signed(problem, np.array(duals, dtype=np.float64)) if complete else None,
            message=f"Pyomo with {name}: {condition}",
            iterations=_iterations(results),
            engine="HiGHS" if name in HIGHS else name,
        )


def _solver(name: Any) -> Any:
    import pyomo.environ as pyo

    if not isinstance(name, str):
        raise OptionError(f"pyomo's option 'solver' must be the name of a solver, not {name!r}.")
    if name not in pyo.SolverFactory:
        raise OptionError(f"Pyomo knows no solver {name!r}: 'pyomo help --solvers' lists those it knows.")
    if name in HIGHS:
        with suppress(ImportError):  # Pyomo will tell
            import_interruptible("highspy")
    solver = pyo.SolverFactory(name)
    if not solver.available(exception_flag=False):
        raise OptionError(
            f"Pyomo knows the solver {name!r}, but it is not installed here. Install it, or leave out solver= to use HiGHS; "
            "for GLPK without its executable, solve with backend='glpk'."
        )
    return solver


def _interruptible(solver: Any) -> Any:
    """Let HiGHS, where it is the solver, run aside, so that Ctrl-C reaches this thread and can ask it to stop.

    Pyomo makes the HiGHS object when it hands the model over (``set_instance``) and has it heed ``cancelSolve``, but then
    runs it in the main thread. Solvers that are programs of their own are ended by Pyomo itself.
    """
    hand_over = getattr(solver, "set_instance", None)
    if not callable(hand_over) or not hasattr(solver, "_solver_model"):
        return solver

    def set_instance(*arguments: Any, **keywords: Any) -> None:
        hand_over(*arguments, **keywords)
        highs = solver._solver_model  # noqa: SLF001  the only way to it
        if all(callable(getattr(highs, method, None)) for method in ("run", "cancelSolve", "setOptionValue")):
            highs.run = partial(run_interruptible, highs.run, partial(_hush, highs))

    solver.set_instance = set_instance
    return solver


def _hush(highs: Any) -> None:
    """Ask HiGHS to stop, and to print no more: if it is slow to stop, the screen is no longer Pyomo's to redirect."""
    highs.cancelSolve()
    highs.setOptionValue("output_flag", False)


def _settings(name: str, native: dict[str, Any], options: Options) -> dict[str, Any]:
    """Return the options for the solver itself. Pyomo passes them on without looking whether they were accepted."""
    settings: dict[str, Any] = {}
    for common, natives in COMMON.items():
        if (value := getattr(options, common)) is None:
            continue
        if name not in HIGHS:
            raise OptionError(f"pyomo can pass {common} to HiGHS only: give {name} its own option for it instead.")
        settings |= dict.fromkeys(natives, value)
    settings |= native
    if name in HIGHS:
        import highspy

        trial = highspy.Highs()
        trial.setOptionValue("output_flag", False)
        for option, value in settings.items():
            try:
                accepted = trial.setOptionValue(option, value) == highspy.HighsStatus.kOk
            except TypeError:
                accepted = False
            if not accepted:
                raise OptionError(f"HiGHS, through pyomo, refuses {value!r} for option {option!r}.")
    return settings


def _load(model: Any, results: Any) -> bool:
    """Load the point that the solver holds into the model, if there is one."""
    if not len(results.solution):
        return False
    model.solutions.load_from(results)
    return True


def _signed(problem: Problem, duals: Any) -> Any:
    """Return the duals in this package's sign.

    Pyomo's solver plugins disagree about it for a maximisation, so it is the one that gives the smaller bound: any y gives
    a true one.
    """
    return min(duals, -duals, key=lambda y: dual_bound(problem, y))


def _iterations(results: Any) -> int | None:
    try:
        return int(results.solver.iterations)
    except (AttributeError, TypeError, ValueError):
        return None
