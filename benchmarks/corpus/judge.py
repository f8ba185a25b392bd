"""Judge whether a solution is true: in exact arithmetic for small problems, by the theorem for large ones.

OPTIMAL at a tolerance means: the memberships are feasible up to a change of that many points, and no feasible set is
heavier. EMPTY: no set of the points has the mean. INFEASIBLE: no memberships meet all bounds. Each is checked from the
problem and the exact optimum, not from the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import momentlp as mlp
from benchmarks.corpus.problems import Hard
from momentlp.proof.exact.integers import IntegerProgram
from momentlp.proof.exact.proof import prove

MAX_EXACT_ENTRIES = 20_000  # of A; for larger problems the optimum must be given
TOLERANCE = 1e-6  # ten times what solve allows, so that the judge does not object to rounding


@dataclass(frozen=True)
class Truth:
    """The optimum of a problem; None if it is infeasible."""

    problem: mlp.Problem
    optimum: float | None
    program: IntegerProgram | None

    @classmethod
    def of(cls, hard: Hard) -> Truth | None:
        """Find the optimum; None if exact arithmetic does not end in time."""
        problem = hard.problem
        if hard.optimum is not None and problem.n_points * problem.n_moments > MAX_EXACT_ENTRIES:
            return cls(problem, hard.optimum, None)
        start = mlp.solve(problem)
        proof = prove(problem, start.membership, start.multipliers, time_limit=60.0)
        if proof.status is mlp.Status.LIMIT:
            return None
        return cls(problem, None if proof.optimum is None else float(proof.optimum), IntegerProgram.of(problem))

    def objection(self, status: mlp.Status, h: np.ndarray) -> str:
        """Say what is false about a solution; empty if it is true, or if nothing is claimed."""
        unit = self.problem.point_weight
        if status is mlp.Status.OPTIMAL:
            distance = self.infeasibility(h)
            if distance > TOLERANCE:
                return f"infeasible by {distance:.1e} points"
            objective = float(self.problem.weights @ h)
            if self.optimum is not None and self.optimum > objective + TOLERANCE * max(unit, abs(self.optimum)):
                return f"{objective:.9g} is not the optimum {self.optimum:.9g}"
        if status is mlp.Status.INFEASIBLE and self.optimum is not None:
            return "there is a feasible set"
        lightest = float((self.problem.weights * self.problem.caps)[self.problem.caps > 0].min(initial=np.inf))
        if status is mlp.Status.EMPTY and (self.optimum is None or self.optimum >= lightest):
            return f"a set of weight {self.optimum} has this mean"
        return ""

    def infeasibility(self, h: np.ndarray) -> float:
        """Return the minimum change of memberships, in points, that would make the most violated row feasible by itself."""
        problem = self.problem
        typical = float(np.median(problem.caps[problem.caps > 0])) if (problem.caps > 0).any() else 1.0
        worst = float(np.max(np.maximum(h - problem.caps, -h), initial=0.0)) / typical
        for j, over in self._violations(h):
            column = problem.A.columns(np.array([j]))[:, 0]
            direction = column if over > 0 else -column
            room = np.where(direction > 0, h, problem.caps - h)
            left = abs(over)
            change = 0.0
            for i in np.argsort(-np.abs(column)):
                if left <= 0 or column[i] == 0:
                    break
                part = min(room[i], left / abs(column[i]))
                change, left = change + part, left - part * abs(column[i])
            worst = max(worst, np.inf if left > 1e-9 * abs(over) else change / typical)
        return worst

    def _violations(self, h: np.ndarray) -> list[tuple[int, float]]:
        """Return the rows that are violated by more than the rounding of mean and data explains, and by how much."""
        problem = self.problem
        if self.program is None:
            activity = problem.A.T @ h
            over = np.where(activity > problem.upper, activity - problem.upper, np.minimum(activity - problem.lower, 0.0))
        else:
            points = [Fraction(value) / self.program.cap_unit for value in h.tolist()]
            exact = [float(value) for value in self.program.excess(points)]
            activity = problem.A.T @ h
            high = activity - problem.upper >= problem.lower - activity
            over = np.where(np.array(exact) > 0, np.where(high, exact, -np.array(exact)), 0.0)
        rounding = (
            4 * np.finfo(float).eps * (problem.A.per_moment("offset") * h.sum() + problem.A.per_moment("magnitude", h))
        )
        excess = np.maximum(np.abs(over) - rounding, 0.0)
        excess[problem.noise] = 0.0
        return [(int(j), float(np.sign(over[j]) * excess[j])) for j in np.flatnonzero(excess)]
