"""Points and labels from files: ``.csv``, ``.npy`` and ``.npz``."""

from __future__ import annotations

import csv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.arrays import FloatArray
from momentlp.errors import DataError

__all__ = ["Table", "read_table"]

TRUE = {"1", "1.0", "true", "yes", "y", "t"}
FALSE = {"0", "0.0", "false", "no", "n", "f", "", "nan"}


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
                    f"column {column!r} of {self.path} must mark known members by 1 and all others by 0, "
                    f"but row {row} holds {mark!r}."
                )
        rest = self.columns[:at] + self.columns[at + 1 :]
        return Table(rest, np.delete(self.values, at, axis=1), self.path), np.array([mark in TRUE for mark in marks])


def read_table(path: Path) -> Table:
    """Read a table of points. A ``.npz`` must hold exactly one array."""
    readers = {".csv": _read_csv, ".npy": _read_numpy, ".npz": _read_numpy}
    if path.suffix.lower() not in readers:
        raise DataError(f"cannot read {path}: expected a file that ends in {', '.join(readers)}.")
    try:
        return readers[path.suffix.lower()](path)
    except FileNotFoundError:
        raise DataError(f"there is no file {path}.") from None
    except (OSError, ValueError, UnicodeDecodeError, EOFError, zipfile.BadZipFile, csv.Error) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {path}: {error}.") from None


def _read_numpy(path: Path) -> Table:
    with path.open("rb") as stream:
        loaded = np.load(stream, allow_pickle=False)
        if not isinstance(loaded, np.ndarray):
            if len(loaded.files) != 1:
                raise DataError(f"{path} holds {len(loaded.files)} arrays ({', '.join(loaded.files)}): keep one.")
            loaded = loaded[loaded.files[0]]
    if loaded.ndim != 2:
        raise DataError(f"{path} holds an array of {loaded.ndim} dimension(s); a table of points has two.")
    return Table(tuple(f"x{column}" for column in range(loaded.shape[1])), loaded, path)


def _read_csv(path: Path) -> Table:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        rows = [row for row in csv.reader(stream) if row]
    if not rows:
        raise DataError(f"{path} is empty.")
    width = len(rows[0])
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise DataError(f"row {number} of {path} has {len(row)} field(s) where the first has {width}.")
    if any(_as_number(cell) is None for cell in rows[0]):
        columns, rows = tuple(cell.strip() for cell in rows[0]), rows[1:]
    else:
        columns = tuple(f"x{column}" for column in range(width))
    if not rows:
        raise DataError(f"{path} has a heading but no rows.")
    numbers = [[_as_number(cell) for cell in row] for row in rows]
    if all(value is not None for row in numbers for value in row):
        values: FloatArray | NDArray[Any] = np.array(numbers, dtype=np.float64)
    else:
        values = np.array(rows, dtype=object)
    return Table(columns, values, path)


def _as_number(cell: str) -> float | None:
    try:
        return float(cell) if cell.strip() else float("nan")
    except ValueError:
        return None
