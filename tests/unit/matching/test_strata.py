"""Strata are matched one by one; those that cannot be are skipped, with a reason."""

from __future__ import annotations

import numpy as np
import pytest

import momentlp as mlp
from momentlp.matching import cardinality_match, profile_match

POOL = {"x": [1, 2, 3, 4, 50, 60, 7], "town": ["a", "a", "b", "b", "c", "c", "d"]}
TARGET = {"x": [1, 2, 3, 4, 5, 6, 1], "town": ["a", "a", "b", "b", "c", "c", "e"]}


def test_every_stratum_has_the_mean_of_its_own_target() -> None:
    with pytest.warns(mlp.StratumSkippedWarning, match="3 of 5 strata were skipped") as caught:
        match = profile_match(POOL, TARGET, tolerance=0.5, strata="town")
    assert caught[0].filename == __file__
    assert match.indices.tolist() == [0, 1, 2, 3]
    assert set(match.solutions) == {"a", "b", "c"}
    assert match.skipped["d"] == "the target has no rows in it"
    assert match.skipped["e"] == "the pool has no rows in it"
    assert match.skipped["c"] == "no set of its rows is within the tolerance (proved)"
    assert match.bound == 4
    assert match.status is mlp.Status.OPTIMAL
    assert match.balance("a")[0].means_after == {"target": 1.5, "pool": 1.5}
    assert match.columns()["stratum"].tolist() == ["a", "a", "b", "b"]
    assert "3 of 5 strata were skipped: c (no set of its rows is within the tolerance (proved)); d" in match.describe()
    assert "after within any stratum" in match.describe()


def test_strata_may_be_several_columns() -> None:
    table = {"x": [1, 2, 3, 4], "town": ["a", "a", "b", "b"], "sex": [0, 1, 0, 1]}
    match = profile_match(table, table, strata=["town", "sex"])
    assert [stratum.label for stratum in match.data.strata] == ["a, 0", "a, 1", "b, 0", "b, 1"]
    assert match.size == 4


def test_a_stratum_without_controls_is_skipped() -> None:
    table = {"x": [1, 1, 2, 2, 3], "group": [0, 1, 0, 1, 1], "town": ["a", "a", "a", "a", "b"]}
    with pytest.warns(mlp.StratumSkippedWarning, match=r"\(b: group '0' has no rows\)"):
        match = cardinality_match(table, "group", strata="town")
    assert match.groups == {"0": 2.0, "1": 2.0}


def test_if_every_stratum_fails_there_is_an_error_with_all_reasons() -> None:
    table = {"x": [1, 2, 3], "group": [0, 0, 1], "town": ["a", "a", "b"]}
    with pytest.raises(mlp.NoMatchError, match=r"a: group '1' has no rows; b: group '0' has no rows.*coarser strata"):
        cardinality_match(table, "group", strata="town")


def test_why_a_stratum_failed_is_explained() -> None:
    with pytest.warns(mlp.StratumSkippedWarning):
        match = profile_match(POOL, TARGET, tolerance=0.5, strata="town")
    text = match.explain()
    assert "Stratum c:\nEMPTY" in text
    assert "Stratum d: the target has no rows in it." in text
    assert "Smallest tolerance for all moments" in text


def test_one_solution_is_not_asked_of_strata() -> None:
    table = {"x": [1, 2], "town": ["a", "b"]}
    match = profile_match(table, table, strata="town")
    with pytest.raises(mlp.OptionError, match=r"one solution per stratum: use match.solutions, by a, b"):
        _ = match.solution
    with pytest.raises(mlp.OptionError, match="there is no stratum 'z'; the strata are: a, b"):
        match.balance("z")


def test_the_time_limit_is_for_all_strata_together() -> None:
    random = np.random.default_rng(0)
    table = {"x": random.normal(size=40), "town": np.arange(40) % 4}
    assert profile_match(table, table, strata="town", time_limit=20.0).size == 40
    with pytest.raises(mlp.OptionError, match="time_limit must be a number above 0, not -1"):
        profile_match(table, table, strata="town", time_limit=-1)
