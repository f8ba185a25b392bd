"""Many problems, one after the other or in several processes that share their data."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, NoReturn, TypeVar, overload

from momentlp.backend.interface import Answer, Backend, Options
from momentlp.backend.registry import get_backend
from momentlp.errors import DataError, MomentLPError, OptionError
from momentlp.problem.problem import Problem
from momentlp.runtime.messages import error_text
from momentlp.runtime.progress_bar import show_progress as shown_as
from momentlp.solution.solution import Solution
from momentlp.solving.isolation import Isolated
from momentlp.solving.many.job import Job
from momentlp.solving.many.pool import run_in_pool
from momentlp.solving.solve_problem import solve
from momentlp.status import Status

__all__ = ["FailedSolve", "solve_many"]

T = TypeVar("T")
Problems = Iterable[Problem | Callable[[], Problem]]
Told = bool | Callable[[int, int | None], Any]


@dataclass(frozen=True, eq=False)
class FailedSolve:
    """What :func:`solve_many` gives in the place of a problem that could not be solved.

    Attributes
    ----------
    index : int
        Its place among the problems.
    error : exception
        What was raised; a SolverError where the worker process died.
    problem : Problem or None
        None where a function was to make it, and where ``keep`` says what is to be kept.

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
        """The kind of the error and its words."""
        return error_text(self.error)

    def raise_(self) -> NoReturn:
        """Raise the error."""
        raise self.error

    def summary(self) -> dict[str, Any]:
        """Return a record to stand among those of solutions."""
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
    progress: Told = False,
    **settings: Any,
) -> list[Solution | FailedSolve]: ...


@overload
def solve_many(
    problems: Problems,
    backend: str | Backend = "auto",
    *,
    n_jobs: int | None = None,
    keep: Callable[[Solution], T],
    progress: Told = False,
    **settings: Any,
) -> list[T | FailedSolve]: ...


def solve_many(
    problems: Problems,
    backend: str | Backend = "auto",
    *,
    n_jobs: int | None = None,
    keep: Callable[[Solution], Any] | None = None,
    progress: Told = False,
    **settings: Any,
) -> list[Any]:
    """Solve many problems, several at a time, and return the answers in the order of the problems.

    One that cannot be solved does not lose the others: a :class:`FailedSolve` stands in its place, be it that the solve
    raised or that its worker process died. (After a death the problem is tried once more, in a fresh process and with
    nothing beside it: two large problems may have run out of memory together.)

    Parameters
    ----------
    problems : iterable of Problem or of functions that return one
        Taken as they are needed, never more than ``2 * n_jobs`` ahead, so a generator may make more than memory holds. A
        function without arguments, such as ``functools.partial(spec.compile, X, labelled=chosen)``, is called in the worker:
        problems are then compiled in parallel too. Large arrays, also those in such a partial, are shared by all processes,
        not copied; they must not change meanwhile. Lambdas and functions of the script itself need cloudpickle there.
    backend : str or Backend
    n_jobs : int, optional
        Worker processes; -1 for one per core, -2 for one less. None (as in joblib: unless ``joblib.parallel_config`` says
        otherwise) and 1 solve in this process, where a solver that crashes takes everything with it. Workers share the
        cores: each has ``cores // n_jobs`` threads for linear algebra and, unless ``threads`` says otherwise, its solver.
    keep : callable, optional
        What to keep of a solution: called with it, in the worker; what it returns takes the place of the solution. Of
        thousands of problems keep what you need, ``lambda solution: solution.objective``: a Solution holds on to its
        problem (to the object given; where a function made it, the problem comes back with it).
    progress : bool or callable
        True shows a bar on the error stream; a function is called with how many are done and how many there are, None
        where ``problems`` has no length.
    **settings
        All else that :func:`momentlp.solve` takes. ``time_limit`` and the others hold for each problem. ``log`` is called
        here; what a solver prints in a worker goes to the error stream.

    Returns
    -------
    list
        A Solution (or what ``keep`` made of it) or a FailedSolve for each problem.

    Raises
    ------
    OptionError, BackendNotFoundError, BackendUnavailableError
        If the call itself is wrong, before any work is done; an option that only the solver can refuse, as soon as it does.
    SolverError
        If no worker process can be started.

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
    workers, threads = _workers_and_threads(n_jobs)
    if keep is not None and not callable(keep):
        raise OptionError(f"keep must be a function that takes a Solution, not {keep!r}.")
    if not isinstance(progress, bool) and not callable(progress):
        raise OptionError(f"progress must be True, False or a function of two numbers, not {progress!r}.")
    _check_settings(backend, settings)
    job = Job(backend, settings, keep)
    with shown_as(progress, len(problems) if isinstance(problems, Sized) else None) as shown:
        results = _Results(keep is None, shown)
        if workers == 1:
            for index, item in enumerate(problems):
                results.add(index, item, *job.done(item))
                del item  # it is not to wait in memory for the next one
        else:
            run_in_pool(job, problems, results.add, workers, threads)
    return [results.found[index] for index in range(len(results.found))]


def _check_problems(problems: Any) -> None:
    if isinstance(problems, Problem):
        raise DataError("problems must be several: give a list, or call solve for one.")
    if not isinstance(problems, Iterable):
        raise DataError(f"problems must be a list or another iterable of problems, not {type(problems).__name__}.")


def _workers_and_threads(n_jobs: Any) -> tuple[int, int]:
    """Return how many processes there are to be, and how many threads each may have."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise OptionError(f"n_jobs must be a whole number other than 0, or None, not {n_jobs!r}: -1 stands for all cores.")
    import joblib  # type: ignore[import-untyped]  # it carries no types

    workers = int(joblib.effective_n_jobs(n_jobs))
    return workers, max(1, joblib.cpu_count() // workers)


class _CheckedError(MomentLPError):
    """Raised where the work would begin: all before it is in order."""


class _Probe(Isolated):
    """A backend that looks like another and runs nothing."""

    def run(self, problem: Problem, options: Options) -> Answer:
        raise _CheckedError


def _check_settings(backend: str | Backend, settings: dict[str, Any]) -> None:
    """Let ``solve`` check what is meant for it, up to where the work would begin."""
    solver, rest = get_backend(backend), {name: value for name, value in settings.items() if name != "start"}
    if rest.get("isolate") is True:
        del rest["isolate"]
        probe = _Probe(solver, rest.pop("memory_limit", None))
    else:
        probe = _Probe(solver)
        probe.__dict__["capabilities"] = solver.capabilities  # without what isolation adds
    with contextlib.suppress(_CheckedError):
        solve(Problem.from_arrays([[0.0]], 0.0, 0.0), probe, **rest)


@dataclass
class _Results:
    """What has been found so far, by the place of its problem."""

    whole: bool  # whether solutions are kept as they are, with their problems
    shown: Callable[[int], Any]
    found: dict[int, Any] = field(default_factory=dict)
    any_good: bool = False

    def add(self, index: int, item: Any, good: bool, value: Any) -> None:
        self.any_good |= good
        self.found[index] = value if good else self._failed(index, item, value)
        self.shown(len(self.found))

    def _failed(self, index: int, item: Any, error: BaseException) -> FailedSolve:
        if isinstance(error, OptionError) and not self.any_good:
            raise error  # the options are those of every problem
        link: BaseException | None = error
        seen: set[int] = set()  # an error may be its own cause
        while link is not None and id(link) not in seen:  # frames of a traceback hold on to all that the solve has held
            seen.add(id(link))
            traceback.clear_frames(link.__traceback__)
            link = link.__cause__ or link.__context__
        return FailedSolve(index, error, item if self.whole and isinstance(item, Problem) else None)
