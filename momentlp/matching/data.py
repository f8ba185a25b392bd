"""What both kinds of matching work with: the moments of all rows, their groups and strata, and what is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.matching.levels import Levels
from momentlp.points.arrays import FloatArray, IndexArray

__all__ = ["MatchingData", "Stratum", "StratumError", "TargetRows"]


class StratumError(Exception):
    """A stratum cannot be matched, whatever the tolerance; the message says why."""


@dataclass(frozen=True, eq=False)
class TargetRows:
    """The target of a profile: its rows, or nothing but their mean.

    Attributes
    ----------
    mean : array, shape (k,)
        The mean of every moment.
    values : array of shape (t, k), or None
        The moments of the rows; None if only the mean is known.
    levels : tuple of Levels
        What is balanced exactly, for the rows of the target.
    """

    mean: FloatArray
    values: FloatArray | None = None
    levels: tuple[Levels, ...] = ()

    def take(self, rows: IndexArray) -> TargetRows:
        """Return some of the rows as a target."""
        if self.values is None:
            return self
        values = self.values[rows]
        mean = values.mean(axis=0) if len(values) else np.full(self.mean.size, np.nan)
        return TargetRows(mean, values, tuple(levels.take(rows) for levels in self.levels))


@dataclass(frozen=True, eq=False)
class Stratum:
    """The rows that are matched together.

    Attributes
    ----------
    label : str or None
        The level of the strata columns; None if there are no strata.
    rows, target_rows : array of int
        Rows that may be chosen, and rows of the target.
    """

    label: str | None
    rows: IndexArray
    target_rows: IndexArray


@dataclass(frozen=True, eq=False)
class MatchingData:
    """The moments of all rows, their groups and strata, and what is asked for.

    Attributes
    ----------
    values : array, shape (n, k)
        The moments of the rows that may be chosen.
    names : tuple of str
        Of the moments.
    spread : array, shape (k,)
        The standard deviation in which differences of each moment are measured.
    tolerance : array, shape (k,)
        In these units; infinite where nothing is asked of a moment.
    caps : array, shape (n,)
        How many points each row stands for.
    groups : tuple of str
        The names of the groups; ``("pool",)`` for a profile.
    codes : array of int, shape (n,)
        The group of each row, as a position in ``groups``.
    ratio : tuple of int
        How many rows of each group are chosen for one unit of the match.
    target : TargetRows or None
        None if groups are matched with each other.
    levels : tuple of Levels
        What is balanced exactly.
    strata : tuple of Stratum
        One, with all rows, if there are no strata.
    ids : array, shape (n,)
    whole : bool
        Whether memberships must be integers.
    keep : int or None
        The group of which every row must be chosen.
    about : mapping
        What was said in words, for :meth:`Match.describe <momentlp.matching.Match.describe>`.
    """

    values: FloatArray
    names: tuple[str, ...]
    spread: FloatArray
    tolerance: FloatArray
    caps: FloatArray
    groups: tuple[str, ...]
    codes: IndexArray
    ratio: tuple[int, ...]
    target: TargetRows | None
    levels: tuple[Levels, ...]
    strata: tuple[Stratum, ...]
    ids: NDArray[Any]
    whole: bool
    keep: int | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """How many rows may be chosen."""
        return int(self.caps.size)

    @property
    def is_stratified(self) -> bool:
        """Whether rows are matched within strata."""
        return self.strata[0].label is not None

    def take(self, stratum: Stratum) -> MatchingData:
        """Return the data of one stratum."""
        rows = stratum.rows
        return replace(
            self,
            values=self.values[rows],
            caps=self.caps[rows],
            codes=self.codes[rows],
            target=None if self.target is None else self.target.take(stratum.target_rows),
            levels=tuple(levels.take(rows) for levels in self.levels),
            strata=(Stratum(stratum.label, np.arange(rows.size), np.arange(stratum.target_rows.size)),),
            ids=self.ids[rows],
        )
