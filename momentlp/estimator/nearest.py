"""Of all sets of the largest size, the one nearest to the mean.

Where a constraint such as ``Share`` limits the size, and not the mean, a great many sets are largest: any that fits within
the tolerance. No moment has a multiplier then, and the hyperplane says nothing. So the tolerance is tightened as far as a
set of that size allows, to t times what it was. That is a linear program of its own, with one variable more::

    maximise tau   subject to   -(1 - tau) d <= sum_i h_i (phi_i - alpha) <= (1 - tau) d,   sum_i h_i >= S,   0 <= tau <= 1

and what else is asked; d is the tolerance on the sum, S times the one on the mean. Its h is the set, t is 1 - tau. Its
multipliers u of the moments and s of the size, divided by ``c = s - t sum_j d_j |u_j| / S`` (on the sum, by s), are those of
the original program at the tolerance t: each h_i is where ``s - u . (phi_i - alpha)`` has it, and the bound is S. The
certificate is computed for that program and judges them like any others.
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
    """Return a solution that no moment limits with the tolerance tightened until one does; any other as it is.

    It stays as it is, too, if a set of that size has the very mean of the labelled points. So has a part of a larger set
    that has it, the same part of every point: no hyperplane tells which points to take then.

    Parameters
    ----------
    solution : Solution
    run : callable
        Solves a problem.
    tol : float
        The certificate must hold within this.
    """
    problem = solution.problem
    if not is_undetermined(solution):
        return solution
    size = float(solution.membership.sum())
    tightened = run(_program(problem, size))
    if tightened.status is not Status.OPTIMAL:
        return solution
    factor = max(0.0, 1.0 - float(tightened.membership[-1]))
    tight = problem.with_tolerance(factor, relative=True)
    multipliers = _read(problem, tight, tightened.multipliers, factor)
    if multipliers is None:
        return solution
    pair = tightened.membership[:-1], admissible_multipliers(tight, multipliers)
    certificate = Certificate.of(tight, *pair)
    if not certificate.holds(tol):
        pair = polish(tight, *pair)
        certificate = Certificate.of(tight, *pair)
    if not certificate.holds(tol):
        return solution
    iterations = [each.iterations for each in (solution, tightened) if each.iterations is not None]
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


def _varies(block: MomentBlock) -> bool:
    """Whether the tolerance of a block is that of the spec, not that of a constraint."""
    return block.tolerance_on is not None and not block.fixed


def is_undetermined(solution: Solution) -> bool:
    """Return whether something limits the size, but no moment whose tolerance could be tighter."""
    problem = solution.problem
    if solution.status is not Status.OPTIMAL or solution.membership.sum() >= (1 - BOUND_TOLERANCE) * problem.caps.sum():
        return False
    if not any(_varies(block) and block.width is not None and block.width.any() for block in problem.blocks):
        return False
    moments = np.concatenate([np.full(block.n_moments, _varies(block)) for block in problem.blocks])
    pull = np.abs(solution.multipliers) * problem.scale
    return bool(pull[moments].max(initial=0.0) <= BOUND_TOLERANCE * pull.max(initial=0.0))


def _program(problem: Problem, size: float) -> Problem:
    """Return the program with one more point, tau, which has the only weight."""
    blocks = [_tightened(block, size) if _varies(block) else _kept(block) for block in problem.blocks]
    blocks = [
        replace(block, names=tuple(f"{number}: {name}" for name in block.names)) for number, block in enumerate(blocks)
    ]
    n_points = problem.n_points
    whole = Problem(tuple(blocks), np.append(np.zeros(n_points), 1.0), np.append(problem.caps, 1.0))
    return whole.with_rows(np.append(np.ones(n_points), 0.0)[:, None], size, np.inf, ["size"])


def _tightened(block: MomentBlock, size: float) -> MomentBlock:
    """Return ``sum (phi - alpha) h + d tau <= d`` and ``sum (phi - alpha) h - d tau >= -d``."""
    width = np.asarray(block.width) * (size if block.tolerance_on == "mean" else 1.0)
    once, open_end = sp.eye_array(width.size, format="csc"), np.full(width.size, np.inf)
    return MomentBlock(
        features=_with_one_more(block.features, block.origin, column=0.0, corner=1.0),
        origin=np.append(block.origin, 0.0),
        transform=sp.csc_array(sp.block_array([[once, once], [sp.csr_array(width[None]), sp.csr_array(-width[None])]])),
        shift=np.zeros(2 * width.size),
        lower=np.concatenate([-open_end, -width]),
        upper=np.concatenate([width, open_end]),
        names=(*(f"{label}:high" for label in block.labels), *(f"{label}:low" for label in block.labels)),
    )


def _kept(block: MomentBlock) -> MomentBlock:
    """Return the rows of a constraint, in which tau has no part: a column of ones carries what all other points share."""
    once = sp.eye_array(block.n_moments, format="csc") if block.transform is None else block.transform
    return MomentBlock(
        features=_with_one_more(block.features, block.origin, column=1.0, corner=0.0),
        origin=np.append(block.origin, 0.0),
        transform=sp.csc_array(sp.vstack([once, sp.csr_array(block.shift[None])])),
        shift=np.zeros(block.n_moments),
        lower=block.lower,
        upper=block.upper,
        names=block.names,
    )


def _with_one_more(features: Matrix, row: FloatArray, *, column: float, corner: float) -> Matrix:
    """Return features with one more point and one more feature."""
    n_points, width = features.shape
    if is_sparse(features):
        side: Any = sp.csr_array(np.full((n_points, 1), column))
        return sp.block_array([[features, side], [sp.csr_array(row[None]), sp.csr_array([[corner]])]], format="csr")
    more = np.full((n_points + 1, width + 1), column)
    more[:-1, :-1], more[-1, :-1], more[-1, -1] = features, row, corner
    return more


def _read(problem: Problem, tight: Problem, y: FloatArray, factor: float) -> FloatArray | None:
    """Return the multipliers of the program at the tighter tolerance; None where they leave the hyperplane open."""
    counts = [2 * block.origin.size if _varies(block) else block.n_moments for block in problem.blocks]
    *parts, last = np.split(y, np.cumsum(counts))
    price = -float(last[0])  # of one more point, in tau
    found = []
    for block, now, part in zip(problem.blocks, tight.blocks, parts, strict=True):
        if _varies(block):
            both = part[: block.origin.size] + part[block.origin.size :]
            price -= factor * float(np.abs(both) @ np.asarray(block.width)) if block.tolerance_on == "mean" else 0.0
            found.append(_sides(now, both))
        elif block.is_same_for_all_points:  # a bound on the size is the row of the size once more
            price -= float(block.shift @ part)
            found.append(np.zeros(part.size))
        else:
            found.append(part)
    multipliers = np.concatenate(found)
    if price <= BOUND_TOLERANCE * float(np.max(np.abs(multipliers) * tight.scale, initial=0.0)):
        return None
    return multipliers / price


def _sides(block: MomentBlock, both: FloatArray) -> FloatArray:
    """Return one multiplier for each row of a block, from one for each feature."""
    if block.transform is None:
        return both
    loose = np.asarray(block.width) > 0
    return np.concatenate([np.where(loose, np.maximum(both, 0.0), both), np.minimum(both, 0.0)[loose]])
