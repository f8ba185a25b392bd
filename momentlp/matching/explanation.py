"""Why nothing was found, and which tolerance would do."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from momentlp.solution.solution import Solution
from momentlp.status import Status

if TYPE_CHECKING:
    from momentlp.matching.match import Match

__all__ = ["explain_match"]

MIN_TRIED, MARGIN = 1e-2, 1e-6  # of a tolerance: absolute, and relative to the smallest one of the linear program
MAX_DOUBLINGS, MAX_BISECTIONS = 12, 5  # of a tolerance, until and after a whole set is found
SECONDS_PER_TRY = 5.0


def explain_match(match: Match) -> str:
    """Explain every stratum in which nothing was chosen; see :meth:`Match.explain <momentlp.matching.Match.explain>`."""
    lines = []
    for label, solution in match.solutions.items():
        stratum = next(one for one in match.data.strata if one.label == label)
        if match.weights[stratum.rows].any():
            continue
        lines += [] if label is None else [f"Stratum {label}:"]
        lines += _explain_solution(solution)
    lines += [f"Stratum {label}: {reason}." for label, reason in match.skipped.items() if label not in match.solutions]
    if not lines:
        return "There is nothing to explain: a match was found."
    return "\n".join([*lines, f"Tolerances are in {match.data.about['unit']}."])


def _explain_solution(solution: Solution) -> list[str]:
    """Explain one program: the linear program first, then whole sets."""
    relaxed = solution.problem.relaxed()
    start = 0.0
    lines = []
    if solution.status in (Status.EMPTY, Status.INFEASIBLE):
        found = replace(solution, problem=relaxed).explain()
        lines.append(str(found))
        if found.uniform is None or found.uniform.value is None:
            return lines
        start = found.uniform.value
    else:
        lines.append(
            "No whole set was found, although fractional memberships are within the tolerance: whole=False gives them."
        )
    return lines + ([_find_tolerance_of_whole_set(solution, start)] if solution.problem.is_whole else [])


def _find_tolerance_of_whole_set(solution: Solution, start: float) -> str:
    """Double the tolerance until a whole set is found, then narrow it down."""
    widths = [float(block.width.max()) for block in solution.problem.blocks if block.width is not None and block.width.size]
    low, best = max([start, MIN_TRIED, *([] if start else widths)]), None
    for attempt in range(MAX_DOUBLINGS if widths else 0):
        tolerance = _round_up(low if attempt == 0 and start else 2 * low)
        best = _solve_with_tolerance(solution, tolerance)
        if best is not None:
            break
        low = tolerance
    if best is None:
        return "No whole set was found with wider tolerances either, in the time given to them."
    for _ in range(MAX_BISECTIONS):
        middle = _round_up((low + best[0]) / 2)
        if not low < middle < best[0]:
            break
        found = _solve_with_tolerance(solution, middle)
        low, best = (middle, best) if found is None else (low, found)
    return f"A whole set was found with a tolerance of {best[0]:g} for all moments (weight {best[1]:.6g})."


def _solve_with_tolerance(solution: Solution, tolerance: float) -> tuple[float, float] | None:
    """Return the tolerance and the weight of the whole set found with it; None if there is none."""
    if solution.resolve is None:
        return None
    wider = solution.resolve(solution.problem.with_tolerance(tolerance), time_limit=SECONDS_PER_TRY)
    found = wider.status in (Status.OPTIMAL, Status.LIMIT) and wider.objective > 0.5
    return (tolerance, wider.objective) if found else None


def _round_up(tolerance: float) -> float:
    """Return a number of three digits that is a little larger, so that the number that is printed is the one that was tried.

    Examples
    --------
    >>> _round_up(6.0), _round_up(0.12345)
    (6.01, 0.124)
    """
    digits = 2 - math.floor(math.log10(tolerance))
    return round(math.ceil(tolerance * (1 + MARGIN) * 10.0**digits) / 10.0**digits, digits)
