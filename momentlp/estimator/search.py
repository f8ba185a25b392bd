"""From labelled points to memberships: the one search that fitting, bagging, folds and bootstrap samples repeat."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from momentlp.backend.auto import resolve_backend
from momentlp.backend.interface import Backend, Capability
from momentlp.errors import OptionError, SolverError
from momentlp.estimator.nearest import nearest_to_mean
from momentlp.features import FittedMap, Spectral, interpolate_values, smooth_values
from momentlp.points.arrays import FloatArray, IndexArray, Matrix
from momentlp.problem.problem import Problem
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve
from momentlp.solving.tolerance_path import path
from momentlp.spec.constraints import Known
from momentlp.spec.prepared import Prepared
from momentlp.status import Status

__all__ = ["SMOOTHING", "Search", "SearchResult"]

SMOOTHING = 0.05  # where "auto" smooths: a walk of about twenty steps over the graph
MARGIN = 0.3  # the score that a point must have to be averaged as a member, where "auto" smooths


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What one search found.

    Attributes
    ----------
    solution : Solution
    membership : array, shape (N,)
        The share of each point that is in the class: h over the caps, averaged over neighbourhoods if so asked.
    smoother : FittedMap or None
        The map whose neighbourhoods they were averaged over.
    """

    solution: Solution
    membership: FloatArray
    smoother: FittedMap | None


@dataclass(frozen=True, eq=False)
class Search:
    """Points that are ready, and how to search among them.

    Attributes
    ----------
    prepared : Prepared
    known : array of int
        The labelled points.
    smoothing : float, "auto" or None
        Chance that the walk which averages memberships stops at a step; None leaves them as they are.
    backend : str or Backend
    options : mapping
        What else ``solve`` takes.
    factor : float
        What the tolerances of the spec are multiplied by.
    margin : float or "auto"
        Points whose score is not above this count as outside when memberships are averaged.
    """

    prepared: Prepared
    known: IndexArray
    smoothing: float | str | None
    backend: str | Backend
    options: Mapping[str, Any]
    factor: float = 1.0
    margin: float | str = "auto"

    def scaled(self, factor: float) -> Search:
        """Return the search with all tolerances multiplied."""
        return replace(self, factor=factor)

    @property
    def points(self) -> Matrix:
        """The points, as they were checked."""
        return self.prepared.data.points

    @property
    def unlabelled(self) -> FloatArray:
        """The weight of every point of which nothing is known, zero for the labelled ones."""
        weight = np.array(self.prepared.caps, dtype=np.float64)
        weight[self.known] = 0.0
        return weight

    @property
    def outside(self) -> IndexArray:
        """The points that are known not to be members."""
        return self._told("negatives")

    @property
    def used_margin(self) -> float:
        """The margin, as a number: 0 where nothing is averaged."""
        averaged = any(isinstance(part.fitted.declared, Spectral) for part in self.prepared.parts)
        if self.margin == "auto":
            return MARGIN if averaged and self.smoothing is not None else 0.0
        return float(self.margin)

    def _told(self, which: str) -> IndexArray:
        indices = [getattr(each, which) for each in self.prepared.constraints if isinstance(each, Known)]
        return np.unique(np.concatenate([np.zeros(0), *indices])).astype(np.intp)

    def problem(self, counts: FloatArray | None = None) -> Problem:
        """Return the problem for a labelled sample; ``counts`` say how often each labelled point is in it.

        The labelled points are among those to choose from, each as often as it counts, so the labelled set itself has the
        mean asked for: there always is an answer, however small the tolerance (constraints aside).
        """
        if counts is None:
            problem = self.prepared.compile(labelled=self.known)
        else:
            chosen, times = self.known[counts > 0], (counts * self.prepared.caps[self.known])[counts > 0]
            problem = self.prepared.compile(labelled=chosen, counts=times)
            caps = problem.caps.copy()
            caps[chosen] = times
            problem = replace(problem, caps=caps)
        if self.factor == 1.0:
            return problem
        return problem.with_tolerance(self.factor, relative=True)

    def run(self, counts: FloatArray | None = None, start: Solution | None = None) -> SearchResult:
        """Search, from the answer to a problem nearby if there is one."""
        return self.read(self._determined(self._solve(self.problem(counts), start)))

    def along(self, tolerances: FloatArray, counts: FloatArray | None = None) -> list[Solution]:
        """Solve at many multiples of the tolerance, each from the answer to the one before."""
        found = path(self.problem(counts), tolerances, self.backend, relative=True, **self.options)
        return [self._determined(solution) for solution in found]

    def read(self, solution: Solution) -> SearchResult:
        """Read the memberships off a solution, or say why there are none. Labelled points are members."""
        _check(solution)
        caps, there = solution.problem.caps, self.prepared.caps > 0
        share = np.where(there, solution.membership / np.where(caps > 0, caps, 1.0), solution.scores > 0)
        share = np.clip(share, 0.0, 1.0)
        share[solution.problem.labelled] = 1.0
        smoother = None
        own = solution.problem.blocks[: len(self.prepared.parts)]  # those of constraints come after them
        for block in own if self.smoothing is not None else ():
            if block.fitted is not None and smoother is None:
                smooth = self._smoothed(self._clear(solution, share), block.fitted)
                if smooth is not None:
                    share, smoother = smooth, block.fitted
        share[there & (caps == 0)] = 0.0  # which a constraint leaves out
        share[self.outside] = 0.0  # where a point has no weight, its cap does not tell
        for name, value in (("smoothing", self.smoothing), ("margin", self.margin)):
            if smoother is None and value not in (None, "auto", 0.0):
                raise OptionError(
                    f"{name} is {value!r}, but there are no neighbourhoods to average over: use Spectral features with "
                    f"smoothing, or {name}={None if name == 'smoothing' else 0}."
                )
        return SearchResult(solution, np.clip(share, 0.0, 1.0), smoother)

    def _solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        solver = resolve_backend(self.backend, problem, self.options.get("options"))
        warm = start if Capability.START in solver.capabilities else None
        return solve(problem, solver, start=warm, **self.options)

    def _determined(self, solution: Solution) -> Solution:
        """Take the set nearest to the mean where a constraint alone limits the size."""
        return nearest_to_mean(solution, self._solve, float(self.options["tol"]))

    def _clear(self, solution: Solution, share: FloatArray) -> FloatArray:
        """Leave out what is near the hyperplane: what a wide tolerance lets in besides the class lies there.

        Where no score is above the margin, or they are not those of an optimum, scores tell nothing and all stay.
        """
        margin = self.used_margin
        clear = solution.scores > margin
        if not margin or not clear.any() or solution.status is not Status.OPTIMAL:
            return share
        clear[solution.problem.labelled] = True
        clear[self._told("positives")] = True
        return np.where(clear, share, 0.0)

    def _smoothed(self, share: FloatArray, fitted: FittedMap) -> FloatArray | None:
        """Average over neighbourhoods; points that the map was not fitted on get the average of their neighbours."""
        restart = SMOOTHING if self.smoothing == "auto" else float(self.smoothing or 1.0)
        present = self.prepared.present
        smooth = smooth_values(fitted, share if present is None else share[present], restart)
        if smooth is None or present is None:
            return smooth
        absent = np.setdiff1d(np.arange(share.size), present)
        everywhere = np.empty_like(share)
        everywhere[present] = smooth
        everywhere[absent] = interpolate_values(fitted, smooth, self.points[absent])
        return everywhere


def _check(solution: Solution) -> None:
    if solution.status is Status.INFEASIBLE:
        raise SolverError(
            "no set of points meets the constraints: loosen them, or the tolerance. In conflict: "
            f"{', '.join(solution.conflict()[:6])}."
        )
    if solution.status is Status.EMPTY:
        raise SolverError(
            "no set of points meets the constraints and is near the mean of the labelled points: loosen the constraints, or "
            f"the tolerance. In conflict: {', '.join(solution.conflict()[:6])}."
        )
    if solution.status is Status.FAILED:
        raise SolverError(f"the backend {solution.backend!r} proved no answer: {solution.message}")
    if solution.status is Status.LIMIT:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"a limit was reached before the largest set was proved: it may be up to {solution.bound:.6g}, found was "
            f"{solution.objective:.6g}. Raise time_limit or iteration_limit.",
            ConvergenceWarning,
            stacklevel=4,
        )
