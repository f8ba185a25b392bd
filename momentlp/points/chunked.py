"""Points that are read in chunks, because they do not fit in memory.

A :class:`Chunked` table knows its shape and reads one range of rows at a time. A computation over all points is a function
``work(chunk)`` with a small result. :meth:`Chunked.scan` calls it for every chunk in order: in this process, or, for a dask
array on a cluster, on the workers that hold the data. One pass over all points,
:func:`~momentlp.points.statistics.summarise`, finds entries that are not finite and keeps range, mean and variance of every
column.
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
from momentlp.runtime.threads import map_while_reading

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

CHUNK_BYTES = 32 << 20  # of stored points: the default size of a chunk
MAPPED_BYTES = 16 << 20  # of features that are computed at a time; a map may need several times that
MAX_LOADED = 1 << 28  # entries; as float64 they take 2 GiB

Floats: TypeAlias = NDArray[np.floating[Any]]
Result = TypeVar("Result")


class ChunkArguments(Protocol):
    """Further arguments of a scan: an object with one entry per chunk."""

    def __getitem__(self, chunk: int, /) -> Any: ...


class RowMap(Protocol):
    """A map from a chunk of points to a chunk of features, row by row. It must be picklable."""

    @property
    def n_columns(self) -> int:
        """The number of features."""

    @property
    def description(self) -> str:
        """The name of the features in an error message."""

    def __call__(self, chunk: Floats, /) -> Floats:
        """Return the features of a chunk of points."""


class Chunked(ABC):
    """A table of points that is read in chunks: a memory map, a zarr array, parquet files or a dask array.

    :func:`momentlp.open_points` opens a file as such a table, and ``Spec.compile`` makes one of arrays of these kinds. A
    table of your own is a subclass with :meth:`read`.

    Parameters
    ----------
    shape : (int, int)
        The number N of points and d of columns.
    dtype : dtype
        float32 stays as it is; any other becomes float64.
    spans : sequence of slice
        The rows of each chunk, in order. Together they are all rows.
    names : tuple of str, optional
        Names of the columns.

    Attributes
    ----------
    reads : int
        The number of chunks that were read so far.

    Examples
    --------
    >>> import numpy as np
    >>> import momentlp as mlp
    >>> class Squares(mlp.Chunked):
    ...     def read(self, span):
    ...         return np.arange(span.start, span.stop, dtype=float)[:, None] ** 2
    >>> table = Squares((5, 1), float, [slice(0, 3), slice(3, 5)])
    >>> table[np.array([4, 1])].tolist()
    [[16.0], [1.0]]
    >>> [float(total) for total in table.scan(np.sum)]
    [5.0, 25.0]
    """

    ndim = 2
    remote = False
    """Whether ``work`` runs in another process, so that its arguments should be small."""

    row_map: RowMap | None = None
    """The map from the rows of :attr:`source` to the rows of this table; None if they are the same."""

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
        """The table that is read: this one, unless it is computed from another."""
        return self

    @property
    def passes(self) -> float:
        """How often the table was read so far: chunks read divided by the number of chunks."""
        return self.source.reads / len(self.spans)

    @abstractmethod
    def read(self, span: slice) -> Floats:
        """Return the rows of a chunk.

        Parameters
        ----------
        span : slice
            One of :attr:`spans`.

        Returns
        -------
        array of float, shape (n, d)
        """

    def scan(self, work: Callable[..., Result], *pieces: ChunkArguments) -> Iterator[Result]:
        """Yield ``work(chunk, *arguments)`` for every chunk, in order.

        Chunks are read one after the other, as the results are asked for. The computations run in as many threads as there
        are cores (at most 8), while the next chunk is read.

        Parameters
        ----------
        work : callable
            A function of a module, or a :func:`functools.partial` of one: it must be picklable for a cluster. It must not
            change the chunk, nor depend on the chunks before.
        *pieces : sequence with one entry per chunk
            Further arguments of ``work``, one entry of each for every chunk.

        Yields
        ------
        object
            The result of ``work`` for each chunk.
        """
        return self.scan_selected(range(len(self.spans)), work, *pieces)

    def scan_selected(self, chunks: Sequence[int], work: Callable[..., Result], *pieces: ChunkArguments) -> Iterator[Result]:
        """Yield the same as :meth:`scan` for some of the chunks.

        Parameters
        ----------
        chunks : sequence of int
            The numbers of the chunks: positions in :attr:`spans`.
        work, *pieces
            As in :meth:`scan`; ``pieces`` have an entry for each number in ``chunks``.

        Yields
        ------
        object
            The result of ``work`` for each of the chunks.
        """
        contents = zip(chunks, self.read_selected(chunks), strict=True)
        tasks = ((content, *(piece[chunk] for piece in pieces)) for chunk, content in contents)
        for result in map_while_reading(work, tasks):
            self.release()
            yield result

    def read_selected(self, chunks: Sequence[int]) -> Iterator[Floats]:
        """Yield some of the chunks in order.

        Parameters
        ----------
        chunks : sequence of int
            Positions in :attr:`spans`.

        Yields
        ------
        array of float, shape (n, d)
        """
        for chunk in chunks:
            self.reads += 1
            yield self.read(self.spans[chunk])

    def release(self) -> None:  # noqa: B027  most tables keep nothing
        """Free the memory of the last chunk, if the table keeps it."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IndexArray) -> Floats:
        """Return some rows as an array. Only the chunks that hold them are read."""
        index = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else np.asarray(rows)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        starts = np.array([span.start for span in self.spans])
        chunk_of = np.searchsorted(starts, index, side="right") - 1
        order = np.argsort(chunk_of, kind="stable")
        chunks, begins = np.unique(chunk_of[order], return_index=True)
        wanted = dict(zip(chunks.tolist(), np.split(order, begins[1:]), strict=True)) if chunks.size else {}
        local = {chunk: index[positions] - starts[chunk] for chunk, positions in wanted.items()}
        result = np.empty((index.size, self.shape[1]), self.dtype)
        for positions, rows_found in zip(wanted.values(), self.scan_selected(list(wanted), _take, local), strict=True):
            result[positions] = rows_found
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self[:], dtype=dtype)

    @cached_property
    def first_row(self) -> Floats:
        """The first point, shape (1, d)."""
        return self[:1]

    def column(self, at: int) -> FloatArray:
        """Return the column at position ``at``, from 0, as an array of shape (N,). All chunks are read."""
        return np.concatenate(list(self.scan(partial(_column, at))))

    @property
    def summary(self) -> ColumnStatistics:
        """Range, mean and variance of every column. The first time, this takes one pass over the points."""
        from momentlp.points.statistics import summarise

        if self._summary is None:
            summarise(self)
        assert self._summary is not None  # noqa: S101  summarise sets it
        return self._summary

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]} x {self.shape[1]} {self.dtype}, {len(self.spans)} chunks)"


def split_rows(n_rows: int, step: int) -> tuple[slice, ...]:
    """Split ``n_rows`` rows into spans of ``step`` rows; the last may be shorter."""
    return tuple(slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def rows_per_step(width: int, n_rows: int) -> int:
    """Return how many of ``n_rows`` points to map to ``width`` features at a time; all if nothing is mapped (width 0)."""
    return max(1, MAPPED_BYTES // (8 * width)) if width else n_rows


def evenly_spaced_rows(table: Chunked, max_rows: int) -> Floats:
    """Return at most ``max_rows`` rows of a table, at even distances, so that the sample is always the same."""
    n = len(table)
    if max_rows <= 1:
        return table.first_row if max_rows else np.zeros((0, table.shape[1]), table.dtype)
    return table[:] if n <= max_rows else table[(np.arange(max_rows) * (n / max_rows)).astype(np.intp)]


def load_in_memory(features: Any, what: str) -> Any:
    """Return features that are read in chunks as one array; others as they are.

    Parameters
    ----------
    features : array, csr_array or Chunked
    what : str
        The operation that needs them, for the message.

    Raises
    ------
    CompileError
        If there are more than :data:`MAX_LOADED` entries.
    """
    if not isinstance(features, Chunked):
        return features
    if features.shape[0] * features.shape[1] > MAX_LOADED:
        raise CompileError(
            f"{what} needs all points in memory, but {features!r} has more than {MAX_LOADED:,} entries. "
            "Use the sifting backend, which reads chunks; or, if memory allows, compile with numpy.asarray(X)."
        )
    return features[:]


def _take(chunk: Floats, rows: IndexArray) -> Floats:
    return np.ascontiguousarray(chunk[rows])


def _column(at: int, chunk: Floats) -> FloatArray:
    return np.array(chunk[:, at], dtype=np.float64)
