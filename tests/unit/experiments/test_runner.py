"""Run an experiment: the same results for any number of processes, more splits later, failures, settings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import momentlp as mlp
from momentlp.experiments.engine.report import Claim, Report, Table
from momentlp.experiments.engine.runner import Experiment, Settings, Task, run


def square(number: int, poison: str | None = None) -> list[dict[str, Any]]:
    if poison is not None and Path(poison).exists():
        raise mlp.DataError("poisoned.")
    return [{"number": number, "square": number**2}]


def toy(poison: Path | None = None) -> Experiment:
    def tasks(settings: Settings) -> list[Task]:
        return [
            Task(f"{number}", partial(square, number, str(poison) if poison and number == 2 else None))
            for number in settings.split_numbers()
        ]

    def report(_: Settings, records: list[dict[str, Any]]) -> Report:
        return Report([Table("squares", "Squares.", records)], [Claim("squares", "all", str(len(records)), True)])

    return Experiment("toy", "Squares", tasks, report, needs_data=False)


def test_results_do_not_depend_on_the_number_of_processes_nor_on_their_order(tmp_path: Path) -> None:
    for jobs in (1, 3):
        run(toy(), Settings(splits=7), tmp_path / str(jobs), jobs=jobs)
    one, three = ((tmp_path / str(jobs) / "squares.csv").read_bytes() for jobs in (1, 3))
    assert one == three
    assert one.decode().splitlines() == ["number,square", *(f"{number},{number**2}" for number in range(7))]


def test_more_splits_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    run(toy(), Settings(splits=3), tmp_path)
    reported: list[int] = []
    run(toy(), Settings(splits=5), tmp_path, progress=lambda done, total: reported.append(total or 0))
    assert reported == [2, 2]
    assert len((tmp_path / "squares.csv").read_text().splitlines()) == 6


def test_failed_tasks_are_reported_and_tried_again_and_the_others_are_kept(tmp_path: Path) -> None:
    poison = tmp_path / "poison"
    poison.touch()
    with pytest.raises(mlp.SolverError, match=r"1 of 4 tasks of toy failed.*2: DataError: poisoned"):
        run(toy(poison), Settings(splits=4), tmp_path / "out")
    assert not (tmp_path / "out" / "squares.csv").exists()
    poison.unlink()
    reported: list[int] = []
    run(toy(poison), Settings(splits=4), tmp_path / "out", progress=lambda done, total: reported.append(total or 0))
    assert reported == [1]


@pytest.mark.parametrize(
    ("settings", "jobs", "message"),
    [(Settings(splits=0), 1, "splits"), (Settings(), 0, "jobs"), (Settings(epsilon=-1.0), 1, "epsilon")],
)
def test_settings_are_checked(tmp_path: Path, settings: Settings, jobs: int, message: str) -> None:
    with pytest.raises(mlp.OptionError, match=message):
        run(toy(), settings, tmp_path, jobs=jobs)


def test_results_of_other_code_are_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(toy(), Settings(splits=1), tmp_path)
    monkeypatch.setattr("momentlp.experiments.engine.runner._code_digest", lambda: "other")
    with pytest.raises(mlp.DataError, match=r"code .*, now other"):
        run(toy(), Settings(splits=1), tmp_path)
