"""Tables of all kinds become the same covariates: levels and missing values are columns of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import momentlp as mlp
from momentlp.matching import profile_match

POOL: dict[str, list[Any]] = {
    "age": [20.0, None, 40.0, 60.0],
    "race": ["black", "white", None, "white"],
    "married": [True, False, True, None],
    "year": [1, 1, 1, 1],
}
NAMES = ["age", "age=missing", "race=black", "race=missing", "race=white", "married", "married=missing"]


def as_categories(table: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame(table).astype({"race": "category"})


def as_nullable(table: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame(table).astype({"age": "Int64", "married": "boolean"})


def as_polars_categories(table: dict[str, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame(table).with_columns(pl.col("race").cast(pl.Categorical))


@pytest.mark.parametrize("make", [dict, pd.DataFrame, as_categories, as_nullable, pl.DataFrame, as_polars_categories])
def test_frames_and_dictionaries_give_the_same_covariates(make: Callable[[Any], Any]) -> None:
    match = profile_match(make(POOL), make(POOL), tolerance=1.0)
    assert list(match.data.names) == NAMES
    values = dict(zip(NAMES, match.data.values.T.tolist(), strict=True))
    assert values["age"] == [20.0, 40.0, 40.0, 60.0]  # the mean of those observed
    assert values["age=missing"] == [0.0, 1.0, 0.0, 0.0]
    assert values["race=missing"] == [0.0, 0.0, 1.0, 0.0]
    assert values["married"] == pytest.approx([1.0, 0.0, 1.0, 2 / 3])
    assert match.size == 4


def test_missing_numbers_become_the_mean_of_pool_and_target_together() -> None:
    match = profile_match({"x": [1.0, 2.0, np.nan]}, {"x": [6.0, None, 3.0]}, tolerance=5.0)
    assert match.data.values[:, 0].tolist() == [1.0, 2.0, 3.0]


def test_an_array_has_numbered_columns() -> None:
    assert profile_match([[1.0, 2.0], [3.0, 5.0]], [[2.0, 3.0]], tolerance=5.0).data.names == ("x0", "x1")
    objects = np.array([[1.0, "a"], [3.0, "b"]], dtype=object)
    assert profile_match(objects, objects).data.names == ("x0", "x1=a", "x1=b")


def test_a_level_that_only_the_target_has_is_a_covariate_too() -> None:
    match = profile_match({"race": ["a", "b"]}, {"race": ["a", "c"]}, tolerance=3.0)
    assert match.data.names == ("race=a", "race=b", "race=c")


def test_the_columns_named_are_balanced_and_others_may_hold_anything() -> None:
    table = pd.DataFrame({"x": [1.0, 2.0], "day": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    assert profile_match(table, table, columns=["x"]).data.names == ("x",)
    with pytest.raises(mlp.DataError, match=r"column 'day' of pool holds datetime64\[.*\] values: give numbers"):
        profile_match(table, table)


def test_quantiles_are_those_of_the_target() -> None:
    match = profile_match({"x": [1, 2, 3, 9]}, {"x": [1, 2, 3, 4]}, quantiles=[0.25, 0.5], tolerance=9.0)
    assert match.data.names == ("x", "x <= 1", "x <= 2")
    assert match.data.values[:, 2].tolist() == [1.0, 1.0, 0.0, 0.0]


def test_products_leave_out_squares_of_indicators_and_products_of_levels() -> None:
    table = {"x": [1, 2, 3], "race": ["a", "b", "a"], "male": [True, True, False]}
    names = profile_match(table, table, features="products").data.names
    assert names == (
        "x", "race=a", "race=b", "male", "x^2",
        "x * race=a", "x * race=b", "x * male", "race=a * male", "race=b * male",
    )  # fmt: skip


def test_a_feature_map_gives_the_moments() -> None:
    table = {"x": [1.0, 2.0, 4.0], "z": [0.0, 5.0, 1.0]}
    match = profile_match(table, table, features=mlp.Quadratic())
    assert match.data.names == ("x", "z", "x^2", "x z", "z^2")
    assert match.size == 3

    @mlp.feature_map(kind="matching-test-range")
    def spread_of(X: Any) -> Any:
        return np.ptp(X, axis=1, keepdims=True)

    assert profile_match(table, table, features=spread_of()).data.values[:, 0].tolist() == [1.0, 3.0, 3.0]


def test_tolerances_are_given_by_column_or_by_moment() -> None:
    table = {"x": [1.0, 2.0, 4.0], "race": ["a", "b", "a"]}
    wanted = {"x": 0.3, "race": 0.5, "race=b": np.inf, "x^2": 0.7}
    match = profile_match(table, table, features="variances", tolerance=wanted)
    assert match.data.tolerance.tolist() == [0.3, 0.5, np.inf, 0.7]
    assert "race=b" not in " ".join(match.solution.problem.names)
    default = profile_match(table, table, features="products", tolerance={"x": 0.3})
    assert dict(zip(default.data.names, default.data.tolerance.tolist(), strict=True))["x * race=a"] == 0.1


def test_a_target_of_means_names_the_moments_to_balance() -> None:
    pool = {"age": [20, 30, 40], "race": ["a", "b", "a"], "town": ["u", "v", "w"]}
    match = profile_match(pool, {"age": 30, "race=a": 0.5}, tolerance=0.8)
    assert match.data.names == ("age", "race=a")
    assert match.data.spread == pytest.approx([np.std([20, 30, 40]), np.std([1, 0, 1])])
    assert profile_match({"x": [1, 2, 3]}, [2.0], tolerance=0.0).size == 3
    assert profile_match({"x": [1, 2, 3]}, pd.Series({"x": 2.0}), tolerance=0.0).size == 3


def test_a_moment_that_does_not_vary_in_the_target_is_measured_in_the_pool() -> None:
    match = profile_match({"x": [1.0, 2.0, 3.0], "z": [0, 1, 3]}, {"x": [2.0, 2.0], "z": [0, 2]}, tolerance=0.1)
    assert match.data.spread[0] == pytest.approx(np.std([1, 2, 3]))
    assert "do not vary there (x) were measured in standard deviations of the pool" in match.describe()
