"""A start for one problem from the solution of another."""

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
    """Return a pair (h, y) from which to start a problem.

    Multipliers of a solution are kept by the names of their moments; moments that only the new problem has get zero.
    Memberships are kept, within the new caps, if the number of points is the same. Otherwise the scores decide
    (:func:`_memberships_by_score`).

    Parameters
    ----------
    problem : Problem
    start : Solution or pair of arrays
        The solution of a similar problem, or (h, y) with shapes (N,) and (m,).

    Returns
    -------
    h : array, shape (N,)
        Between 0 and the caps.
    y : array, shape (m,)

    Raises
    ------
    OptionError
        If ``start`` is neither a solution nor a pair.
    DataError
        If the arrays of a pair have other lengths, or hold values that are not finite numbers.
    """
    if isinstance(start, Solution):
        y = _multipliers_by_name(problem, start)
        if start.problem.n_points == problem.n_points:
            return np.clip(start.membership, 0.0, problem.caps), y
        return _memberships_by_score(problem, y), y
    if not (isinstance(start, (tuple, list)) and len(start) == 2):
        raise OptionError(f"start must be a Solution or a pair (h, y) of arrays, not {type(start).__name__}.")
    h = as_vector(start[0], problem.n_points, "start: h")
    return np.clip(h, 0.0, problem.caps), as_vector(start[1], problem.n_moments, "start: y")


def _multipliers_by_name(problem: Problem, solution: Solution) -> FloatArray:
    if solution.problem.names == problem.names:
        return solution.multipliers.copy()
    known = dict(zip(solution.problem.names, solution.multipliers.tolist(), strict=True))
    return np.array([known.get(name, 0.0) for name in problem.names])


def _memberships_by_score(problem: Problem, y: FloatArray) -> FloatArray:
    """Return memberships that fit multipliers: the cap where the score ``w - A y`` is above zero, and 0 elsewhere.

    A vertex has about as many fractional points as active moments, and they lie on the hyperplane. So that many points get
    half their cap: those with the smallest absolute scores.
    """
    scores = problem.weights - problem.A @ y
    h = np.where(scores > 0, problem.caps, 0.0)
    n_fractional = min(problem.n_points, int(np.count_nonzero(y)))
    if n_fractional:
        nearest = np.argpartition(np.abs(scores), n_fractional - 1)[:n_fractional]
        h[nearest] = problem.caps[nearest] / 2
    return h
