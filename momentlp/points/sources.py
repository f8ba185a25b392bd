"""Sources of points that are read in chunks: memory maps, zarr arrays, parquet files, dask arrays."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from momentlp.errors import DataError, ExtraMissingError, FileFormatError, OptionError
from momentlp.points.arrays import IndexArray, Matrix
from momentlp.points.chunked import CHUNK_BYTES, Chunked, Floats, split_rows
from momentlp.points.validation import as_floats, as_points
from momentlp.runtime.argument_checks import check_integer

__all__ = ["MemoryMapped", "Parquet", "Zarr", "as_table", "check_layout", "chunked_table", "open_points"]

FETCHED_ROWS = 500  # scattered rows of a memory map that are read before its pages are freed


def open_points(path: str | Path, *, chunk_rows: int | None = None, columns: Sequence[str] | None = None) -> Chunked:
    """Open a file of points that may be larger than memory. ``Spec.compile`` reads it in chunks.

    Parameters
    ----------
    path : str or Path
        A ``.npy`` file (it is memory-mapped), a ``.zarr`` store, a ``.parquet`` file, or a folder of parquet files, read in
        the order of their names.
    chunk_rows : int, optional
        The number of points to read at a time; default: as many as take 32 MiB. A zarr store is read in whole multiples
        of its own chunks.
    columns : sequence of str, optional
        The columns of a parquet file to use; default: all of them.

    Returns
    -------
    Chunked
        A table of the points. Nothing is read yet.

    Raises
    ------
    FileFormatError
        If there is no such file, or it is not of the format that its name says.
    DataError
        If it does not hold a table of numbers.
    OptionError
        If ``chunk_rows`` is not an integer above 0, or ``columns`` is given for another format than parquet.
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
    if chunk_rows is not None:
        chunk_rows = check_integer("chunk_rows", chunk_rows, minimum=1)
    if not path.exists():
        raise FileFormatError(f"there is no file {str(path)!r}.")
    ending = path.suffix.lower()
    if ending == ".parquet" or (path.is_dir() and ending != ".zarr"):
        return Parquet(path, chunk_rows, columns)
    if columns is not None:
        raise OptionError(f"columns chooses columns of parquet files, but {str(path)!r} is not one: leave it out.")
    if ending == ".npy":
        try:
            return MemoryMapped(np.load(path, mmap_mode="r", allow_pickle=False), chunk_rows)
        except (ValueError, EOFError) as error:
            if isinstance(error, DataError):
                raise
            raise FileFormatError(f"{str(path)!r} is not a complete .npy file of numbers: {error}.") from None
    if ending == ".zarr":
        return _open_zarr(path, chunk_rows)
    raise FileFormatError(f"{str(path)!r} does not end in .npy, .zarr or .parquet: convert it, or give an array.")


def as_table(X: Any, argument: str = "X") -> tuple[Matrix | Chunked, tuple[str, ...] | None]:
    """Return points and their column names: as a chunked table if they can be read in chunks, as an array otherwise.

    An array is checked now. A chunked table is not read yet: :func:`~momentlp.points.statistics.summarise` checks it.
    """
    table = chunked_table(X, argument)
    return as_points(X, argument) if table is None else (table, table.names)


def chunked_table(X: Any, argument: str = "X") -> Chunked | None:
    """Return points that can be read in chunks as a chunked table; None for all others."""
    package = type(X).__module__.partition(".")[0]
    if isinstance(X, Chunked):
        return X
    if isinstance(X, np.memmap) and getattr(X, "_mmap", None) is not None:  # results of arithmetic on a map have none
        return MemoryMapped(X, argument=argument)
    if package == "zarr" and hasattr(X, "chunks"):
        return Zarr(X, argument=argument)
    if package in ("dask", "dask_expr"):
        from momentlp.points.dask_source import Dask

        return Dask(X, argument)
    return None


class MemoryMapped(Chunked):
    """A file of numbers that the system maps into memory page by page.

    The pages of a chunk are freed after use: the system may keep them in its cache, but they no longer count as memory of
    this process. The pages of a private (copy-on-write) map are kept, because they may hold changes.
    """

    def __init__(self, array: Any, chunk_rows: int | None = None, argument: str = "X") -> None:
        check_layout(array, argument)
        super().__init__(array.shape, array.dtype, split_rows(array.shape[0], chunk_rows or _rows_per_chunk(array)))
        self._array = array

    def read(self, span: slice) -> Floats:
        """Return a view of the file, or a copy if it does not hold floats row by row."""
        return as_floats(self._array[span], "X")

    def release(self) -> None:
        """Free the pages that were read."""
        if self._array.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
            with suppress(OSError, ValueError):  # a system may refuse this advice
                self._array._mmap.madvise(mmap.MADV_DONTNEED)  # noqa: SLF001  numpy has no public name for it

    def __getitem__(self, rows: slice | IndexArray) -> Floats:
        """Return some rows as an array. No others are read.

        Scattered rows are read a few at a time: with each row the system maps about 64 kB around it.
        """
        index = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else np.asarray(rows)
        index = np.flatnonzero(index) if index.dtype == bool else index
        result = np.empty((index.size, self.shape[1]), self.dtype)
        contiguous = isinstance(rows, slice) and rows.step in (None, 1)
        for few in split_rows(index.size, _rows_per_chunk(self._array) if contiguous else FETCHED_ROWS):
            result[few] = self._array[index[few][0] : index[few][-1] + 1] if contiguous else self._array[index[few]]
            self.release()
        return result


class Zarr(Chunked):
    """A zarr array, read in its own chunks, several at a time if they are small."""

    def __init__(self, array: Any, chunk_rows: int | None = None, argument: str = "X") -> None:
        check_layout(array, argument)
        native = int((getattr(array, "shards", None) or array.chunks)[0])
        step = native * max(1, (chunk_rows or _rows_per_chunk(array)) // native)
        super().__init__(tuple(array.shape), array.dtype, split_rows(array.shape[0], step))
        self._array = array

    def read(self, span: slice) -> Floats:
        """Read one chunk."""
        return as_floats(self._array[span], "X")


class Parquet(Chunked):
    """A parquet file or a folder of them, read one part of a row group at a time."""

    def __init__(self, path: Path, chunk_rows: int | None = None, columns: Sequence[str] | None = None) -> None:
        try:
            import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow has no types
            import pyarrow.parquet as pq  # type: ignore[import-untyped]
        except ImportError:
            raise ExtraMissingError("parquet files need pyarrow: run pip install 'momentlp[parquet]'.") from None
        files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise FileFormatError(f"there is no .parquet file in the folder {str(path)!r}.")
        groups: list[tuple[Path, int, int]] = []  # the file, the number of the row group in it, and its number of rows
        names: tuple[str, ...] | None = None
        single = True
        for file in files:
            try:
                with pq.ParquetFile(file) as opened:
                    schema, metadata = opened.schema_arrow, opened.metadata
                    groups += [(file, g, metadata.row_group(g).num_rows) for g in range(metadata.num_row_groups)]
            except (pa.ArrowException, OSError) as error:
                raise FileFormatError(f"{str(file)!r} is not a complete parquet file: {error}.") from None
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
        """Read one chunk. A row group can only be read from its start, so the rows before the chunk are skipped."""
        return next(self._chunks_from(self._group_of(span), span))

    def read_selected(self, chunks: Sequence[int]) -> Iterator[Floats]:
        """Read consecutive chunks of a row group in one pass over it."""
        group, next_chunk = -1, -1
        contents: Iterator[Floats] = iter(())
        for chunk in chunks:
            span = self.spans[chunk]
            if chunk != next_chunk or span.start >= self._starts[group + 1]:
                group = self._group_of(span)
                contents = self._chunks_from(group, span)
            self.reads, next_chunk = self.reads + 1, chunk + 1
            yield next(contents)

    def _group_of(self, span: slice) -> int:
        """Return the number of the row group that holds a span."""
        return int(np.searchsorted(self._starts, span.start, side="right")) - 1

    def _chunks_from(self, group: int, span: slice) -> Iterator[Floats]:
        """Yield the chunks of a row group from a span on."""
        contents = self._read_group(group)
        for _ in range((span.start - int(self._starts[group])) // self._step):
            next(contents)
        return contents

    def _read_group(self, number: int) -> Iterator[Floats]:
        """Yield the chunks of a row group. Arrow may return fewer rows than asked for, so they are collected here."""
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
    """Raise DataError if an array is not a table of real numbers, before any of it is read."""
    if len(array.shape) != 2:
        hint = f"; use {argument}.reshape(-1, 1) for one feature" if len(array.shape) == 1 else ""
        raise DataError(
            f"{argument} must be a table with one row per point, but it has {len(array.shape)} dimension(s){hint}."
        )
    if 0 in array.shape:
        raise DataError(f"{argument} is empty: its shape is {tuple(array.shape)}. Give at least one point and one feature.")
    if np.dtype(array.dtype).kind not in "biuf":
        raise DataError(f"{argument} holds {array.dtype} values where real numbers belong. Convert or encode them first.")


def _rows_per_chunk(array: Any) -> int:
    """Return how many rows of an array make a chunk of the default size."""
    return max(1, CHUNK_BYTES // (max(int(np.dtype(array.dtype).itemsize), 4) * int(array.shape[1])))


def _open_zarr(path: Path, chunk_rows: int | None) -> Chunked:
    try:
        import zarr
    except ImportError:
        raise ExtraMissingError("zarr stores need zarr: run pip install 'momentlp[zarr]'.") from None
    try:
        array = zarr.open(str(path), mode="r")
    except Exception as error:  # noqa: BLE001  a store may raise anything
        raise FileFormatError(f"{str(path)!r} cannot be opened as a zarr store: {error}") from None
    if not hasattr(array, "chunks"):
        raise FileFormatError(
            f"{str(path)!r} is a zarr group: open the array inside with zarr.open(path)[name] and give that."
        )
    return Zarr(array, chunk_rows)
