"""Covariates: the columns of a table as numbers. A level of a text column becomes an indicator, and so does missingness."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.matching.table import MISSING, Column
from momentlp.points.arrays import FloatArray

__all__ = ["Covariates", "encode_columns"]

MAX_LEVELS = 50  # of a text column, unless every level has several rows
MIN_ROWS_PER_LEVEL = 4  # on average, in a column with more levels than that


@dataclass(frozen=True, eq=False)
class Covariates:
    """Covariates as numbers.

    Attributes
    ----------
    values : array, shape (n, d)
    names : tuple of str
        The name of a numeric column, or ``race=black`` for a level and ``age=missing`` for missingness.
    sources : tuple of str
        The column that each covariate is made of.
    constant : tuple of str
        Columns, or levels, that were left out because all rows agree.
    filled : tuple of str
        Numeric columns in which missing values were replaced by the mean of the others.
    categorical : tuple of str
        Text columns, of which the levels are covariates.
    """

    values: FloatArray
    names: tuple[str, ...]
    sources: tuple[str, ...]
    constant: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    @property
    def is_indicator(self) -> NDArray[np.bool_]:
        """Which covariates hold nothing but 0 and 1, shape (d,)."""
        return np.asarray(((self.values == 0) | (self.values == 1)).all(axis=0))


def encode_columns(columns: Sequence[Column]) -> Covariates:
    """Turn columns into covariates.

    A numeric column stays as it is. Its missing values become the mean of the others, and a covariate ``<name>=missing``
    marks them. A text column becomes one indicator per level, missing values being a level of their own. What does not vary
    is left out.

    Parameters
    ----------
    columns : sequence of Column
        Of all rows together, so that pool and target are encoded alike.

    Raises
    ------
    DataError
        If nothing varies, or a text column has nearly as many levels as rows.

    Examples
    --------
    >>> from momentlp.matching.table import read_table
    >>> table = read_table({"age": [30, None, 50], "race": ["a", "b", "a"], "year": [1, 1, 1]}, "X")
    >>> covariates = encode_columns([table.column(name, "columns") for name in table.raw])
    >>> covariates.names, covariates.constant, covariates.values[1].tolist()
    (('age', 'age=missing', 'race=a', 'race=b'), ('year',), [40.0, 1.0, 0.0, 1.0])
    """
    pieces = [(column.name, name, values) for column in columns for name, values in _encode(column)]
    varying = [piece for piece in pieces if np.ptp(piece[2]) > 0]
    constant = tuple(name for _, name, values in pieces if not np.ptp(values) > 0)
    if not varying:
        raise DataError(
            f"nothing is left to balance: all rows have the same value in {', '.join(constant) or 'no column'}. Give "
            "columns that vary."
        )
    return Covariates(
        np.column_stack([values for _, _, values in varying]),
        tuple(name for _, name, _ in varying),
        tuple(source for source, _, _ in varying),
        constant,
        tuple(column.name for column in columns if column.is_numeric and column.missing.any()),
        tuple(column.name for column in columns if not column.is_numeric),
    )


def _encode(column: Column) -> Iterable[tuple[str, FloatArray]]:
    """Yield name and values of every covariate that a column makes."""
    if not column.is_numeric:
        yield from _encode_levels(column)
        return
    missing = column.missing
    if not missing.any():
        yield column.name, column.values
        return
    yield column.name, np.where(missing, column.values[~missing].mean(), column.values)
    yield f"{column.name}={MISSING}", missing.astype(np.float64)


def _encode_levels(column: Column) -> Iterable[tuple[str, FloatArray]]:
    levels, codes = np.unique(column.levels(), return_inverse=True)
    if levels.size > MAX_LEVELS and levels.size * MIN_ROWS_PER_LEVEL > codes.size:
        raise DataError(
            f"column {column.name!r} has {levels.size} different texts in {codes.size} rows, too many for levels: leave it "
            f"out with columns=, name it with ids={column.name!r} if it identifies the rows, or convert it to numbers."
        )
    for code, level in enumerate(levels.tolist()):
        yield f"{column.name}={level}", (codes == code).astype(np.float64)
