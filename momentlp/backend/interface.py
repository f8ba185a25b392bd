"""The contract between momentlp and a solver.

A backend receives a :class:`~momentlp.Problem` whose moments are already scaled, and :class:`Options` that it has declared
it can honour. It returns an :class:`Answer`: the reason why it stopped, and, separately, the point it found. A backend
does not judge that point: :class:`~momentlp.Certificate` computes its quality from (h, y) alone.

To add a backend, subclass :class:`Backend`, register the class as an entry point in the group ``momentlp.backends``, and
test it with :class:`momentlp.testing.BackendContract`. The backends of this project lie in the folder ``backends``, one
package each, with the class in ``backend.py``; ``pyproject.toml`` registers them. CONTRIBUTING.md lists the steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, ClassVar

from momentlp.errors import OptionError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.runtime import argument_checks
from momentlp.runtime.argument_checks import check_bool, check_function, check_integer

__all__ = ["Answer", "Backend", "Capability", "Options", "Outcome", "Progress"]

MAX_INTEGER = 2**31 - 1  # the largest integer that every solver can hold


class Outcome(Enum):
    """Why a solver stopped, by its own account. Nothing of it is trusted: :func:`~momentlp.solve` checks every answer.

    Attributes
    ----------
    OPTIMAL
        The solver claims that its point is optimal.
    LIMIT
        It reached a limit on time, iterations or memory, or was asked to stop.
    INFEASIBLE
        It claims that no point meets the bounds.
    FAILED
        Anything else: numerical trouble, "unknown", "unbounded".

    Examples
    --------
    >>> Outcome("limit")
    <Outcome.LIMIT: 'limit'>
    """

    OPTIMAL = "optimal"
    LIMIT = "limit"
    INFEASIBLE = "infeasible"
    FAILED = "failed"


class Capability(Enum):
    """A common option that a backend honours.

    A backend declares its capabilities. An option that it does not declare is an error, never ignored. The value of each
    member is the name of the option, in :class:`Options` and in :func:`~momentlp.solve`.

    Attributes
    ----------
    TIME_LIMIT
        Stops after a number of seconds.
    ITERATION_LIMIT
        Stops after a number of iterations.
    FEASIBILITY_TOLERANCE
        Lets the user choose how far bounds may be violated.
    THREADS
        Lets the user choose the number of threads.
    LOG
        Passes its log to a function.
    PROGRESS
        Reports progress to a function while it runs.
    START
        Starts from a given (h, y).
    INTEGER
        Solves problems with memberships that must be integers. This is a property of problems, and not an option.

    Examples
    --------
    >>> from momentlp.backend.registry import get_backend
    >>> Capability.START in get_backend("highs").capabilities
    True
    """

    TIME_LIMIT = "time_limit"
    ITERATION_LIMIT = "iteration_limit"
    FEASIBILITY_TOLERANCE = "feasibility_tolerance"
    THREADS = "threads"
    LOG = "log"
    PROGRESS = "progress"
    START = "start"
    INTEGER = "integer"


@dataclass(frozen=True)
class Progress:
    """A report of a running solver.

    Attributes
    ----------
    iterations : int
        Iterations so far.
    seconds : float
        Seconds since the solver started.
    objective : float, optional
        The objective now, if the solver reports it. If memberships must be whole, the weight of the best set so far.
    bound : float, optional
        If memberships must be whole: the bound of the solver on that weight.

    Examples
    --------
    >>> Progress(iterations=120, seconds=0.5)
    Progress(iterations=120, seconds=0.5, objective=None, bound=None)
    """

    iterations: int
    seconds: float
    objective: float | None = None
    bound: float | None = None


@dataclass(frozen=True)
class Options:
    """The options of one solve, under names that all backends share. ``None`` leaves the solver's own default.

    Parameters
    ----------
    time_limit : float, optional
        Seconds of wall-clock time, above 0.
    iteration_limit : int, optional
        Maximum number of iterations, at least 0.
    feasibility_tolerance : float, optional
        How far a bound or a dual sign may be violated, in scaled units; above 0.
    threads : int, optional
        Number of threads, at least 1.
    verbose : bool
        Whether to print the solver's own log.
    log : callable, optional
        Receives the solver's own log instead, as text: a line, or part of one, at a time.
    progress : callable, optional
        Receives a :class:`Progress` from time to time; may be called from another thread.
    start : pair of arrays of shape (N,) and (m,), optional
        (h, y) from which to start: the answer to a similar problem, or a guess. Memberships strictly between 0 and their
        cap, and moments with a multiplier of 0, form the first basis. If memberships must be whole, it is the optimum of
        the linear program, without that condition.
    native : mapping
        Options under the solver's own names.

    Raises
    ------
    OptionError
        If a value has the wrong type or is out of range.

    Examples
    --------
    >>> Options(time_limit=60, native={"presolve": "on"}).asked()
    {<Capability.TIME_LIMIT: 'time_limit'>}
    >>> Options(threads=0)
    Traceback (most recent call last):
        ...
    momentlp.errors.OptionError: threads must be an integer from 1 to 2147483647, not 0.
    """

    time_limit: float | None = None
    iteration_limit: int | None = None
    feasibility_tolerance: float | None = None
    threads: int | None = None
    verbose: bool = False
    log: Callable[[str], Any] | None = None
    progress: Callable[[Progress], Any] | None = None
    start: tuple[FloatArray, FloatArray] | None = None
    native: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("time_limit", "feasibility_tolerance"):
            if getattr(self, name) is not None:
                object.__setattr__(
                    self, name, argument_checks.check_number(name, getattr(self, name), above=0, infinite=True)
                )
        for name, minimum in (("iteration_limit", 0), ("threads", 1)):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, check_integer(name, value, minimum=minimum, maximum=MAX_INTEGER))
        for name, takes in (("log", "a text"), ("progress", "a Progress")):
            if getattr(self, name) is not None:
                check_function(name, getattr(self, name), takes)
        object.__setattr__(self, "verbose", check_bool("verbose", self.verbose))
        if not isinstance(self.native, Mapping):
            raise OptionError(f"options must be a mapping of native options, not {self.native!r}.")

    @property
    def sink(self) -> Callable[[str], Any] | None:
        """The function that receives log lines: ``log``; one that prints, if verbose; None for no log."""
        if self.log is None and self.verbose:
            return partial(print, end="", flush=True)
        return self.log

    def asked(self) -> set[Capability]:
        """Return the capabilities that these options need.

        Returns
        -------
        set of Capability
            One for each common option that is not None.
        """
        options = set(Capability) - {Capability.INTEGER}
        return {capability for capability in options if getattr(self, capability.value) is not None}


@dataclass(frozen=True)
class Answer:
    """What a backend returns.

    Parameters
    ----------
    outcome : Outcome
        Why the solver stopped.
    membership : array of shape (N,), or None
        The memberships h, or None if the solver found no point.
    multipliers : array of shape (m,), or None
        The multipliers y, one per moment of the problem that the backend received: the derivative of the optimum with
        respect to the active bound, ``>= 0`` at an upper bound and ``<= 0`` at a lower one.
    message : str
        The solver's own words.
    iterations : int, optional
        Iterations in all.
    engine : str, optional
        The engine that ran, if it is not the one that the backend declares.
    claimed_bound : float, optional
        Of a problem with memberships that must be whole: the bound that a branch and bound method claims for the objective.
        Nobody can check it without searching again.

    Examples
    --------
    >>> import numpy as np
    >>> answer = Answer(Outcome.OPTIMAL, np.array([1.0, 1.0, 0.0]), np.array([0.5]), "optimal basis found", iterations=2)
    >>> answer.outcome.value, answer.iterations
    ('optimal', 2)
    """

    outcome: Outcome
    membership: FloatArray | None
    multipliers: FloatArray | None
    message: str
    iterations: int | None = None
    engine: str | None = None
    claimed_bound: float | None = None


class Backend(ABC):
    """Base class of all backends.

    Parameters
    ----------
    **native
        Native options of the solver, used in every solve with this instance.

    Attributes
    ----------
    name : str
        The name by which users choose it.
    engine : str
        The code that does the work. Two backends with the same engine are not independent of each other.
    package : str
        The Python package that must be importable.
    extra : str, optional
        The extra of momentlp that installs ``package``, if there is one.
    capabilities : frozenset of Capability
        The common options that it honours.
    is_linear : bool
        Whether it solves linear programs itself, and does not hand them on to another backend.

    Examples
    --------
    A backend for problems in which the set of all points is feasible:

    >>> import numpy as np
    >>> class Everything(Backend):
    ...     name, engine, package = "everything", "numpy", "numpy"
    ...
    ...     @classmethod
    ...     def version(cls):
    ...         return np.__version__
    ...
    ...     def run(self, problem, options):
    ...         return Answer(Outcome.OPTIMAL, problem.caps, np.zeros(problem.n_moments), "took all points")
    >>> from momentlp import solve
    >>> solve(Problem.from_arrays([[-1.0], [1.0]], lower=0.0, upper=0.0), Everything()).objective
    2.0
    """

    name: ClassVar[str]
    engine: ClassVar[str]
    package: ClassVar[str]
    extra: ClassVar[str | None] = None
    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    is_linear: ClassVar[bool] = True

    def __init__(self, **native: Any) -> None:
        self.native = native

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """Load the solver and return its version.

        Raises
        ------
        ImportError
            If the solver cannot be loaded.
        """

    @abstractmethod
    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve a problem.

        Parameters
        ----------
        problem : Problem
            Its moments, weights and caps are scaled already.
        options : Options
            ``options.native`` holds the native options of the instance as well.

        Returns
        -------
        Answer

        Raises
        ------
        OptionError
            If the solver refuses an option.
        """

    def reject_unknown(self, native: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        """Raise OptionError for native options that are not known.

        Parameters
        ----------
        native : mapping
            The native options that the user gave.
        known : mapping
            Has the names of all known options as keys.

        Raises
        ------
        OptionError
            For the first unknown name.
        """
        for option in native:
            if option not in known:
                raise OptionError(f"{self.name} has no option {option!r}; it knows {', '.join(sorted(known))}.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.native.items())})"
