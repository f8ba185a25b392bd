"""Where points come from that are read in chunks: memory maps, zarr arrays, parquet files, dask arrays."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from momentlp.errors import DataError, ExtraMissingError, FileFormatError, OptionError
from momentlp.points.arrays import IndexArray, Matrix
from momentlp.points.chunked import CHUNK_BYTES, ChunkArguments, Chunked, Floats, Result, split_rows
from momentlp.points.validation import as_floats, as_points

__all__ = ["MemoryMapped", "Parquet", "Zarr", "as_table", "check_layout", "chunked_table", "open_points"]

FETCHED = 500  # rows of a memory map that are fetched together


def open_points(path: str | Path, *, chunk_rows: int | None = None, columns: Sequence[str] | None = None) -> Chunked:
    """Open a file of points that need not fit in memory. ``Spec.compile`` reads it in chunks.

    Parameters
    ----------
    path : str or Path
        A ``.npy`` file (which is memory-mapped), a ``.zarr`` store, a ``.parquet`` file, or a folder of parquet files, taken
        in the order of their names.
    chunk_rows : int, optional
        How many points to read at a time; by default as many as take 32 MiB. A zarr store is read in whole chunks of its
        own.
    columns : sequence of str, optional
        Which columns of a parquet file are the point; by default all of them.

    Raises
    ------
    FileFormatError
        If there is no such file, or it is not what its name says.
    DataError
        If it does not hold a table of numbers.
    ExtraMissingError
        If the package that reads it is not installed.

    Examples
    --------
    >>> import tempfile, numpy as np, momentlp as mlp
    >>> path = Path(tempfile.mkdtemp()) / "points.npy"
    >>> np.save(path, np.arange(12.0, dtype=np.float32).reshape(6, 2))
    >>> points = mlp.open_points(path, chunk_rows=4)
    >>> points
    MemoryMapped(6 x 2 float32, 2 chunks)
    >>> mlp.Spec().compile(points, mean=[4.0, 5.0])
    Problem(6 points, 2 moments: x0, x1)
    """
    path = Path(path)
    if chunk_rows is not None and (isinstance(chunk_rows, bool) or not isinstance(chunk_rows, int) or chunk_rows < 1):
        raise OptionError(f"chunk_rows must be a whole number above zero, not {chunk_rows!r}.")
    if not path.exists():
        raise FileFormatError(f"there is no file {str(path)!r}.")
    ending = path.suffix.lower()
    if ending == ".parquet" or (path.is_dir() and ending != ".zarr"):
        return Parquet(path, chunk_rows, columns)
    if columns is not None:
        raise OptionError(f"columns chooses columns of parquet files, but {str(path)!r} is none: leave it out.")
    if ending == ".npy":
        try:
            return MemoryMapped(np.load(path, mmap_mode="r", allow_pickle=False), chunk_rows)
        except (ValueError, EOFError) as error:
            if isinstance(error, DataError):
                raise
            raise FileFormatError(f"{str(path)!r} is not a whole .npy file of numbers: {error}.") from None
    if ending == ".zarr":
        return _open_zarr(path, chunk_rows)
    raise FileFormatError(f"{str(path)!r} ends in none of .npy, .zarr and .parquet: convert it, or give an array.")


def as_table(X: Any, argument: str = "X") -> tuple[Matrix | Chunked, tuple[str, ...] | None]:
    """Return points with their column names: read in chunks if they are of a kind that allows it, as an array otherwise.

    An array is checked here and now. A chunked table is not read at all: :func:`~momentlp.points.chunked.summarise` checks it.
    """
    table = chunked_table(X, argument)
    return as_points(X, argument) if table is None else (table, table.names)


def chunked_table(X: Any, argument: str = "X") -> Chunked | None:
    """Return points that can be read in chunks as a table that is; None for all others."""
    home = type(X).__module__.partition(".")[0]
    if isinstance(X, Chunked):
        return X
    if isinstance(X, np.memmap) and getattr(X, "_mmap", None) is not None:  # what is computed from a map has none
        return MemoryMapped(X, argument=argument)
    if home == "zarr" and hasattr(X, "chunks"):
        return Zarr(X, argument=argument)
    if home in ("dask", "dask_expr"):
        from momentlp.points.dask_source import Dask

        return Dask(X, argument)
    return None


class MemoryMapped(Chunked):
    """A file of numbers that the system maps into memory, page by page, as it is read.

    The pages of a chunk are given back as soon as it is done with; the system keeps them cached as long as it has room, but
    they no longer count as memory of this process. (Not where the map is private and may hold changes of its own.)
    """

    def __init__(self, array: Any, chunk_rows: int | None = None, argument: str = "X") -> None:
        check_layout(array, argument)
        super().__init__(array.shape, array.dtype, split_rows(array.shape[0], chunk_rows or _rows(array)))
        self._array = array

    def read(self, span: slice) -> Floats:
        """Return a view of the file, or a copy where it does not hold floats row by row."""
        return as_floats(self._array[span], "X")

    def release(self) -> None:
        """Give back the pages that were read."""
        if self._array.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
            with suppress(OSError, ValueError):  # advice, that a system may not take
                self._array._mmap.madvise(mmap.MADV_DONTNEED)  # noqa: SLF001  numpy has no public name for it

    def __getitem__(self, rows: slice | IndexArray) -> Floats:
        """Return some rows, in memory. No others are read.

        Where they are scattered they are fetched a few at a time: with each the system maps its neighbours too, some 64 kB.
        """
        index = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else np.asarray(rows)
        index = np.flatnonzero(index) if index.dtype == bool else index
        found = np.empty((index.size, self.shape[1]), self.dtype)
        together = isinstance(rows, slice) and rows.step in (None, 1)
        for few in split_rows(index.size, _rows(self._array) if together else FETCHED):
            found[few] = self._array[index[few][0] : index[few][-1] + 1] if together else self._array[index[few]]
            self.release()
        return found


class Zarr(Chunked):
    """A zarr array, read in whole chunks of its own, several at a time where they are small."""

    def __init__(self, array: Any, chunk_rows: int | None = None, argument: str = "X") -> None:
        check_layout(array, argument)
        native = int((getattr(array, "shards", None) or array.chunks)[0])
        step = native * max(1, (chunk_rows or _rows(array)) // native)
        super().__init__(tuple(array.shape), array.dtype, split_rows(array.shape[0], step))
        self._array = array

    def read(self, span: slice) -> Floats:
        """Read one chunk."""
        return as_floats(self._array[span], "X")


class Parquet(Chunked):
    """A parquet file, or a folder of them one after the other, read a stretch of a row group at a time."""

    def __init__(self, path: Path, chunk_rows: int | None = None, columns: Sequence[str] | None = None) -> None:
        try:
            import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow has no types
            import pyarrow.parquet as pq  # type: ignore[import-untyped]
        except ImportError:
            raise ExtraMissingError("parquet files need pyarrow: run pip install 'momentlp[parquet]'.") from None
        files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise FileFormatError(f"there is no .parquet file in the folder {str(path)!r}.")
        groups: list[tuple[Path, int, int]] = []  # the file, the number of the row group in it, and its rows
        names: tuple[str, ...] | None = None
        single = True
        for file in files:
            try:
                with pq.ParquetFile(file) as opened:
                    schema, metadata = opened.schema_arrow, opened.metadata
                    groups += [(file, g, metadata.row_group(g).num_rows) for g in range(metadata.num_row_groups)]
            except (pa.ArrowException, OSError) as error:
                raise FileFormatError(f"{str(file)!r} is not a whole parquet file: {error}.") from None
            here = tuple(columns) if columns is not None else tuple(schema.names)
            if names is not None and here != names:
                raise DataError(f"{str(file)!r} has other columns than {str(files[0])!r}: name those to use, columns=[...].")
            names = here
            for name in names:
                if name not in schema.names:
                    raise DataError(f"columns names {name!r}, but {str(file)!r} has {', '.join(schema.names[:8])}.")
                kind = schema.field(name).type
                if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                    raise DataError(
                        f"{str(file)!r} has a column {name!r} of type {kind}, which is not numeric. Leave it out with "
                        "columns=[...], or encode it as numbers first."
                    )
                single = single and pa.types.is_float32(kind)
        names = names or ()
        rows = sum(size for _, _, size in groups)
        if 0 in (rows, len(names)):
            raise DataError(f"{str(path)!r} is empty: it has {rows} row(s) and {len(names)} column(s).")
        self._step = chunk_rows or max(1, CHUNK_BYTES // ((4 if single else 8) * len(names)))
        self._groups, self._starts = groups, np.concatenate([[0], np.cumsum([size for _, _, size in groups])])
        spans = [
            slice(int(start) + part.start, int(start) + part.stop)
            for start, (_, _, size) in zip(self._starts, groups, strict=False)
            for part in split_rows(size, self._step)
        ]
        super().__init__((rows, len(names)), np.float32 if single else np.float64, spans, names)

    def read(self, span: slice) -> Floats:
        """Read one chunk. The file has no way into the middle of a row group, so what stands before it there is skipped."""
        group = int(np.searchsorted(self._starts, span.start, side="right")) - 1
        skipped = (span.start - int(self._starts[group])) // self._step
        batches = self._batches(group)
        for _ in range(skipped):
            next(batches)
        return next(batches)

    def chosen(self, places: Sequence[int], work: Callable[..., Result], *pieces: ChunkArguments) -> Iterator[Result]:
        """Read neighbouring chunks of a row group in one go."""
        group, following = -1, -1
        batches: Iterator[Floats] = iter(())
        for place in places:
            span = self.spans[place]
            if place != following or span.start >= self._starts[group + 1]:
                group = int(np.searchsorted(self._starts, span.start, side="right")) - 1
                batches = self._batches(group)
                for _ in range((span.start - int(self._starts[group])) // self._step):
                    next(batches)
            self.reads, following = self.reads + 1, place + 1
            yield work(next(batches), *(piece[place] for piece in pieces))

    def _batches(self, number: int) -> Iterator[Floats]:
        """Yield the chunks of a row group. Arrow may hand out less than was asked for, so they are put together here."""
        import pyarrow.parquet as pq

        path, group, left = self._groups[number]
        with pq.ParquetFile(path) as file:
            part = np.empty((min(self._step, left), self.shape[1]), self.dtype)
            filled = 0
            for batch in file.iter_batches(batch_size=self._step, row_groups=[group], columns=list(self.names or ())):
                begin = 0
                while begin < batch.num_rows:
                    taken = min(batch.num_rows - begin, part.shape[0] - filled)
                    for column, name in enumerate(self.names or ()):
                        values = batch.column(name).slice(begin, taken).to_numpy(zero_copy_only=False)
                        part[filled : filled + taken, column] = values
                    begin, filled, left = begin + taken, filled + taken, left - taken
                    if filled == part.shape[0]:
                        yield part
                        part, filled = np.empty((min(self._step, left), self.shape[1]), self.dtype), 0


def check_layout(array: Any, argument: str) -> None:
    """Refuse what is not a table of real numbers, before anything of it is read."""
    if len(array.shape) != 2:
        hint = f"; use {argument}.reshape(-1, 1) for one feature" if len(array.shape) == 1 else ""
        raise DataError(
            f"{argument} must be a table with one row per point, but it has {len(array.shape)} dimension(s){hint}."
        )
    if 0 in array.shape:
        raise DataError(f"{argument} is empty: its shape is {tuple(array.shape)}. Give at least one point and one feature.")
    if np.dtype(array.dtype).kind not in "biuf":
        raise DataError(f"{argument} holds {array.dtype} values where real numbers belong. Convert or encode them first.")


def _rows(array: Any) -> int:
    """Return how many rows of an array make a chunk of the usual size."""
    return max(1, CHUNK_BYTES // (max(int(np.dtype(array.dtype).itemsize), 4) * int(array.shape[1])))


def _open_zarr(path: Path, chunk_rows: int | None) -> Chunked:
    try:
        import zarr
    except ImportError:
        raise ExtraMissingError("zarr stores need zarr: run pip install 'momentlp[zarr]'.") from None
    try:
        array = zarr.open(str(path), mode="r")
    except Exception as error:  # noqa: BLE001  stores raise what they like
        raise FileFormatError(f"{str(path)!r} cannot be opened as a zarr store: {error}") from None
    if not hasattr(array, "chunks"):
        raise FileFormatError(
            f"{str(path)!r} is a zarr group: open the array inside with zarr.open(path)[name] and give that."
        )
    return Zarr(array, chunk_rows)
