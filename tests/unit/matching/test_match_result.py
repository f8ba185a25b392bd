"""What a match says about itself: table, file, text, status and explanation."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import momentlp as mlp
from momentlp.matching import cardinality_match, profile_match

POOL = pd.DataFrame({"age": [20.0, 30.0, 40.0, 90.0]}, index=["Ann", "Bo", "Cy", "Di"])
TARGET = pd.DataFrame({"age": [25.0, 35.0]})


def test_the_index_of_a_frame_names_the_rows() -> None:
    table = profile_match(POOL, TARGET).table()
    assert table["id"].tolist() == ["Ann", "Bo", "Cy"]
    assert table["row"].tolist() == [0, 1, 2]
    assert table["weight"].tolist() == [1.0, 1.0, 1.0]
    assert set(table["group"]) == {"pool"}


def test_ids_are_a_column_or_a_sequence_and_no_covariate() -> None:
    pool, target = POOL.assign(key=[7, 8, 9, 10]), TARGET.assign(key=0)
    match = profile_match(pool, target, ids="key")
    assert match.columns()["id"].tolist() == [7, 8, 9]
    assert match.data.names == ("age",)
    assert profile_match(POOL, TARGET, ids=["a", "b", "c", "d"]).columns()["id"].tolist() == ["a", "b", "c"]
    assert profile_match(POOL.to_numpy(), TARGET.to_numpy()).columns()["id"].tolist() == [0, 1, 2]


def test_the_file_holds_the_table(tmp_path: Path) -> None:
    match = cardinality_match({"x": [1, 2, 1, 2], "g": ["a", "a", "b, c", "b, c"]}, "g", ids=list("wxyz"))
    match.to_csv(tmp_path / "match.csv")
    with (tmp_path / "match.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == list("wxyz")
    assert [row["group"] for row in rows] == ["a", "a", "b, c", "b, c"]
    assert pd.read_csv(tmp_path / "match.csv")["weight"].tolist() == [1.0] * 4


def test_without_pandas_the_table_is_a_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    match = profile_match({"x": [1, 2]}, {"x": [1, 2]})
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert match.table()["row"].tolist() == [0, 1]
    with pytest.raises(mlp.ExtraMissingError, match="to_frame needs pandas"):
        match.balance().to_frame()


def test_the_paragraph_has_the_figures_of_the_match() -> None:
    pool = {"age": [20, 30, None, 90], "race": ["a", "b", "b", "a"], "year": [1, 1, 1, 1], "sex": list("fmfm")}
    target = {"age": [25, 35], "race": ["a", "b"], "year": [1, 1], "sex": list("fm")}
    match = profile_match(pool, target, tolerance={"age": 2.0, "race": 0.6}, exact="sex", backend="highs")
    text = match.describe()
    assert "sought the largest part of a pool of 4 rows whose means agree with the means of a target of 2 rows" in text
    assert f"momentlp {mlp.__version__}" in text
    assert "Every joint level of sex was required to have the same share of rows." in text
    assert "Only multiples of 2 rows can have these shares." in text
    assert "Each level of race, sex was an indicator" in text
    assert "Missing values of age were replaced by the mean of the observed ones" in text
    assert "What does not vary was left out: year." in text
    assert f"{match.size:.6g} rows were chosen" in text
    assert f"{match.balance().largest_difference:.3f} after" in text


def test_the_paragraph_of_groups_names_sizes_ratio_and_levels_left_out() -> None:
    X = {"x": [1, 2, 3, 1, 2, 9], "g": list("tttccc"), "town": list("uvuuvw")}
    with pytest.warns(mlp.UnmatchedLevelWarning, match="rows with town=w, which group 't' has not: none of them is chosen"):
        match = cardinality_match(X, "g", fine="town", tolerance=0.5, backend="highs")
    text = match.describe()
    assert "of the groups c (3 rows) and t (3 rows), in the ratio 1:1" in text
    assert "Every level of town, each by itself, was required to have the same number of rows" in text
    assert "Rows of levels that cannot be balanced were not eligible: town=w." in text
    assert f"{match.groups['c']:g} of c and {match.groups['t']:g} of t" in text


def test_fractional_memberships_are_said_to_be_fractional() -> None:
    match = profile_match(POOL, {"age": 33.0}, tolerance=0.0, whole=False)
    assert "memberships may be fractional" in match.describe()
    assert "effective sample size (Kish)" in match.describe()


def test_nothing_found_is_explained_with_a_tolerance_that_does() -> None:
    match = profile_match({"age": [60.0, 70.0, 71.0]}, {"age": [25.0, 35.0]}, backend="highs")
    assert (match.status, match.size, match.bound) == (mlp.Status.EMPTY, 0.0, 0.0)
    assert match.indices.size == 0
    assert "No match was found (status EMPTY; no match can have more than 0 rows)." in match.describe()
    text = match.explain()
    assert "Smallest tolerance for all moments: 6 on the mean" in text
    assert "A whole set was found with a tolerance of 6.01" in text
    assert profile_match({"age": [60.0, 70.0, 71.0]}, {"age": [25.0, 35.0]}, tolerance=6.01, backend="highs").size == 1


def test_fractions_without_a_whole_set_are_explained() -> None:
    match = profile_match({"x": [0.0, 3.0]}, [1.0], tolerance=0.0, backend="highs")
    assert match.size == 0
    assert match.status is not mlp.Status.OPTIMAL
    text = match.explain()
    assert "No whole set was found, although fractional memberships" in text
    assert "A whole set was found with a tolerance of" in text


def test_a_group_that_cannot_be_kept_is_infeasible_and_explained() -> None:
    X = {"x": [0.0, 1.0, 9.0, 0.0, 1.0, 2.0], "g": list("tttccc")}
    match = cardinality_match(X, "g", tolerance=0.1, keep="t", backend="highs")
    assert match.status is mlp.Status.INFEASIBLE
    assert match.size == 0
    assert "all of t" in match.explain()
    assert "Smallest tolerance for all moments" in match.explain()


def test_there_is_nothing_to_explain_where_a_match_was_found() -> None:
    assert profile_match(POOL, TARGET).explain() == "There is nothing to explain: a match was found."


def test_a_bound_that_the_ratio_rounds_down_proves_the_match_optimal() -> None:
    X: dict[str, Any] = {"x": [0.0, 1.0, 0.0, 1.0, 0.0], "g": list("ttccc")}
    match = cardinality_match(X, "g", tolerance=2.0, backend="highs")
    assert (match.size, match.bound, match.status) == (4.0, 4.0, mlp.Status.OPTIMAL)


def test_labels_of_groups_may_be_numbers_or_truth_values() -> None:
    X = np.array([[0.0], [1.0], [0.0], [1.0], [2.0]])
    for treated in ([1, 1, 0, 0, 0], [True, True, False, False, False]):
        match = cardinality_match(X, treated, keep=treated[0], unit="1", ratio={treated[0]: 1}, tolerance=1.0)
        assert match.groups == {"0": 2.0, "1": 2.0}


def test_a_match_is_shown_as_text_and_as_html() -> None:
    match = cardinality_match({"x": [1, 2, 1, 2], "g": list("aabb")}, "g")
    assert repr(match) == "Match(OPTIMAL, size=4, bound=4, a and b)"
    assert "chosen of a" in match._repr_html_()


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="tolerences"):
        profile_match(POOL, TARGET, tolerences=0.1)
