"""Tables and lists of numbers from files: ``.csv``, ``.txt``, ``.parquet``, ``.npy`` and ``.npz`` (also sparse)."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import DataError, ExtraMissingError, FileFormatError
from momentlp.formats.npz import npz_members, read_npy
from momentlp.formats.read_errors import READ_ERRORS, short_reason
from momentlp.formats.sparse_indices import check_sparse_indices

__all__ = ["Table", "read_columns", "read_numbers", "read_points"]

TRUE_MARKS = {"1", "1.0", "true", "yes", "y", "t"}
MISSING_MARKS = {"", "NA", "N/A", "<NA>", "NaN", "nan", "null", "NULL"}  # cells of a .csv file that hold no value
FALSE_MARKS = {"0", "0.0", "false", "no", "n", "f", "", "nan", "none"}
MAX_SPARSE_LENGTH = 1 << 22  # rows or columns of a sparse matrix, unless its file has more bytes than that
MAX_CELLS, MAX_CELLS_PER_BYTE = 1 << 25, 100  # of a parquet file: the larger of the two limits counts


@dataclass(frozen=True, eq=False)
class Table:
    """A table of strings or numbers with named columns. It has ``columns`` and ``to_numpy`` as a pandas frame does."""

    columns: tuple[str, ...]
    values: NDArray[Any]
    path: Path

    def to_numpy(self) -> NDArray[Any]:
        """Return the values, shape (N, d)."""
        return self.values

    def split(self, column: str) -> tuple[Table, NDArray[np.bool_]]:
        """Split off the column that marks known members by 1, true or yes; return the other columns and the mask."""
        if column not in self.columns:
            raise DataError(f"{self.path} has no column {column!r}; it has {', '.join(self.columns[:8])}.")
        position = self.columns.index(column)
        marks = [str(value).strip().lower() for value in self.values[:, position]]
        for row, mark in enumerate(marks):
            if mark not in TRUE_MARKS | FALSE_MARKS:
                raise DataError(
                    f"column {column!r} of {self.path} must mark known members by 1 (or true, yes) and all others by 0 (or "
                    f"false, no, empty), but row {row} holds {mark!r}."
                )
        rest = self.columns[:position] + self.columns[position + 1 :]
        return Table(rest, np.delete(self.values, position, axis=1), self.path), np.array(
            [mark in TRUE_MARKS for mark in marks]
        )


def read_points(path: Path) -> Any:
    """Read a table of points: a :class:`Table`, or a sparse matrix if the file holds one."""
    points = _read(path)
    if isinstance(points, np.ndarray):
        if points.ndim != 2 or points.size == 0:
            raise DataError(f"{path} holds an array of shape {points.shape}; a table of points has rows and columns.")
        return Table(tuple(f"x{column}" for column in range(points.shape[1])), points, path)
    return points


def read_numbers(path: Path) -> NDArray[Any]:
    """Read a flat list of numbers: one column, one row, or an array of one dimension. Integers come as int64."""
    content = _read(path)
    if sp.issparse(content):
        raise DataError(f"{path} holds a sparse matrix where a flat list of numbers belongs.")
    values = np.asarray(content.values if isinstance(content, Table) else content)
    if values.ndim == 2 and 1 not in values.shape:
        raise DataError(f"{path} holds a table of shape {values.shape} where a flat list of numbers belongs.")
    values = np.ravel(values)
    exact = values.dtype.kind == "f" and bool((np.abs(values) < 2.0**53).all())  # beyond, not every integer is a float
    return values.astype(np.int64) if exact and bool((values == np.floor(values)).all()) else values


def read_columns(path: Path, text: str | None = None) -> dict[str, NDArray[Any]]:
    """Read a table whose columns may hold numbers, words and missing values.

    Parameters
    ----------
    path : Path
        A ``.csv``, ``.txt`` or ``.parquet`` file. The first row of a text file names the columns.
    text : str, optional
        A column of a text file that is read as it is written, such as ids that begin with zeros.

    Returns
    -------
    dict of str to array
        In a text file, a column is numeric if every cell that is not missing is a number. Cells that are empty, or hold NA,
        N/A, NaN or null, are missing: NaN in a numeric column, None in one of words.

    Raises
    ------
    DataError
        If the file cannot be read, is no table, or names a column twice.
    """
    table = _read(path, {".csv": _read_text_columns, ".txt": _read_text_columns, ".parquet": _read_parquet})
    if repeated := {name for name in table.columns if table.columns.count(name) > 1}:
        raise DataError(f"{path} has more than one column named {min(repeated)!r}: rename them.")
    if path.suffix.lower() == ".parquet":
        return dict(zip(table.columns, table.values.T, strict=True))
    return {
        name: cells if name == text else _numbers_or_words(cells)
        for name, cells in zip(table.columns, table.values.T, strict=True)
    }


def _numbers_or_words(cells: NDArray[Any]) -> NDArray[Any]:
    """Return the cells of a column as numbers, if all that are not missing are numbers, and as words otherwise."""
    words = [None if cell.strip() in MISSING_MARKS else cell.strip() for cell in cells]
    numbers = [float("nan") if word is None else _as_number(word) for word in words]
    if any(number is None for number in numbers):
        return np.array(words, dtype=object)
    return np.array(numbers, dtype=np.float64)


def _read(path: Path, readers: dict[str, Callable[[Path], Any]] | None = None) -> Any:
    readers = readers or {
        ".csv": _read_csv,
        ".txt": _read_csv,
        ".parquet": _read_parquet,
        ".npy": _read_numpy,
        ".npz": _read_numpy,
    }
    if path.suffix.lower() not in readers:
        raise DataError(f"cannot read {path}: expected a file that ends in {', '.join(readers)}.")
    try:
        return readers[path.suffix.lower()](path)
    except FileNotFoundError:
        raise DataError(f"there is no file {path}.") from None
    except (DataError, ExtraMissingError):
        raise
    except (csv.Error, *READ_ERRORS) as error:
        raise DataError(f"cannot read {path}: {short_reason(error)}.") from None


def _read_numpy(path: Path) -> Any:
    with path.open("rb") as stream:
        start, size = stream.read(2), stream.seek(0, os.SEEK_END)
        stream.seek(0)
        if start == b"\x93N":
            return read_npy(stream, size)
        if start != b"PK":
            raise DataError(f"{path} is not a file that numpy wrote.")
        arrays = {name: read_npy(content, length) for name, content, length in npz_members(stream, compressed=True)}
    if {"format", "shape", "data"} <= arrays.keys():
        return _build_sparse(arrays, size)
    if len(arrays) != 1:
        raise DataError(f"{path} holds {len(arrays)} arrays ({', '.join(list(arrays)[:8])}): keep one.")
    return next(iter(arrays.values()))


def _build_sparse(arrays: dict[str, NDArray[Any]], size: int) -> Any:
    """Build the sparse matrix whose arrays :func:`scipy.sparse.save_npz` wrote to a file of ``size`` bytes.

    scipy's compiled code trusts the indices, so they are checked here. A few bytes can declare any number of empty rows and
    columns, and each of them costs memory later, so their number is limited.
    """
    data, kind = arrays["data"], arrays["format"].tobytes().decode().rstrip("\0")
    if arrays["shape"].shape != (2,):
        raise FileFormatError("a sparse matrix does not have two dimensions")
    shape = (int(arrays["shape"][0]), int(arrays["shape"][1]))
    if min(shape) < 1 or max(shape) > max(MAX_SPARSE_LENGTH, size):
        raise FileFormatError(f"a sparse matrix cannot have shape {shape} here")
    if data.dtype.kind not in "biuf":
        raise FileFormatError(f"a sparse matrix holds {data.dtype} values where real numbers belong")
    data = np.asarray(data, dtype=np.float32 if data.dtype == np.float32 else np.float64)
    if kind in ("csr", "csc", "bsr"):
        matrix = _build_compressed(kind, data, _as_integers(arrays["indices"]), _as_integers(arrays["indptr"]), shape)
    elif kind == "coo":
        coordinates = arrays["coords"] if "coords" in arrays else (arrays["row"], arrays["col"])
        matrix = sp.coo_array((data, tuple(_as_integers(index) for index in coordinates)), shape=shape)
    elif kind == "dia":
        matrix = sp.dia_array((data, _as_integers(arrays["offsets"])), shape=shape).tocoo()
    else:
        raise FileFormatError(f"a sparse matrix is in format {kind!r}, which is unknown here")
    return sp.csr_array(matrix)


def _build_compressed(kind: str, data: NDArray[Any], indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    blocks = shape
    if kind == "bsr":
        if data.ndim != 3 or 0 in data.shape or shape[0] % data.shape[1] or shape[1] % data.shape[2]:
            raise FileFormatError(f"a sparse matrix of shape {shape} cannot have blocks of shape {data.shape[1:]}")
        blocks = (shape[0] // data.shape[1], shape[1] // data.shape[2])
    elif data.ndim != 1:
        raise FileFormatError("the entries of a sparse matrix are not a one-dimensional array")
    check_sparse_indices(kind, indices, indptr, blocks, data.shape[0])
    return {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[kind]((data, indices, indptr), shape=shape)


def _as_integers(index: NDArray[Any]) -> NDArray[np.int64]:
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise FileFormatError("the indices of a sparse matrix are not one-dimensional arrays of integers")
    return index.astype(np.int64)


def _read_parquet(path: Path) -> Table:
    try:
        import pandas as pd
        import pyarrow.parquet as pq  # type: ignore[import-untyped]  # pyarrow has no types
    except ImportError:
        raise ExtraMissingError("parquet files need pandas and pyarrow: run pip install 'momentlp[parquet]'.") from None
    try:
        with pq.ParquetFile(path) as file:
            rows, columns = file.metadata.num_rows, file.metadata.num_columns
        if rows * columns > max(MAX_CELLS, MAX_CELLS_PER_BYTE * path.stat().st_size):
            raise FileFormatError(f"it says that it has {rows} rows and {columns} columns, far more than it has bytes")
        frame = pd.read_parquet(path)
        values = frame.to_numpy()
    except FileNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001  pandas and pyarrow do not document what they raise
        raise FileFormatError(short_reason(error)) from None
    return Table(tuple(str(column) for column in frame.columns), values, path)


def _read_csv(path: Path) -> Table:
    rows = _read_rows(path)
    width = len(rows[0])
    if any(_as_number(cell) is None for cell in rows[0]):
        columns, rows = _split_heading(rows, path)
    elif width > 1 and len(rows) > 1 and rows[0] == [str(column) for column in range(width)]:
        raise DataError(
            f"the first row of {path} is 0, 1, ..., {width - 1}: that looks like column numbers, not like a point. "
            "Give the columns names, or leave that row out."
        )
    else:
        columns = tuple(f"x{column}" for column in range(width))
    numbers = [[_as_number(cell) for cell in row] for row in rows]
    numeric = all(value is not None for row in numbers for value in row)
    return Table(columns, np.array(numbers, dtype=np.float64) if numeric else np.array(rows, dtype=object), path)


def _read_text_columns(path: Path) -> Table:
    rows = _read_rows(path)
    if all(_as_number(cell) is not None for cell in rows[0]):
        raise DataError(f"the first row of {path} holds nothing but numbers: it must name the columns.")
    columns, rows = _split_heading(rows, path)
    return Table(columns, np.array(rows, dtype=object), path)


def _read_rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        rows = [row for row in csv.reader(stream) if row]
    if not rows:
        raise DataError(f"{path} is empty.")
    width = len(rows[0])
    for line, row in enumerate(rows, 1):
        if len(row) != width:
            raise DataError(f"line {line} of {path} has {len(row)} field(s) where the first has {width}.")
    return rows


def _split_heading(rows: list[list[str]], path: Path) -> tuple[tuple[str, ...], list[list[str]]]:
    columns = tuple(cell.strip() for cell in rows[0])
    _check_heading(columns, path)
    if len(rows) == 1:
        raise DataError(f"{path} has a heading but no rows.")
    return columns, rows[1:]


def _check_heading(columns: tuple[str, ...], path: Path) -> None:
    if "" in columns:
        raise DataError(
            f"column {columns.index('')} of {path} has no heading. If pandas wrote row numbers there, write the file "
            "with index=False; otherwise give it a name."
        )
    if len(columns) == 1 and ";" in columns[0]:
        raise DataError(f"{path} seems to be separated by ';'. Write it with commas.")


def _as_number(cell: str) -> float | None:
    try:
        return float(cell) if cell.strip() else float("nan")
    except ValueError:
        return None
