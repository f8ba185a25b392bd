"""Among all sets of the largest size, find the one nearest to the mean.

A constraint such as ``Share`` may limit the size where the mean does not. Then many sets are largest: every set of that size
within the tolerance. No moment has a multiplier, and the hyperplane says nothing. So the tolerance is tightened as far as a
set of that size allows, to t times its value. This is a linear program with one more variable::

    maximise tau   subject to   -(1 - tau) d <= sum_i h_i (phi_i - alpha) <= (1 - tau) d,   sum_i h_i >= S,   0 <= tau <= 1

and the other constraints. Here d is the tolerance on the sum (S times a tolerance on the mean). The solution h is the set,
and t = 1 - tau. Let u be the multipliers of the moments and s the multiplier of the size. Divide them by
``c = s - t sum_j d_j |u_j| / S`` (by s, if the tolerance is on the sum). The results are multipliers of the original program
at the tolerance t: each h_i lies on the side that ``s - u . (phi_i - alpha)`` says, and the bound is S. The certificate is
computed for that program, and judges these multipliers like any others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from momentlp.points.arrays import FloatArray, Matrix, is_sparse
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem
from momentlp.proof.certificate import BOUND_TOLERANCE, Certificate
from momentlp.proof.polish import admissible_multipliers, polish
from momentlp.solution.solution import Solution
from momentlp.status import Status

__all__ = ["is_undetermined", "nearest_to_mean"]


def nearest_to_mean(solution: Solution, run: Callable[[Problem], Solution], tol: float) -> Solution:
    """If no moment limits a solution, tighten the tolerance until one does; return any other solution unchanged.

    A solution is also unchanged if some set of that size has exactly the mean of the labelled points. Such a set exists if
    a larger set has this mean: take the same fraction of every point. No hyperplane says which points to take then.

    Parameters
    ----------
    solution : Solution
    run : callable
        Solves a problem.
    tol : float
        The certificate must hold within this tolerance.
    """
    problem = solution.problem
    if not is_undetermined(solution):
        return solution
    size = float(solution.membership.sum())
    tightened = run(_build_program(problem, size))
    if tightened.status is not Status.OPTIMAL:
        return solution
    factor = max(0.0, 1.0 - float(tightened.membership[-1]))
    tight = problem.with_tolerance(factor, relative=True)
    multipliers = _read_multipliers(problem, tight, tightened.multipliers, factor)
    if multipliers is None:
        return solution
    pair = tightened.membership[:-1], admissible_multipliers(tight, multipliers)
    certificate = Certificate.of(tight, *pair)
    if not certificate.holds(tol):
        pair = polish(tight, *pair)
        certificate = Certificate.of(tight, *pair)
    if not certificate.holds(tol):
        return solution
    iterations = [step.iterations for step in (solution, tightened) if step.iterations is not None]
    return replace(
        solution,
        problem=tight,
        membership=pair[0],
        multipliers=pair[1],
        certificate=certificate,
        iterations=sum(iterations) if iterations else None,
        seconds={name: seconds + tightened.seconds.get(name, 0.0) for name, seconds in solution.seconds.items()},
        repairs=tuple(dict.fromkeys((*solution.repairs, *tightened.repairs))),
    )


def _has_spec_tolerance(block: MomentBlock) -> bool:
    """Return whether the tolerance of a block comes from the spec, not from a constraint."""
    return block.tolerance_on is not None and not block.fixed


def is_undetermined(solution: Solution) -> bool:
    """Return whether the size is limited, but not by a moment whose tolerance could be tightened."""
    problem = solution.problem
    if solution.status is not Status.OPTIMAL or solution.membership.sum() >= (1 - BOUND_TOLERANCE) * problem.caps.sum():
        return False
    if not any(_has_spec_tolerance(block) and block.width is not None and block.width.any() for block in problem.blocks):
        return False
    moments = np.concatenate([np.full(block.n_moments, _has_spec_tolerance(block)) for block in problem.blocks])
    size = np.abs(solution.multipliers) * problem.scale
    return bool(size[moments].max(initial=0.0) <= BOUND_TOLERANCE * size.max(initial=0.0))


def _build_program(problem: Problem, size: float) -> Problem:
    """Return the program above. Its variable tau is one more point, the only one with a weight."""
    blocks = [_add_tau(block, size) if _has_spec_tolerance(block) else _add_zero_tau(block) for block in problem.blocks]
    blocks = [
        replace(block, names=tuple(f"{number}: {name}" for name in block.names)) for number, block in enumerate(blocks)
    ]
    n_points = problem.n_points
    program = Problem(tuple(blocks), np.append(np.zeros(n_points), 1.0), np.append(problem.caps, 1.0))
    return program.with_rows(np.append(np.ones(n_points), 0.0)[:, None], size, np.inf, ["size"])


def _add_tau(block: MomentBlock, size: float) -> MomentBlock:
    """Return ``sum (phi - alpha) h + d tau <= d`` and ``sum (phi - alpha) h - d tau >= -d``, without a side that is open."""
    width = np.asarray(block.width) * (size if block.tolerance_on == "mean" else 1.0)
    identity, infinity = sp.eye_array(width.size, format="csc"), np.full(width.size, np.inf)
    high, low = (width if block.side in ("both", side) else infinity for side in ("upper", "lower"))
    return MomentBlock(
        features=_append_point_and_feature(block.features, block.origin, column=0.0, corner=1.0),
        origin=np.append(block.origin, 0.0),
        transform=sp.csc_array(
            sp.block_array([[identity, identity], [sp.csr_array(width[None]), sp.csr_array(-width[None])]])
        ),
        shift=np.zeros(2 * width.size),
        lower=np.concatenate([-infinity, -low]),
        upper=np.concatenate([high, infinity]),
        names=(*(f"{label}:high" for label in block.labels), *(f"{label}:low" for label in block.labels)),
    )


def _add_zero_tau(block: MomentBlock) -> MomentBlock:
    """Return the rows of a constraint, in which tau has the coefficient 0.

    The shift of the block applies to all points but tau. So it becomes the row of a feature that is 1 for all other points.
    """
    transform = sp.eye_array(block.n_moments, format="csc") if block.transform is None else block.transform
    return MomentBlock(
        features=_append_point_and_feature(block.features, block.origin, column=1.0, corner=0.0),
        origin=np.append(block.origin, 0.0),
        transform=sp.csc_array(sp.vstack([transform, sp.csr_array(block.shift[None])])),
        shift=np.zeros(block.n_moments),
        lower=block.lower,
        upper=block.upper,
        names=block.names,
    )


def _append_point_and_feature(features: Matrix, row: FloatArray, *, column: float, corner: float) -> Matrix:
    """Return features with one more point, ``row``, and one more feature, ``column``; ``corner`` is where they meet."""
    n_points, width = features.shape
    if is_sparse(features):
        side: Any = sp.csr_array(np.full((n_points, 1), column))
        return sp.block_array([[features, side], [sp.csr_array(row[None]), sp.csr_array([[corner]])]], format="csr")
    extended = np.full((n_points + 1, width + 1), column)
    extended[:-1, :-1], extended[-1, :-1], extended[-1, -1] = features, row, corner
    return extended


def _read_multipliers(problem: Problem, tight: Problem, y: FloatArray, factor: float) -> FloatArray | None:
    """Return the multipliers of the original program at the tighter tolerance; None if they determine no hyperplane."""
    counts = [2 * block.origin.size if _has_spec_tolerance(block) else block.n_moments for block in problem.blocks]
    *parts, last = np.split(y, np.cumsum(counts))
    price = -float(last[0])  # what one more point costs, in units of tau
    found = []
    for block, now, part in zip(problem.blocks, tight.blocks, parts, strict=True):
        if _has_spec_tolerance(block):
            both = part[: block.origin.size] + part[block.origin.size :]
            price -= factor * float(np.abs(both) @ np.asarray(block.width)) if block.tolerance_on == "mean" else 0.0
            found.append(_split_by_sign(now, both))
        elif block.is_same_for_all_points:  # a bound on the size is the row of the size once more
            price -= float(block.shift @ part)
            found.append(np.zeros(part.size))
        else:
            found.append(part)
    multipliers = np.concatenate(found)
    if price <= BOUND_TOLERANCE * float(np.max(np.abs(multipliers) * tight.scale, initial=0.0)):
        return None
    return multipliers / price


def _split_by_sign(block: MomentBlock, multipliers: FloatArray) -> FloatArray:
    """Return one multiplier per row of a block, from one per feature, split by sign where a feature has two rows."""
    if block.transform is None:
        return multipliers
    loose = np.asarray(block.width) > 0
    upper = np.where(loose, np.maximum(multipliers, 0.0), multipliers)
    return np.concatenate([upper, np.minimum(multipliers, 0.0)[loose]])
