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
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import CompileError
from momentlp.points.arrays import FloatArray, IndexArray

if TYPE_CHECKING:
    from momentlp.points.statistics import ColumnStatistics

__all__ = [
    "CHUNK_BYTES",
    "ChunkArguments",
    "Chunked",
    "RowMap",
    "evenly_spaced_rows",
    "load_in_memory",
    "rows_per_step",
    "split_rows",
]

CHUNK_BYTES = 32 << 20  # of points, as they are stored: what is read at a time unless the user says otherwise
MAPPED_BYTES = 16 << 20  # of features that are computed at a time; what computes them may take several times that
MOST_LOADED = 1 << 28  # entries; as float64 they take 2 GiB

Floats: TypeAlias = NDArray[np.floating[Any]]
Result = TypeVar("Result")


class ChunkArguments(Protocol):
    """What goes out with the chunks: anything with one entry per chunk."""

    def __getitem__(self, place: int, /) -> Any: ...


class RowMap(Protocol):
    """A map from a chunk of points to a chunk of features, row by row. A cluster has to send it."""

    @property
    def n_columns(self) -> int:
        """The number of features."""

    @property
    def description(self) -> str:
        """What the features are called in an error message."""

    def __call__(self, chunk: Floats, /) -> Floats:
        """Return the features of a chunk of points."""


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

    row_map: RowMap | None = None
    """Computes the rows from those of :attr:`source`; None if they are the same."""

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
        from momentlp.points.statistics import summarise

        if self._summary is None:
            summarise(self)
        assert self._summary is not None  # noqa: S101  what summarise sets
        return self._summary

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]} x {self.shape[1]} {self.dtype}, {len(self.spans)} chunks)"


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
