"""Statistics of every column: range, mean and standard deviation, also of points that are read in chunks.

One pass over all points, :func:`summarise`, finds entries that are not finite and keeps the statistics of every column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import scipy.sparse as sp

from momentlp.errors import CompileError, DataError
from momentlp.points.arrays import FloatArray, Matrix, is_sparse
from momentlp.points.chunked import Chunked, Floats, RowMap, rows_per_step, split_rows
from momentlp.points.column_range import column_range
from momentlp.runtime.threads import map_in_threads, split_for_threads

__all__ = ["ColumnStatistics", "column_mean", "column_spread", "summarise"]

CACHE_BYTES = 1 << 20  # of floats that are processed together, so that they stay in the cache
N_ROWS_PER_CHUNK, MAX_ROWS_OF_SAMPLE = 16, 256  # rows that are kept of each chunk, and of all
N_SAMPLED_ROWS = 64  # rows that are looked at for a typical deviation
WIDE_RATIO = 1000.0  # a deviation this many times the typical one makes the sum of a column inaccurate
MAX_EXACT_ENTRIES = 200_000  # entries that are added up as fractions: some tenths of a second


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of each of the d columns of a table.

    Attributes
    ----------
    count : int
        The number of rows.
    low, high, mean : array, shape (d,)
        Minimum, maximum and mean.
    square : array, shape (d,)
        The sum of squared deviations from the mean.
    sample : array, shape (r, d)
        A few rows, spread over all of them.
    """

    count: int
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    square: FloatArray
    sample: FloatArray

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")
    def of(cls, chunk: Floats) -> ColumnStatistics:
        """Compute the statistics of a chunk. Deviations are centred before they are squared, so that no digits are lost."""
        low, high = column_range(chunk).astype(np.float64)
        total: ColumnStatistics | None = None
        sample = chunk[:: max(1, chunk.shape[0] // N_ROWS_PER_CHUNK)].astype(np.float64)
        step = max(1, CACHE_BYTES // (8 * chunk.shape[1]))
        for start in range(0, chunk.shape[0], step):
            rows = chunk[start : start + step].astype(np.float64)
            mean = np.full(rows.shape[0], 1.0 / rows.shape[0]) @ rows
            rows -= mean
            part = cls(rows.shape[0], low, high, mean, np.einsum("ij,ij->j", rows, rows), sample)
            total = part if total is None else replace(total + part, sample=sample)
        assert total is not None  # noqa: S101  no chunk is empty
        return total

    @np.errstate(over="ignore", invalid="ignore")
    def __add__(self, other: ColumnStatistics) -> ColumnStatistics:
        """Return the statistics of two ranges of rows together (Chan, Golub and LeVeque 1979)."""
        count = self.count + other.count
        difference = other.mean - self.mean
        return ColumnStatistics(
            count,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.mean + difference * (other.count / count),
            self.square + other.square + difference**2 * (self.count * other.count / count),
            _thin_out(np.vstack([self.sample, other.sample])),
        )

    @property
    def finite(self) -> bool:
        """Whether every entry is finite: NaN and infinity show in the minimum or maximum of their column."""
        return bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())


def _thin_out(sample: FloatArray) -> FloatArray:
    """Return every second row of a sample that has become too large."""
    return sample if len(sample) <= MAX_ROWS_OF_SAMPLE else sample[::2]


def summarise(*tables: Chunked, argument: str = "X") -> None:
    """Compute and keep the statistics of tables in one pass over their points.

    Parameters
    ----------
    *tables : Chunked
        Computed from the same source. Tables that have statistics already are left out.
    argument : str
        What the points are called in a message.

    Raises
    ------
    DataError
        If an entry of the points is not finite. The message names its row and column.
    CompileError
        If a feature is not finite.
    """
    new = [table for table in tables if table._summary is None]  # noqa: SLF001  this module's own
    if not new:
        return
    source = new[0].source
    maps = tuple(table.row_map for table in new)
    totals: list[ColumnStatistics] = []
    for span, found in zip(source.spans, source.scan(partial(_summarise_chunk, maps)), strict=True):
        if isinstance(found, _NotFinite):
            where = found.column if source.names is None or found.owner else repr(source.names[found.column])
            raise (CompileError if found.owner else DataError)(
                f"{found.owner or argument} must be finite, but row {span.start + found.row}, column {where} is "
                f"{found.value}. Impute or drop it first."
            )
        totals = [total + part for total, part in zip(totals, found, strict=True)] if totals else found
    for table, total in zip(new, totals, strict=True):
        table._summary = total  # noqa: SLF001  this module's own


@dataclass(frozen=True)
class _NotFinite:
    """An entry that is not finite. It is returned and not raised: a cluster runs a task again that raises."""

    row: int
    column: int
    value: float
    owner: str = ""


def _summarise_chunk(maps: tuple[RowMap | None, ...], chunk: Floats) -> list[ColumnStatistics] | _NotFinite:
    """Compute the statistics of a chunk and of its features. Points are checked too: a map may turn NaN into a number."""
    found = []
    if None not in maps and not (np.isfinite(chunk.min()) and np.isfinite(chunk.max())):
        return _find_not_finite(chunk)
    for row_map in sorted(maps, key=lambda row_map: row_map is not None):
        total: ColumnStatistics | None = None
        for rows in split_rows(chunk.shape[0], rows_per_step(row_map.n_columns if row_map else 0, chunk.shape[0])):
            features = row_map(chunk[rows]) if row_map else chunk[rows]
            summary = ColumnStatistics.of(features)
            if not summary.finite:
                bad = _find_not_finite(features, row_map.description if row_map else "")
                return replace(bad, row=rows.start + bad.row)
            total = summary if total is None else total + summary
        assert total is not None  # noqa: S101  no chunk is empty
        found.append((row_map, total))
    return [next(summary for other, summary in found if other is row_map) for row_map in maps]


def _find_not_finite(values: Floats, owner: str = "") -> _NotFinite:
    row, column = np.argwhere(~np.isfinite(values))[0].tolist()
    return _NotFinite(row, column, float(values[row, column]), owner)


@np.errstate(over="ignore", invalid="ignore")
def column_mean(X: Matrix, weights: FloatArray | None = None) -> FloatArray:
    """Return the mean of each column, accurate to about one unit in the last place of float64.

    A running sum of n numbers loses up to n units. So the mean is computed twice: the second pass adds the mean of the
    deviations from the first, ``mean + sum_i w_i (x_i - mean) / sum_i w_i``. All sums are in float64, also those of float32
    data. In a sparse column both passes see the stored entries only; the zeros count in the weight of the column. A column
    with an entry far beyond the others, beside which they would be lost, is added up without rounding.

    Parameters
    ----------
    X : array or csr_array, shape (n, d)
        In memory.
    weights : array, shape (n,), optional
        Of the rows, none negative and not all zero. Default: all one.

    Returns
    -------
    array, shape (d,)

    Examples
    --------
    >>> column_mean(np.full((1000, 1), 0.1)), column_mean(sp.csr_array([[0.1], [0.0], [0.2]]), np.array([1.0, 0.0, 1.0]))
    (array([0.1]), array([0.15]))
    """
    weights = np.ones(X.shape[0]) if weights is None else weights
    mean = _sparse_column_mean(sp.csr_array(X), weights) if is_sparse(X) else _dense_column_mean(X, weights)
    for column in _find_wide_columns(X, mean):
        values = X[:, [column]]
        mean[column] = _exact_mean(np.ravel(values.toarray() if is_sparse(X) else values), weights)
    return mean


def _find_wide_columns(X: Matrix, mean: FloatArray) -> list[int]:
    """Return the columns in which some deviation from the mean is far beyond the typical one; not too many of them."""
    if not X.shape[0]:
        return []
    sample = X[:: max(1, X.shape[0] // N_SAMPLED_ROWS)]
    typical = np.median(np.abs((sample.toarray() if is_sparse(X) else sample) - mean), axis=0)
    if is_sparse(X):
        low, high = (np.ravel(extreme.toarray()) for extreme in (X.min(axis=0), X.max(axis=0)))
    else:
        low, high = column_range(X)
    largest = np.maximum(np.abs(low - mean), np.abs(high - mean))
    wide = np.flatnonzero((largest > WIDE_RATIO * typical) & (largest > 0) & np.isfinite(largest))
    return wide.tolist() if wide.size * X.shape[0] <= MAX_EXACT_ENTRIES else []


def _exact_mean(values: FloatArray, weights: FloatArray) -> float:
    pairs = zip(values.tolist(), weights.tolist(), strict=True)
    total = sum((Fraction(value) * Fraction(weight) for value, weight in pairs), Fraction(0))
    return float(total / sum(map(Fraction, weights.tolist()), Fraction(0)))


def _dense_column_mean(X: Matrix, weights: FloatArray) -> FloatArray:
    mean, total = np.zeros(X.shape[1]), weights.sum()
    spans = split_rows(X.shape[0], max(1, CACHE_BYTES // (8 * max(1, X.shape[1]))))
    for _ in range(2):
        # numpy adds pairwise, with less rounding, along an axis that is contiguous
        sums = [np.sum(np.ascontiguousarray((X[rows] - mean).T) * weights[rows], axis=1) for rows in spans]
        mean = _add_finite(mean, np.sum(sums, axis=0) / total)
    return mean


def _sparse_column_mean(X: Matrix, weights: FloatArray) -> FloatArray:
    """Return the mean of the stored entries of each column, times their share of the weight."""
    column, times, n_columns = X.indices, np.repeat(weights, np.diff(X.indptr)), X.shape[1]
    stored = np.bincount(column, times, minlength=n_columns)
    divisor = np.where(stored > 0, stored, 1.0)
    mean = np.zeros(n_columns)
    for _ in range(2):
        sums = np.bincount(column, times * (X.data - mean[column]), minlength=n_columns)
        mean = _add_finite(mean, sums / divisor)
    return np.asarray(mean * stored / weights.sum())


def _add_finite(mean: FloatArray, correction: FloatArray) -> FloatArray:
    """Return ``mean + correction``; a mean that has overflowed stays as it is."""
    return np.where(np.isfinite(mean), mean + correction, mean)


def _sum_of_squares(X: Floats, mean: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ``sum_i w_i (X_ij - mean_j)^2`` of each column, without a copy of X."""

    def add_up(rows: slice) -> FloatArray:
        total = np.zeros(X.shape[1])
        for few in split_rows(rows.stop - rows.start, max(1, CACHE_BYTES // (8 * max(1, X.shape[1])))):
            chosen = slice(rows.start + few.start, rows.start + few.stop)
            total += weights[chosen] @ np.square(X[chosen] - mean)
        return total

    return np.asarray(np.sum(map_in_threads(add_up, [(rows,) for rows in split_for_threads(*X.shape)]), axis=0))


def column_spread(X: Matrix, constant: float = 1.0, weights: FloatArray | None = None) -> FloatArray:
    """Return the standard deviation of each column over the points.

    Parameters
    ----------
    X : array, csr_array or Chunked, shape (N, d)
    constant : float
        The result for a column that does not vary.
    weights : array, shape (N,), optional
        Of the rows. Ignored if X is read in chunks, or if all are zero.

    Returns
    -------
    array, shape (d,)
    """
    if isinstance(X, Chunked):
        summary = X.summary
        spread = np.sqrt(summary.square / summary.count)
        size = np.maximum(np.abs(summary.low), np.abs(summary.high))
        return np.where(spread > 1e-12 * size, spread, constant)
    if weights is None or not weights.any():
        weights = np.ones(X.shape[0])
    elif not weights.all():
        X, weights = X[weights > 0], weights[weights > 0]
    total, square = weights.sum(), np.zeros(X.shape[1])
    if is_sparse(X):
        by_row = sp.csr_array(X, dtype=np.float64)
        column, times = by_row.indices, np.repeat(weights, np.diff(by_row.indptr))
        mean = np.bincount(column, times * by_row.data, minlength=X.shape[1]) / total
        stored = np.bincount(column, times * (by_row.data - mean[column]) ** 2, minlength=X.shape[1])
        empty = np.maximum(total - np.bincount(column, times, minlength=X.shape[1]), 0.0)
        square = stored + np.where(np.bincount(column, minlength=X.shape[1]) < X.shape[0], empty, 0.0) * mean**2
        size = np.ravel(abs(by_row).max(axis=0).toarray())
    else:
        dense_weights = np.ascontiguousarray(weights)  # products with a constant vector are slow
        square = _sum_of_squares(X, dense_weights @ X / total, dense_weights)
        size = np.abs(column_range(X)).max(axis=0)
    spread = np.sqrt(square / total)
    return np.where(spread > 1e-12 * size, spread, constant)
