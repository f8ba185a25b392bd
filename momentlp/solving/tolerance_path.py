"""The path: one problem at many tolerances, each solve started from the solution before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from momentlp.backend.auto import resolve_backend
from momentlp.backend.interface import Backend, Capability
from momentlp.errors import DataError, OptionError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.problem.sentinels import sentinels_reported
from momentlp.runtime.argument_checks import check_bool, check_function
from momentlp.runtime.html_table import html_table, shorten_rows
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve
from momentlp.status import Status

__all__ = ["Path", "path"]


@dataclass(frozen=True, eq=False)
class Path:
    """Solutions of a problem at T tolerances, in the order given. Indexing and iterating give the solutions.

    Attributes
    ----------
    tolerances : array, shape (T,)
    solutions : tuple of Solution
        One per tolerance, each with its certificate.
    relative : bool
        Whether the tolerances are multiples of those of the problem.

    Examples
    --------
    >>> import momentlp as mlp
    >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    >>> found = mlp.path(problem, [8.0, 4.0, 0.0])
    >>> len(found), found[0].objective
    (3, 4.0)
    >>> found.objectives
    array([4. , 3.5, 3. ])
    >>> found.memberships.shape
    (3, 4)
    >>> found.entry()
    array([0., 0., 0., 4.])
    """

    tolerances: FloatArray
    solutions: tuple[Solution, ...]
    relative: bool = False

    @property
    def memberships(self) -> FloatArray:
        """The memberships at each tolerance, shape (T, N)."""
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
        """Return the smallest tolerance at which each point is in the set.

        Returns
        -------
        array, shape (N,)
            The smallest tolerance of the path at which the solution is OPTIMAL and the membership of the point is at least
            half its cap; infinity if there is none.
        """
        caps = self.solutions[0].problem.caps
        proved = np.array([solution.status is Status.OPTIMAL for solution in self.solutions])
        inside = (self.memberships >= 0.5 * caps) & (caps > 0) & proved[:, None]
        return np.asarray(np.where(inside, self.tolerances[:, None], np.inf).min(axis=0))

    def __len__(self) -> int:
        return len(self.solutions)

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    @overload
    def __getitem__(self, index: int) -> Solution: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Solution, ...]: ...
    def __getitem__(self, index: int | slice) -> Solution | tuple[Solution, ...]:
        return self.solutions[index]

    def __repr__(self) -> str:
        span = f"{self.tolerances[0]:g} to {self.tolerances[-1]:g}"
        return f"Path({len(self)} tolerances from {span}, {self._n_optimal} proved optimal)"

    @property
    def _n_optimal(self) -> int:
        return sum(status is Status.OPTIMAL for status in self.statuses)

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
        title = f"Path: {len(self)} tolerances, {self._n_optimal} proved optimal"
        heading = ("multiple" if self.relative else "tolerance", "status", "weight of the set", "active moments", "seconds")
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
    """Solve a problem at many tolerances, starting each solve from the solution before it.

    Parameters
    ----------
    problem : Problem
        Compiled from a spec. The tolerance of its moments is replaced; constraints stay as they are.
    tolerances : iterable of float
        The tolerance of every moment, on the sum or on the mean as in the spec. A solve takes less work the closer its
        tolerance is to the one before: go from large to small, in small steps.
    backend : str or Backend
        As in :func:`momentlp.solve`. Backends without the capability ``START`` solve each problem from scratch.
    relative : bool
        Whether the numbers multiply the tolerances of the problem instead. With ``StandardError(1.0)`` they are numbers of
        standard errors.
    stop : callable, optional
        Called with each solution. The path ends with the first solution for which it returns True.
    **options
        Further arguments of :func:`momentlp.solve`, except ``start``.

    Returns
    -------
    Path
        One solution per tolerance, in the order given.

    Raises
    ------
    DataError
        If a tolerance is not a finite number of at least 0, or the problem has no tolerance to replace.
    OptionError
        If another argument is not valid.

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
        raise DataError("problem has no tolerance to vary: compile it from a spec, such as Spec(tolerance=Absolute(1.0)).")
    if stop is not None:
        check_function("stop", stop, "a Solution")
    relative = check_bool("relative", relative)
    if "start" in options:
        raise OptionError("path starts each solve from the solution before it: leave out start.")
    values = _check_tolerances(tolerances)
    solutions: list[Solution] = []
    for value in values:
        current = problem.with_tolerance(value, relative=relative)
        solver = resolve_backend(backend, current, options.get("options"))
        start = solutions[-1] if solutions and Capability.START in solver.capabilities else None
        with sentinels_reported() if solutions else nullcontext():
            solutions.append(solve(current, solver, start=start, **options))
        if stop is not None and stop(solutions[-1]):
            break
    return Path(np.array(values[: len(solutions)]), tuple(solutions), relative)


def _check_tolerances(tolerances: Any) -> list[float]:
    if isinstance(tolerances, str):
        raise DataError(f"tolerances must be a list of numbers, such as numpy.geomspace(200, 5, 40), not {tolerances!r}.")
    try:
        values = [float(value) for value in tolerances]
    except (TypeError, ValueError):
        raise DataError(
            f"tolerances must be a list of numbers, such as numpy.geomspace(200, 5, 40), not {tolerances!r}."
        ) from None
    if not values:
        raise DataError("tolerances is empty: give at least one number.")
    for index, value in enumerate(values):
        if not (np.isfinite(value) and value >= 0):
            raise DataError(f"tolerances must be finite numbers of at least 0, but entry {index} is {value}.")
    return values
