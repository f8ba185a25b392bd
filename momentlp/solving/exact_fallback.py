"""Solving a small problem in exact arithmetic where floats proved nothing.

No solver in floats can handle rows whose entries span, say, twenty decades, but fractions can. The data are not exact,
though: the mean of three floats is rarely a float itself, and without a tolerance no set may have exactly the mean as it was
rounded. So where the problem as it is stored has no answer, the problem that allows for rounding is solved
(:mod:`momentlp.problem.rounding`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.problem.rounding import REFUTED
from momentlp.proof.exact.proof import ExactProof, prove, prove_with_rounding
from momentlp.solving.verdict import emptiness_limit
from momentlp.status import Status

__all__ = ["ExactAnswer", "is_small", "solve_exactly"]

# Limits within which exact arithmetic takes seconds, not minutes.
MAX_ENTRIES = 20_000  # of A, points times moments
MAX_RANK = 40  # the smaller of the numbers of points and moments: so many points or moments form a vertex
MAX_PIVOTS = 300
MAX_SECONDS = 10.0


def is_small(problem: Problem) -> bool:
    """Return whether a problem is small enough for exact arithmetic."""
    return problem.n_points * problem.n_moments <= MAX_ENTRIES and min(problem.n_points, problem.n_moments) <= MAX_RANK


@dataclass(frozen=True, eq=False)
class ExactAnswer:
    """The result of exact arithmetic, rounded to floats.

    Attributes
    ----------
    status : Status
        OPTIMAL, or INFEASIBLE even if rounding is allowed for: then the multipliers are a Farkas proof. An optimum that
        means EMPTY is that of the problem with ``REFUTED`` times the rule for rounding.
    membership, multipliers : arrays, shapes (N,) and (m,)
        The pair (h, y), rounded.
    exact_multipliers : tuple of Fraction
        y as it was before it was rounded.
    bound : float
        The bound of the exact multipliers, rounded; infinite if the problem is infeasible.
    """

    status: Status
    membership: FloatArray
    multipliers: FloatArray
    exact_multipliers: tuple[Fraction, ...]
    bound: float


def solve_exactly(
    problem: Problem, h: FloatArray, y: FloatArray, time_limit: float | None, *, rounding: bool = False
) -> ExactAnswer | None:
    """Find the exact optimum of a small problem, or a proof that no h is feasible.

    Parameters
    ----------
    problem : Problem
    h, y : arrays, shapes (N,) and (m,)
        The best pair known, from whose vertex the exact simplex starts.
    time_limit : float or None
        Seconds; never more than ``MAX_SECONDS``.
    rounding : bool
        Whether the problem as it is stored is known to have too little to offer.

    Returns
    -------
    ExactAnswer or None
        None if the problem is too large, a limit was reached, or the result has no floats.
    """
    if not is_small(problem):
        return None
    seconds = MAX_SECONDS if time_limit is None else min(MAX_SECONDS, time_limit)
    try:
        proof = _prove(problem, h, y, seconds, rounding=rounding)
        return None if proof is None else _round(proof, h)
    except OverflowError:
        return None


def _prove(problem: Problem, h: FloatArray, y: FloatArray, seconds: float, *, rounding: bool) -> ExactProof | None:
    """Return a proof for the problem as it is stored if that offers a point or more, else for the problem with rounding."""
    started = time.perf_counter()
    if not rounding:
        proof = prove(problem, h, y, time_limit=seconds, pivot_limit=MAX_PIVOTS)
        if proof.status is Status.LIMIT:
            return None
        if proof.optimum is not None and proof.optimum >= problem.point_weight:
            return proof
    left = max(0.0, seconds - (time.perf_counter() - started))
    prove_relaxed = partial(prove_with_rounding, problem, h, y, time_limit=left, pivot_limit=MAX_PIVOTS)
    proof = prove_relaxed()
    if _is_nothing(problem, proof):  # the proof that there is nothing to find allows for a little more rounding
        proof = prove_relaxed(factor=REFUTED)
        if not _is_nothing(problem, proof):  # it depends on the last digits
            return None
    return None if proof.status is Status.LIMIT else proof


def _round(proof: ExactProof, h: FloatArray) -> ExactAnswer:
    """Return a proof in floats; OverflowError if one of its numbers has none."""
    membership = np.array([float(value) for value in proof.membership]) if proof.membership else h
    multipliers = np.array([float(value) for value in proof.multipliers])
    bound = float("inf") if proof.optimum is None else float(proof.optimum)
    return ExactAnswer(proof.status, membership, multipliers, proof.multipliers, bound)


def _is_nothing(problem: Problem, proof: ExactProof) -> bool:
    """Return whether a proof says that there is nothing to find: no feasible h, or an optimum that means EMPTY."""
    if proof.status is Status.INFEASIBLE:
        return True
    if proof.status is not Status.OPTIMAL or proof.optimum is None:
        return False
    limit = emptiness_limit(problem, np.array([float(value) for value in proof.multipliers]))
    return limit is not None and proof.optimum <= limit
