r"""The one rule for what rounding is forgiven.

Features are taken as the numbers they are. But a mean is rarely a float, entries ``A_ij = phi_ij - a_j`` are rounded when
they are computed, and so are bounds such as a sum of caps. So an entry of a moment counts as known up to::

    r_ij  =  8 eps ( o_j + t_j + min(|A_ij|, 2^20 t_j) )     eps = 2^-52, the precision of float64, whatever the features are

where ``o_j`` is the size of what is subtracted in a moment of a mean (the mean, and the width of a tolerance on the mean;
zero for a constraint) and ``t_j`` the typical entry of the moment, the median of ``|A_ij|``. (A feature that was computed,
by a rotation say, is rounded like its typical entry, however small the entry itself.) A bound b counts as known up to
``8 eps |b|``. The limit on ``|A_ij|`` keeps a sentinel such as 1e15 from forgiving the violations of all other points.

The problem with rounding, P+, is the linear program whose rows are relaxed by that much::

    sum_i (A_ij - r_ij) h_i  <=  U_j + 8 eps |U_j|,        sum_i (A_ij + r_ij) h_i  >=  L_j - 8 eps |L_j|

P is the problem as it is stored. Memberships are forgiven what P+ allows, and the scores of P+ are
``s_i + sum_j r_ij |y_j|``, which gives its dual bound. So

- OPTIMAL means that h is optimal for P, with the rounding of entries and bounds forgiven, or that it is optimal for P+;
- EMPTY and INFEASIBLE mean that P+ has nothing to find, hence no problem whose data differ by rounding.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from momentlp.points.arrays import FloatArray, is_sparse
from momentlp.problem.cache_slices import rows_in_cache
from momentlp.problem.moment_block import ROUNDING, MomentBlock
from momentlp.problem.moment_matrix import MAX_ENTRY_RATIO, MomentMatrix
from momentlp.problem.problem import Problem

__all__ = ["REFUTED", "ROUNDING", "SOLVED", "join_sides", "limited_magnitude", "limited_score_magnitude", "relax_means"]

# Where P+ is solved, a little less than the rule is used, so that its answer is still accepted after it was rounded itself.
# The proof that there is nothing to find uses a little more.
SOLVED = 7 / 8
REFUTED = 9 / 8


def limited_magnitude(A: MomentMatrix, h: FloatArray, limits: FloatArray) -> FloatArray:
    """Return ``sum_i (t_j + min(|A_ij|, limit_j)) h_i`` per moment, with ``t_j = limit_j / 2^20``.

    Parameters
    ----------
    A : MomentMatrix
    h : array, shape (N,)
    limits : array, shape (m,)
        ``2^20 t_j``, see :attr:`MomentMatrix.entry_limits <momentlp.MomentMatrix.entry_limits>`.

    Returns
    -------
    array, shape (m,)
    """
    return np.asarray(sum(A.scan(partial(_magnitude_of_part, limits), h)), dtype=np.float64)


def _magnitude_of_part(limits: FloatArray, A: MomentMatrix, h: FloatArray) -> FloatArray:
    parts = zip(A.blocks, A.split(limits), strict=True)
    entries = np.concatenate([_magnitude_of_block(block, h, own) for block, own in parts])
    return entries + limits / MAX_ENTRY_RATIO * float(h.sum())


def _magnitude_of_block(block: MomentBlock, h: FloatArray, limits: FloatArray) -> FloatArray:
    if is_sparse(block.features):
        return np.asarray(_limited_entries(block, limits).T @ h + _limited_constant(block, limits) * h.sum())
    support = np.flatnonzero(h)
    total = np.zeros(block.n_moments)
    step = rows_in_cache(block.n_moments)
    for start in range(0, support.size, step):
        chosen = support[start : start + step]
        total += h[chosen] @ np.minimum(np.abs(block.rows(chosen)), limits)
    return total


def limited_score_magnitude(A: MomentMatrix, y: FloatArray, limits: FloatArray) -> FloatArray:
    """Return ``sum_j |y_j| (o_j + t_j + min(|A_ij|, limit_j))`` per point, with ``t_j = limit_j / 2^20``.

    Parameters
    ----------
    A : MomentMatrix
    y : array, shape (m,)
    limits : array, shape (m,)

    Returns
    -------
    array, shape (N,)
    """
    parts = zip(A.blocks, A.split(np.abs(y)), A.split(limits), strict=True)
    return np.asarray(np.sum([_score_magnitude_of_block(*part) for part in parts], axis=0), dtype=np.float64)


def _score_magnitude_of_block(block: MomentBlock, y: FloatArray, limits: FloatArray) -> FloatArray:
    level = float((block.mean_size() + limits / MAX_ENTRY_RATIO) @ y)
    if is_sparse(block.features):
        return np.asarray(_limited_entries(block, limits) @ y + float(_limited_constant(block, limits) @ y) + level)
    used = np.flatnonzero(y)
    result = np.full(block.n_points, level)
    step = rows_in_cache(block.n_moments)
    for start in range(0, block.n_points, step):
        rows = slice(start, start + step)
        result[rows] += np.minimum(np.abs(block.rows(rows)[:, used]), limits[used]) @ y[used]
    return result


def _limited_entries(block: MomentBlock, limits: FloatArray) -> sp.csr_array:
    entries = abs(block.linear_part())
    entries.data = np.minimum(entries.data, limits[entries.indices])
    return entries


def _limited_constant(block: MomentBlock, limits: FloatArray) -> FloatArray:
    return np.minimum(np.abs(block.constant), limits)


def relax_means(problem: Problem, factor: float = SOLVED) -> Problem:
    """Return the problem with the rounding of its means allowed for: two rows per moment of a mean, one for each side.

    The rounding of entries, which is much smaller where the rounding of the mean matters, is left out: that would need a
    matrix of its own.

    Parameters
    ----------
    problem : Problem
    factor : float
        A multiple of the rule.
    """
    return replace(problem, blocks=tuple(_relax_block(block, factor) for block in problem.blocks))


def _relax_block(block: MomentBlock, factor: float) -> MomentBlock:
    if block.tolerance_on is None:
        return block
    rounding = np.where(block.noise(), block.max_abs(), factor * ROUNDING * block.mean_size())
    transform = sp.eye_array(block.n_moments, format="csc") if block.transform is None else block.transform
    return replace(
        block,
        transform=sp.csc_array(sp.hstack([transform, transform])),
        shift=np.concatenate([block.shift - rounding, block.shift + rounding]),
        lower=np.concatenate([np.full(block.n_moments, -np.inf), block.lower]),
        upper=np.concatenate([block.upper, np.full(block.n_moments, np.inf)]),
        names=tuple(f"{name} ({side} {block.n_moments} means)" for side in ("at most", "at least") for name in block.names),
    )


def join_sides(problem: Problem, y: FloatArray) -> FloatArray:
    """Return one multiplier per moment of a problem from those of :func:`relax_means`.

    Parameters
    ----------
    problem : Problem
        Before its means were relaxed.
    y : array
        One multiplier per row of the relaxed problem.

    Returns
    -------
    array, shape (m,)
    """
    joined, start = [], 0
    for block in problem.blocks:
        m = block.n_moments
        end = start + (m if block.tolerance_on is None else 2 * m)
        part = y[start:end]
        joined.append(part if block.tolerance_on is None else part[:m] + part[m:])
        start = end
    return np.concatenate(joined)
