"""compare: one row per backend, also if a backend fails."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import momentlp as mlp
from momentlp.testing import half_space
from momentlp_glpk import Glpk
from momentlp_highs import Highs

PROBLEM, SIZE = half_space(100, 3, seed=1)


class Raises(Highs):
    name: ClassVar[str] = "raises"

    def run(self, problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        raise RuntimeError("boom")


class Absent(Highs):
    name: ClassVar[str] = "absent"

    @classmethod
    def version(cls) -> str:
        raise ModuleNotFoundError("No module named 'highspy'", name="highspy")


def test_whole_sets_are_compared_by_backends_that_find_them() -> None:
    rows = mlp.compare(replace(PROBLEM, whole=True))
    assert [row["backend"] for row in rows] == [info.name for info in mlp.backends() if "integer" in info.capabilities]
    assert {row["objective"] for row in rows} == {SIZE}
    assert rows.independent_engines == ("GLPK", "HiGHS")


def test_every_backend_gets_a_row() -> None:
    rows = mlp.compare(PROBLEM)
    assert [row["backend"] for row in rows] == [info.name for info in mlp.backends() if info.is_linear]
    for row in rows:
        assert row["status"] == "optimal"
        assert row["objective"] == pytest.approx(SIZE)
        assert row["seconds"] > 0
        assert row["memory"] is None or row["memory"] >= 0
        assert abs(row["gap"]) < 1e-7
    assert rows.spread < 1e-7
    assert rows.independent_engines == ("GLPK", "HiGHS")


def test_rows_that_share_an_engine_say_so() -> None:
    rows = {row["backend"]: row for row in mlp.compare(PROBLEM, ["highs", "scipy", "glpk"])}
    assert rows["highs"]["same_engine_as"] == ["scipy"]
    assert rows["glpk"]["same_engine_as"] == []


def test_one_failure_does_not_affect_the_other_backends() -> None:
    rows = mlp.compare(PROBLEM, [Raises(), Absent(), "highs", Glpk(meth="primal")])
    assert [row["status"] for row in rows] == ["error", "unavailable", "optimal", "optimal"]
    assert "boom" in rows[0]["message"]
    assert "not installed" in rows[1]["message"]
    assert rows[3]["backend"] == "Glpk(meth='primal')"
    assert set(rows.solutions) == {"highs", "Glpk(meth='primal')"}


def test_a_time_limit_is_reported_in_the_table() -> None:
    (row,) = mlp.compare(PROBLEM, ["highs"], iteration_limit=0)
    assert row["status"] == "limit"


def test_repeats_are_interleaved() -> None:
    order: list[str] = []
    mlp.compare(PROBLEM, ["highs", "glpk"], repeat=3, on_start=order.append)
    assert order == ["highs", "glpk"] * 3


def test_records_can_be_written_as_csv_and_json(tmp_path: Path) -> None:
    rows = mlp.compare(PROBLEM, ["highs", "scipy"])
    from_csv = list(csv.DictReader(io.StringIO(rows.to_csv(tmp_path / "rows.csv"))))
    from_json = json.loads(rows.to_json(tmp_path / "rows.json"))
    assert (tmp_path / "rows.csv").read_text().splitlines()[0].startswith("backend,engine,version,status,objective")
    assert json.loads((tmp_path / "rows.json").read_text()) == from_json == list(rows)
    assert [float(row["objective"]) for row in from_csv] == [row["objective"] for row in rows]
    assert from_csv[0]["same_engine_as"] == "scipy"


def test_the_table_has_one_line_per_backend() -> None:
    lines = str(mlp.compare(PROBLEM, ["highs", "glpk"])).splitlines()
    assert lines[0].split() == ["backend", "engine", "status", "objective", "gap", "primal", "dual", "seconds", "memory"]
    assert lines[1].startswith("highs    HiGHS   optimal")
    assert "2 of 2 certified, by 2 independent engines (GLPK, HiGHS)" in lines[-1]


def test_the_table_says_if_no_solution_is_certified() -> None:
    assert mlp.compare(PROBLEM, [Raises()]).verdict() == "No backend gave an answer that could be certified."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"backends": []}, "backends is empty"),
        ({"repeat": 0}, "repeat must be an integer of at least 1, not 0"),
        ({"repeat": True}, "repeat must be an integer of at least 1, not True"),
        ({"on_start": "highs"}, "on_start must be a function of the name of a backend, not 'highs'"),
        ({"time_limit": -1.0}, "time_limit must be"),
    ],
    ids=str,
)
def test_unusable_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mlp.OptionError, match=message):
        mlp.compare(PROBLEM, **arguments)


def test_an_object_that_is_no_problem_is_refused() -> None:
    with pytest.raises(mlp.DataError, match="problem must be a Problem, not str"):
        mlp.compare("problem")  # type: ignore[arg-type]
