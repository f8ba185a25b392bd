"""Input that cannot be used raises an error that names the argument and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import momentlp as mlp
from momentlp.matching import cardinality_match, profile_match

X: dict[str, list[Any]] = {
    "age": [1.0, 2.0, 3.0, 4.0],
    "race": ["a", "b", "a", "b"],
    "group": ["t", "c", "t", "c"],
    "id": ["p", "q", "r", "s"],
}


def profile(**changes: Any) -> Callable[[], Any]:
    table = {"age": X["age"], "race": X["race"]}
    arguments = {"pool": table, "target": table, **changes}
    return lambda: profile_match(arguments.pop("pool"), arguments.pop("target"), **arguments)


def groups(**changes: Any) -> Callable[[], Any]:
    arguments = {"X": X, "group": "group", "columns": ["age", "race"], **changes}
    return lambda: cardinality_match(arguments.pop("X"), arguments.pop("group"), **arguments)


WRONG_DATA = [
    (profile(columns=["height"]), "columns names column 'height', but the columns of pool are age, race"),
    (profile(exact="town"), "exact names column 'town', but the columns of pool are age, race"),
    (profile(fine=["town"]), "fine names column 'town', but the columns of pool"),
    (profile(strata="town"), "strata names column 'town', but the columns of pool"),
    (profile(ids="town"), "ids names column 'town', but the columns of pool"),
    (groups(group="arm"), "group names column 'arm', but the columns of X are age, race, group, id"),
    (profile(pool={"age": []}), "pool is empty: it needs at least one row and one column"),
    (profile(pool=np.empty((0, 2))), "pool is empty"),
    (profile(target={"age": [1, 2]}), "target has no column 'race', but pool has: give the same columns, or name them in"),
    (profile(pool={"age": [1, 2]}), "pool has no column 'race', but target has"),
    (profile(pool={"age": [1, 2], "race": ["a"]}), "pool has columns of different lengths: 'race' has 1 rows, not 2"),
    (profile(pool=sp.csr_array(np.eye(2))), r"pool is a sparse matrix: give a dense one, pool.toarray\(\)"),
    (profile(pool=[1.0, 2.0]), r"pool must be a table .* but it has 1 dimension.*reshape\(-1, 1\)"),
    (profile(pool={"age": [1, 2], "race": [1, 2]}), "column 'race' holds numbers in pool, but text in target"),
    (profile(pool={"age": [1, "x"], "race": ["a", "b"]}), "column 'age' of pool holds numbers and text: give numbers"),
    (profile(pool={"age": [1j, 2], "race": ["a", "b"]}), "column 'age' of pool holds complex128 values"),
    (profile(pool={"age": [1, np.inf], "race": ["a", "b"]}), "column 'age' of pool must be finite, but row 1 is inf"),
    (profile(pool={"age": [None, None], "race": ["a", "b"]}), "column 'age' of pool holds nothing but missing values"),
    (profile(pool={"age": [[1], [2]], "race": ["a", "b"]}), "column 'age' of pool must be a flat sequence"),
    (profile(pool=pd.DataFrame([[1, 2]], columns=["a", "a"])), "pool has more than one column named 'a'"),
    (profile(pool={"x": [1, 1]}, target={"x": [1, 1]}), "nothing is left to balance: all rows have the same value in x"),
    (profile(pool={"x": list(map(str, range(80)))}, target={"x": ["0"]}), "column 'x' has 80 different texts in 81 rows"),
    (
        profile(exact="race", pool={"age": [1, 2], "race": ["a", "a"]}),
        "the target has rows with race=b and the pool has none",
    ),
    (profile(target={"height": 3.0}), "columns names no column to balance, or target none that pool has"),
    (profile(target={"age": 3.0, "race=c": 0.2}), "target gives a mean of 'race=c', but the moments of pool that vary are"),
    (profile(target=[3.0]), r"target must hold 3 number\(s\)"),
    (profile(ids=[1, 2]), r"ids holds 2 id\(s\), but pool has 4 rows: give one per row"),
    (profile(ids=[1, 2, 2, 3]), "ids holds 2 for rows 1 and 2: an id must name one row"),
    (profile(ids=[1.0, 2.0, np.nan, 3.0]), r"ids has no id for row 2 \(it is nan\)"),
    (profile(sample_weight=[1, 1, -1, 1]), "sample_weight must not be negative"),
    (profile(sample_weight=0.0), "sample_weight must not be all zero"),
    (profile(sample_weight=[1, 1, 0.5, 1]), "sample_weight must hold integers if whole=True, but row 2 has 0.5"),
    (groups(group=["t"] * 4), "group has one level only, 't': at least two groups are needed"),
    (groups(group=["t", "c"]), r"group holds 2 label\(s\), but X has 4 rows"),
    (groups(group=["t", None, "c", "c"]), "group has no label for row 1"),
    (groups(ratio={"c": 5}), r"group 'c' has 2 row\(s\), but ratio asks for 5 at a time"),
    (groups(X={**X, "race": ["a", "b", "a", "b"]}, exact="race"), "the groups share no level of race, which is balanced ex"),
    (groups(columns=[], X={"group": ["t", "c"]}), "X has no column to balance beside those of group"),
    (
        groups(X=pd.DataFrame(X), group=pd.Series(X["group"], index=[3, 2, 1, 0])),
        r"group is a Series whose index differs from that of X: align it first, group.reindex\(X.index\)",
    ),
]

WRONG_OPTIONS = [
    (profile(tolerance=-0.1), "tolerance must be a number of at least 0, not -0.1. A tolerance is in standard deviations"),
    (profile(tolerance={"age": -1}), r"tolerance\['age'\] must be a number of at least 0, not -1"),
    (profile(tolerance={"height": 0.1}), "tolerance names 'height', but the moments are age, race=a, race=b"),
    (profile(tolerance=np.inf), "tolerance is infinite for every moment"),
    (profile(tolerance="small"), "tolerance must be a number"),
    (profile(unit="control"), "unit must be 'target', 'pool' or 'pooled', not 'control'"),
    (profile(target={"age": 2.0}, unit="target"), "unit='target' needs a target with rows, but means have no standard dev"),
    (profile(target={"age": 2.0}, exact="race"), "exact needs a target with rows, but only means were given"),
    (profile(target={"age": 2.0}, features="products"), "target gives nothing but means, so that squares, products"),
    (profile(target={"age": 2.0}, quantiles=[0.5]), "target gives nothing but means"),
    (profile(features="mean"), "features must be 'means', 'variances', 'products' or a feature map, not 'mean'"),
    (profile(quantiles=[50]), "quantiles must lie between 0 and 1, but one is 50"),
    (profile(quantiles=0.5), "quantiles must be a sequence of numbers"),
    (profile(whole="yes"), "whole must be True or False, not 'yes'"),
    (profile(exact=3.5), "exact must be the name of a column or a sequence of names, not 3.5"),
    (profile(columns=["age", "age"]), "columns names column 'age' more than once"),
    (groups(unit="treated"), "unit must be 'pooled', 'all', 'c' or 't', not 'treated'"),
    (groups(ratio={"x": 2}), "ratio names group 'x', but the groups are c, t"),
    (groups(ratio=2), "ratio must be 1 or a mapping of group to number, such as {'c': 2}"),
    (groups(ratio={"c": 0}), r"ratio\['c'\] must be a number above 0, not 0"),
    (groups(keep="x"), "keep names group 'x', but the groups are c, t"),
]


@pytest.mark.parametrize(("call", "message"), WRONG_DATA, ids=[message[:40] for _, message in WRONG_DATA])
def test_data_that_cannot_be_used_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(mlp.DataError, match=message):
        call()


@pytest.mark.parametrize(("call", "message"), WRONG_OPTIONS, ids=[message[:40] for _, message in WRONG_OPTIONS])
def test_options_out_of_range_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(mlp.OptionError, match=message):
        call()


def test_a_map_that_needs_labels_is_refused() -> None:
    with pytest.raises(mlp.CompileError, match="features=Learned needs labelled points, and there are none in matching"):
        profile(features=mlp.Learned())()
