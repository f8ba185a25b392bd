"""Solving a small problem in exact arithmetic where floats proved nothing.

Rows whose entries span twenty decades, say, are beyond what any solver in floats can hold, but fractions hold them. What the
data mean is not what their last digit says, though: the mean of three floats is rarely a float itself, and with no tolerance
at all exactly nothing may have the float next to it. So the mean may be off by its rounding, as it may in a certificate::

    sum (phi - mean - r) h <= U,      sum (phi - mean + r) h >= L,      r the rounding of the mean
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

ENTRIES, MOMENTS, PIVOTS, SECONDS = 20_000, 40, 300, 10.0  # what exact arithmetic is given


def solve_exactly(
    problem: Problem, h: FloatArray, y: FloatArray, time_limit: float | None
) -> tuple[Status, FloatArray, FloatArray] | None:
    """Return the exact optimum and its multipliers as floats, or a proof that there is none; None if neither was found."""
    if problem.n_points * problem.n_moments > ENTRIES or problem.n_moments > MOMENTS:
        return None
    forgiving = replace(problem, blocks=tuple(_forgiving(block) for block in problem.blocks))
    parts = problem.split_by_block(y)
    sides = [
        np.concatenate([np.maximum(part, 0.0), np.minimum(part, 0.0)]) if block.tolerance_on else part
        for block, part in zip(problem.blocks, parts, strict=True)
    ]
    seconds = SECONDS if time_limit is None else min(SECONDS, time_limit)
    proof = prove(forgiving, h, np.concatenate(sides), time_limit=seconds, pivot_limit=PIVOTS)
    if proof.status is Status.LIMIT:
        return None
    try:
        found = np.array([float(value) for value in proof.membership]) if proof.membership else h
        return proof.status, found, _joined(problem, proof)
    except OverflowError:
        return None


def _forgiving(block: MomentBlock) -> MomentBlock:
    """Return the rows of a mean with room for its rounding, in proportion to the size of the set."""
    if block.tolerance_on is None:
        return block
    room = np.where(block.noise(), block.max_abs(), block.rounding(np.ones(1)))
    once = sp.eye_array(block.n_moments, format="csc") if block.transform is None else block.transform
    return replace(
        block,
        transform=sp.csc_array(sp.hstack([once, once])),
        shift=np.concatenate([block.shift - room, block.shift + room]),
        lower=np.concatenate([np.full(block.n_moments, -np.inf), block.lower]),
        upper=np.concatenate([block.upper, np.full(block.n_moments, np.inf)]),
        names=(*(f"{name}:high" for name in block.names), *(f"{name}:low" for name in block.names)),
    )


def _joined(problem: Problem, proof: ExactProof) -> FloatArray:
    """Return one multiplier per moment again."""
    values = np.array([float(value) for value in proof.multipliers])
    joined, start = [], 0
    for block in problem.blocks:
        m = block.n_moments
        end = start + (2 * m if block.tolerance_on else m)
        part = values[start:end]
        joined.append(part[:m] + part[m:] if block.tolerance_on else part)
        start = end
    return np.concatenate(joined)
