"""From the answer to one problem to a start for another."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.errors import OptionError
from momentlp.points.arrays import FloatArray
from momentlp.points.validation import as_vector
from momentlp.problem.problem import Problem
from momentlp.solution.solution import Solution

__all__ = ["adapt_start"]


def adapt_start(problem: Problem, start: Any) -> tuple[FloatArray, FloatArray]:
    """Return (h, y) for a problem, taken from the solution of another or given as they are.

    Moments that both problems have, by name, keep their multipliers; new ones get none. If there are as many points as
    before, memberships are kept too. If not, the scores decide: points are put on their sides, and as many as there are
    moments with a multiplier, those nearest to the hyperplane, in between.

    Raises
    ------
    OptionError
        If ``start`` is neither a solution nor a pair.
    DataError
        If the vectors of a pair have other lengths, or hold what is not a number.
    """
    if not isinstance(start, Solution):
        if not (isinstance(start, (tuple, list)) and len(start) == 2):
            raise OptionError(f"start must be a Solution or a pair (h, y) of arrays, not {type(start).__name__}.")
        h = as_vector(start[0], problem.n_points, "start: h")
        return np.clip(h, 0.0, problem.caps), as_vector(start[1], problem.n_moments, "start: y")
    if start.problem.names == problem.names:
        y = start.multipliers.copy()
    else:
        known = dict(zip(start.problem.names, start.multipliers.tolist(), strict=True))
        y = np.array([known.get(name, 0.0) for name in problem.names])
    if start.problem.n_points == problem.n_points:
        return np.clip(start.membership, 0.0, problem.caps), y
    scores = problem.weights - problem.A @ y
    h = np.where(scores > 0, problem.caps, 0.0)
    between = min(problem.n_points, int(np.count_nonzero(y)))
    if between:
        places = np.argpartition(np.abs(scores), between - 1)[:between]
        h[places] = problem.caps[places] / 2
    return h, y
