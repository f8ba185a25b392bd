"""Numbers that stand for a missing value, such as 999999999 or -9999 in a column of values near 1.

One such entry among a thousand decides the mean of its column, and the scale of its moment. So
:func:`warn_about_sentinels` looks for a few entries of a column that are many orders of magnitude beyond the rest. With v
the entries of a column, c their median and t the median of the deviations ``|v - c|`` that are not zero, a group of entries
counts as sentinels if

- their deviations are at least ``factor * t``;
- their deviations and their sizes ``|v|`` are at least ``gap`` times those of all other entries: an empty gap, which a heavy
  tail does not have;
- they are at most 1% of the entries, or three, and at least twenty other entries deviate from the median.

``factor`` is 1e6 and ``gap`` 1e3; 1e3 and 1e2 for the usual codes (:data:`CODES`).

Columns are first judged by their range, which every solve needs, and by a sample of rows. All entries are looked at only
where that looks suspicious.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import SentinelWarning
from momentlp.points.arrays import FloatArray, IndexArray, is_sparse
from momentlp.points.chunked import Chunked, Floats
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem
from momentlp.runtime.warn_caller import warn_caller

__all__ = ["Sentinels", "find_sentinels", "sentinels_reported", "warn_about_sentinels"]

FACTOR, GAP = 1e6, 1e3
CODE_FACTOR, CODE_GAP = 1e3, 1e2
MAX_SHARE, MAX_FEW = 0.01, 3  # of the entries may be sentinels: this share, or this number if that is more
MIN_OTHERS = 20  # entries that are no sentinels and deviate from the median: fewer do not show what is usual
MIN_SIZE = 5.0  # of a sentinel; 1% of the entries, divided by the standard deviation of the column, are about 10
NINES = 10.0 ** np.arange(3, 13) - 1
LIMITS = np.array([2.0**15, 2.0**16, 2.0**31, 2.0**32, 2.0**63])  # of integers, and one less
FILLS = np.array([1e20, 1e30, 1e36, float(np.finfo(np.float32).max)])
CODES = np.concatenate([NINES, LIMITS, LIMITS - 1, FILLS])  # their negatives count too

N_SAMPLED_ROWS = 500  # enough for an order of magnitude
SAMPLE_MARGIN = 4.0  # the median of a sample may be this much larger than that of all rows
MAX_COLUMNS, MAX_ROWS = 3, 5  # that a message names
MAX_LOOKED_AT = 8  # suspicious columns of a block whose entries are all looked at

_is_reported: ContextVar[bool] = ContextVar("_is_reported", default=False)


@dataclass(frozen=True)
class Sentinels:
    """The sentinels of one column.

    Attributes
    ----------
    name : str
        The name of the column.
    value : float
        The largest of them by size.
    rows : array of int
        The rows of all of them.
    """

    name: str
    value: float
    rows: IndexArray

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.rows[:MAX_ROWS].tolist())) + (", ..." if self.rows.size > MAX_ROWS else "")
        return f"column {self.name!r} holds {self.value:.10g} (row{'s' if self.rows.size > 1 else ''} {shown})"


def warn_about_sentinels(problem: Problem) -> None:
    """Warn once if columns of a problem hold sentinels, unless :func:`sentinels_reported` says that this was done."""
    if _is_reported.get():
        return
    found = find_sentinels(problem)
    if found:
        more = f"; and so do {len(found) - MAX_COLUMNS} more columns" if len(found) > MAX_COLUMNS else ""
        warn_caller(
            f"{'; '.join(map(str, found[:MAX_COLUMNS]))}{more}. That is many orders of magnitude beyond the other entries, "
            "as if it stood for a missing value, and it can decide the mean. Treat it as missing and impute it, drop the "
            "rows, or clip the column.",
            SentinelWarning,
        )


@contextmanager
def sentinels_reported() -> Iterator[None]:
    """Turn the warning off inside a ``with`` block, for further solves with the same points."""
    token = _is_reported.set(True)
    try:
        yield
    finally:
        _is_reported.reset(token)


@np.errstate(over="ignore", invalid="ignore")
def find_sentinels(problem: Problem) -> list[Sentinels]:
    """Return the sentinels of every column that has some, in the order of the columns.

    Examples
    --------
    >>> import momentlp as mlp
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> X[7] = 999999999
    >>> [str(found) for found in find_sentinels(mlp.Spec().compile(X, labelled=range(5)))]
    ["column 'x0' holds 999999999 (row 7)"]
    """
    found: list[Sentinels] = []
    names = set()
    for block in problem.blocks:
        if block.is_same_for_all_points or not block.n_points:
            continue
        columns = _suspicious_columns(block)[:MAX_LOOKED_AT]
        for column, entries in zip(columns.tolist(), _entries(block, columns), strict=True):
            rows = _sentinel_rows(entries, block.features.dtype)
            name = _name(block, column)
            if rows.size and name not in names:
                names.add(name)
                found.append(Sentinels(name, float(entries[rows[np.argmax(np.abs(entries[rows]))]]), rows))
    return found


def _suspicious_columns(block: MomentBlock) -> IndexArray:
    """Return the columns that may hold sentinels, judged by their range and by what is typical of their entries."""
    if is_sparse(block.features):
        return _suspicious_sparse_columns(block.features)
    low, high = np.asarray(block.feature_range, dtype=np.float64)
    size = np.maximum(np.abs(low), np.abs(high))
    candidates = size >= MIN_SIZE
    if isinstance(block.features, Chunked) and candidates.any():
        # 1% of the entries, with an empty gap below them, are far outside of the standard deviation of the column.
        summary = block.features.summary
        spread = np.sqrt(summary.square / summary.count)
        candidates &= np.maximum(high - summary.mean, summary.mean - low) >= 0.9 * spread / np.sqrt(MAX_SHARE)
    if not candidates.any():
        return np.zeros(0, dtype=np.intp)
    sample = np.asarray(_sample(block.features), dtype=np.float64)
    candidates &= size >= CODE_GAP / SAMPLE_MARGIN * np.median(np.abs(sample), axis=0)
    columns = np.flatnonzero(candidates)
    low, high, sample = low[columns], high[columns], sample[:, columns]
    centre = np.median(sample, axis=0)
    typical = _median_of_positive(np.abs(sample - centre)) / SAMPLE_MARGIN
    farthest = np.maximum(high - centre, centre - low)
    has_code = _is_code(low, block.features.dtype) | _is_code(high, block.features.dtype)
    is_far = farthest >= np.where(has_code, CODE_FACTOR, FACTOR) * typical
    return np.asarray(columns[is_far])


def _median_of_positive(sizes: FloatArray) -> FloatArray:
    """Return the median of the positive entries in each column; zero where there are none."""
    medians = np.zeros(sizes.shape[1])
    some = sizes.any(axis=0)
    if some.any():
        medians[some] = np.nanmedian(np.where(sizes[:, some] > 0, sizes[:, some], np.nan), axis=0)
    return medians


def _sample(features: Any) -> Floats:
    """Return some rows at regular steps; of features in chunks, rows of the first chunk."""
    stop = features.spans[0].stop if isinstance(features, Chunked) else features.shape[0]
    rows: Floats = features[slice(0, stop, max(1, stop // N_SAMPLED_ROWS))]
    return rows


def _suspicious_sparse_columns(features: Any) -> IndexArray:
    """Return the columns whose largest entry is far beyond the geometric mean of the stored ones.

    Not more than half of the stored entries are sentinels. So if these are ``gap`` times as large as the others, the ratio
    is at least the square root of ``gap``.
    """
    sizes = np.abs(features.data)
    if not sizes.size or sizes.max() < MIN_SIZE:
        return np.zeros(0, dtype=np.intp)
    stored = sp.csr_array((sizes, features.indices, features.indptr), shape=features.shape)
    largest = np.ravel(stored.max(axis=0).toarray()).astype(np.float64)
    positive = sizes > 0
    column, n_columns = features.indices[positive], features.shape[1]
    count = np.bincount(column, minlength=n_columns)
    mean_log = np.bincount(column, np.log(sizes[positive]), minlength=n_columns) / np.maximum(count, 1)
    ratio = largest / np.exp(mean_log)
    is_far = (ratio >= np.sqrt(GAP)) | ((ratio >= np.sqrt(CODE_GAP)) & _is_code(largest))
    return np.flatnonzero(is_far & (largest >= MIN_SIZE) & (count > MIN_OTHERS))


def _entries(block: MomentBlock, columns: IndexArray) -> list[FloatArray]:
    """Return all entries of some columns, one array of shape (N,) for each."""
    if not columns.size:
        return []
    if is_sparse(block.features):
        chosen = block.features[:, columns].toarray()
    elif isinstance(block.features, Chunked):
        chosen = np.concatenate(list(block.features.scan(partial(_take_columns, columns))))
    else:
        chosen = block.features[:, columns]
    return list(np.asarray(chosen, dtype=np.float64).T)


def _take_columns(columns: IndexArray, chunk: Floats) -> Floats:
    return np.ascontiguousarray(chunk[:, columns])


def _sentinel_rows(entries: FloatArray, dtype: Any) -> IndexArray:
    """Return the rows of the sentinels among the entries of a column; see the formulas at the top of this module."""
    deviation = np.abs(entries - np.median(entries))
    if not deviation.any():
        return np.zeros(0, dtype=np.intp)
    typical = np.median(deviation[deviation > 0])
    is_code = _is_code(entries, dtype)
    for factor, gap, allowed in ((FACTOR, GAP, np.True_), (CODE_FACTOR, CODE_GAP, is_code)):
        is_far = (deviation >= factor * typical) & allowed
        n_far = int(np.count_nonzero(is_far))
        others = ~is_far
        if not 0 < n_far <= max(MAX_FEW, MAX_SHARE * entries.size):
            continue
        if np.count_nonzero(deviation[others]) < max(MIN_OTHERS, n_far):
            continue
        size = np.abs(entries)
        is_apart = all(float(values[is_far].min()) >= gap * float(values[others].max()) for values in (deviation, size))
        if is_apart and float(size[is_far].min()) >= MIN_SIZE:
            return np.flatnonzero(is_far)
    return np.zeros(0, dtype=np.intp)


def _is_code(values: FloatArray, dtype: Any = np.float64) -> NDArray[np.bool_]:
    """Return which entries are usual codes for a missing value, as rounded in ``dtype``."""
    return np.isin(np.abs(values), CODES.astype(dtype).astype(np.float64))


def _name(block: MomentBlock, column: int) -> str:
    """Return the name of a feature; in a block of a constraint, that of the first moment that it is part of."""
    if block.labels:
        return block.labels[column]
    if block.transform is None:
        return block.names[column]
    moments = sp.csr_array(block.transform)[[column], :].indices
    return block.names[int(moments.min())] if moments.size else f"feature {column}"
