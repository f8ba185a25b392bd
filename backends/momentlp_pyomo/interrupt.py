"""Interrupting a solver that Pyomo runs inside this process."""

from __future__ import annotations

from functools import partial
from typing import Any

from momentlp.runtime.interruptible import run_interruptible

__all__ = ["make_interruptible"]


def make_interruptible(solver: Any) -> Any:
    """Let HiGHS, if it is the solver, run in another thread, so that Ctrl-C reaches this thread and can ask it to stop.

    Pyomo creates the HiGHS object when it hands the model over (``set_instance``) and makes it obey ``cancelSolve``, but
    then runs it in the main thread. Solvers that run as separate programs are ended by Pyomo itself.
    """
    pyomo_set_instance = getattr(solver, "set_instance", None)
    if not callable(pyomo_set_instance) or not hasattr(solver, "_solver_model"):
        return solver

    def set_instance(*arguments: Any, **keywords: Any) -> None:
        pyomo_set_instance(*arguments, **keywords)
        highs = solver._solver_model  # noqa: SLF001  Pyomo offers no other way to it
        if all(callable(getattr(highs, method, None)) for method in ("run", "cancelSolve", "setOptionValue")):
            highs.run = partial(run_interruptible, highs.run, partial(_cancel, highs))

    solver.set_instance = set_instance
    return solver


def _cancel(highs: Any) -> None:
    """Ask HiGHS to stop, and to print no more: Pyomo may stop redirecting the output before HiGHS has stopped."""
    highs.cancelSolve()
    highs.setOptionValue("output_flag", False)
