"""Points and labels from files: ``.csv``, ``.txt``, ``.parquet``, ``.npy`` and ``.npz`` (sparse as scipy saves it)."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import DataError, ExtraMissingError

__all__ = ["Table", "read_numbers", "read_points"]

TRUE = {"1", "1.0", "true", "yes", "y", "t"}
FALSE = {"0", "0.0", "false", "no", "n", "f", "", "nan", "none"}


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of text or numbers, by name. ``to_numpy`` and ``columns`` make it pass for a frame."""

    columns: tuple[str, ...]
    values: NDArray[Any]
    path: Path

    def to_numpy(self) -> NDArray[Any]:
        """Return the values, shape (N, d)."""
        return self.values

    def split(self, column: str) -> tuple[Table, NDArray[np.bool_]]:
        """Take out a column that marks known members (1, true, yes) and return the rest and the mask."""
        if column not in self.columns:
            raise DataError(f"{self.path} has no column {column!r}; it has {', '.join(self.columns)}.")
        at = self.columns.index(column)
        marks = [str(value).strip().lower() for value in self.values[:, at]]
        for row, mark in enumerate(marks):
            if mark not in TRUE | FALSE:
                raise DataError(
                    f"column {column!r} of {self.path} must mark known members by 1 (or true, yes) and all others by 0 (or "
                    f"false, no, nothing), but row {row} holds {mark!r}."
                )
        rest = self.columns[:at] + self.columns[at + 1 :]
        return Table(rest, np.delete(self.values, at, axis=1), self.path), np.array([mark in TRUE for mark in marks])


def read_points(path: Path) -> Any:
    """Read a table of points: a :class:`Table`, or a sparse matrix where the file holds one."""
    points = _read(path)
    if isinstance(points, np.ndarray):
        if points.ndim != 2:
            raise DataError(f"{path} holds an array of {points.ndim} dimension(s); a table of points has two.")
        return Table(tuple(f"x{column}" for column in range(points.shape[1])), points, path)
    return points


def read_numbers(path: Path) -> NDArray[Any]:
    """Read a flat list of numbers: one column, one row, or an array of one dimension. Whole ones come as integers."""
    content = _read(path)
    if sp.issparse(content):
        raise DataError(f"{path} holds a sparse matrix where a flat list of numbers belongs.")
    values = np.asarray(content.values if isinstance(content, Table) else content)
    if values.ndim == 2 and 1 not in values.shape:
        raise DataError(f"{path} holds a table of shape {values.shape} where a flat list of numbers belongs.")
    values = np.ravel(values)
    whole = values.dtype.kind == "f" and bool(np.isfinite(values).all()) and bool((values == np.floor(values)).all())
    return values.astype(np.int64) if whole else values


def _read(path: Path) -> Any:
    readers: dict[str, Callable[[Path], Any]] = {
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
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, csv.Error) as error:
        raise DataError(f"cannot read {path}: {error}.") from None


def _read_numpy(path: Path) -> Any:
    with path.open("rb") as stream:
        if stream.read(2) not in (b"PK", b"\x93N"):
            raise DataError(f"{path} is not a file that numpy wrote.")
        stream.seek(0)
        loaded = np.load(stream, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        if {"format", "shape", "data"} <= set(loaded.files):
            stream.seek(0)
            return sp.load_npz(stream)
        if len(loaded.files) != 1:
            raise DataError(f"{path} holds {len(loaded.files)} arrays ({', '.join(loaded.files)}): keep one.")
        return loaded[loaded.files[0]]


def _read_parquet(path: Path) -> Table:
    try:
        import pandas as pd

        frame = pd.read_parquet(path)
    except ImportError:
        raise ExtraMissingError("parquet files need pandas and pyarrow: run pip install 'momentlp[parquet]'.") from None
    return Table(tuple(str(column) for column in frame.columns), frame.to_numpy(), path)


def _read_csv(path: Path) -> Table:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        rows = [row for row in csv.reader(stream) if row]
    if not rows:
        raise DataError(f"{path} is empty.")
    width = len(rows[0])
    for line, row in enumerate(rows, 1):
        if len(row) != width:
            raise DataError(f"line {line} of {path} has {len(row)} field(s) where the first has {width}.")
    if any(_as_number(cell) is None for cell in rows[0]):
        columns, rows = tuple(cell.strip() for cell in rows[0]), rows[1:]
        _check_heading(columns, path)
    elif width > 1 and len(rows) > 1 and rows[0] == [str(column) for column in range(width)]:
        raise DataError(
            f"the first row of {path} is 0, 1, ..., {width - 1}: that looks like column numbers, not like a point. "
            "Give the columns names, or leave that row out."
        )
    else:
        columns = tuple(f"x{column}" for column in range(width))
    if not rows:
        raise DataError(f"{path} has a heading but no rows.")
    numbers = [[_as_number(cell) for cell in row] for row in rows]
    numeric = all(value is not None for row in numbers for value in row)
    return Table(columns, np.array(numbers, dtype=np.float64) if numeric else np.array(rows, dtype=object), path)


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
