"""Solving the program of every stratum, and judging what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from momentlp.errors import DataError, NoMatchError, StratumSkippedWarning
from momentlp.matching.data import MatchingData, StratumError
from momentlp.matching.programs import build_program, size_step
from momentlp.points.arrays import FloatArray
from momentlp.runtime.argument_checks import check_number
from momentlp.runtime.warn_caller import warn_caller
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve
from momentlp.status import Status

__all__ = ["StratumResult", "describe_failure", "solve_strata"]

MIN_MEMBERSHIP = 1e-9  # below, a row is not chosen
MIN_SIZE = 1e-6  # below, nothing was found
SLACK = 1e-6  # of a bound that is rounded down
MIN_SECONDS = 0.01  # that a stratum gets, although the time is over


@dataclass(frozen=True, eq=False)
class StratumResult:
    """What was found in one stratum.

    Attributes
    ----------
    solution : Solution
    status : Status
        OPTIMAL also where the set meets the bound only because its size is a multiple of a step.
    weights : array, shape (n,)
        The memberships; zero throughout if nothing was found.
    bound : float
        No match is larger: the bound of the multipliers, rounded down to what sizes are possible.
    """

    solution: Solution
    status: Status
    weights: FloatArray
    bound: float

    @property
    def found(self) -> bool:
        """Whether a row was chosen."""
        return bool(self.weights.any())


def solve_strata(
    data: MatchingData, options: Mapping[str, Any], time_limit: float | None
) -> tuple[dict[str | None, StratumResult], dict[str, str]]:
    """Solve every stratum, or the one program there is without strata.

    Parameters
    ----------
    data : MatchingData
    options : mapping
        Arguments of :func:`momentlp.solve`.
    time_limit : float, optional
        For all strata together.

    Returns
    -------
    results : dict
        By the label of the stratum; None without strata.
    skipped : dict
        Why nothing was chosen in a stratum.

    Raises
    ------
    DataError
        If there are no strata, and the data cannot be matched whatever the tolerance.
    NoMatchError
        If there are strata, and none could be matched.
    """
    if time_limit is not None:
        time_limit = check_number("time_limit", time_limit, above=0)
    results: dict[str | None, StratumResult] = {}
    skipped: dict[str, str] = {}
    share_of_time = _time_keeper(time_limit, len(data.strata))
    for stratum in data.strata:
        part = data.take(stratum)
        try:
            problem = build_program(part)
        except StratumError as error:
            if stratum.label is None:
                raise DataError(f"there is nothing to match: {error}.") from None
            skipped[stratum.label] = str(error)
            continue
        results[stratum.label] = _judge(solve(problem, time_limit=share_of_time(), **options), part)
        if stratum.label is not None and not results[stratum.label].found:
            skipped[stratum.label] = describe_failure(results[stratum.label])
    if data.is_stratified:
        _report_skipped(skipped, len(data.strata))
    return results, skipped


def describe_failure(result: StratumResult) -> str:
    """Say in one clause why nothing was chosen."""
    if result.status is Status.INFEASIBLE:
        return f"no set meets these together: {', '.join(result.solution.conflict()[:4])} (proved)"
    if result.status is Status.EMPTY:
        return "no set of its rows is within the tolerance (proved)"
    return f"no set was found, though none was excluded: {result.solution.message or result.status.value}"


def _judge(solution: Solution, data: MatchingData) -> StratumResult:
    """Return memberships, bound and status of a solution."""
    proved_none = solution.status in (Status.EMPTY, Status.INFEASIBLE)
    weights = np.where(solution.membership > MIN_MEMBERSHIP, solution.membership, 0.0)
    failed = proved_none or solution.status is Status.FAILED or float(weights.sum()) < (0.5 if data.whole else MIN_SIZE)
    bound = 0.0 if solution.status is Status.INFEASIBLE else solution.bound
    if data.whole and (data.caps == np.rint(data.caps)).all():
        step = size_step(data)
        bound = step * float(np.floor((bound + SLACK) / step))
    if failed:
        none = np.zeros_like(weights)
        empty = data.whole and bound == 0 and solution.status is not Status.INFEASIBLE
        return StratumResult(solution, Status.EMPTY if empty else _status_of_nothing(solution), none, bound)
    met = weights.sum() >= bound - SLACK * max(1.0, bound)
    status = Status.OPTIMAL if data.whole and met and solution.status is Status.LIMIT else solution.status
    return StratumResult(solution, status, weights, bound)


def _status_of_nothing(solution: Solution) -> Status:
    """Return the status where no row was chosen: OPTIMAL would promise a match."""
    return Status.EMPTY if solution.status is Status.OPTIMAL else solution.status


def _time_keeper(time_limit: float | None, n_strata: int) -> Callable[[], float | None]:
    """Return a function that shares the time that is left among the strata that are left."""
    start, left = time.monotonic(), [n_strata]

    def share() -> float | None:
        if time_limit is None:
            return None
        part = (time_limit - (time.monotonic() - start)) / left[0]
        left[0] = max(1, left[0] - 1)
        return max(part, MIN_SECONDS)

    return share


def _report_skipped(skipped: dict[str, str], n_strata: int) -> None:
    reasons = "; ".join(f"{label}: {reason}" for label, reason in skipped.items())
    if len(skipped) == n_strata:
        raise NoMatchError(f"no stratum could be matched ({reasons}). Allow a larger tolerance, or use coarser strata.")
    if skipped:
        warn_caller(f"{len(skipped)} of {n_strata} strata were skipped ({reasons}).", StratumSkippedWarning)
