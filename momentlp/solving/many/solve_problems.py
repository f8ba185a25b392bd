"""Solve many problems, one after the other or in several processes that share their data."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, TypeVar, overload

from momentlp.backend.interface import Answer, Backend, Options
from momentlp.backend.registry import get_backend
from momentlp.errors import DataError, MomentLPError, OptionError
from momentlp.problem.problem import Problem
from momentlp.runtime.argument_checks import check_bool, check_function, check_integer, check_progress
from momentlp.runtime.messages import error_text
from momentlp.runtime.progress_bar import show_progress
from momentlp.solution.solution import Solution
from momentlp.solving.isolation import Isolated
from momentlp.solving.many.job import Job
from momentlp.solving.many.pool import run_in_pool
from momentlp.solving.solve_problem import solve
from momentlp.status import Status

__all__ = ["FailedSolve", "solve_many"]

T = TypeVar("T")
Problems = Iterable[Problem | Callable[[], Problem]]
ProgressOption = bool | Callable[[int, int | None], Any]


@dataclass(frozen=True, eq=False)
class FailedSolve:
    """The result of :func:`solve_many` for a problem that could not be solved.

    Attributes
    ----------
    index : int
        Position of the problem among the problems.
    error : exception
        What the solve raised; a :class:`~momentlp.SolverError` if the worker process died.
    problem : Problem or None
        The problem as it was given. None if a function was given instead of a problem, and None if ``keep`` was given.

    Examples
    --------
    >>> failed = FailedSolve(3, DataError("X has no rows."))
    >>> failed
    FailedSolve(3, DataError: X has no rows.)
    >>> failed.status.name
    'FAILED'
    """

    index: int
    error: BaseException
    problem: Problem | None = None

    status: ClassVar[Status] = Status.FAILED

    @property
    def message(self) -> str:
        """The class of the error and its message."""
        return error_text(self.error)

    def raise_(self) -> NoReturn:
        """Raise the error."""
        raise self.error

    def summary(self) -> dict[str, Any]:
        """Return the status and the message, in the form of :meth:`Solution.summary`."""
        return {"status": self.status.value, "message": self.message}

    def __repr__(self) -> str:
        return f"FailedSolve({self.index}, {self.message})"


@overload
def solve_many(
    problems: Problems,
    backend: str | Backend = "auto",
    *,
    n_jobs: int | None = None,
    keep: None = None,
    progress: ProgressOption = False,
    **settings: Any,
) -> list[Solution | FailedSolve]: ...


@overload
def solve_many(
    problems: Problems,
    backend: str | Backend = "auto",
    *,
    n_jobs: int | None = None,
    keep: Callable[[Solution], T],
    progress: ProgressOption = False,
    **settings: Any,
) -> list[T | FailedSolve]: ...


def solve_many(
    problems: Problems,
    backend: str | Backend = "auto",
    *,
    n_jobs: int | None = None,
    keep: Callable[[Solution], Any] | None = None,
    progress: ProgressOption = False,
    **settings: Any,
) -> list[Any]:
    """Solve many problems, several at a time, and return the results in the order of the problems.

    A problem that cannot be solved does not affect the others. Its result is a :class:`FailedSolve`, whether the solve
    raised an error or its worker process died. If a worker process dies, its problem is tried once more, in a fresh process
    with no other problem beside it: two large problems may have run out of memory together.

    Parameters
    ----------
    problems : iterable of Problem or of functions that return one
        Problems are taken when they are needed, at most ``2 * n_jobs`` ahead. So a generator may make more problems than fit
        into memory. A function without arguments, such as ``functools.partial(spec.compile, X, labelled=chosen)``, is called
        in the worker: problems are then compiled in parallel too. Large arrays, also those in such a partial, are shared by
        all processes and not copied; they must not change meanwhile. Lambdas and functions of the script itself need
        cloudpickle there.
    backend : str or Backend
        As in :func:`momentlp.solve`.
    n_jobs : int, optional
        Number of worker processes; -1 for one per core, -2 for one less. 1 solves in this process, where a solver that
        crashes ends this process too. None means 1 unless ``joblib.parallel_config`` sets another number. Workers share the
        cores: each has ``cores // n_jobs`` threads for linear algebra and, unless ``threads`` is given, for its solver.
    keep : callable, optional
        A function of a Solution, called in the worker. Its result replaces the solution, for example
        ``lambda solution: solution.objective``. Use it for thousands of problems: a Solution holds its problem in memory.
        (It holds the object that was given; if a function made the problem, the problem is sent back with the solution.)
    progress : bool or callable
        True shows a progress bar on standard error. A function is called with the number of problems that are done and the
        number of all problems, which is None if ``problems`` has no length.
    **settings
        All other arguments of :func:`momentlp.solve`, applied to each problem: ``time_limit`` is per problem. ``log`` is
        called in this process. What a solver prints in a worker goes to standard error.

    Returns
    -------
    list
        For each problem a Solution (or the result of ``keep``) or a FailedSolve.

    Raises
    ------
    OptionError, BackendNotFoundError, BackendUnavailableError
        If an argument is wrong; raised before any work is done. An option that only the solver can refuse raises as soon as
        the solver refuses it.
    SolverError
        If no worker process can be started. If workers die and cannot be replaced, the results that are finished are
        returned, and the problems left without a worker are FailedSolve.

    Examples
    --------
    >>> import momentlp as mlp
    >>> X = [[0.0], [1.0], [2.0], [9.0]]
    >>> problems = [mlp.Spec().compile(X, mean=[mean]) for mean in (0.5, 1.0)]
    >>> mlp.solve_many(problems, keep=lambda solution: round(solution.objective, 9))
    [2.0, 3.0]
    >>> mlp.solve_many([problems[0], lambda: mlp.Spec().compile(X, mean=[1.0, 2.0])])  # doctest: +ELLIPSIS
    [Solution(OPTIMAL, objective=2, ...), FailedSolve(1, DataError: mean must hold 1 number(s), ...)]
    """
    _check_problems(problems)
    n_workers, threads = _count_workers_and_threads(n_jobs)
    if keep is not None:
        check_function("keep", keep, "a Solution")
    check_progress("progress", progress)
    _check_settings(backend, settings)
    job = Job(backend, settings, keep)
    with show_progress(progress, len(problems) if isinstance(problems, Sized) else None) as report_done:
        results = _Results(keep is None, report_done)
        if n_workers == 1:
            for index, item in enumerate(problems):
                results.add(index, item, *job.run(item))
                del item  # it would stay in memory until the next one is made
        else:
            run_in_pool(job, problems, results.add, n_workers, threads)
    return [results.by_index[index] for index in range(len(results.by_index))]


def _check_problems(problems: Any) -> None:
    if isinstance(problems, Problem):
        raise DataError("problems must be a list of problems, not one Problem: call solve for one.")
    if not isinstance(problems, Iterable):
        raise DataError(f"problems must be a list or another iterable of problems, not {type(problems).__name__}.")


def _count_workers_and_threads(n_jobs: Any) -> tuple[int, int]:
    """Return the number of worker processes, and the number of threads that each may use."""
    if n_jobs is not None:
        n_jobs = check_integer("n_jobs", n_jobs, hint="-1 stands for all cores.")
        if n_jobs == 0:
            raise OptionError("n_jobs must not be 0: give the number of worker processes, or -1 for all cores.")
    import joblib  # type: ignore[import-untyped]  # joblib has no type annotations

    n_workers = int(joblib.effective_n_jobs(n_jobs))
    return n_workers, max(1, joblib.cpu_count() // n_workers)


class _ArgumentsAcceptedError(MomentLPError):
    """Raised where the solver would start: all arguments of ``solve`` have passed their checks."""


class _CheckingBackend(Isolated):
    """A backend that looks like another one and solves nothing: with it, ``solve`` checks its arguments and stops."""

    def run(self, problem: Problem, options: Options) -> Answer:
        raise _ArgumentsAcceptedError


def _check_settings(backend: str | Backend, settings: dict[str, Any]) -> None:
    """Raise what ``solve`` would raise for these arguments, without solving anything."""
    solver, rest = get_backend(backend), {name: value for name, value in settings.items() if name != "start"}
    if check_bool("isolate", rest.get("isolate", False)):
        del rest["isolate"]
        checking = _CheckingBackend(solver, rest.pop("memory_limit", None))
    else:
        checking = _CheckingBackend(solver)
        checking.__dict__["capabilities"] = solver.capabilities  # without the one that Isolated adds
    with contextlib.suppress(_ArgumentsAcceptedError):
        solve(Problem.from_arrays([[0.0]], 0.0, 0.0), checking, **rest)


@dataclass
class _Results:
    """The results so far.

    Attributes
    ----------
    keeps_problems : bool
        Whether a failure holds its problem, as a solution does.
    report_done : callable
        Called with the number of results after each one.
    by_index : dict
        Results by the index of their problem.
    any_succeeded : bool
    """

    keeps_problems: bool
    report_done: Callable[[int], Any]
    by_index: dict[int, Any] = field(default_factory=dict)
    any_succeeded: bool = False

    def add(self, index: int, item: Any, succeeded: bool, value: Any) -> None:
        self.any_succeeded |= succeeded
        self.by_index[index] = value if succeeded else self._make_failure(index, item, value)
        self.report_done(len(self.by_index))

    def _make_failure(self, index: int, item: Any, error: BaseException) -> FailedSolve:
        if isinstance(error, OptionError) and not self.any_succeeded:
            raise error  # the options are the same for every problem
        _clear_tracebacks(error)
        return FailedSolve(index, error, item if self.keeps_problems and isinstance(item, Problem) else None)


def _clear_tracebacks(error: BaseException) -> None:
    """Clear the local variables in the tracebacks of an error and its causes: they hold the arrays of the solve."""
    link: BaseException | None = error
    seen: set[int] = set()  # an error may be its own cause
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        traceback.clear_frames(link.__traceback__)
        link = link.__cause__ or link.__context__
