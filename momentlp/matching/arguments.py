"""Checks of the arguments that profile_match and cardinality_match share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError, OptionError
from momentlp.matching.levels import Levels, combine_levels
from momentlp.matching.moments import Moments
from momentlp.matching.table import Column, Table, level_text, read_column, stack_columns
from momentlp.points.arrays import FloatArray
from momentlp.points.validation import as_vector
from momentlp.runtime.argument_checks import check_number

__all__ = [
    "DEFAULT_TOLERANCE",
    "as_names",
    "check_ids",
    "check_ratio",
    "check_sample_weight",
    "check_unit",
    "joint_labels",
    "label_rows",
    "level_sets",
    "name_features",
    "read_columns",
    "spread_or_other",
    "tolerance_per_moment",
]

DEFAULT_TOLERANCE = 0.1  # standard deviations: what the literature on matching calls balanced
MAX_DENOMINATOR = 1000  # of a ratio of group sizes


def as_names(value: Any, argument: str) -> tuple[str, ...]:
    """Return one name, or a sequence of names, as a tuple of texts.

    Raises
    ------
    OptionError
        If it is neither, or a name is repeated.
    """
    if value is None:
        return ()
    names = (value,) if isinstance(value, (str, int)) else value
    if not isinstance(names, Iterable) or isinstance(names, Mapping):
        raise OptionError(f"{argument} must be the name of a column or a sequence of names, not {value!r:.80}.")
    texts = tuple(str(name) for name in names)
    if repeated := {name for name in texts if texts.count(name) > 1}:
        raise OptionError(f"{argument} names column {min(repeated)!r} more than once.")
    return texts


def read_columns(names: Sequence[str], asked_by: str, *tables: Table) -> list[Column]:
    """Read columns of a table, or of two tables one below the other.

    Raises
    ------
    DataError
        If a table has no such column, or it cannot be read.
    """
    columns = []
    for name in names:
        parts = [table.column(name, asked_by) for table in tables]
        pair = (tables[0].argument, tables[-1].argument)
        columns.append(parts[0] if len(parts) == 1 else stack_columns(parts[0], parts[1], pair))
    return columns


def level_sets(exact: tuple[str, ...], fine: tuple[str, ...], *tables: Table) -> list[Levels]:
    """Return the levels to balance exactly: those of the columns ``exact`` jointly, and of each column in ``fine``."""
    joint = [combine_levels(read_columns(exact, "exact", *tables))] if exact else []
    return [*joint, *(combine_levels(read_columns([name], "fine", *tables)) for name in fine)]


def label_rows(value: Any, argument: str, table: Table) -> NDArray[np.str_]:
    """Return one label per row, from the name of a column or from a sequence with one label per row.

    Raises
    ------
    DataError
        If there is no such column, the length is wrong, or a label is missing.
    """
    if isinstance(value, (str, int)):
        column = table.column(value, argument)
    else:
        table.check_aligned(value, argument)
        labels = value if hasattr(value, "dtype") else list(value)
        if len(labels) != table.n_rows:
            raise DataError(f"{argument} holds {len(labels)} label(s), but {table.argument} has {table.n_rows} rows.")
        column = read_column(argument, labels, "the call")
    if column.missing.any():
        row = int(np.argmax(column.missing))
        raise DataError(f"{argument} has no label for row {row}: drop such rows, or give them a label of their own.")
    return column.levels()


def check_ids(ids: Any, table: Table) -> NDArray[Any]:
    """Return one id per row: a column, a sequence, the index of a pandas frame, or the row numbers.

    Raises
    ------
    DataError
        If an id is missing or repeated, or they are not one per row.
    """
    if ids is None:
        return np.arange(table.n_rows) if table.index is None else table.index
    table.check_aligned(ids, "ids")
    values = table.values(ids, "ids") if isinstance(ids, (str, int)) else ids
    plain = values.to_numpy() if hasattr(values, "to_numpy") else values
    array = np.empty(len(plain), dtype=object)
    array[:] = list(plain)
    if array.size != table.n_rows:
        raise DataError(f"ids holds {array.size} id(s), but {table.argument} has {table.n_rows} rows: give one per row.")
    seen: dict[str, int] = {}
    for row, value in enumerate(array):
        text = level_text(value)
        if text == "missing" and not isinstance(value, str):
            raise DataError(f"ids has no id for row {row} (it is {value}): give every row one, or leave out ids.")
        if text in seen:
            raise DataError(f"ids holds {value!r} for rows {seen[text]} and {row}: an id must name one row.")
        seen[text] = row
    return array


def check_sample_weight(sample_weight: Any, table: Table, *, whole: bool) -> FloatArray:
    """Return how many points each row stands for, shape (n,).

    Raises
    ------
    DataError
        If a weight is negative, all are zero, or one is no integer although memberships must be integers.
    """
    if sample_weight is None:
        return np.ones(table.n_rows)
    table.check_aligned(sample_weight, "sample_weight")
    weights = as_vector(sample_weight, table.n_rows, "sample_weight")
    if (weights < 0).any() or not weights.any():
        what = "negative" if (weights < 0).any() else "all zero"
        raise DataError(f"sample_weight must not be {what}: it says how many points each row stands for.")
    if whole and (weights != np.rint(weights)).any():
        row = int(np.argmax(weights != np.rint(weights)))
        raise DataError(
            f"sample_weight must hold integers if whole=True, but row {row} has {weights[row]:g}: round the weights, or use "
            "whole=False."
        )
    return weights


def check_unit(unit: Any, choices: Sequence[str]) -> str:
    """Return the unit of tolerances as a text; raise OptionError if it is not among the choices."""
    if unit is None or str(unit) not in choices:
        raise OptionError(f"unit must be {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}, not {unit!r}.")
    return str(unit)


def check_ratio(ratio: Any, groups: Sequence[str]) -> tuple[int, ...]:
    """Return how many rows of each group are chosen at a time, as the smallest integers in that ratio.

    Raises
    ------
    OptionError
        If a number is not positive, or the ratio names an unknown group.

    Examples
    --------
    >>> check_ratio({"control": 2}, ["control", "treated"]), check_ratio({"a": 1.5, "b": 3}, ["a", "b"])
    ((2, 1), (1, 2))
    """
    if isinstance(ratio, Mapping):
        given = {level_text(group): value for group, value in ratio.items()}
        if unknown := [group for group in given if group not in groups]:
            raise OptionError(f"ratio names group {unknown[0]!r}, but the groups are {', '.join(groups)}.")
    elif ratio == 1 and not isinstance(ratio, bool):
        given = {}
    else:
        raise OptionError(
            f"ratio must be 1 or a mapping of group to number, such as {{{groups[0]!r}: 2}} for two rows of {groups[0]!r} "
            f"for each row of the others, not {ratio!r:.80}."
        )
    parts = [
        Fraction(check_number(f"ratio[{group!r}]", given.get(group, 1), above=0)).limit_denominator(MAX_DENOMINATOR)
        for group in groups
    ]
    if not all(parts):
        raise OptionError(f"ratio is too small for a group: it must be at least 1/{MAX_DENOMINATOR}.")
    common = lcm(*(part.denominator for part in parts))
    counts = [int(part * common) for part in parts]
    return tuple(count // gcd(*counts) for count in counts)


def tolerance_per_moment(
    tolerance: Any, moments: Moments, known: Sequence[str], exact: Sequence[str], fine: Sequence[str]
) -> FloatArray:
    """Return the tolerance of every moment in standard deviations, shape (k,).

    Parameters
    ----------
    tolerance : float or mapping of str to float
        A name is that of a moment, such as ``race=black`` or ``age^2``, or of a column, for everything made of it alone.
    moments : Moments
    known : sequence of str
        Columns that a name may mean although they are not among the moments, because they do not vary.
    exact, fine : sequence of str
        Columns that are balanced exactly, so that the means of what is made of them need no tolerance.

    Raises
    ------
    OptionError
        If a number is negative, or a name is unknown.
    """
    default = DEFAULT_TOLERANCE if isinstance(tolerance, Mapping) else _check_tolerance("tolerance", tolerance)
    given = (
        {str(name): _check_tolerance(f"tolerance[{name!r}]", value) for name, value in tolerance.items()}
        if (isinstance(tolerance, Mapping))
        else {}
    )
    columns = {source for sources in moments.sources for source in sources}
    for name in given:
        if name not in columns and name not in moments.names and name not in known:
            shown = ", ".join(moments.names[:8]) + (", ..." if len(moments.names) > 8 else "")
            raise OptionError(f"tolerance names {name!r}, but the moments are {shown}.")
    widths = np.full(len(moments.names), default)
    for position, (name, sources) in enumerate(zip(moments.names, moments.sources, strict=True)):
        (column,) = sources if len(sources) == 1 else (None,)
        if sources <= set(exact) or column in fine:
            widths[position] = np.inf
        elif column in given:
            widths[position] = given[str(column)]
        widths[position] = given.get(name, widths[position])
    return widths


def _check_tolerance(name: str, value: Any) -> float:
    hint = "A tolerance is in standard deviations: 0.1 is common, 0 asks for equal means."
    return check_number(name, value, minimum=0, infinite=True, hint=hint)


def spread_or_other(spread: FloatArray, other: FloatArray) -> FloatArray:
    """Return standard deviations; where one is zero, the other one, and 1 if that is zero too."""
    first = np.where(spread > 0, spread, other)
    return np.where(first > 0, first, 1.0)


def joint_labels(names: Sequence[str], *tables: Table) -> NDArray[np.str_]:
    """Return one text per row that names its stratum, for the rows of all tables."""
    parts = [[label_rows(name, "strata", table) for name in names] for table in tables]
    joined = [np.array([", ".join(row) for row in zip(*part, strict=True)], dtype=np.str_) for part in parts]
    return np.concatenate(joined)


def name_features(features: Any, quantiles: Sequence[float]) -> str:
    """Say in words what the moments are."""
    words = {
        "means": "the covariates",
        "variances": "the covariates and their squares",
        "products": "the covariates, their squares and their products",
    }
    text = words.get(features) if isinstance(features, str) else f"the features of {type(features).__name__}"
    cuts = ", ".join(f"{quantile:g}" for quantile in quantiles)
    return f"{text}{f', and indicators of their quantiles {cuts}' if cuts else ''}"
