"""The tables of a call of profile_match: pool and target, and the columns that are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from momentlp.errors import DataError, OptionError
from momentlp.matching.arguments import as_names, joint_labels, level_sets, read_columns
from momentlp.matching.covariates import Covariates, encode_columns
from momentlp.matching.data import Stratum, TargetRows
from momentlp.matching.levels import Levels
from momentlp.matching.moments import Moments, build_moments
from momentlp.matching.table import Table, read_table
from momentlp.points.validation import as_vector

__all__ = ["GivenTarget", "Goal", "ProfileRequest"]


@dataclass(frozen=True, eq=False)
class GivenTarget:
    """A target as it was given: a table, or the means of moments, with their names if they have any."""

    table: Table | None
    means: Any = None

    @classmethod
    def read(cls, target: Any) -> GivenTarget:
        """Tell a table of rows from means."""
        if hasattr(target, "columns"):
            return cls(read_table(target, "target"))
        if hasattr(target, "index") and hasattr(target, "to_dict") and np.ndim(target) == 1:  # a pandas Series
            target = target.to_dict()
        if isinstance(target, Mapping):
            is_mean = bool(target) and all(np.ndim(value) == 0 for value in target.values())
            return cls(None, dict(target)) if is_mean else cls(read_table(target, "target"))
        array = np.asarray(target, dtype=object if isinstance(target, list) else None)
        return cls(None, target) if array.ndim == 1 and array.size else cls(read_table(target, "target"))


@dataclass(frozen=True, eq=False)
class Goal:
    """The target in terms of moments, and the names of the moments that it has."""

    rows: TargetRows
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ProfileRequest:
    """The tables of a call and the columns it names."""

    pool: Table
    target: GivenTarget
    exact: tuple[str, ...]
    fine: tuple[str, ...]
    strata: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.target.table is None and (self.exact or self.fine or self.strata):
            name = next(name for name in ("exact", "fine", "strata") if getattr(self, name))
            raise OptionError(
                f"{name} needs a target with rows, but only means were given: give rows, or ask for equal means with "
                "tolerance={'name': 0}."
            )

    @property
    def tables(self) -> tuple[Table, ...]:
        """Return the pool and, if it has rows, the target."""
        return (self.pool,) if self.target.table is None else (self.pool, self.target.table)

    def columns_to_balance(self, columns: Any, ids: Any) -> tuple[str, ...]:
        """Return the names of the columns that covariates are made of."""
        if columns is not None:
            return as_names(columns, "columns")
        apart = {*self.strata, *([str(ids)] if isinstance(ids, (str, int)) else [])}
        if self.target.table is None:
            named = self.target.means if isinstance(self.target.means, dict) else None
            own = [name for name in self.pool.raw if name not in apart]
            return tuple(own if named is None else [name for name in own if _is_named(name, named)])
        names = [name for name in self.pool.raw if name not in apart]
        if missing := [name for name in names if name not in self.target.table.raw]:
            raise DataError(
                f"target has no column {missing[0]!r}, but pool has: give the same columns, or name them in columns=."
            )
        if missing := [name for name in self.target.table.raw if name not in self.pool.raw and name not in apart]:
            raise DataError(
                f"pool has no column {missing[0]!r}, but target has: give the same columns, or name them in columns=."
            )
        return tuple(names)

    def moments(self, names: tuple[str, ...], features: Any, quantiles: Sequence[float]) -> tuple[Covariates, Moments]:
        """Return the covariates and moments of the rows of the pool, followed by those of the target."""
        if self.target.table is None and (list(quantiles) or features in ("variances", "products")):
            raise OptionError(
                "target gives nothing but means, so that squares, products and quantiles have no target: give rows, or a "
                "feature map with the means of its features."
            )
        if not names:
            raise DataError("columns names no column to balance, or target none that pool has.")
        covariates = encode_columns(read_columns(names, "columns", *self.tables))
        reference = covariates.values[self.pool.n_rows :] if self.target.table is not None else covariates.values
        return covariates, build_moments(covariates, features, quantiles, reference)

    def goal(self, moments: Moments) -> Goal:
        """Return the target in terms of moments."""
        if self.target.table is not None:
            rows = moments.values[self.pool.n_rows :]
            return Goal(TargetRows(rows.mean(axis=0), rows), moments.names)
        means = self.target.means
        if not isinstance(means, dict):
            return Goal(TargetRows(as_vector(means, len(moments.names), "target")), moments.names)
        for name in means:
            if str(name) not in moments.names:
                shown = ", ".join(moments.names[:8]) + (", ..." if len(moments.names) > 8 else "")
                raise DataError(f"target gives a mean of {name!r}, but the moments of pool that vary are {shown}.")
        named = {str(name): value for name, value in means.items()}
        names = tuple(name for name in moments.names if name in named)
        return Goal(TargetRows(as_vector([named[name] for name in names], len(names), "target")), names)

    def levels(self) -> list[Levels]:
        """Return what is balanced exactly, for the rows of the pool followed by those of the target."""
        return level_sets(self.exact, self.fine, *self.tables)

    def unmatched_levels(self, levels: list[Levels]) -> tuple[str, ...]:
        """Return the levels of the pool that the target has not."""
        n_pool, names = self.pool.n_rows, []
        for one in levels:
            wanted = one.take(slice(n_pool, None)).counts()
            names += [label for label, count in zip(one.labels, wanted, strict=True) if not count]
        return tuple(names)

    def split(self) -> tuple[Stratum, ...]:
        """Return the strata, with the rows of pool and target in each."""
        n_pool = self.pool.n_rows
        n_target = 0 if self.target.table is None else self.target.table.n_rows
        if not self.strata:
            return (Stratum(None, np.arange(n_pool), np.arange(n_target)),)
        labels = joint_labels(self.strata, *self.tables)
        return tuple(
            Stratum(label, np.flatnonzero(labels[:n_pool] == label), np.flatnonzero(labels[n_pool:] == label))
            for label in np.unique(labels).tolist()
        )


def _is_named(column: str, means: Mapping[Any, Any]) -> bool:
    """Return whether the means name a column, one of its levels, or its missingness."""
    return any(str(name) == column or str(name).startswith(f"{column}=") for name in means)
