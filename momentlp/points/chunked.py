"""Points that are read in chunks, because there are more of them than memory holds.

A :class:`Chunked` table knows its shape and can read one stretch of rows after the other. Whatever is to be computed from
all points is a function ``work(chunk)`` whose results, one per chunk, are small: :meth:`Chunked.scan` runs it over the
chunks in order, in this process or, for a dask array with a cluster behind it, next to the data. :class:`ChunkedFeatures` is a table
of features that are computed from another table as they are needed. One look at all points, :func:`summarise`, finds what
is not a number and remembers range, mean and spread of every column.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import CompileError, DataError
from momentlp.points.validation import FloatArray, IndexArray, as_floats, is_sparse

if TYPE_CHECKING:
    from momentlp.features import FittedMap

__all__ = [
    "CHUNK_BYTES",
    "ChunkArguments",
    "Chunked",
    "ChunkedFeatures",
    "ColumnStatistics",
    "evenly_spaced_rows",
    "load_in_memory",
    "map_chunk",
    "rows_per_step",
    "split_rows",
    "summarise",
]

CHUNK_BYTES = 32 << 20  # of points, as they are stored: what is read at a time unless the user says otherwise
MAPPED_BYTES = 16 << 20  # of features that are computed at a time; what computes them may take several times that
CACHE_BYTES = 1 << 20  # of floats that are looked at together
MOST_LOADED = 1 << 28  # entries; as float64 they take 2 GiB

Floats: TypeAlias = NDArray[np.floating[Any]]
Result = TypeVar("Result")


class ChunkArguments(Protocol):
    """What goes out with the chunks: anything with one entry per chunk."""

    def __getitem__(self, place: int, /) -> Any: ...


class Chunked(ABC):
    """A table of points that is read in chunks: what ``compile`` makes of a memory map, a zarr array, a dask array...

    Attributes
    ----------
    shape : (int, int)
        N and d.
    dtype : dtype
        float32 or float64: what :meth:`read` returns.
    names : tuple of str, or None
        Of the columns, if they have any.
    spans : tuple of slice
        The rows of each chunk, in order; together they are all rows.
    reads : int
        How many chunks were read so far.
    """

    ndim = 2
    remote = False
    """Whether ``work`` runs in another process, so that what goes with it had better be small."""

    def __init__(
        self, shape: tuple[int, int], dtype: Any, spans: Sequence[slice], names: tuple[str, ...] | None = None
    ) -> None:
        self.shape = shape
        self.dtype = np.dtype(np.float32 if dtype == np.float32 else np.float64)
        self.spans = tuple(spans)
        self.names = names
        self.reads = 0
        self._summary: ColumnStatistics | None = None

    @property
    def source(self) -> Chunked:
        """The table that is read in the end: this one, unless it is computed from another."""
        return self

    @property
    def passes(self) -> float:
        """How often the table was read through so far: chunks read over chunks there are."""
        return self.source.reads / len(self.spans)

    @abstractmethod
    def read(self, span: slice) -> Floats:
        """Return the rows of one of :attr:`spans`."""

    def scan(self, work: Callable[..., Result], *pieces: ChunkArguments) -> Iterator[Result]:
        """Yield ``work(chunk, *piece_of_each)`` for every chunk, in order. It is read as the results are asked for.

        Parameters
        ----------
        work : callable
            A function of a module, or a :func:`functools.partial` of one: a cluster has to send it. It must not change the
            chunk, nor depend on which chunks it saw before.
        *pieces : sequence with one entry per chunk
            What else ``work`` gets, chunk by chunk.
        """
        return self.chosen(range(len(self.spans)), work, *pieces)

    def chosen(self, places: Sequence[int], work: Callable[..., Result], *pieces: ChunkArguments) -> Iterator[Result]:
        """Yield the same for some of the chunks, given by number."""
        for place in places:
            self.reads += 1
            result = work(self.read(self.spans[place]), *(piece[place] for piece in pieces))
            self.release()
            yield result

    def release(self) -> None:  # noqa: B027  most tables hold on to nothing
        """Give back the memory of the last chunk, where that does not go by itself."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IndexArray) -> Floats:
        """Return some rows, in memory. Only the chunks that they are in are read."""
        index = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else np.asarray(rows)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        starts = np.array([span.start for span in self.spans])
        place = np.searchsorted(starts, index, side="right") - 1
        order = np.argsort(place, kind="stable")
        places, begins = np.unique(place[order], return_index=True)
        wanted = dict(zip(places.tolist(), np.split(order, begins[1:]), strict=True)) if places.size else {}
        local = {number: index[spots] - starts[number] for number, spots in wanted.items()}
        result = np.empty((index.size, self.shape[1]), self.dtype)
        for spots, found in zip(wanted.values(), self.chosen(list(wanted), _take, local), strict=True):
            result[spots] = found
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self[:], dtype=dtype)

    @cached_property
    def first(self) -> Floats:
        """The first point, as a table of one row."""
        return self[:1]

    def column(self, at: int) -> FloatArray:
        """Return one column."""
        return np.concatenate(list(self.scan(partial(_column, at))))

    @property
    def summary(self) -> ColumnStatistics:
        """Range, mean and spread of every column; one pass over the points, the first time."""
        if self._summary is None:
            summarise(self)
        assert self._summary is not None  # noqa: S101  what summarise sets
        return self._summary

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]} x {self.shape[1]} {self.dtype}, {len(self.spans)} chunks)"


class ChunkedFeatures(Chunked):
    """Features of the points of another table, computed chunk by chunk whenever they are needed and never kept.

    Parameters
    ----------
    points : Chunked
    fitted : FittedMap
        Of a map that works point by point.
    """

    def __init__(self, points: Chunked, fitted: FittedMap) -> None:
        self.points = points
        self.fitted = fitted
        width = len(fitted.names)
        super().__init__((points.shape[0], width), map_chunk(fitted, points.first).dtype, points.spans, fitted.names)

    @property
    def source(self) -> Chunked:
        """The table that is read."""
        return self.points.source

    @property
    def remote(self) -> bool:  # type: ignore[override]  # read-only here, as the points decide
        """Whether the points are on a cluster."""
        return self.points.remote

    def read(self, span: slice) -> Floats:
        """Compute the features of one chunk."""
        return map_chunk(self.fitted, self.points.read(span))

    def __getitem__(self, rows: slice | IndexArray) -> Floats:
        """Return the features of some points."""
        return map_chunk(self.fitted, self.points[rows])

    def chosen(self, places: Sequence[int], work: Callable[..., Result], *pieces: ChunkArguments) -> Iterator[Result]:
        """Map the points where they are read, on the workers of a cluster too."""
        return self.points.chosen(places, partial(_on_mapped, self.fitted, work), *pieces)


def map_chunk(fitted: FittedMap | None, chunk: Floats) -> Floats:
    """Return the features of a chunk of points, dense; the points themselves without a map."""
    if fitted is None:
        return chunk
    with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is seen by summarise
        features = fitted.declared.transform(chunk, fitted)
    name = f"what {type(fitted.declared).__name__}.transform returned"
    features = as_floats(features.toarray() if is_sparse(features) else features, name)
    if features.shape != (chunk.shape[0], len(fitted.names)):
        raise CompileError(f"{name} has shape {features.shape}, not {(chunk.shape[0], len(fitted.names))}.")
    return features


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
    maps = tuple(table.fitted if isinstance(table, ChunkedFeatures) else None for table in new)
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


def _look(maps: tuple[FittedMap | None, ...], chunk: Floats) -> list[ColumnStatistics] | _Spot:
    """Summarise a chunk and its features. The points are checked too: a map could hide what is wrong with them."""
    found = []
    if None not in maps and not (np.isfinite(chunk.min()) and np.isfinite(chunk.max())):
        return _spot(chunk)
    for fitted in sorted(maps, key=lambda fitted: fitted is not None):
        total: ColumnStatistics | None = None
        for rows in split_rows(chunk.shape[0], rows_per_step(len(fitted.names) if fitted else 0, chunk.shape[0])):
            features = map_chunk(fitted, chunk[rows])
            summary = ColumnStatistics.of(features)
            if not summary.finite:
                spot = _spot(features, f"what {type(fitted.declared).__name__}.transform returned" if fitted else "")
                return replace(spot, row=rows.start + spot.row)
            total = summary if total is None else total + summary
        assert total is not None  # noqa: S101  no chunk is empty
        found.append((fitted, total))
    return [next(summary for other, summary in found if other is fitted) for fitted in maps]


def _spot(values: Floats, owner: str = "") -> _Spot:
    row, column = np.argwhere(~np.isfinite(values))[0].tolist()
    return _Spot(row, column, float(values[row, column]), owner)


def split_rows(n_rows: int, step: int) -> tuple[slice, ...]:
    """Cut so many rows into chunks of ``step``."""
    return tuple(slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def rows_per_step(width: int, n_rows: int) -> int:
    """Return how many points to map to so many features at a time; all of them where nothing is mapped."""
    return max(1, MAPPED_BYTES // (8 * width)) if width else n_rows


def evenly_spaced_rows(table: Chunked, most: int) -> Floats:
    """Return at most so many rows of a table, at regular distances: a sample that is the same every time."""
    n = len(table)
    if most <= 1:
        return table.first if most else np.zeros((0, table.shape[1]), table.dtype)
    return table[:] if n <= most else table[(np.arange(most) * (n / most)).astype(np.intp)]


def load_in_memory(features: Any, what: str) -> Any:
    """Return features that are read in chunks as one array, where that is not too much; others as they are."""
    if not isinstance(features, Chunked):
        return features
    if features.shape[0] * features.shape[1] > MOST_LOADED:
        raise CompileError(
            f"{what} needs all points in memory, but {features!r} has more entries than the {MOST_LOADED:,} that are loaded "
            "unasked. Use the sifting backend, which reads chunks; or, if memory allows, compile with numpy.asarray(X)."
        )
    return features[:]


def _take(chunk: Floats, rows: IndexArray) -> Floats:
    return np.ascontiguousarray(chunk[rows])


def _column(at: int, chunk: Floats) -> FloatArray:
    return np.array(chunk[:, at], dtype=np.float64)


def _on_mapped(fitted: FittedMap, work: Callable[..., Result], chunk: Floats, *pieces: Any) -> Result:
    return work(map_chunk(fitted, chunk), *pieces)
