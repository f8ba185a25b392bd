"""The linear programs of matching.

A profile: the mean of every moment over the rows chosen is within ``delta_j`` standard deviations of the target's mean t_j::

    | sum_i (phi_ij - t_j) h_i |  <=  delta_j s_j sum_i h_i

Groups a, b, ... with sizes in the ratio k_a : k_b (one unit of the match holds k_g rows of group g, and n is their number)::

    | sum_{i in a} phi_ij h_i / k_a - sum_{i in b} phi_ij h_i / k_b |  <=  delta_j s_j n,      sum_{i in a} h_i / k_a = n

With ``K = sum_g k_g``, ``n = sum_i h_i / K``. So a pair is balanced if the mean, over all rows chosen, of the moment
``K (1_b(i) / k_b - 1_a(i) / k_a) (phi_ij - c_j) / s_j`` is near zero; any c_j will do, because the sizes agree. All moments
are in units of ``s_j``, so that one tolerance means the same for each.

Exact balance is an equation with integer coefficients, so that integers meet it without rounding.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from math import gcd, lcm
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.matching.data import MatchingData, StratumError, TargetRows
from momentlp.matching.levels import Levels
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem

__all__ = ["build_program", "shared_levels", "size_step"]

MAX_LABELS = 3  # that a message lists


def build_program(data: MatchingData) -> Problem:
    """Return the problem of one stratum, or of all rows if there are no strata.

    Raises
    ------
    StratumError
        If no tolerance could help: a group has too few rows, or a level of the target is not in the pool.
    """
    if not data.n_rows:
        raise StratumError("the pool has no rows in it")
    if data.target is not None and data.target.values is not None and not len(data.target.values):
        raise StratumError("the target has no rows in it")
    data = replace(data, caps=_usable_caps(data))
    if data.target is None:
        _check_group_sizes(data)
        blocks = [_equal_counts(data, Levels((), ("rows",), np.zeros(data.n_rows, dtype=np.intp)))]
        blocks += [_equal_counts(data, levels) for levels in data.levels]
        blocks += _pair_blocks(data)
    else:
        blocks = _profile_blocks(data, data.target)
        blocks += [_equal_shares(levels, wanted) for levels, wanted in zip(data.levels, data.target.levels, strict=True)]
    problem = Problem((blocks[0],), np.ones(data.n_rows), data.caps)
    for block in blocks[1:]:
        problem = problem.with_block(block)
    if data.keep is not None:
        problem = _keep_group(problem, data, data.keep)
    return replace(problem, whole=True) if data.whole else problem


def size_step(data: MatchingData) -> int:
    """Return the integer of which the size of every whole match is a multiple.

    Groups in the ratio 1 : 2 are chosen three rows at a time. A share of a/b that is met exactly needs multiples of b rows.
    """
    if data.target is None:
        return sum(data.ratio)
    step = 1
    for levels in data.target.levels:
        counts = levels.counts()
        step = lcm(step, int(counts.sum()) // gcd(*counts.tolist()))
    return step


def _profile_blocks(data: MatchingData, target: TargetRows) -> list[MomentBlock]:
    used = np.isfinite(data.tolerance)
    if not used.any():
        return []
    unit = data.spread[used]
    names = tuple(name for name, kept in zip(data.names, used, strict=True) if kept)
    return [
        MomentBlock.near(
            data.values[:, used] / unit, target.mean[used] / unit, data.tolerance[used], labels=names, tolerance_on="mean"
        )
    ]


def _pair_blocks(data: MatchingData) -> list[MomentBlock]:
    """Return one block with the rows of all pairs of groups."""
    used = np.isfinite(data.tolerance)
    if not used.any():
        return []
    values = (data.values[:, used] - data.values[:, used].mean(axis=0)) / data.spread[used]
    names = [name for name, kept in zip(data.names, used, strict=True) if kept]
    pieces: list[FloatArray] = []
    labels: list[str] = []
    for a, b in combinations(range(len(data.groups)), 2):
        pieces.append(_pair_signs(data, a, b)[:, None] * values)
        pair = "" if len(data.groups) == 2 else f" ({data.groups[b]} - {data.groups[a]})"
        labels += [name + pair for name in names]
    width = np.tile(data.tolerance[used], len(pieces))
    return [MomentBlock.near(np.hstack(pieces), np.zeros(width.size), width, labels=tuple(labels), tolerance_on="mean")]


def _pair_signs(data: MatchingData, a: int, b: int) -> FloatArray:
    """Return ``K / k_b`` for rows of group b, ``-K / k_a`` for rows of group a, and 0 for others."""
    factors = np.zeros(len(data.groups))
    factors[a], factors[b] = -sum(data.ratio) / data.ratio[a], sum(data.ratio) / data.ratio[b]
    return factors[data.codes]


def _equal_shares(levels: Levels, wanted: Levels) -> MomentBlock:
    """Return the rows ``sum_i (T 1_g(i) - c_g) h_i = 0``, if c_g of the T rows of the target have level g."""
    counts = wanted.counts()
    kept = np.flatnonzero(counts)
    column = np.cumsum(counts > 0) - 1
    chosen = np.flatnonzero(counts[levels.codes] > 0)  # the others cannot be chosen: their caps are zero
    entries = np.full(chosen.size, float(counts.sum()))
    features = sp.csr_array((entries, (chosen, column[levels.codes[chosen]])), shape=(levels.codes.size, kept.size))
    return _equations(features, -counts[kept].astype(np.float64), [f"share of {levels.labels[g]}" for g in kept])


def _equal_counts(data: MatchingData, levels: Levels) -> MomentBlock:
    """Return the rows ``k_a N_bg - k_b N_ag = 0`` for every level g and successive groups a, b."""
    n_levels = len(levels.labels)
    features: Any = sp.csr_array((data.n_rows, n_levels * (len(data.groups) - 1)))
    names = []
    for number, (a, b) in enumerate(pairwise(range(len(data.groups)))):
        for group, factor in ((b, data.ratio[a]), (a, -data.ratio[b])):
            members = np.flatnonzero((data.codes == group) & (data.caps > 0))
            where = (members, number * n_levels + levels.codes[members])
            features += sp.csr_array((np.full(members.size, float(factor)), where), shape=features.shape)
        names += [f"number of {label} in {data.groups[b]}" for label in levels.labels]
    present = np.flatnonzero(np.diff(features.tocsc().indptr))  # a row without an entry says nothing
    return _equations(sp.csr_array(features[:, present]), np.zeros(present.size), [names[j] for j in present])


def _equations(features: Any, shift: FloatArray, names: list[str]) -> MomentBlock:
    """Return the rows ``(features + shift)^T h = 0``."""
    return replace(Problem.from_arrays(features, 0.0, 0.0, names=names).blocks[0], shift=shift)


def _usable_caps(data: MatchingData) -> FloatArray:
    """Return the caps: zero for rows that cannot be chosen, because their level is missing in the target or in a group.

    Raises
    ------
    StratumError
        If the groups have no level in common, or the target has a level that the pool has not.
    """
    caps = data.caps.copy()
    for number, levels in enumerate(data.levels):
        if data.target is not None:
            _check_levels_of_target(levels, data.target.levels[number])
            usable = data.target.levels[number].counts() > 0
        else:
            usable = shared_levels(levels, data.codes, len(data.groups))
            if not usable.any():
                raise StratumError(f"the groups share no level of {' and '.join(levels.columns)}, which is balanced exactly")
        caps[~usable[levels.codes]] = 0.0
    return caps


def shared_levels(levels: Levels, codes: IndexArray, n_groups: int) -> NDArray[np.bool_]:
    """Return which levels every group has, one truth value per label."""
    members = [np.unique(levels.codes[codes == group]) for group in range(n_groups)]
    return np.asarray(np.bincount(np.concatenate(members), minlength=len(levels.labels)) == n_groups)


def _keep_group(problem: Problem, data: MatchingData, group: int) -> Problem:
    members = np.flatnonzero(data.codes == group)
    feature = sp.csr_array((np.ones(members.size), (members, np.zeros(members.size, dtype=int))), shape=(data.n_rows, 1))
    return problem.with_rows(feature, float(data.caps[members].sum()), np.inf, [f"all of {data.groups[group]}"])


def _check_group_sizes(data: MatchingData) -> None:
    for group, name in enumerate(data.groups):
        size, wanted = float(data.caps[data.codes == group].sum()), data.ratio[group]
        if not size:
            raise StratumError(f"group {name!r} has no rows")
        if data.whole and size < wanted:
            raise StratumError(f"group {name!r} has {size:g} row(s), but ratio asks for {wanted} at a time")


def _check_levels_of_target(levels: Levels, wanted: Levels) -> None:
    absent = np.flatnonzero((wanted.counts() > 0) & (levels.counts() == 0))
    if absent.size:
        shown = ", ".join(levels.labels[g] for g in absent[:MAX_LABELS]) + (", ..." if absent.size > MAX_LABELS else "")
        raise StratumError(
            f"exact balance of {' and '.join(levels.columns)} is impossible, because the target has rows with {shown} "
            "and the pool has none"
        )
