r"""The best set that meets constraints on the set as a whole, such as a share, by the probabilities of membership.

Let p_i be the probability that point i is in the class, and theta the probability at the cut. Without constraints members
are the points with ``p_i > theta``. This is the set with the largest sum of ``p_i - theta``. With constraints it is a linear
program::

    maximise  sum_i (p_i - theta) h_i    subject to  the constraints,   0 <= h_i <= cap_i
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from momentlp.estimator.search import Search, check_solution
from momentlp.points.arrays import FloatArray
from momentlp.problem.sentinels import sentinels_reported
from momentlp.solution.solution import Solution
from momentlp.spec.constraints import Known
from momentlp.status import Status

__all__ = ["best_limited_set"]


def best_limited_set(search: Search, probability: FloatArray, threshold: float) -> tuple[FloatArray, Solution]:
    """Return the share of each point that is in the set, shape (N,), and the solution with its certificate.

    Parameters
    ----------
    search : Search
        Its ``limits`` are the constraints. Labelled points are always in the set.
    probability : array, shape (N,)
    threshold : float
        The probability at the cut.

    Raises
    ------
    SolverError
        If no set meets the constraints.
    """
    labelled = Known(positives=search.known)  # they are members whatever their probability
    prepared = replace(search.prepared, constraints=(*search.prepared.constraints, *search.limits, labelled))
    problem = prepared.compile(labelled=search.known)
    limits = problem.blocks[len(prepared.parts) :]
    problem = replace(problem, blocks=limits, weights=probability - threshold)
    with sentinels_reported():
        solution = search.solve(problem)
    if solution.status is not Status.EMPTY:  # an empty set is the best where no point is probable
        check_solution(solution)
    has_cap = problem.caps > 0
    share = np.where(has_cap, solution.membership / np.where(has_cap, problem.caps, 1.0), probability > threshold)
    share[(prepared.caps > 0) & ~has_cap] = 0.0  # a constraint excludes these points
    return np.clip(share, 0.0, 1.0), solution
