"""The work that is done with every problem: solve it, and keep what the caller wants of the solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from momentlp.backend.interface import Backend, Capability
from momentlp.backend.registry import get_backend
from momentlp.errors import DataError
from momentlp.problem.problem import Problem
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve

__all__ = ["CallJob", "Job"]


@dataclass(frozen=True)
class Job:
    """How to solve a problem, and what to keep of its solution.

    Attributes
    ----------
    backend : str or Backend
    settings : dict
        Keyword arguments of :func:`momentlp.solve`.
    keep : callable or None
        Called with the solution; its result replaces the solution.

    Examples
    --------
    >>> problem = Problem.from_arrays([[-1.0], [1.0]], lower=0.0, upper=0.0)
    >>> Job("auto", {}, lambda solution: solution.objective).run(problem)
    (True, 2.0)
    >>> Job("auto", {}, None).run(7)
    (False, DataError('problems holds int where a Problem belongs: compile one with Spec.compile.'))
    """

    backend: str | Backend
    settings: dict[str, Any]
    keep: Callable[[Solution], Any] | None

    def run(self, item: Any) -> tuple[bool, Any]:
        """Do the work with one item and catch its errors.

        Parameters
        ----------
        item : Problem or callable
            A problem, or a function without arguments that returns one.

        Returns
        -------
        succeeded : bool
        value : object
            The result, or the exception.
        """
        try:
            return True, self._run(item)
        except (Exception, SystemExit) as error:  # noqa: BLE001  a solver or the caller's function may raise anything
            return False, error

    def with_solver_threads(self, threads: int) -> Job:
        """Return the job with this number of threads, unless the caller chose one or the solver cannot take one."""
        solver = get_backend(self.backend)
        native = {**solver.native, **(self.settings.get("options") or {})}
        is_chosen = self.settings.get("threads") is not None or "threads" in native
        if is_chosen or Capability.THREADS not in solver.capabilities:
            return self
        return self.with_setting("threads", threads)

    def with_setting(self, name: str, value: Any) -> Job:
        """Return a copy of the job in which one setting is replaced."""
        return replace(self, settings={**self.settings, name: value})

    def _run(self, item: Any) -> Any:
        problem = item() if callable(item) and not isinstance(item, Problem) else item
        if not isinstance(problem, Problem):
            source = "a function among problems returned" if problem is not item else "problems holds"
            raise DataError(f"{source} {type(problem).__name__} where a Problem belongs: compile one with Spec.compile.")
        solution = solve(problem, self.backend, **self.settings)
        return solution if self.keep is None else self.keep(solution)


class CallJob(Job):
    """A job whose items are functions without arguments; the job calls them. For work that is more than one solve.

    Examples
    --------
    >>> CallJob("auto", {}, None).run(lambda: 7)
    (True, 7)
    """

    def _run(self, item: Any) -> Any:
        return item()
