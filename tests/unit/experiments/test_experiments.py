"""The paper's experiments: results that survive any end of a run, data from several sources, and what is told of them."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import momentlp as mlp
from momentlp.cli.app import app
from momentlp.experiments.beyond.few_labels import DEFAULT, on_the_graph
from momentlp.experiments.catalogue import EXPERIMENTS, experiment
from momentlp.experiments.engine.digit_images import Digits, load_digits_from, split
from momentlp.experiments.engine.journal import Journal
from momentlp.experiments.engine.report import Claim, Report, Table
from momentlp.experiments.engine.runner import Experiment, Settings, Task, run
from momentlp.experiments.paper.figure1 import PANELS

Digit = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def digits() -> Digits:
    return load_digits_from("digits")


# The journal


def test_a_cut_line_is_dropped_and_done_again(tmp_path: Path) -> None:
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


def test_what_is_not_a_line_of_results_ends_the_journal(tmp_path: Path) -> None:
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


def test_results_of_other_code_are_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(toy(), Settings(splits=1), tmp_path)
    monkeypatch.setattr("momentlp.experiments.engine.runner._code", lambda: "other")
    with pytest.raises(mlp.DataError, match=r"code .*, now other"):
        run(toy(), Settings(splits=1), tmp_path)


def test_two_runs_do_not_write_to_one_folder(tmp_path: Path) -> None:
    with Journal(tmp_path, {}), pytest.raises(mlp.DataError, match="another run is writing"):
        Journal(tmp_path, {}).__enter__()


def test_floats_come_back_to_the_last_digit(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random(100).tolist()
    with Journal(tmp_path, {}) as journal:
        journal.append("one", [{"x": value} for value in values])
    with Journal(tmp_path, {}) as journal:
        assert [record["x"] for record in journal.done["one"]] == values


# Running


def square(number: int, poison: str | None = None) -> list[dict[str, Any]]:
    if poison is not None and Path(poison).exists():
        raise mlp.DataError("poisoned.")
    return [{"number": number, "square": number**2}]


def toy(poison: Path | None = None) -> Experiment:
    def tasks(settings: Settings) -> list[Task]:
        return [
            Task(f"{number}", partial(square, number, str(poison) if poison and number == 2 else None))
            for number in settings.numbers()
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


def test_what_fails_is_told_and_tried_again_and_the_rest_is_kept(tmp_path: Path) -> None:
    poison = tmp_path / "poison"
    poison.touch()
    with pytest.raises(mlp.SolverError, match=r"1 of 4 pieces of toy failed.*2: DataError: poisoned"):
        run(toy(poison), Settings(splits=4), tmp_path / "out")
    assert not (tmp_path / "out" / "squares.csv").exists()
    poison.unlink()
    reported: list[int] = []
    run(toy(poison), Settings(splits=4), tmp_path / "out", progress=lambda done, total: reported.append(total or 0))
    assert reported == [1]


@pytest.mark.parametrize(
    ("settings", "jobs", "words"),
    [(Settings(splits=0), 1, "splits"), (Settings(), 0, "jobs"), (Settings(epsilon=-1.0), 1, "epsilon")],
)
def test_settings_are_checked(tmp_path: Path, settings: Settings, jobs: int, words: str) -> None:
    with pytest.raises(mlp.OptionError, match=words):
        run(toy(), settings, tmp_path, jobs=jobs)


# Killed and resumed


def tables(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".csv", ".md", ".png", ".svg")
    }


def killed(folder: Path, times: int, arguments: list[str], most: float, sign: signal.Signals) -> int:
    """Run the command, and end it so many times at random moments. Return how often it was still at work."""
    command = [sys.executable, "-m", "momentlp", "reproduce", *arguments, "--out", str(folder)]
    moments, hit = random.Random(0), 0
    for _ in range(times):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.2, most))
        hit += process.poll() is None
        process.send_signal(sign)
        process.wait()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return hit


ARGUMENTS = ["usps-curves", "--data", "digits", "--splits", "6", "--jobs", "2"]


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_ended_goes_on_and_ends_the_same(tmp_path: Path, sign: signal.Signals) -> None:
    killed(tmp_path / "whole", 0, ARGUMENTS, 0.0, sign)
    assert killed(tmp_path / "parts", 3, ARGUMENTS, 4.0, sign) > 0
    assert tables(tmp_path / "parts") == tables(tmp_path / "whole")
    assert len(tables(tmp_path / "whole")) >= 7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["usps-curves", "beyond", "figure1"])
def test_killed_twenty_times(tmp_path: Path, name: str) -> None:
    arguments = [name, "--splits", "12", "--jobs", "2", *(["--data", "digits"] if name != "figure1" else [])]
    killed(tmp_path / "whole", 0, arguments, 0.0, signal.SIGKILL)
    assert killed(tmp_path / "parts", 20, arguments, 6.0, signal.SIGKILL) >= 5
    assert tables(tmp_path / "parts") == tables(tmp_path / "whole")


def test_no_worker_outlives_a_run_that_was_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "momentlp", "reproduce", *ARGUMENTS, "--splits", "60", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not (workers := _children(process.pid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert workers
    finally:
        process.kill()
        process.wait()
    deadline = time.monotonic() + 20
    while any(_alive(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [worker for worker in workers if _alive(worker)]


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(entry.parent.name))
    return found


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# The experiments


def test_every_experiment_has_the_name_under_which_it_is_listed() -> None:
    assert [experiment(name).name for name in EXPERIMENTS] == list(EXPERIMENTS)


@pytest.mark.parametrize("name", ["usps-mean", "ocsvm", "inside", "selection", "epsilon", "ideas", "digits"])
def test_experiments_run_on_the_stand_in_and_hold_nothing_against_it(tmp_path: Path, digits: Digits, name: str) -> None:
    chosen = experiment(name)
    some = Experiment(
        chosen.name,
        chosen.title,
        lambda settings: list(chosen.tasks(settings))[:10] if name == "digits" else list(chosen.tasks(settings)),
        chosen.report,
        needs_epsilon=chosen.needs_epsilon,
    )
    report = run(some, Settings(splits=1, data=digits), tmp_path, jobs=2)
    assert all(claim.holds is None for claim in report.claims)
    assert all((tmp_path / f"{table.name}{ending}").stat().st_size for table in report.tables for ending in (".csv", ".md"))
    assert all((tmp_path / f"{figure}{ending}").stat().st_size for figure in report.figures for ending in (".png", ".svg"))


def test_figure_1_reaches_the_figures_of_the_paper(tmp_path: Path) -> None:
    report = run(experiment("figure1"), Settings(splits=20), tmp_path, jobs=2)
    assert [claim.holds for claim in report.claims] == [True] * 3
    assert [row["n"] for row in report.tables[0].rows] == [20] * 2 * len(PANELS)


def test_both_methods_on_one_graph_are_those_that_users_call(digits: Digits) -> None:
    unlabelled, _, sample = split(digits.X, digits.labels, 20, digits.n_apart, 0)
    found = on_the_graph(unlabelled, sample)
    points, known = np.vstack([unlabelled, sample]), np.repeat([0, 1], [len(unlabelled), len(sample)])
    expected = mlp.MomentClassifier().fit_predict(points, known)[: len(unlabelled)] == 1
    assert np.array_equal(found[DEFAULT], expected)


def test_where_too_few_are_set_apart_all_are_labelled(digits: Digits) -> None:
    apart = np.random.default_rng(5).permutation(len(digits.X))[: digits.n_apart]
    there = int((digits.labels[apart] == 0).sum())
    assert len(split(digits.X, digits.labels, 500, digits.n_apart, 5)[2]) == there
    assert len(split(digits.X, digits.labels, there - 1, digits.n_apart, 5)[2]) == there - 1


# Data


def test_the_usps_digits_from_files_of_every_kind(usps: Digit, tmp_path: Path) -> None:
    X, labels = usps
    table = np.column_stack([labels + 1.0, X])
    names = ["int0", *(f"double{number}" for number in range(1, 257))]
    np.savetxt(tmp_path / "usps.csv", table, delimiter=",", header=",".join(names), comments="", fmt="%.6g")
    head = ["@RELATION usps", *(f"@ATTRIBUTE {name} NUMERIC" for name in names[1:])]
    head += ["@ATTRIBUTE int0 {" + ",".join(map(str, range(1, 11))) + "}", "@DATA", ""]
    with (tmp_path / "usps.arff").open("w") as stream:
        stream.write("\n".join(head))
        np.savetxt(stream, np.column_stack([(X + 1) / 2, labels + 1]), delimiter=",", fmt=["%.9g"] * 256 + ["%d"])
    for name in ("usps.csv", "usps.arff"):
        found = load_digits_from(str(tmp_path / name))
        assert np.allclose(found.X, X, atol=1e-5)
        assert np.array_equal(found.labels, labels)
        assert found.real


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,2\n3,4\n", "no column of labels"),
        ("", "usps.csv"),
        ("l,x\n" + "".join(f"{d},0.5\n" for d in range(10)), "9298"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "usps.csv").write_text(content)
    with pytest.raises(mlp.DataError, match=rf"{words}.*--data digits"):
        load_digits_from(str(tmp_path / "usps.csv"))


def test_a_folder_or_an_arff_file_without_the_digits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "usps.arff").touch()
    for given, words in ((tmp_path, "no zip.train.gz"), (tmp_path / "usps.arff", "not a whole ARFF file")):
        with pytest.raises(mlp.DataError, match=rf"{words}.*--data digits"):
            load_digits_from(str(given))


def test_openml_out_of_reach_says_what_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(**_: Any) -> None:
        raise OSError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    with pytest.raises(mlp.DataError, match=r"no route.*--data digits"):
        load_digits_from("openml")


# The command line


def test_without_the_data_the_command_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MOMENTLP_USPS", raising=False)
    result = CliRunner().invoke(app, ["reproduce", "all", "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    words = " ".join(result.stderr.split())
    assert all(part in words for part in ("zip.train.gz", "--data openml", "--data digits"))
    assert not (tmp_path / "out").exists()


def test_the_command_prints_claims_and_where_the_rest_is(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["reproduce", "usps-mean", "--data", "digits", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert "errors of a linear SVM" in result.stdout
    assert str(tmp_path) in "".join(result.stdout.split("\n"))
    again = CliRunner().invoke(app, ["reproduce", "usps-mean", "--data", "digits", "--out", str(tmp_path), "--json"])
    assert json.loads(again.stdout)[0]["holds"] == "-"


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_says_that_the_run_can_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "momentlp", "reproduce", *ARGUMENTS, "--splits", "60", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not _children(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in " ".join(said.split())
