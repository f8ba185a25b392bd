"""One search: from a labelled sample to memberships. Fits, bagging, folds and bootstrap samples all repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from momentlp.backend.auto import resolve_backend
from momentlp.backend.interface import Backend, Capability
from momentlp.errors import OptionError, SolverError
from momentlp.estimator.graph_constants import MARGIN, SMOOTHING
from momentlp.estimator.nearest_to_mean import nearest_to_mean
from momentlp.features import FittedMap, Spectral, interpolate_values, smooth_values
from momentlp.points.arrays import FloatArray, IndexArray, Matrix
from momentlp.problem.problem import Problem
from momentlp.problem.sentinels import sentinels_reported
from momentlp.runtime.steps import report_step
from momentlp.runtime.warn_caller import warn_caller
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve
from momentlp.solving.tolerance_path import path
from momentlp.spec.constraints import Constraint, Known
from momentlp.spec.prepared import Prepared
from momentlp.status import Status

__all__ = ["Search", "SearchResult", "check_solution"]

MAX_CONFLICTS_SHOWN = 6  # constraints that a message names


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of one search.

    Attributes
    ----------
    solution : Solution
    membership : array, shape (N,)
        The membership of each point divided by its cap, between 0 and 1, smoothed over neighbourhoods if asked for.
    smoother : FittedMap or None
        The map whose neighbourhoods were used for smoothing.
    """

    solution: Solution
    membership: FloatArray
    smoother: FittedMap | None


@dataclass(frozen=True, eq=False)
class Search:
    """Prepared points, and how to search among them.

    Attributes
    ----------
    prepared : Prepared
        The spec with its feature maps fitted.
    known : array of int
        Row indices of the labelled points.
    smoothing : float, "auto" or None
        Probability that the smoothing walk stops at a step; None for no smoothing.
    backend : str or Backend
    options : mapping
        Other arguments of ``solve``; ``"tol"`` is required.
    factor : float
        The tolerances of the spec are multiplied by this.
    margin : float or "auto"
        When memberships are smoothed, points whose score is not above this count as outside.
    limits : tuple of Constraint
        Constraints that the program of the search leaves out, because they limit the set that is chosen by its scores.
    """

    prepared: Prepared
    known: IndexArray
    smoothing: float | str | None
    backend: str | Backend
    options: Mapping[str, Any]
    factor: float = 1.0
    margin: float | str = "auto"
    limits: tuple[Constraint, ...] = ()

    def with_tolerance_factor(self, factor: float) -> Search:
        """Return the search with all tolerances multiplied by a factor."""
        return replace(self, factor=factor)

    @property
    def points(self) -> Matrix:
        """The points after validation, shape (N, d)."""
        return self.prepared.data.points

    @property
    def n_features(self) -> int:
        """The number of features that all maps give together."""
        return self.prepared.n_features

    @property
    def unlabelled(self) -> FloatArray:
        """The weight of every unlabelled point, and 0 for the labelled points, shape (N,)."""
        weight = np.array(self.prepared.caps, dtype=np.float64)
        weight[self.known] = 0.0
        return weight

    @property
    def outside(self) -> IndexArray:
        """Row indices of the points that a ``Known`` constraint declares to be outside the class."""
        return self._declared_indices("negatives")

    @property
    def inside(self) -> IndexArray:
        """Row indices of the points that a ``Known`` constraint declares to be in the class."""
        return self._declared_indices("positives")

    @property
    def used_margin(self) -> float:
        """The margin as a number: 0 where nothing is smoothed."""
        has_graph = any(isinstance(part.fitted.declared, Spectral) for part in self.prepared.parts)
        if self.margin == "auto":
            return MARGIN if has_graph and self.smoothing is not None else 0.0
        return float(self.margin)

    def _declared_indices(self, attribute: str) -> IndexArray:
        """Return the row indices in one attribute, positives or negatives, of all ``Known`` constraints."""
        indices = [getattr(known, attribute) for known in self.prepared.constraints if isinstance(known, Known)]
        return np.unique(np.concatenate([np.zeros(0), *indices])).astype(np.intp)

    def problem(self, counts: FloatArray | None = None) -> Problem:
        """Return the problem for a labelled sample.

        The labelled points are among the points to choose from, each as often as it is in the sample. So the labelled set
        itself has the target mean: without constraints there is always an answer, however small the tolerance.

        Parameters
        ----------
        counts : array, optional
            How often each labelled point is in the sample. Default: once.
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
        """Solve the problem for a labelled sample, from the solution of a similar problem if one is given."""
        with _report_sentinels(counts):
            problem = self.problem(counts)
            report_step(f"solving the linear program of {problem.n_points} points and {problem.n_moments} moments")
            solution = self.solve(problem, start)
        return self.read(self._nearest_to_mean(solution))

    def solve_path(self, tolerances: FloatArray, counts: FloatArray | None = None) -> list[Solution]:
        """Solve at many multiples of the tolerance, each from the solution of the one before."""
        with _report_sentinels(counts):
            solutions = path(self.problem(counts), tolerances, self.backend, relative=True, **self.options)
        return [self._nearest_to_mean(solution) for solution in solutions]

    def read(self, solution: Solution) -> SearchResult:
        """Read the memberships from a solution. Labelled points are members.

        Raises
        ------
        SolverError
            If the solution holds no set.
        OptionError
            If smoothing or a margin is asked for, and no feature map has neighbourhoods.
        """
        check_solution(solution)
        caps, has_weight = solution.problem.caps, self.prepared.caps > 0
        share = np.where(has_weight, solution.membership / np.where(caps > 0, caps, 1.0), solution.scores > 0)
        share = np.clip(share, 0.0, 1.0)
        share[solution.problem.labelled] = 1.0
        smoother = None
        feature_blocks = solution.problem.blocks[: len(self.prepared.parts)]  # the blocks of constraints come after them
        for block in feature_blocks if self.smoothing is not None else ():
            if block.fitted is not None and smoother is None:
                smoothed = self._smooth(self._apply_margin(solution, share), block.fitted)
                if smoothed is not None:
                    share, smoother = smoothed, block.fitted
        share[has_weight & (caps == 0)] = 0.0  # a constraint excludes these points
        share[self.outside] = 0.0  # the cap of a point without weight does not show that it is excluded
        for name, value in (("smoothing", self.smoothing), ("margin", self.margin)):
            if smoother is None and value not in (None, "auto", 0.0):
                raise OptionError(
                    f"{name} is {value!r}, but there are no neighbourhoods to average over: use Spectral features with "
                    f"smoothing, or {name}={None if name == 'smoothing' else 0}."
                )
        return SearchResult(solution, np.clip(share, 0.0, 1.0), smoother)

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve a problem with the backend and the options of the search."""
        solver = resolve_backend(self.backend, problem, self.options.get("options"))
        warm = start if Capability.START in solver.capabilities else None
        return solve(problem, solver, start=warm, **self.options)

    def _nearest_to_mean(self, solution: Solution) -> Solution:
        """Take the set nearest to the mean where only a constraint limits the size."""
        with sentinels_reported():
            return nearest_to_mean(solution, self.solve, float(self.options["tol"]))

    def _apply_margin(self, solution: Solution, share: FloatArray) -> FloatArray:
        """Set the share of points near the hyperplane to 0: other points that a wide tolerance lets in lie there.

        Nothing changes if no score is above the margin, or the solution is not optimal: the scores say nothing then.
        """
        margin = self.used_margin
        above = solution.scores > margin
        if not margin or not above.any() or solution.status is not Status.OPTIMAL:
            return share
        above[solution.problem.labelled] = True
        above[self._declared_indices("positives")] = True
        return np.where(above, share, 0.0)

    def _smooth(self, share: FloatArray, fitted: FittedMap) -> FloatArray | None:
        """Average over neighbourhoods. Points on which the map was not fitted get the average of their neighbours.

        Return None if the map has no neighbourhoods.
        """
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


def _report_sentinels(counts: FloatArray | None) -> AbstractContextManager[None]:
    """Report sentinels with the labelled points themselves, but not once more for each of their resamples."""
    return nullcontext() if counts is None else sentinels_reported()


def check_solution(solution: Solution) -> None:
    """Raise SolverError if a solution holds no set; warn if a limit was reached."""
    if solution.status is Status.INFEASIBLE:
        raise SolverError(
            "no set of points meets the constraints: loosen them, or the tolerance. In conflict: "
            f"{', '.join(solution.conflict()[:MAX_CONFLICTS_SHOWN])}."
        )
    if solution.status is Status.EMPTY:
        raise SolverError(
            "no set of points meets the constraints and is near the mean of the labelled points: loosen the constraints, or "
            f"the tolerance. In conflict: {', '.join(solution.conflict()[:MAX_CONFLICTS_SHOWN])}."
        )
    if solution.status is Status.FAILED:
        raise SolverError(f"the backend {solution.backend!r} proved no answer: {solution.message}")
    if solution.status is Status.LIMIT:
        from sklearn.exceptions import ConvergenceWarning

        warn_caller(
            f"a limit was reached before the largest set was proved: the set found has the size {solution.objective:.6g}, "
            f"and the largest has at most {solution.bound:.6g}. Raise time_limit or iteration_limit.",
            ConvergenceWarning,
        )
