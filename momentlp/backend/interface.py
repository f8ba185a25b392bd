"""The contract between momentlp and a solver.

A backend is handed a :class:`~momentlp.Problem` whose moments are already scaled, and :class:`Options` it has
declared it can honour. It returns an :class:`Answer`: why it stopped, kept apart from what point it holds. It says nothing
about the quality of that point: that is computed from (h, y) alone, by :class:`~momentlp.proof.certificate.Certificate`.

To write one, subclass :class:`Backend`, register the class as an entry point in the group ``momentlp.backends``, and
run :class:`momentlp.testing.BackendContract` over it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from momentlp.errors import OptionError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem

__all__ = ["Answer", "Backend", "Capability", "Options", "Outcome", "Progress", "check_number"]

MOST = 2**31 - 1  # what every solver can count to


class Outcome(Enum):
    """Why a solver stopped, in its own opinion."""

    OPTIMAL = "optimal"  #: it believes the point it holds is optimal
    LIMIT = "limit"  #: a limit on time, iterations or memory, or a request to stop
    INFEASIBLE = "infeasible"  #: it believes that no point meets the bounds
    FAILED = "failed"  #: anything else: numerical trouble, "unknown", "unbounded"


class Capability(Enum):
    """A common option that a backend honours. Asking one that does not declare it is an error."""

    TIME_LIMIT = "time_limit"
    ITERATION_LIMIT = "iteration_limit"
    FEASIBILITY_TOLERANCE = "feasibility_tolerance"
    THREADS = "threads"
    LOG = "log"
    PROGRESS = "progress"
    START = "start"


@dataclass(frozen=True)
class Progress:
    """How far a running solver has come: iterations, seconds since it started, and the objective if it tells."""

    iterations: int
    seconds: float
    objective: float | None = None


@dataclass(frozen=True)
class Options:
    """What is asked of a solver, in words that all of them share; ``None`` leaves the solver's own default.

    Attributes
    ----------
    time_limit : float, optional
        Seconds of wall-clock time.
    iteration_limit : int, optional
    feasibility_tolerance : float, optional
        How far a bound or a dual sign may be violated, in scaled units.
    threads : int, optional
    verbose : bool
        Print the solver's own log.
    log : callable, optional
        Takes the solver's own log instead, a line or part of one at a time.
    progress : callable, optional
        Takes a :class:`Progress` now and then; may be called from another thread.
    start : pair of arrays, optional
        (h, y) from which to start: the answer to a problem nearby, or a guess. Memberships at 0 or their cap and multipliers
        at 0 are taken for what they are; the others make up the first basis.
    native : mapping
        Options in the solver's own words.
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
                object.__setattr__(self, name, check_number(name, getattr(self, name)))
        for name, least in (("iteration_limit", 0), ("threads", 1)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _check_whole(name, getattr(self, name), least))
        for name in ("log", "progress"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise OptionError(f"{name} must be a function, not {type(getattr(self, name)).__name__}.")
        if not isinstance(self.verbose, bool):
            raise OptionError(f"verbose must be True or False, not {self.verbose!r}.")
        if not isinstance(self.native, Mapping):
            raise OptionError(f"options must be a table of native options, not {type(self.native).__name__}.")

    @property
    def sink(self) -> Callable[[str], Any] | None:
        """Where log lines go: to ``log``, to the screen if verbose, or nowhere."""
        if self.log is None and self.verbose:
            return partial(print, end="", flush=True)
        return self.log

    def asked(self) -> set[Capability]:
        """Return the capabilities that these options need."""
        return {capability for capability in Capability if getattr(self, capability.value) is not None}


@dataclass(frozen=True)
class Answer:
    """What a solver came back with.

    Attributes
    ----------
    outcome : Outcome
    membership : array of shape (N,), or None if it holds no point
    multipliers : array of shape (m,), or None
        One per moment of the problem as it was handed over: the derivative of the optimum by the active bound,
        ``>= 0`` at an upper bound and ``<= 0`` at a lower one.
    message : str
        The solver's own words.
    iterations : int, optional
    engine : str, optional
        The engine that ran, where it is not the one the backend declares.
    """

    outcome: Outcome
    membership: FloatArray | None
    multipliers: FloatArray | None
    message: str
    iterations: int | None = None
    engine: str | None = None


class Backend(ABC):
    """Base of all backends. Keyword arguments of an instance are native options that every solve with it uses.

    Attributes
    ----------
    name : str
        What users call it.
    engine : str
        The code that does the work. Two backends with one engine are not independent of each other.
    package : str
        The module that must be importable.
    extra : str, optional
        The extra of momentlp that installs ``package``, if it is one.
    capabilities : frozenset of Capability
    """

    name: ClassVar[str]
    engine: ClassVar[str]
    package: ClassVar[str]
    extra: ClassVar[str | None] = None
    capabilities: ClassVar[frozenset[Capability]] = frozenset()

    def __init__(self, **native: Any) -> None:
        self.native = native

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """Load the solver and return its version; raise ImportError if it cannot be loaded."""

    @abstractmethod
    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve. Raise :class:`~momentlp.errors.OptionError` for an option the solver refuses."""

    def reject_unknown(self, native: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        """Raise for native options that are not in a table of known ones."""
        for option in native:
            if option not in known:
                raise OptionError(f"{self.name} has no option {option!r}; it knows {', '.join(sorted(known))}.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.native.items())})"


def check_number(name: str, value: Any) -> float:
    """Return an option as a plain float above zero."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, np.floating)) or not float(value) > 0:
        raise OptionError(f"{name} must be a number greater than 0, not {value!r}.")
    return float(value)


def _check_whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or not least <= int(value) <= MOST:
        raise OptionError(f"{name} must be a whole number from {least} to {MOST}, not {value!r}.")
    return int(value)
