"""The sizes of the entries of a block of moments: their range and the median of their absolute values.

Solvers drop tiny entries and keep feasibility to an absolute tolerance, so every moment is scaled by the size of its
entries. Both sizes are computed without writing the block out, for features that are dense, sparse or read in chunks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from momentlp.points.arrays import FloatArray, IndexArray, is_sparse
from momentlp.points.chunked import Chunked
from momentlp.problem.cache_slices import slice_for_cache

if TYPE_CHECKING:
    from momentlp.problem.moment_block import MomentBlock
    from momentlp.problem.moment_matrix import MomentMatrix

__all__ = ["compute_entry_range", "compute_median_abs", "compute_typical_abs", "quantile_of_positive"]

N_SAMPLED_ROWS = 500  # rows of dense features that are looked at for a median: enough for a unit
N_ROWS_AT_ONCE = 64  # enough for an order of magnitude
N_ROWS_OF_RARE, MIN_POSITIVE = 1000, 16  # rows for moments that are mostly zero, and how many entries among them must not be


def compute_entry_range(block: MomentBlock) -> tuple[FloatArray, FloatArray]:
    """Return the minimum and the maximum entry of each moment, two arrays of shape (m,)."""
    if is_sparse(block.features):
        part = block.linear_part().tocsc()
        low, high = (np.ravel(extreme.toarray()) + block.constant for extreme in (part.min(axis=0), part.max(axis=0)))
        return low, high
    if block.transform is None or np.diff(sp.csc_array(block.transform).indptr).max(initial=0) <= 1:
        # Every moment is made of one feature, and rounding keeps the order of numbers. So the minimum and maximum of the
        # feature give those of the moment.
        ends = replace(block, features=block.feature_range).rows(slice(None))
        return ends.min(axis=0), ends.max(axis=0)
    if isinstance(block.features, Chunked):
        from momentlp.problem.moment_matrix import MomentMatrix  # made of blocks, so it cannot be imported above

        lows, highs = zip(*MomentMatrix((block,)).scan(_range_of_part), strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)
    low, high = np.full(block.n_moments, np.inf), np.full(block.n_moments, -np.inf)
    for points in slice_for_cache(block.n_points, block.origin.size):
        entries = block.rows(points)
        np.minimum(low, entries.min(axis=0), out=low)
        np.maximum(high, entries.max(axis=0), out=high)
    return low, high


def _range_of_part(part: MomentMatrix) -> tuple[FloatArray, FloatArray]:
    (block,) = part.blocks
    return compute_entry_range(block)


def compute_typical_abs(block: MomentBlock) -> FloatArray:
    """Return a typical absolute entry of each moment, shape (m,), from so few rows that it costs next to nothing.

    It is the lower quartile of the sampled entries that are not zero, or the median of all of them where most are zero: it
    may be too small by an order of magnitude or two, but a few huge entries do not make it large.
    """
    if is_sparse(block.features):
        return np.where((medians := _medians_of_stored_entries(block)) > 0, medians, 1.0)
    if isinstance(block.features, Chunked):
        entries = np.abs(replace(block, features=block.features.summary.sample).rows(slice(None)))
    else:
        entries = np.abs(block.rows(_choose_rows(block.n_points, N_ROWS_AT_ONCE)))
    typical = quantile_of_positive(entries, 4)
    low, high = block.entry_range
    rare = (2 * (entries > 0).sum(axis=0) < len(entries)) & (low < high)
    if rare.any() and len(entries) < block.n_points:
        typical[rare] = _typical_of_rare_entries(block, np.flatnonzero(rare))
    return np.where(typical > 0, typical, 1.0)


def _typical_of_rare_entries(block: MomentBlock, moments: IndexArray) -> FloatArray:
    """Return the median absolute entry of moments that are mostly zero; their smallest one if the points are in chunks."""
    if isinstance(block.features, Chunked):
        from momentlp.problem.moment_matrix import MomentMatrix  # made of blocks, so it cannot be imported above

        smallest = np.min(list(MomentMatrix((block,)).scan(partial(_smallest_of_part, moments))), axis=0)
        return np.where(np.isfinite(smallest), smallest, 1.0)
    part = replace(block, features=block.features[_choose_rows(block.n_points, N_ROWS_OF_RARE)])
    sizes = np.abs(part.columns(moments))
    typical = quantile_of_positive(sizes, 2)
    for k in np.flatnonzero((sizes > 0).sum(axis=0) < MIN_POSITIVE):
        column = np.abs(block.columns(moments[[k]])[:, 0])
        typical[k] = np.median(column[column > 0]) if column.any() else 1.0
    return typical


def _choose_rows(n_points: int, n_rows: int) -> IndexArray | slice:
    """Return some rows at random, always the same ones; all rows if there are not more."""
    return slice(None) if n_points <= n_rows else np.sort(np.random.default_rng(0).integers(n_points, size=n_rows))


def _smallest_of_part(moments: IndexArray, part: MomentMatrix) -> FloatArray:
    entries = np.abs(part.columns(moments))
    return np.asarray(np.min(entries, axis=0, where=entries > 0, initial=np.inf))


def compute_median_abs(block: MomentBlock) -> FloatArray:
    """Return the median of the absolute entries of each moment that are not zero, shape (m,); 1 if all are zero.

    Sparse features: the median over the stored entries. Dense features: over a sample of rows at regular steps.
    """
    if is_sparse(block.features):
        medians = _medians_of_stored_entries(block)
    else:
        sample = slice(None, None, max(1, block.n_points // N_SAMPLED_ROWS))
        medians = quantile_of_positive(np.abs(block.rows(sample)), 2)
        missed = medians == 0  # all sampled entries are zero; others may not be
        if missed.any() and isinstance(block.features, Chunked):
            medians[missed] = block.max_abs()[missed]
        elif missed.any():
            medians[missed] = quantile_of_positive(np.abs(block.columns(np.flatnonzero(missed))), 2)
    return np.where(medians > 0, medians, 1.0)


def _medians_of_stored_entries(block: MomentBlock) -> FloatArray:
    part = block.linear_part().tocsc()
    columns = [np.abs(part.data[part.indptr[j] : part.indptr[j + 1]]) for j in range(part.shape[1])]
    sizes = [column[column > 0] for column in columns]
    return np.array(
        [
            np.partition(size, size.size // 2)[size.size // 2] if size.size else abs(constant)
            for size, constant in zip(sizes, block.constant, strict=True)
        ]
    )


def quantile_of_positive(sizes: FloatArray, part: int) -> FloatArray:
    """Return the value above one ``part``-th of the positive entries in each column; zero where there are none."""
    ordered = np.sort(sizes, axis=0)
    n_positive = (sizes > 0).sum(axis=0)
    place = np.minimum(len(sizes) - n_positive + n_positive // part, len(sizes) - 1)
    return np.where(n_positive > 0, np.take_along_axis(ordered, place[None, :], axis=0)[0], 0.0)
