"""GLPK, through swiglpk.

The default method is the dual simplex with the long-step ("flip") ratio test: memberships have two bounds, and one long step
may pass hundreds of them. ``benchmarks/cost/solver_options.py`` measures what that saves.

GLPK is not re-entrant, so one solve runs at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from momentlp.backend.interface import Answer, Backend, Capability, Options
from momentlp.errors import OptionError
from momentlp.problem.problem import Problem
from momentlp.runtime.interruptible import import_interruptible
from momentlp_glpk.model import load_program
from momentlp_glpk.options import METHODS, check_common_options
from momentlp_glpk.solver import run_branch_and_bound, run_interior, run_simplex

__all__ = ["Glpk"]

_solve_lock = threading.RLock()


class Glpk(Backend):
    """GLPK.

    Parameters
    ----------
    **native
        Native options: ``method`` (``"simplex"``, ``"interior"`` or ``"exact"``) and the control parameters of that method,
        by GLPK's own names, such as ``meth="primal"``, ``r_test="har"`` or ``presolve=True`` for the simplex.

    Examples
    --------
    >>> from momentlp import Problem, solve
    >>> problem = Problem.from_arrays([[-1.0], [1.0], [3.0]], lower=0.0, upper=0.0)
    >>> solve(problem, Glpk(method="exact")).objective
    2.0
    """

    name: ClassVar[str] = "glpk"
    engine: ClassVar[str] = "GLPK"
    package: ClassVar[str] = "swiglpk"
    extra: ClassVar[str | None] = "glpk"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability) - {Capability.THREADS, Capability.START}

    @classmethod
    def version(cls) -> str:
        """Return the version of the GLPK library."""
        return str(import_interruptible("swiglpk").glp_version())

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve a problem with GLPK."""
        native = dict(options.native)
        method = native.pop("method", "simplex")
        if method not in tuple(METHODS):
            raise OptionError(f"glpk's option 'method' must be one of {', '.join(METHODS)}, not {method!r}.")
        self.reject_unknown(native, {"method": METHODS, **METHODS[method]})
        check_common_options(method, native, options)
        program = problem.linear_program().with_scaled_outliers()
        if program.integer is not None and (method != "simplex" or options.iteration_limit is not None):
            raise OptionError(
                "glpk finds whole sets by its simplex method with a time_limit: leave out iteration_limit and method."
            )
        started = time.perf_counter()
        with _solve_lock, _redirect_log(options.sink), load_program(program) as handle:
            if program.integer is not None:
                return run_branch_and_bound(handle, native, options, program)
            if method == "interior":
                return run_interior(handle, native, options, program)
            return run_simplex(handle, native, options, program, exact=method == "exact", started=started)


@contextmanager
def _redirect_log(sink: Callable[[str], Any] | None) -> Iterator[None]:
    """Send GLPK's terminal output to a function, or nowhere. The whole process shares the hook, hence the lock above."""
    import swiglpk as glpk

    failure: list[Exception] = []

    def write(text: str) -> None:
        if sink is not None and not failure:
            try:
                sink(text)
            except Exception as error:  # noqa: BLE001  an exception must not pass through GLPK; it is raised again below
                failure.append(error)

    glpk.glp_term_hook(write)
    try:
        yield
    finally:
        glpk.glp_term_hook(None)
    if failure:
        raise failure[0]
