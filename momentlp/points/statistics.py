"""Statistics of every column: range, mean and spread, also of points that are read in chunks.

One look at all points, :func:`summarise`, finds entries that are not finite and remembers the statistics of every column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from momentlp.errors import CompileError, DataError
from momentlp.points.arrays import FloatArray, Matrix, is_sparse
from momentlp.points.chunked import Chunked, Floats, RowMap, rows_per_step, split_rows

__all__ = ["ColumnStatistics", "column_spread", "summarise"]

CACHE_BYTES = 1 << 20  # of floats that are looked at together


@dataclass(frozen=True)
class ColumnStatistics:
    """What one look at a table tells about each of its columns: count, range, mean, and sum of squared deviations."""

    count: int
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    square: FloatArray

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")
    def of(cls, chunk: Floats) -> ColumnStatistics:
        """Look at a chunk, a stretch that stays in cache at a time: squares of what is centred lose no digits."""
        low, high = chunk.min(axis=0).astype(np.float64), chunk.max(axis=0).astype(np.float64)
        total: ColumnStatistics | None = None
        step = max(1, CACHE_BYTES // (8 * chunk.shape[1]))
        for start in range(0, chunk.shape[0], step):
            rows = chunk[start : start + step].astype(np.float64)
            mean = np.full(rows.shape[0], 1.0 / rows.shape[0]) @ rows
            rows -= mean
            part = cls(rows.shape[0], low, high, mean, np.einsum("ij,ij->j", rows, rows))
            total = part if total is None else total + part
        assert total is not None  # noqa: S101  no chunk is empty
        return total

    @np.errstate(over="ignore", invalid="ignore")
    def __add__(self, other: ColumnStatistics) -> ColumnStatistics:
        """Join two stretches of rows (Chan, Golub and LeVeque 1979)."""
        count = self.count + other.count
        apart = other.mean - self.mean
        return ColumnStatistics(
            count,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.mean + apart * (other.count / count),
            self.square + other.square + apart**2 * (self.count * other.count / count),
        )

    @property
    def finite(self) -> bool:
        """Whether every entry is: what is not a number makes the least and the largest of its column none either."""
        return bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())


def summarise(*tables: Chunked, argument: str = "X") -> None:
    """Look once at all points behind some tables, and remember what was seen; say which entry is not finite, if one is.

    The tables are computed from the same source. Those that were looked at before are left out.
    """
    new = [table for table in tables if table._summary is None]  # noqa: SLF001  this module's own
    if not new:
        return
    source = new[0].source
    maps = tuple(table.row_map for table in new)
    totals: list[ColumnStatistics] = []
    for span, found in zip(source.spans, source.scan(partial(_look, maps)), strict=True):
        if isinstance(found, _Spot):
            where = found.column if source.names is None or found.owner else repr(source.names[found.column])
            raise (CompileError if found.owner else DataError)(
                f"{found.owner or argument} must be finite, but row {span.start + found.row}, column {where} is "
                f"{found.value}. Impute or drop it first."
            )
        totals = [one + other for one, other in zip(totals, found, strict=True)] if totals else found
    for table, total in zip(new, totals, strict=True):
        table._summary = total  # noqa: SLF001  this module's own


@dataclass(frozen=True)
class _Spot:
    """An entry that is not finite, told rather than raised: a cluster would try again what raises."""

    row: int
    column: int
    value: float
    owner: str = ""


def _look(maps: tuple[RowMap | None, ...], chunk: Floats) -> list[ColumnStatistics] | _Spot:
    """Summarise a chunk and its features. The points are checked too: a map could hide what is wrong with them."""
    found = []
    if None not in maps and not (np.isfinite(chunk.min()) and np.isfinite(chunk.max())):
        return _spot(chunk)
    for row_map in sorted(maps, key=lambda row_map: row_map is not None):
        total: ColumnStatistics | None = None
        for rows in split_rows(chunk.shape[0], rows_per_step(row_map.n_columns if row_map else 0, chunk.shape[0])):
            features = row_map(chunk[rows]) if row_map else chunk[rows]
            summary = ColumnStatistics.of(features)
            if not summary.finite:
                spot = _spot(features, row_map.description if row_map else "")
                return replace(spot, row=rows.start + spot.row)
            total = summary if total is None else total + summary
        assert total is not None  # noqa: S101  no chunk is empty
        found.append((row_map, total))
    return [next(summary for other, summary in found if other is row_map) for row_map in maps]


def _spot(values: Floats, owner: str = "") -> _Spot:
    row, column = np.argwhere(~np.isfinite(values))[0].tolist()
    return _Spot(row, column, float(values[row, column]), owner)


def column_spread(X: Matrix, constant: float = 1.0, weights: FloatArray | None = None) -> FloatArray:
    """Return the standard deviation of each column over the points; ``constant`` for a column that does not vary.

    Rows count by their weight, where they have one (not those that are read in chunks).
    """
    if isinstance(X, Chunked):
        seen = X.summary
        spread = np.sqrt(seen.square / seen.count)
        size = np.maximum(np.abs(seen.low), np.abs(seen.high))
        return np.where(spread > 1e-12 * size, spread, constant)
    if weights is None or not weights.any():
        weights = np.ones(X.shape[0])
    elif not weights.all():
        X, weights = X[weights > 0], weights[weights > 0]
    total = weights.sum()
    if is_sparse(X):
        by_row = sp.csr_array(X, dtype=np.float64)
        column, times = by_row.indices, np.repeat(weights, np.diff(by_row.indptr))
        mean = np.bincount(column, times * by_row.data, minlength=X.shape[1]) / total
        square = np.bincount(column, times * (by_row.data - mean[column]) ** 2, minlength=X.shape[1])
        empty = np.maximum(total - np.bincount(column, times, minlength=X.shape[1]), 0.0)
        square += np.where(np.bincount(column, minlength=X.shape[1]) < X.shape[0], empty, 0.0) * mean**2
        size = np.ravel(abs(by_row).max(axis=0).toarray())
    else:
        square = weights @ (X - weights @ X / total) ** 2
        size = np.abs(X).max(axis=0)
    spread = np.sqrt(square / total)
    return np.where(spread > 1e-12 * size, spread, constant)
