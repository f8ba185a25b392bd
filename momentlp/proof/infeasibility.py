"""Proving that no membership meets all bounds.

The elastic problem lets every moment miss its bound at a price of one per unit of its scale::

    maximise  -sum(p + q)   subject to  lower <= A^T h + scale (p - q) <= upper,   0 <= h <= caps,   0 <= p, q <= big

It always has a solution, so any backend can solve it and the ordinary certificate can check it. If its optimum is below
zero its multipliers y satisfy ``farkas_value(problem, y) < 0``, which is the proof.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from momentlp.points.arrays import FloatArray, is_sparse
from momentlp.points.chunked import load_in_memory
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem
from momentlp.proof.certificate import farkas_value

__all__ = ["append_points", "elastic_problem", "proves_infeasible"]


def elastic_problem(problem: Problem) -> Problem:
    """Return the elastic problem: the same points with weight 0, then two more "points" per moment, p and q."""
    scale = problem.scale
    slack = sp.vstack([sp.diags_array(scale), -sp.diags_array(scale)], format="csr")
    room = np.tile((problem.A.per_moment("magnitude", problem.caps) + _largest_bound(problem)) / scale + 1.0, 2)
    return append_points(replace(problem, weights=np.zeros(problem.n_points)), slack, -np.ones(slack.shape[0]), room)


def append_points(problem: Problem, rows: Any, weights: FloatArray, caps: FloatArray) -> Problem:
    """Return a problem with more points, given by their rows of A (a sparse matrix) and no features of their own."""
    m = problem.n_moments
    kept = np.where(problem.noise, 0.0, 1.0)  # the new problem does not know which of its moments are rounding
    weights, caps = np.concatenate([problem.weights, weights]), np.concatenate([problem.caps, caps])
    blocks = [replace(block, features=load_in_memory(block.features, "proving infeasibility")) for block in problem.blocks]
    problem = replace(problem, blocks=tuple(blocks))
    if not any(is_sparse(block.features) for block in problem.blocks):
        A = np.vstack([problem.A.toarray() * kept, rows.toarray()])
        return Problem.from_arrays(A, problem.lower, problem.upper, weights=weights, caps=caps, names=problem.names)
    # The constant part of A belongs to the old points alone: it hangs on a feature that is 1 for them and 0 for the new.
    linear = sp.hstack([sp.csr_array(block.linear_part()) for block in problem.blocks], format="csr") * kept
    constant = np.concatenate([block.constant for block in problem.blocks]) * kept
    ones = sp.csr_array(np.ones((problem.n_points, 1)))
    features = sp.block_array([[linear, ones], [rows, None]], format="csr")
    block = MomentBlock(
        features=features,
        origin=np.zeros(m + 1),
        transform=sp.csc_array(sp.vstack([sp.eye_array(m), sp.csr_array(constant[None, :])])),
        shift=np.zeros(m),
        lower=problem.lower,
        upper=problem.upper,
        names=problem.names,
    )
    return Problem((block,), weights, caps)


def _largest_bound(problem: Problem) -> FloatArray:
    return np.maximum(*(np.where(np.isfinite(bound), np.abs(bound), 0.0) for bound in (problem.lower, problem.upper)))


def proves_infeasible(problem: Problem, y: FloatArray, tol: float) -> bool:
    """Check a Farkas proof by arithmetic of our own, with room for rounding."""
    facing = np.where(y > 0, problem.upper, problem.lower)
    if np.isinf(facing[y != 0]).any():
        return False
    unit = max(1.0, float(np.abs(facing[y != 0] * y[y != 0]).sum()))
    return farkas_value(problem, y) < -tol * unit
