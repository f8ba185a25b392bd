"""Units for the solver: neither the units of the data nor an outlier may decide what a tolerance is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from momentlp.backend.interface import Answer, Options
from momentlp.points.arrays import FloatArray, one_entry_if_constant
from momentlp.problem.problem import Problem
from momentlp.proof.polish import admissible_multipliers

__all__ = ["Units"]


@dataclass(frozen=True)
class Units:
    """Units in which a problem is handed over: powers of two, so that nothing is rounded on the way there and back."""

    factors: FloatArray
    weight: float
    cap: float

    @classmethod
    def of(cls, problem: Problem, sizes: FloatArray) -> Units:
        """Bring moments of the given sizes, the typical cap and the largest weight to between 1 and 2."""
        weights, caps = one_entry_if_constant(problem.weights)[0], one_entry_if_constant(problem.caps)[0]
        caps = caps[caps > 0]
        sizes = np.where(problem.noise, problem.A.per_moment("noise_scale"), sizes)  # whose entries then vanish
        return cls(
            factors=1.0 / _power_of_two(sizes),
            weight=float(_power_of_two(np.abs(weights).max(initial=0.0))),
            cap=float(_power_of_two(np.median(caps) if caps.size else 1.0)),
        )

    def apply(self, problem: Problem) -> Problem:
        """Return the problem in these units."""
        if (self.factors == 1.0).all() and self.weight == self.cap == 1.0:
            return problem
        return problem.scaled(self.factors, weight=self.weight, cap=self.cap)

    def started(self, options: Options) -> Options:
        """Return the options with the start, if there is one, in these units."""
        if options.start is None:
            return options
        h, y = options.start
        return replace(options, start=(h / self.cap, y / (self.factors * self.weight)))

    @np.errstate(over="ignore", invalid="ignore")
    def read(self, problem: Problem, answer: Answer) -> tuple[FloatArray, FloatArray]:
        """Undo the scaling, and project onto what is allowed: 0 <= h <= caps, no multiplier on an open side.

        The projections only remove violations that solvers leave within their tolerance. Whatever is not a number becomes
        zero: the certificate then shows that nothing was proved.
        """
        h = np.zeros(problem.n_points) if answer.membership is None else np.nan_to_num(answer.membership, nan=0.0)
        y = np.zeros(problem.n_moments) if answer.multipliers is None else answer.multipliers * self.factors * self.weight
        h *= self.cap  # in place from here on: there may be very many points
        np.clip(h, 0.0, problem.caps, out=h)
        y = np.where(problem.noise, 0.0, y)
        return h, admissible_multipliers(problem, np.nan_to_num(y, nan=0.0, posinf=0.0, neginf=0.0))


def _power_of_two(sizes: Any) -> FloatArray:
    """Return the power of two just below each size, and 1 for zero."""
    exponents = np.clip(np.frexp(np.where(sizes == 0, 1.0, sizes))[1] - 1, -1000, 1000)
    return np.asarray(np.exp2(exponents.astype(np.float64)))
