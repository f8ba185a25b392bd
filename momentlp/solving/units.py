"""Units in which the solver sees a problem.

A solver works with absolute tolerances. They should mean the same for every moment, whatever the units of the data. So every
moment, the weights and the caps are divided by a power of two near their size: this rounds nothing, there and back.
With factors f (one per moment), a unit of weight and a unit of cap, the solver sees::

    A' = A f,    L' = L f / cap,    U' = U f / cap,    w' = w / weight,    u' = u / cap

and its pair (h', y') means ``h = h' cap`` and ``y = y' f weight`` for the problem as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from momentlp.backend.interface import Answer, Options
from momentlp.points.arrays import FloatArray, one_entry_if_constant
from momentlp.problem.problem import Problem
from momentlp.proof.polish import admissible_multipliers

__all__ = ["Units"]

MAX_EXPONENT = 1000  # of two: a factor and its inverse are then both floats of full precision


@dataclass(frozen=True)
class Units:
    """Units of moments, weights and caps, all of them powers of two.

    Attributes
    ----------
    factors : array, shape (m,)
        What every moment is multiplied by.
    weight, cap : float
        What weights and caps are divided by.

    Examples
    --------
    >>> problem = Problem.from_arrays([[-6.0], [6.0]], lower=-1.0, upper=1.0, weights=5.0)
    >>> units = Units.of(problem, problem.scale)
    >>> units.factors.tolist(), units.weight, units.cap
    ([0.25], 4.0, 1.0)
    >>> units.scale_problem(problem).A.toarray().tolist()
    [[-1.5], [1.5]]
    """

    factors: FloatArray
    weight: float
    cap: float

    @classmethod
    def of(cls, problem: Problem, sizes: FloatArray) -> Units:
        """Choose units in which moments of the given sizes, the median cap and the largest weight are between 1 and 2.

        Parameters
        ----------
        problem : Problem
        sizes : array, shape (m,)
            One size per moment, such as its largest or its typical absolute entry.
        """
        weights, caps = one_entry_if_constant(problem.weights)[0], one_entry_if_constant(problem.caps)[0]
        caps = caps[caps > 0]
        # A moment that is only rounding gets a unit so large that its entries vanish beside those of the others.
        sizes = np.where(problem.noise, problem.A.per_moment("offset"), sizes)
        return cls(
            factors=1.0 / _power_of_two(sizes),
            weight=float(_power_of_two(np.abs(weights).max(initial=0.0))),
            cap=1.0 if problem.is_whole else float(_power_of_two(np.median(caps) if caps.size else 1.0)),
        )

    def scale_problem(self, problem: Problem) -> Problem:
        """Return the problem in these units."""
        if (self.factors == 1.0).all() and self.weight == self.cap == 1.0:
            return problem
        return problem.scaled(self.factors, weight=self.weight, cap=self.cap)

    def scale_start(self, options: Options) -> Options:
        """Return the options with the start, if there is one, in these units."""
        if options.start is None:
            return options
        h, y = options.start
        return replace(options, start=(h / self.cap, y / (self.factors * self.weight)))

    @np.errstate(over="ignore", invalid="ignore")
    def unscale_answer(self, problem: Problem, answer: Answer) -> tuple[FloatArray, FloatArray]:
        """Return (h, y) of an answer in the units of the problem, within their bounds.

        The scaling is undone. Then h is projected onto ``0 <= h <= caps``, and multipliers that point at a side without a
        bound become zero. The projections only remove violations within the solver's tolerance. Missing values and NaN
        become zero: the certificate then shows that nothing was proved.
        """
        h = np.zeros(problem.n_points) if answer.membership is None else np.nan_to_num(answer.membership, nan=0.0)
        y = np.zeros(problem.n_moments) if answer.multipliers is None else answer.multipliers * self.factors * self.weight
        h *= self.cap  # in place from here on: there may be very many points
        np.clip(h, 0.0, problem.caps, out=h)
        h += 0.0  # -0.0 becomes 0.0
        y = np.where(problem.noise, 0.0, y)
        return h, admissible_multipliers(problem, np.nan_to_num(y, nan=0.0, posinf=0.0, neginf=0.0))


def _power_of_two(sizes: Any) -> FloatArray:
    """Return the largest power of two that does not exceed each size; 1 for a size of zero."""
    exponents = np.frexp(np.where(sizes == 0, 1.0, sizes))[1] - 1
    return np.asarray(np.exp2(np.clip(exponents, -MAX_EXPONENT, MAX_EXPONENT).astype(np.float64)))
