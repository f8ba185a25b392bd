"""The journal: what it keeps of a run that ended at any moment, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import momentlp as mlp
from momentlp.experiments.engine.journal import Journal


def test_a_truncated_line_is_dropped_and_its_task_runs_again(tmp_path: Path) -> None:
    with Journal(tmp_path, {"seed": 0}) as journal:
        journal.append("one", [{"x": 0.1}])
        journal.append("two", [{"x": 0.2}])
    results = tmp_path / "results.jsonl"
    whole = results.read_bytes()
    for end in range(len(whole)):
        results.write_bytes(whole[:end])
        with Journal(tmp_path, {"seed": 0}) as journal:
            assert list(journal.done) == ["one", "two"][: whole[:end].count(b"\n")]
            journal.append("three", [])
        assert all(json.loads(line) for line in results.read_text().splitlines())


def test_reading_stops_at_a_line_that_holds_no_result(tmp_path: Path) -> None:
    with Journal(tmp_path, {}) as journal:
        journal.append("one", [])
    with (tmp_path / "results.jsonl").open("ab") as stream:
        stream.write(b"\0\0\0\0\n" + b'["two", []]\n')
    with Journal(tmp_path, {}) as journal:
        assert list(journal.done) == ["one"]


def test_results_of_other_settings_are_not_continued(tmp_path: Path) -> None:
    with Journal(tmp_path, {"seed": 0, "epsilon": 30.0}) as journal:
        journal.append("one", [])
    with pytest.raises(mlp.DataError, match=r"seed 0, now 1.*--out"):
        Journal(tmp_path, {"seed": 1, "epsilon": 30.0}).__enter__()
    (tmp_path / "settings.json").unlink()
    with pytest.raises(mlp.DataError, match=r"no settings\.json"):
        Journal(tmp_path, {"seed": 0, "epsilon": 30.0}).__enter__()


def test_two_runs_do_not_write_to_one_folder(tmp_path: Path) -> None:
    with Journal(tmp_path, {}), pytest.raises(mlp.DataError, match="another run is writing"):
        Journal(tmp_path, {}).__enter__()


def test_floats_come_back_to_the_last_digit(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random(100).tolist()
    with Journal(tmp_path, {}) as journal:
        journal.append("one", [{"x": value} for value in values])
    with Journal(tmp_path, {}) as journal:
        assert [record["x"] for record in journal.done["one"]] == values
