"""Levels of columns that are balanced exactly: jointly over several columns (exact), or column by column (fine)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from momentlp.matching.table import Column
from momentlp.points.arrays import IndexArray

__all__ = ["Levels", "combine_levels"]


@dataclass(frozen=True, eq=False)
class Levels:
    """The level of every row, in one column or in several together.

    Attributes
    ----------
    columns : tuple of str
        The columns.
    labels : tuple of str
        Such as ``race=black`` or ``race=black, married=1``.
    codes : array of int, shape (n,)
        For each row the position of its label.
    """

    columns: tuple[str, ...]
    labels: tuple[str, ...]
    codes: IndexArray

    def take(self, rows: IndexArray | slice) -> Levels:
        """Return the levels of some rows, with the same labels."""
        return Levels(self.columns, self.labels, self.codes[rows])

    def counts(self) -> IndexArray:
        """Return how many rows have each label."""
        return np.bincount(self.codes, minlength=len(self.labels))


def combine_levels(columns: Sequence[Column], *, with_names: bool = True) -> Levels:
    """Return the joint levels of columns; missing values are a level.

    Parameters
    ----------
    columns : sequence of Column
    with_names : bool
        Whether labels name the columns: ``race=black`` instead of ``black``.

    Examples
    --------
    >>> from momentlp.matching.table import read_column
    >>> combine_levels([read_column("a", ["x", "y", "x"], "X"), read_column("b", [1, 1, 2], "X")]).labels
    ('a=x, b=1', 'a=x, b=2', 'a=y, b=1')
    """
    texts = np.column_stack([column.levels() for column in columns])
    distinct, codes = np.unique(texts, axis=0, return_inverse=True)
    names = [f"{column.name}=" if with_names else "" for column in columns]
    labels = tuple(", ".join(name + text for name, text in zip(names, row, strict=True)) for row in distinct.tolist())
    return Levels(tuple(column.name for column in columns), labels, codes.reshape(-1))
