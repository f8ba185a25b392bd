"""Proofs that no memberships meet all bounds.

The elastic problem lets every moment violate its bound at a price of 1 per unit of its scale::

    maximise  -sum(p + q)   subject to  lower <= A^T h + scale (p - q) <= upper,   0 <= h <= caps,   0 <= p, q <= big

It always has a solution, so any backend can solve it and the ordinary certificate checks it. If its optimum is negative,
its multipliers y satisfy ``farkas_value(problem, y) < 0``, which is the proof.
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
from momentlp.proof.dual_bound import farkas_value

__all__ = ["append_points", "elastic_problem", "proves_infeasible"]

FARKAS_TOLERANCE = 1e-12  # by how much a Farkas value must be below zero, relative to its terms: rounding of their sum


def elastic_problem(problem: Problem) -> Problem:
    """Return the elastic problem: the same points with weight 0, followed by two artificial points per moment, p and q."""
    scale = problem.scale
    slack = sp.vstack([sp.diags_array(scale), -sp.diags_array(scale)], format="csr")
    room = np.tile((problem.A.per_moment("magnitude", problem.caps) + _largest_bound(problem)) / scale + 1.0, 2)
    return append_points(replace(problem, weights=np.zeros(problem.n_points)), slack, -np.ones(slack.shape[0]), room)


def append_points(problem: Problem, rows: Any, weights: FloatArray, caps: FloatArray) -> Problem:
    """Return a problem with more points, which have rows of A but no features.

    Parameters
    ----------
    problem : Problem
    rows : csr_array, shape (r, m)
        The rows of A of the new points.
    weights, caps : array, shape (r,)
        Weights and caps of the new points.
    """
    m = problem.n_moments
    kept = np.where(
        problem.noise, 0.0, 1.0
    )  # the new problem has other points, so it could not find which moments are noise
    weights, caps = np.concatenate([problem.weights, weights]), np.concatenate([problem.caps, caps])
    blocks = [replace(block, features=load_in_memory(block.features, "proving infeasibility")) for block in problem.blocks]
    problem = replace(problem, blocks=tuple(blocks))
    if not any(is_sparse(block.features) for block in problem.blocks):
        A = np.vstack([problem.A.toarray() * kept, rows.toarray()])
        return Problem.from_arrays(A, problem.lower, problem.upper, weights=weights, caps=caps, names=problem.names)
    # The constant part of A belongs to the old points only: it is the coefficient of a feature that is 1 there, 0 elsewhere.
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


def proves_infeasible(problem: Problem, y: FloatArray, tol: float = FARKAS_TOLERANCE) -> bool:
    """Return whether y proves that no h is feasible: its Farkas value, which allows for rounding, is negative.

    Parameters
    ----------
    problem : Problem
    y : array, shape (m,)
    tol : float
        The margin, relative to the terms of the Farkas value that the bounds contribute.
    """
    facing = np.where(y > 0, problem.upper, problem.lower)
    if np.isinf(facing[y != 0]).any():
        return False
    unit = float(np.abs(facing[y != 0] * y[y != 0]).sum())
    return farkas_value(problem, y) < -tol * unit
