"""Tables of covariates as callers give them: frames, arrays and dictionaries, read column by column.

A column is numeric (booleans count as 0 and 1) or text. Missing values are NaN in a numeric column and None in one of text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError

__all__ = ["Column", "Table", "level_text", "read_column", "read_table", "stack_columns"]

MISSING_TYPES = ("NAType", "NaTType")  # of pandas, which need not be installed
MISSING = "missing"  # the level of missing values
CATEGORY_TYPES = ("category", "Categorical", "Enum")  # beginnings of the dtypes of pandas and polars


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    values : array, shape (n,)
        Floats, NaN where missing; or texts, None where missing.
    is_numeric : bool
    """

    name: str
    values: NDArray[Any]
    is_numeric: bool

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value, shape (n,)."""
        return np.isnan(self.values) if self.is_numeric else np.array([value is None for value in self.values], dtype=bool)

    def levels(self) -> NDArray[np.str_]:
        """Return the value of every row as text; ``missing`` where there is none."""
        if not self.is_numeric:
            return np.array([MISSING if value is None else value for value in self.values], dtype=np.str_)
        distinct, inverse = np.unique(self.values, return_inverse=True)
        return np.array([level_text(value) for value in distinct.tolist()], dtype=np.str_)[inverse]

    def take(self, rows: Any) -> Column:
        """Return the column of some rows."""
        return Column(self.name, self.values[rows], self.is_numeric)


@dataclass(frozen=True, eq=False)
class Table:
    """A table of columns.

    Attributes
    ----------
    raw : dict of str to object
        The columns as they were given. A column is read when it is asked for, so that those not used may hold anything.
    n_rows : int
    index : array or None
        The index of a pandas frame, if it is not the row number and does not repeat.
    frame_index : Index or None
        The index of a pandas frame, whatever it is.
    argument : str
        What the caller calls the table, for messages.
    """

    raw: dict[str, Any]
    n_rows: int
    index: NDArray[Any] | None
    frame_index: Any
    argument: str

    def column(self, name: Any, asked_by: str) -> Column:
        """Read the column of a name.

        Raises
        ------
        DataError
            If there is none, or it cannot be read.
        """
        return read_column(str(name), self.values(name, asked_by), self.argument)

    def check_aligned(self, values: Any, argument: str) -> None:
        """Raise DataError for a pandas Series of which the rows are not those of the frame."""
        index = getattr(values, "index", None)
        if self.frame_index is None or index is None or not hasattr(index, "equals") or index.equals(self.frame_index):
            return
        raise DataError(
            f"{argument} is a Series whose index differs from that of {self.argument}: align it first, "
            f"{argument}.reindex({self.argument}.index), or give {argument}.to_numpy()."
        )

    def values(self, name: Any, asked_by: str) -> Any:
        """Return the column of a name as it was given.

        Raises
        ------
        DataError
            If there is none.
        """
        if str(name) not in self.raw:
            shown = ", ".join(list(self.raw)[:8]) + (", ..." if len(self.raw) > 8 else "")
            raise DataError(f"{asked_by} names column {name!r}, but the columns of {self.argument} are {shown}.")
        return self.raw[str(name)]


def read_table(data: Any, argument: str) -> Table:
    """Read a table: a frame of pandas or polars, a dictionary of columns, or an array with one row per point.

    Parameters
    ----------
    data : frame, mapping of str to sequence, or array, shape (n, d)
    argument : str
        What the caller calls it.

    Raises
    ------
    DataError
        If it is no table, or is empty.

    Examples
    --------
    >>> table = read_table({"age": [30, None], "race": ["black", "white"]}, "pool")
    >>> table.column("age", "columns").values, table.column("race", "columns").is_numeric
    (array([30., nan]), False)
    """
    raw, index = _raw_columns(data, argument)
    if not raw or not len(next(iter(raw.values()))):
        raise DataError(f"{argument} is empty: it needs at least one row and one column.")
    lengths = {name: len(values) for name, values in raw.items()}
    n_rows = next(iter(lengths.values()))
    for name, length in lengths.items():
        if length != n_rows:
            raise DataError(f"{argument} has columns of different lengths: {name!r} has {length} rows, not {n_rows}.")
    frame_index = getattr(data, "index", None) if hasattr(data, "columns") else None
    return Table(raw, n_rows, index, frame_index, argument)


def read_column(name: str, values: Any, argument: str) -> Column:
    """Read one column of numbers, booleans or texts.

    Raises
    ------
    DataError
        If it holds something else, only missing values, or infinity.
    """
    if any(str(getattr(values, "dtype", "")).startswith(kind) for kind in CATEGORY_TYPES):
        entries = np.array([_text_or_none(value) for value in values.to_list()], dtype=object)
        return Column(name, _require_values(entries, name, argument), is_numeric=False)
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else _as_array(values))
    if array.dtype.kind in "OUT":
        return _read_objects(name, array.astype(object), argument)
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"column {name!r} of {argument} holds {array.dtype} values: give numbers (such as days since a date), booleans "
            "or text, or leave it out with columns=."
        )
    return Column(name, _check_numbers(array.astype(np.float64), name, argument), is_numeric=True)


def stack_columns(first: Column, second: Column, arguments: tuple[str, str]) -> Column:
    """Return one column with the rows of two.

    Raises
    ------
    DataError
        If one is numeric and the other is text.
    """
    if first.is_numeric != second.is_numeric:
        kinds = ["numbers" if column.is_numeric else "text" for column in (first, second)]
        raise DataError(
            f"column {first.name!r} holds {kinds[0]} in {arguments[0]}, but {kinds[1]} in {arguments[1]}: "
            "convert one of them."
        )
    return Column(first.name, np.concatenate([first.values, second.values]), first.is_numeric)


def level_text(value: Any) -> str:
    """Return a value as the name of a level: ``1.0``, ``1`` and True are the same, NaN is ``missing``.

    Examples
    --------
    >>> level_text(1.0), level_text(2.5), level_text("a"), level_text(float("nan"))
    ('1', '2.5', 'a', 'missing')
    """
    if _is_missing(value):
        return MISSING
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if value.is_integer() else f"{value:.12g}"
    return str(value)


def _raw_columns(data: Any, argument: str) -> tuple[dict[str, Any], NDArray[Any] | None]:
    """Return the columns by name, not yet read, and the index of a pandas frame."""
    if hasattr(data, "columns") and hasattr(data, "to_numpy"):
        names = [str(name) for name in data.columns]
        if repeated := {name for name in names if names.count(name) > 1}:
            raise DataError(f"{argument} has more than one column named {min(repeated)!r}: rename them.")
        index = getattr(data, "index", None)
        plain = index is None or type(index).__name__ == "RangeIndex" or not index.is_unique
        return {name: data[key] for name, key in zip(names, data.columns, strict=True)}, None if plain else np.asarray(index)
    if isinstance(data, Mapping):
        for name, values in data.items():
            if np.ndim(np.asarray(values, dtype=object)) != 1:
                raise DataError(f"column {name!r} of {argument} must be a flat sequence with one value per row.")
        return {str(name): values for name, values in data.items()}, None
    if hasattr(data, "toarray"):
        raise DataError(f"{argument} is a sparse matrix: give a dense one, {argument}.toarray().")
    array = _as_array(data)
    if array.ndim != 2:
        hint = f": use {argument}.reshape(-1, 1) for one column" if array.ndim == 1 else ""
        raise DataError(f"{argument} must be a table with one row per point, but it has {array.ndim} dimension(s){hint}.")
    return {f"x{number}": array[:, number] for number in range(array.shape[1])}, None


def _as_array(values: Any) -> NDArray[Any]:
    """Return values as an array. Numbers and texts together stay what they are, and do not all become text."""
    if isinstance(values, np.ndarray):
        return values
    try:
        array = np.asarray(values)
    except ValueError:
        return np.asarray(values, dtype=object)
    return np.asarray(values, dtype=object) if array.dtype.kind in "US" else array


def _read_objects(name: str, array: NDArray[Any], argument: str) -> Column:
    missing = np.array([_is_missing(value) for value in array], dtype=bool)
    values = array[~missing]
    if all(isinstance(value, str) for value in values):
        texts = array.copy()
        texts[missing] = None
        texts[~missing] = [str(value) for value in values]
        return Column(name, _require_values(texts, name, argument), is_numeric=False)
    for value in values:
        if not isinstance(value, (Real, np.bool_)):
            mixed = "numbers and text" if isinstance(value, str) else f"values of type {type(value).__name__}"
            raise DataError(
                f"column {name!r} of {argument} holds {mixed}: give numbers, booleans or text alone, or leave it out with "
                "columns=."
            )
    numbers = np.full(array.size, np.nan)
    numbers[~missing] = values.astype(np.float64)
    return Column(name, _check_numbers(numbers, name, argument), is_numeric=True)


def _check_numbers(numbers: NDArray[np.float64], name: str, argument: str) -> NDArray[np.float64]:
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise DataError(f"column {name!r} of {argument} must be finite, but row {row} is {numbers[row]}.")
    if np.isnan(numbers).all():
        raise DataError(f"column {name!r} of {argument} holds nothing but missing values: leave it out with columns=.")
    return numbers


def _require_values(texts: NDArray[Any], name: str, argument: str) -> NDArray[Any]:
    if all(value is None for value in texts):
        raise DataError(f"column {name!r} of {argument} holds nothing but missing values: leave it out with columns=.")
    return texts


def _text_or_none(value: Any) -> str | None:
    return None if _is_missing(value) else level_text(value)


def _is_missing(value: Any) -> bool:
    return (
        value is None
        or type(value).__name__ in MISSING_TYPES
        or (isinstance(value, (float, np.floating)) and np.isnan(value))
    )
