"""Cardinality matching: the largest sample of two or more groups whose means agree with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError, OptionError, UnmatchedLevelWarning
from momentlp.features import FeatureMap
from momentlp.matching.arguments import (
    DEFAULT_TOLERANCE,
    as_names,
    check_ids,
    check_ratio,
    check_sample_weight,
    check_unit,
    joint_labels,
    label_rows,
    level_sets,
    name_features,
    read_columns,
    spread_or_other,
    tolerance_per_moment,
)
from momentlp.matching.covariates import encode_columns
from momentlp.matching.data import MatchingData, Stratum
from momentlp.matching.levels import Levels
from momentlp.matching.match import Match
from momentlp.matching.moments import build_moments
from momentlp.matching.programs import shared_levels
from momentlp.matching.solve_strata import solve_strata
from momentlp.matching.statistics import weighted_spread
from momentlp.matching.table import Table, level_text, read_table
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.runtime.argument_checks import check_bool
from momentlp.runtime.warn_caller import warn_caller

__all__ = ["cardinality_match"]


def cardinality_match(
    X: Any,
    group: Any,
    *,
    tolerance: float | Mapping[str, float] = DEFAULT_TOLERANCE,
    unit: str = "pooled",
    ratio: int | Mapping[Any, float] = 1,
    keep: Any = None,
    features: str | FeatureMap = "means",
    quantiles: Sequence[float] = (),
    columns: Sequence[str] | None = None,
    exact: str | Sequence[str] = (),
    fine: str | Sequence[str] = (),
    strata: str | Sequence[str] | None = None,
    ids: Any = None,
    sample_weight: Any = None,
    whole: bool = True,
    backend: Any = "auto",
    time_limit: float | None = None,
    **options: Any,
) -> Match:
    """Choose the largest sample of two or more groups whose means agree pairwise, with sizes in a given ratio.

    For every moment j and every pair of groups, the means over the rows chosen differ by at most
    ``tolerance_j * standard deviation_j``. Columns become moments as in :func:`profile_match`: levels of text columns and
    missingness are indicators, missing numbers are replaced by the mean of the observed ones, and columns in which all rows
    agree are left out.

    Parameters
    ----------
    X : DataFrame, array or dict of columns, shape (n, d)
        The rows of all groups.
    group : str or sequence, shape (n,)
        The column of X that holds the groups, or one label per row.
    tolerance : float or mapping of str to float
        In standard deviations. A mapping names columns or moments; those it does not name have 0.1.
    unit : str
        Whose standard deviation (with the number of rows as divisor): ``"pooled"`` (the root of the mean of the variances of
        the groups), ``"all"`` (all rows together), or the name of a group, such as the treated. Where a moment does not vary
        there, that of all rows is used.
    ratio : 1 or mapping of group to number
        How many rows of each group are chosen for one of the others: ``{"control": 2}``. Groups that are not named have 1.
    keep : str, optional
        A group of which every row must be chosen. If the tolerance does not allow it, the status is INFEASIBLE, and
        ``match.explain()`` names a tolerance that does.
    features, quantiles, columns, strata, ids, sample_weight, whole, backend, time_limit
        As for :func:`profile_match`; squares, products and quantiles are those of all rows.
    exact : str or sequence of str
        Columns of which every joint level must have the same number of rows in every group (in the given ratio).
    fine : str or sequence of str
        Columns of which every level, each column by itself, must have the same number of rows in every group.
    **options
        More arguments of :func:`momentlp.solve`.

    Returns
    -------
    Match
        Its size is the number of rows of all groups; ``match.groups`` has that of each.

    Raises
    ------
    DataError
        If a table, ids or weights cannot be used, or nothing could be matched whatever the tolerance.
    OptionError
        If an argument is out of range, or names an unknown column or group.
    NoMatchError
        If there are strata, and none could be matched.

    Warns
    -----
    StratumSkippedWarning
        If some strata could not be matched.
    UnmatchedLevelWarning
        If a level that is balanced exactly is missing in a group, so that none of its rows can be chosen.

    Examples
    --------
    >>> import momentlp as mlp
    >>> X = {"age": [20, 30, 40, 22, 31, 39, 80], "group": ["t", "t", "t", "c", "c", "c", "c"]}
    >>> match = mlp.matching.cardinality_match(X, "group", tolerance=0.05, backend="highs")
    >>> match.groups, match.bound
    ({'c': 3.0, 't': 3.0}, 6.0)
    """
    whole = check_bool("whole", whole)
    table = read_table(X, "X")
    labels = label_rows(group, "group", table)
    groups, codes = _split_groups(labels)
    exact_names, fine_names = as_names(exact, "exact"), as_names(fine, "fine")
    strata_names = as_names(strata, "strata")
    caps = check_sample_weight(sample_weight, table, whole=whole)
    apart = [*strata_names, *(str(name) for name in (group, ids) if isinstance(name, (str, int)))]
    names = as_names(columns, "columns") or tuple(name for name in table.raw if name not in apart)
    if not names:
        raise DataError("X has no column to balance beside those of group, strata and ids.")
    covariates = encode_columns(read_columns(names, "columns", table))
    moments = build_moments(covariates, features, quantiles, covariates.values)
    levels = level_sets(exact_names, fine_names, table)
    check_unit(unit, ("pooled", "all", *groups))
    spread, fallback = _measure_spread(moments.values, caps, codes, groups, str(unit))
    widths = tolerance_per_moment(tolerance, moments, names, exact_names, fine_names)
    about = {
        "unit": _describe_unit(str(unit)),
        "features": name_features(features, quantiles),
        "columns": names,
        "exact": exact_names,
        "fine": fine_names,
        "strata": ", ".join(strata_names),
        "constant": covariates.constant,
        "filled": covariates.filled,
        "categorical": covariates.categorical,
        "fallback": tuple(name for name, other in zip(moments.names, fallback, strict=True) if other),
        "fallback_unit": _describe_unit("all"),
        "unmatched_levels": _warn_unmatched(levels, codes, groups),
    }
    data = MatchingData(
        values=moments.values,
        names=moments.names,
        spread=spread,
        tolerance=widths,
        caps=caps,
        groups=groups,
        codes=codes,
        ratio=check_ratio(ratio, groups),
        target=None,
        levels=tuple(levels),
        strata=_split_strata(strata_names, table),
        ids=check_ids(ids, table),
        whole=whole,
        keep=_check_keep(keep, groups),
        about=about,
    )
    return Match.of(data, *solve_strata(data, {"backend": backend, **options}, time_limit))


def _split_groups(labels: NDArray[np.str_]) -> tuple[tuple[str, ...], IndexArray]:
    """Return the groups, sorted, and the position of that of each row."""
    groups, codes = np.unique(labels, return_inverse=True)
    if groups.size < 2:
        raise DataError(f"group has one level only, {str(groups[0])!r}: at least two groups are needed for matching.")
    return tuple(groups.tolist()), codes.astype(np.intp)


def _split_strata(names: tuple[str, ...], table: Table) -> tuple[Stratum, ...]:
    none = np.arange(0)
    if not names:
        return (Stratum(None, np.arange(table.n_rows), none),)
    labels = joint_labels(names, table)
    return tuple(Stratum(label, np.flatnonzero(labels == label), none) for label in np.unique(labels).tolist())


def _measure_spread(
    values: FloatArray, caps: FloatArray, codes: IndexArray, groups: tuple[str, ...], unit: str
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the standard deviation of every moment, and where that of all rows had to be taken."""
    of_all = weighted_spread(values, caps)
    of_groups = [weighted_spread(values[codes == code], caps[codes == code]) for code in range(len(groups))]
    if unit == "pooled":
        spread = np.sqrt(np.mean(np.square(of_groups), axis=0))
    else:
        spread = of_all if unit == "all" else of_groups[groups.index(unit)]
    return spread_or_other(spread, of_all), ~(spread > 0)


def _describe_unit(unit: str) -> str:
    words = {"pooled": "pooled standard deviations of the groups", "all": "standard deviations of all rows"}
    return words.get(unit, f"standard deviations of {unit}")


def _warn_unmatched(levels: Sequence[Levels], codes: IndexArray, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the levels that some group has not, of which no row can be chosen, and warn about them."""
    names: list[str] = []
    for one in levels:
        shared = shared_levels(one, codes, len(groups))
        absent = np.flatnonzero(~shared)
        if not absent.size or not shared.any():  # if none is shared, an error follows
            continue
        label = one.labels[absent[0]]
        without = next(group for code, group in enumerate(groups) if absent[0] not in one.codes[codes == code])
        more = f" (and {absent.size - 1} more levels)" if absent.size > 1 else ""
        warn_caller(
            f"exact balance cannot be met by rows with {label}, which group {without!r} has not{more}: none of them is "
            "chosen.",
            UnmatchedLevelWarning,
        )
        names += [one.labels[position] for position in absent]
    return tuple(names)


def _check_keep(keep: Any, groups: tuple[str, ...]) -> int | None:
    if keep is None:
        return None
    if level_text(keep) not in groups:
        raise OptionError(f"keep names group {keep!r}, but the groups are {', '.join(groups)}.")
    return groups.index(level_text(keep))
