"""The verdict on a solution, in exact arithmetic and from the raw inputs.

P is the problem with the exact mean of the labelled points, or with the mean and widths as the package rounded them. The
package's rounding counts only if it is within the rounding that is forgiven; otherwise the exact mean alone counts. A mean
that is worse than double precision is wrong by itself. P+ is P with every row relaxed by the rounding of the data
(:mod:`exact_program`), here by twice that.

==========  =========================================================================================================
status      wrong if
==========  =========================================================================================================
OPTIMAL     the objective is below the optimum of P or above the optimum of P+; a membership is outside its bounds; or the
            memberships are further from P+ than a millionth of a point
EMPTY       a set of one full point is feasible in P; or only constraints keep the set below one point; or a weight is not
            positive
INFEASIBLE  P has a feasible point
LIMIT       always: no limit was given
FAILED      the message does not say what to try
any         the bound is below the optimum of P
==========  =========================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from .exact_lp import LPResult, solve_exact
from .exact_program import ROUNDING, ExactProgram, Mean, build_program, exact_mean, exact_widths
from .raw_problem import RawProblem, RawSpec

__all__ = ["Claim", "Truth"]

OBJECTIVE_TOLERANCE = Fraction(3, 10**7)  # of the unit
BOUND_TOLERANCE = Fraction(1, 10**9)  # of the unit
CAP_TOLERANCE = Fraction(1, 10**7)  # of the cap
DISTANCE_TOLERANCE = Fraction(1, 10**6)  # points
NEGLIGIBLE = Fraction(1, 10**9)  # of the lightest point: an optimum of zero
DOUBLE_PRECISION = 8 * ROUNDING  # of the largest entry: the error of a sum of some sixty floats


@dataclass(frozen=True)
class Claim:
    """What a solution says: its status by name, memberships, bound and message."""

    status: str
    membership: np.ndarray
    bound: float
    message: str = ""

    @classmethod
    def of(cls, solution: Any) -> Claim:
        """Read the claim of a solution of momentlp."""
        return cls(solution.status.name, np.array(solution.membership), float(solution.bound), str(solution.message))


@dataclass
class Version:
    """One reading of the problem, with its optima, which are computed when they are needed."""

    program: ExactProgram

    @cached_property
    def answer(self) -> LPResult:
        """The optimum of P."""
        return solve_exact(self.program.lp())

    @cached_property
    def means_alone(self) -> LPResult:
        """The optimum of P without the rows of constraints."""
        return solve_exact(self.program.means_alone().lp())

    @cached_property
    def relaxed_program(self) -> ExactProgram:
        """P+, relaxed by twice the rounding."""
        return self.program.relaxed(2)

    @cached_property
    def relaxed(self) -> LPResult:
        """The optimum of P+."""
        return solve_exact(self.relaxed_program.lp())


class Truth:
    """What is true about one problem. :meth:`objection` judges a claim; optima are computed once.

    Parameters
    ----------
    raw : RawProblem
    rounded : Mean, optional
        The mean and the widths as the package rounded them.
    """

    def __init__(self, raw: RawProblem, rounded: Mean | None = None) -> None:
        self.mean_objection, self.mean_note = "", ""
        exact = Mean(exact_mean(raw), exact_widths(raw)) if isinstance(raw, RawSpec) else None
        self.versions = [Version(build_program(raw, exact))]
        if isinstance(raw, RawSpec) and exact and rounded and rounded != exact:
            self.mean_objection = _mean_objection(raw, exact, rounded)
            self.mean_note = _mean_note(self.versions[0].program, exact, rounded)
            if not self.mean_objection and not self.mean_note:
                self.versions.append(Version(build_program(raw, rounded)))
        program = self.versions[0].program
        full = [w * u for w, u in zip(program.weights, program.caps, strict=True) if u]
        self.has_positive_weights = all(weight > 0 for weight in full)
        self.lightest = min(full, default=Fraction(0))
        positive = sorted(weight for weight in full if weight > 0)
        self.typical = positive[len(positive) // 2] if positive else Fraction(1)

    @classmethod
    def of(cls, raw: RawProblem, problem: Any) -> Truth:
        """Return the truth about raw inputs and the roundings of the problem that momentlp made of them."""
        if not isinstance(raw, RawSpec):
            return cls(raw)
        block = problem.blocks[0]
        return cls(raw, Mean(_fractions(block.origin), _fractions(block.width)))

    def objection(self, claim: Claim) -> str:
        """Return why a claim is wrong; empty if it is not."""
        if self.mean_objection:
            return self.mean_objection
        judges: dict[str, Callable[[Claim], str]] = {
            "OPTIMAL": self._judge_optimal, "EMPTY": self._judge_empty, "INFEASIBLE": self._judge_infeasible,
            "LIMIT": lambda _: "LIMIT, but no limit was given", "FAILED": _judge_failed,
        }  # fmt: skip
        wrong = judges[claim.status](claim) or self._judge_bound(claim)
        return wrong + self.mean_note if wrong else ""

    def unit(self, optimum: Fraction) -> Fraction:
        """Return what objectives are compared in: the optimum or the weight of a typical point, whichever is larger."""
        return max(abs(optimum), self.typical)

    def smallest_optimum(self, at_most: Fraction) -> Fraction | None:
        """Return an optimum of P that is not above ``at_most``, or the smallest one; None if P is infeasible."""
        smallest: Fraction | None = None
        for version in self.versions:
            optimum = version.answer.optimum
            if optimum is not None and (smallest is None or optimum < smallest):
                smallest = optimum
            if smallest is not None and smallest <= at_most:
                return smallest
        return smallest

    def _judge_optimal(self, claim: Claim) -> str:
        program = self.versions[0].program
        if not np.isfinite(claim.membership).all():
            return "OPTIMAL, but a membership is not finite"
        h = _fractions(claim.membership)
        for i, (value, cap) in enumerate(zip(h, program.caps, strict=True)):
            if value < -CAP_TOLERANCE * cap or value > (1 + CAP_TOLERANCE) * cap:
                return f"OPTIMAL, but membership {i} is {float(value)!r} and its cap {float(cap)!r}"
        objective = sum((w * value for w, value in zip(program.weights, h, strict=True)), Fraction(0))
        optimum = self.smallest_optimum(objective)
        if optimum is not None and objective < optimum - OBJECTIVE_TOLERANCE * self.unit(optimum):
            return f"OPTIMAL with {float(objective):.12g}, but the optimum is {float(optimum):.12g}"
        return self._too_heavy(objective) or self._too_far(h)

    def _too_heavy(self, objective: Fraction) -> str:
        """Say whether the objective is above the optimum of P+; the optimum of P is tried first."""
        largest: Fraction | None = None
        for kind in ("answer", "relaxed"):
            for version in self.versions:
                optimum = getattr(version, kind).optimum
                if optimum is None:
                    continue
                if objective <= optimum + OBJECTIVE_TOLERANCE * self.unit(optimum):
                    return ""
                largest = optimum if largest is None else max(largest, optimum)
        if largest is None:
            return f"OPTIMAL with {float(objective):.12g}, but no memberships are feasible, even with rounding"
        return f"OPTIMAL with {float(objective):.12g}, but with rounding no more than {float(largest):.12g} is feasible"

    def _too_far(self, h: list[Fraction]) -> str:
        """Say whether h is far from P+; a linear program measures it, if a row is violated at all."""
        distances = []
        for version in self.versions:
            relaxed = version.relaxed_program
            if max(relaxed.excess(h), default=Fraction(0)) <= 0:
                return ""
            change = solve_exact(relaxed.nearest_point(h)).optimum
            if change is not None and -change <= DISTANCE_TOLERANCE:
                return ""
            distances.append(float("inf") if change is None else float(-change))
        return f"OPTIMAL, but the memberships are {min(distances):.2e} points from feasible"

    def _judge_empty(self, claim: Claim) -> str:
        if not self.has_positive_weights:
            return "EMPTY, but not every point has a positive weight"
        for version in self.versions:
            optimum = version.answer.optimum
            if optimum is None:
                continue
            if optimum >= self.lightest > 0:
                return f"EMPTY, but a set of {float(optimum / self.lightest):.9g} lightest points is feasible"
        return self._small_by_constraints()

    def _small_by_constraints(self) -> str:
        """Say whether the optimum is positive and only constraints keep it below one point, in every version."""
        for version in self.versions:
            alone, optimum = version.means_alone.optimum, version.answer.optimum
            if optimum is None or optimum <= NEGLIGIBLE * self.lightest or alone is None or alone < self.lightest:
                return ""
        return "EMPTY, but only constraints keep the set below one point"

    def _judge_infeasible(self, claim: Claim) -> str:
        for version in self.versions:
            if version.answer.feasible:
                return f"INFEASIBLE, but a set of weight {float(version.answer.optimum):.9g} is feasible"
        return ""

    def _judge_bound(self, claim: Claim) -> str:
        if claim.status == "INFEASIBLE" or claim.bound == np.inf:
            return ""
        if not np.isfinite(claim.bound):
            return f"the bound is {claim.bound}"
        bound = Fraction(claim.bound)
        optimum = self.smallest_optimum(bound)
        if optimum is not None and bound < optimum - BOUND_TOLERANCE * self.unit(optimum):
            return f"{claim.status} with the bound {claim.bound:.15g}, but the optimum is {float(optimum):.15g}"
        return ""


def _judge_failed(claim: Claim) -> str:
    return "" if "try" in claim.message.lower() else f"FAILED without saying what to try: {claim.message[:80]!r}"


def _mean_objection(raw: RawSpec, exact: Mean, rounded: Mean) -> str:
    """Say whether a mean or a width of the package is worse than double precision."""
    X = np.abs(raw.X if raw.sample is None else raw.sample).max(axis=0)
    sizes = _fractions(X.toarray().ravel() if hasattr(X, "toarray") else X)
    for j, (size, found, true) in enumerate(zip(sizes, rounded.mean, exact.mean, strict=True)):
        if abs(found - true) > DOUBLE_PRECISION * size:
            return f"the mean of column {j} is {float(found)!r}, but {float(true)!r} is right"
    for j, (size, found, true) in enumerate(zip(sizes, rounded.widths, exact.widths, strict=True)):
        if abs(found - true) > DOUBLE_PRECISION * (true + size):
            return f"the width of column {j} is {float(found)!r}, but {float(true)!r} is right"
    return ""


def _mean_note(program: ExactProgram, exact: Mean, rounded: Mean) -> str:
    """Say whether the package rounded a mean by more than is forgiven: ``8 * 2^-52 (|a_j| + t_j)``."""
    typical = {row.column: row.typical for row in reversed(program.rows)}  # of the first row of every column
    for j, (found, true) in enumerate(zip(rounded.mean, exact.mean, strict=True)):
        if abs(found - true) > ROUNDING * (abs(true) + typical[j]):
            return f" (the mean of column {j} was rounded to {float(found)!r}, but {float(true)!r} is right)"
    return ""


def _fractions(values: Any) -> list[Fraction]:
    return [Fraction(value) for value in np.asarray(values, dtype=float).tolist()]
