"""Solving a small problem in exact arithmetic where floats proved nothing.

No solver in floats can handle rows whose entries span, say, twenty decades, but fractions can. The data are not exact,
though: the mean of three floats is rarely a float itself, and without a tolerance no set may have exactly the mean as it was
rounded. So the exact problem allows for the rounding r of the mean, as a certificate does::

    sum (phi - mean - r) h <= U,      sum (phi - mean + r) h >= L
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from momentlp.points.arrays import FloatArray
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem
from momentlp.proof.exact.proof import ExactProof, prove
from momentlp.status import Status

__all__ = ["solve_exactly"]

# Limits within which exact arithmetic takes seconds, not minutes.
MAX_ENTRIES = 20_000  # of A, points times moments
MAX_MOMENTS = 40
MAX_PIVOTS = 300
MAX_SECONDS = 10.0


def solve_exactly(
    problem: Problem, h: FloatArray, y: FloatArray, time_limit: float | None
) -> tuple[Status, FloatArray, FloatArray] | None:
    """Find the exact optimum of a small problem, or a proof that no h is feasible.

    Parameters
    ----------
    problem : Problem
    h, y : arrays, shapes (N,) and (m,)
        The best pair known, from whose vertex the exact simplex starts.
    time_limit : float or None
        Seconds; never more than ``MAX_SECONDS``.

    Returns
    -------
    tuple of (Status, array, array), or None
        OPTIMAL with the optimal pair rounded to floats, or INFEASIBLE with h and the multipliers of a Farkas proof. None if
        the problem is too large, a limit was reached, or the result has no floats.
    """
    if problem.n_points * problem.n_moments > MAX_ENTRIES or problem.n_moments > MAX_MOMENTS:
        return None
    relaxed = replace(problem, blocks=tuple(_allow_rounding(block) for block in problem.blocks))
    relaxed_y = [
        np.concatenate([np.maximum(part, 0.0), np.minimum(part, 0.0)]) if block.tolerance_on else part
        for block, part in zip(problem.blocks, problem.split_by_block(y), strict=True)
    ]
    seconds = MAX_SECONDS if time_limit is None else min(MAX_SECONDS, time_limit)
    proof = prove(relaxed, h, np.concatenate(relaxed_y), time_limit=seconds, pivot_limit=MAX_PIVOTS)
    if proof.status is Status.LIMIT:
        return None
    try:
        membership = np.array([float(value) for value in proof.membership]) if proof.membership else h
        return proof.status, membership, _join_sides(problem, proof)
    except OverflowError:
        return None


def _allow_rounding(block: MomentBlock) -> MomentBlock:
    """Return two rows per moment of a mean, one for each side, which allow for the rounding of the mean."""
    if block.tolerance_on is None:
        return block
    rounding = np.where(block.noise(), block.max_abs(), block.rounding(np.ones(1)))
    transform = sp.eye_array(block.n_moments, format="csc") if block.transform is None else block.transform
    return replace(
        block,
        transform=sp.csc_array(sp.hstack([transform, transform])),
        shift=np.concatenate([block.shift - rounding, block.shift + rounding]),
        lower=np.concatenate([np.full(block.n_moments, -np.inf), block.lower]),
        upper=np.concatenate([block.upper, np.full(block.n_moments, np.inf)]),
        names=(*(f"{name}:high" for name in block.names), *(f"{name}:low" for name in block.names)),
    )


def _join_sides(problem: Problem, proof: ExactProof) -> FloatArray:
    """Return one multiplier per moment from those of its two sides, shape (m,)."""
    values = np.array([float(value) for value in proof.multipliers])
    joined, start = [], 0
    for block in problem.blocks:
        m = block.n_moments
        end = start + (2 * m if block.tolerance_on else m)
        part = values[start:end]
        joined.append(part[:m] + part[m:] if block.tolerance_on else part)
        start = end
    return np.concatenate(joined)
