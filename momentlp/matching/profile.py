"""Profile matching: the largest part of a pool whose means are those of a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from momentlp.errors import OptionError
from momentlp.features import FeatureMap
from momentlp.matching.arguments import (
    DEFAULT_TOLERANCE,
    as_names,
    check_ids,
    check_sample_weight,
    check_unit,
    name_features,
    spread_or_other,
    tolerance_per_moment,
)
from momentlp.matching.data import MatchingData
from momentlp.matching.match import Match
from momentlp.matching.moments import Moments
from momentlp.matching.profile_request import GivenTarget, ProfileRequest
from momentlp.matching.solve_strata import solve_strata
from momentlp.matching.statistics import weighted_spread
from momentlp.matching.table import read_table
from momentlp.points.arrays import FloatArray
from momentlp.runtime.argument_checks import check_bool

__all__ = ["profile_match"]

UNITS = {
    "target": "standard deviations of the target",
    "pool": "standard deviations of the pool",
    "pooled": "pooled standard deviations of target and pool",
}


def profile_match(
    pool: Any,
    target: Any,
    *,
    tolerance: float | Mapping[str, float] = DEFAULT_TOLERANCE,
    unit: str | None = None,
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
    """Choose the largest part of a pool whose means are within a tolerance of those of a target.

    The mean of every moment j over the rows chosen differs from that of the target by at most
    ``tolerance_j * standard deviation_j``. Numeric columns and booleans are moments as they are. Each level of a text or
    categorical column is an indicator (``race=black``). Missing values of a numeric column are replaced by the mean of the
    observed ones, of pool and target together, and an indicator is added (``age=missing``); in a text column, missing is a
    level. Columns in which all rows agree are left out; ``match.describe()`` names them. Categories that are coded as
    numbers count as numbers: convert such a column to text, or to a categorical one.

    Parameters
    ----------
    pool : DataFrame, array or dict of columns, shape (n, d)
        The rows to choose from. Frames of pandas and polars work alike.
    target : DataFrame, array or dict of columns, shape (t, d); or mapping of str to float, or array of shape (k,)
        Rows with the same columns; or the mean of each moment. A mapping of means names the moments to balance, such as
        ``{"age": 41.5, "race=black": 0.3}``.
    tolerance : float or mapping of str to float
        In standard deviations. A mapping names columns or moments; those it does not name have 0.1. Infinity asks nothing of
        a moment, which is still part of the balance table.
    unit : {"target", "pool", "pooled"}, optional
        Whose standard deviation (with the number of rows as divisor). ``"pooled"`` is the root of the mean of the two
        variances. Default: ``"target"``, or ``"pool"`` for a target of means. Where a moment does not vary in the target,
        that of the pool is used.
    features : {"means", "variances", "products"} or FeatureMap
        What is balanced: the means of covariates; with their squares; with their squares and products (about the mean of the
        target); or the features of a map, such as ``mlp.Quadratic()``.
    quantiles : sequence of float
        Adds indicators ``x <= q`` for these quantiles q of the target, for every numeric covariate.
    columns : sequence of str, optional
        The columns to balance. Default: all columns of the target, without those of ``ids`` and ``strata``.
    exact : str or sequence of str
        Columns of which every joint level must have the same share as in the target. A whole match then has a multiple of
        so many rows as make these shares integers, which may be many.
    fine : str or sequence of str
        Columns of which every level, each column by itself, must have the same share as in the target; as for ``exact``, a
        whole match has a multiple of so many rows as make these shares integers.
    strata : str or sequence of str, optional
        Columns; rows are matched to the target within each joint level. Strata that cannot be matched are skipped.
    ids : str or sequence, optional
        A column of the pool, or one id per row. Default: the index of a pandas frame if no entry repeats, or row
        numbers.
    sample_weight : array, shape (n,), optional
        How many points each row of the pool stands for: the maximum of its membership.
    whole : bool
        Whether memberships must be integers. With False they may be fractional, and the match is a weighted sample.
    backend : str or Backend
        As for :func:`momentlp.solve`.
    time_limit : float, optional
        Seconds, for all strata together.
    **options
        More arguments of :func:`momentlp.solve`.

    Returns
    -------
    Match
        Its status is EMPTY if no row can be chosen; ``match.explain()`` says which tolerance would do.

    Raises
    ------
    DataError
        If a table, ids or weights cannot be used, or nothing could be matched whatever the tolerance.
    OptionError
        If an argument is out of range or names an unknown column.
    NoMatchError
        If there are strata, and none could be matched.

    Warns
    -----
    StratumSkippedWarning
        If some strata could not be matched.

    Examples
    --------
    >>> import momentlp as mlp
    >>> pool = {"age": [20, 30, 40, 70], "race": ["a", "b", "b", "a"]}
    >>> target = {"age": [25, 35], "race": ["a", "b"]}
    >>> match = mlp.matching.profile_match(pool, target, tolerance=0.5, backend="highs")
    >>> match.indices, match.bound
    (array([0, 1, 2]), 3.0)
    """
    whole = check_bool("whole", whole)
    request = ProfileRequest(
        read_table(pool, "pool"),
        GivenTarget.read(target),
        as_names(exact, "exact"),
        as_names(fine, "fine"),
        as_names(strata, "strata"),
    )
    caps = check_sample_weight(sample_weight, request.pool, whole=whole)
    names = request.columns_to_balance(columns, ids)
    covariates, moments = request.moments(names, features, quantiles)
    goal = request.goal(moments)
    moments, levels = _select(moments, goal.names), request.levels()
    n_pool = request.pool.n_rows
    chosen_unit = _choose_unit(unit, goal.rows.values is not None)
    spread, fallback = _measure_spread(moments.values[:n_pool], caps, goal.rows.values, chosen_unit)
    widths = tolerance_per_moment(tolerance, moments, names, request.exact, request.fine)
    if not np.isfinite(widths).any() and not levels:
        raise OptionError("tolerance is infinite for every moment: nothing is left to balance.")
    about = {
        "unit": UNITS[chosen_unit],
        "features": name_features(features, quantiles),
        "columns": names,
        "exact": request.exact,
        "fine": request.fine,
        "strata": ", ".join(request.strata),
        "constant": covariates.constant,
        "filled": covariates.filled,
        "categorical": covariates.categorical,
        "fallback": tuple(name for name, other in zip(moments.names, fallback, strict=True) if other),
        "fallback_unit": UNITS["target" if chosen_unit == "pool" else "pool"],
        "unmatched_levels": request.unmatched_levels(levels),
    }
    data = MatchingData(
        values=moments.values[:n_pool],
        names=moments.names,
        spread=spread,
        tolerance=widths,
        caps=caps,
        groups=("pool",),
        codes=np.zeros(n_pool, dtype=np.intp),
        ratio=(1,),
        target=replace(goal.rows, levels=tuple(one.take(slice(n_pool, None)) for one in levels)),
        levels=tuple(one.take(slice(n_pool)) for one in levels),
        strata=request.split(),
        ids=check_ids(ids, request.pool),
        whole=whole,
        about=about,
    )
    return Match.of(data, *solve_strata(data, {"backend": backend, **options}, time_limit))


def _select(moments: Moments, names: tuple[str, ...]) -> Moments:
    chosen = [moments.names.index(name) for name in names]
    return Moments(moments.values[:, chosen], names, tuple(moments.sources[j] for j in chosen))


def _choose_unit(unit: Any, target_has_rows: bool) -> str:
    if target_has_rows:
        return "target" if unit is None else check_unit(unit, tuple(UNITS))
    if unit is not None and check_unit(unit, tuple(UNITS)) != "pool":
        raise OptionError(f"unit={unit!r} needs a target with rows, but means have no standard deviation: use unit='pool'.")
    return "pool"


def _measure_spread(pool: FloatArray, caps: FloatArray, target: FloatArray | None, unit: str) -> tuple[FloatArray, Any]:
    """Return the standard deviation of every moment, and where that of the other table had to be taken."""
    of_pool = weighted_spread(pool, caps)
    if target is None:
        return spread_or_other(of_pool, np.ones(of_pool.size)), np.zeros(of_pool.size, dtype=bool)
    of_target = weighted_spread(target, np.ones(len(target)))
    if unit == "pooled":
        return spread_or_other(np.sqrt((of_pool**2 + of_target**2) / 2), of_pool), np.zeros(of_pool.size, dtype=bool)
    first, second = (of_target, of_pool) if unit == "target" else (of_pool, of_target)
    return spread_or_other(first, second), ~(first > 0)
