"""All answers along the tolerance, each started from the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from momentlp.backend.auto import resolve_backend
from momentlp.backend.interface import Backend, Capability
from momentlp.errors import DataError, OptionError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.runtime.html_table import html_table, shorten_rows
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve
from momentlp.status import Status

__all__ = ["Path", "path"]


@dataclass(frozen=True, eq=False)
class Path:
    """Solutions along the tolerance, in the order asked for. Indexing and iterating give the solutions.

    Attributes
    ----------
    tolerances : array, shape (T,)
    solutions : tuple of Solution
        One per tolerance, each with its certificate.
    relative : bool
        Whether the tolerances are multiples of the problem's own.
    """

    tolerances: FloatArray
    solutions: tuple[Solution, ...]
    relative: bool = False

    @property
    def memberships(self) -> FloatArray:
        """The memberships as a function of the tolerance, shape (T, N)."""
        return np.array([solution.membership for solution in self.solutions])

    @property
    def objectives(self) -> FloatArray:
        """The weight of the set found at each tolerance, shape (T,)."""
        return np.array([solution.objective for solution in self.solutions])

    @property
    def statuses(self) -> tuple[Status, ...]:
        """The status at each tolerance."""
        return tuple(solution.status for solution in self.solutions)

    def entry(self) -> FloatArray:
        """Return for every point the smallest tolerance tried at which it is in the set, by half at least; inf if none."""
        caps = self.solutions[0].problem.caps
        proved = np.array([solution.status is Status.OPTIMAL for solution in self.solutions])
        inside = (self.memberships >= 0.5 * caps) & (caps > 0) & proved[:, None]
        return np.asarray(np.where(inside, self.tolerances[:, None], np.inf).min(axis=0))

    def __len__(self) -> int:
        return len(self.solutions)

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    @overload
    def __getitem__(self, place: int) -> Solution: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Solution, ...]: ...
    def __getitem__(self, place: int | slice) -> Solution | tuple[Solution, ...]:
        return self.solutions[place]

    def __repr__(self) -> str:
        proved = sum(status is Status.OPTIMAL for status in self.statuses)
        span = f"{self.tolerances[0]:g} to {self.tolerances[-1]:g}"
        return f"Path({len(self)} tolerances from {span}, {proved} proved optimal)"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [
            (
                f"{tolerance:g}",
                solution.status.name,
                f"{solution.objective:.6g}",
                solution.certificate.active,
                f"{sum(solution.seconds.values()):.3g}",
            )
            for tolerance, solution in zip(self.tolerances, self, strict=True)
        ]
        proved = sum(status is Status.OPTIMAL for status in self.statuses)
        title = f"Path: {len(self)} tolerances, {proved} proved optimal"
        first = "multiple" if self.relative else "tolerance"
        heading = (first, "status", "weight of the set", "active moments", "seconds")
        return html_table(title, shorten_rows(rows), heading)


def path(
    problem: Problem,
    tolerances: Iterable[float],
    backend: str | Backend = "auto",
    *,
    relative: bool = False,
    stop: Callable[[Solution], bool] | None = None,
    **options: Any,
) -> Path:
    """Solve a problem at many tolerances, each solve started from the answer before it.

    Parameters
    ----------
    problem : Problem
        One that a spec compiled. Its own tolerance is replaced; constraints stay as they are.
    tolerances : iterable of float
        The tolerance of every moment, on the sum or on the mean as the spec had it. The nearer an answer is to the one
        before, the less work it is: from large to small, in small steps.
    backend : str or Backend
    relative : bool
        Whether the numbers multiply the problem's own tolerances instead: with ``StandardError(1.0)`` they are the z.
    stop : callable, optional
        Called with each solution; when it returns True the path ends there.
    **options
        What :func:`momentlp.solve` takes.

    Raises
    ------
    DataError
        If a tolerance is not a finite number of at least zero, or the problem has none to replace.

    Examples
    --------
    >>> import momentlp as mlp
    >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    >>> found = path(problem, [8.0, 4.0, 0.0])
    >>> found, found.objectives.tolist()
    (Path(3 tolerances from 8 to 0, 3 proved optimal), [4.0, 3.5, 3.0])
    """
    if not isinstance(problem, Problem):
        raise DataError(f"problem must be a Problem, not {type(problem).__name__}: compile a spec first.")
    if not any(block.tolerance_on and not block.fixed for block in problem.blocks):
        raise DataError("problem has no tolerance to vary: compile it from a spec, whose moments have one.")
    if stop is not None and not callable(stop):
        raise OptionError(f"stop must be a function of a Solution, not {type(stop).__name__}.")
    if not isinstance(relative, bool):
        raise OptionError(f"relative must be True or False, not {relative!r}.")
    if "start" in options:
        raise OptionError("path makes its own starts: leave start out.")
    values = _checked(tolerances)
    solutions: list[Solution] = []
    for value in values:
        now = problem.with_tolerance(value, relative=relative)
        solver = resolve_backend(backend, now, options.get("options"))
        warm = solutions[-1] if solutions and Capability.START in solver.capabilities else None
        solutions.append(solve(now, solver, start=warm, **options))
        if stop is not None and stop(solutions[-1]):
            break
    return Path(np.array(values[: len(solutions)]), tuple(solutions), relative)


def _checked(tolerances: Any) -> list[float]:
    try:
        values = [float(value) for value in (() if isinstance(tolerances, str) else tolerances)]
    except (TypeError, ValueError):
        raise DataError("tolerances must be numbers, such as numpy.geomspace(200, 5, 40).") from None
    if isinstance(tolerances, str):
        raise DataError("tolerances must be numbers, such as numpy.geomspace(200, 5, 40), not text.")
    if not values:
        raise DataError("tolerances is empty: give at least one.")
    for place, value in enumerate(values):
        if not (np.isfinite(value) and value >= 0):
            raise DataError(f"tolerances must be finite and not negative, but entry {place} is {value}.")
    return values
