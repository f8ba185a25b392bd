"""The command line: what it prints, what it writes, and the code it exits with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner, Result

import momentlp as mlp
from momentlp.cli.app import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2))
    known = (X[:, 0] > 1) & (random.uniform(size=200) < 0.5)
    table = np.column_stack([X, known])
    np.savetxt(tmp_path / "data.csv", table, delimiter=",", header="width,height,known", comments="")
    np.savetxt(tmp_path / "rows.csv", np.flatnonzero(known), fmt="%d")
    np.save(tmp_path / "points.npy", X)
    np.savez(tmp_path / "sample.npz", X[known])
    np.savetxt(tmp_path / "mean.csv", X[known].mean(axis=0)[None, :], delimiter=",")
    mlp.Spec(tolerance=mlp.Absolute(1.0)).save(tmp_path / "spec.json")
    mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(X, labelled=known).save(tmp_path / "problem.npz")
    mlp.Spec().compile(X + 10, mean=[0.0, 0.0]).save(tmp_path / "empty.npz")
    mlp.Problem.from_arrays(np.ones((3, 1)), 4.0, 5.0).save(tmp_path / "infeasible.npz")
    return tmp_path


def test_the_command_backends_lists_all_backends() -> None:
    result = run("backends")
    assert result.exit_code == 0
    assert all(info.name in result.stdout for info in mlp.backends())
    assert {entry["name"] for entry in json.loads(run("backends", "--json").stdout)} == {
        info.name for info in mlp.backends()
    }


@pytest.mark.parametrize(
    ("data", "known"),
    [
        ("data.csv", ("--labelled-column", "known")),
        ("points.npy", ("--labelled", "rows.csv")),
        ("points.npy", ("--sample", "sample.npz")),
        ("points.npy", ("--mean", "mean.csv")),
    ],
)
def test_the_command_solve_compiles_a_spec_with_data(folder: Path, data: str, known: tuple[str, str]) -> None:
    option, value = known
    value = str(folder / value) if "." in value else value
    result = run("solve", folder / "spec.json", folder / data, option, value, "--json")
    assert result.exit_code == 0, result.stderr
    expected = mlp.solve(mlp.Problem.load(folder / "problem.npz"))
    document = json.loads(result.stdout)
    assert document["status"] == "optimal"
    assert document["objective"] == pytest.approx(expected.objective)
    assert np.allclose(document["membership"], expected.membership)


def test_solve_reads_yaml_parquet_and_sparse_files(folder: Path) -> None:
    mlp.Spec(tolerance=mlp.Absolute(1.0)).save(folder / "spec.yaml")
    frame = pd.read_csv(folder / "data.csv")
    frame.to_parquet(folder / "data.parquet")
    sp.save_npz(folder / "sparse.npz", sp.csr_array(frame[["width", "height"]].to_numpy()))
    np.save(folder / "rows.npy", np.flatnonzero(frame["known"]))
    expected = mlp.solve(mlp.Problem.load(folder / "problem.npz")).objective
    for data, option, value in (
        ("data.parquet", "--labelled-column", "known"),
        ("sparse.npz", "--labelled", folder / "rows.npy"),
        ("points.npy", "--labelled", folder / "rows.npy"),
    ):
        result = run("solve", folder / "spec.yaml", folder / data, option, value, "--json")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["objective"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",a,known\n0,1.0,1\n1,2.0,0\n", "no heading"),
        ("0,1,2\n1.0,2.0,1\n3.0,4.0,0\n", "column numbers"),
        ("a;known\n1;1\n", "separated by ';'"),
        ("a,known\n1.0,1\n2.0\n", "line 3"),
        ("a,known\n", "no rows"),
        ("", "is empty"),
        ("a,known\nx,1\n2.0,0\n", "not numeric"),
        ("a,known\n1.0,perhaps\n", "row 0 holds 'perhaps'"),
    ],
)
def test_unusable_tables_are_refused(folder: Path, text: str, message: str) -> None:
    (folder / "odd.csv").write_text(text)
    result = run("solve", folder / "spec.json", folder / "odd.csv", "--labelled-column", "known")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_solve_writes_membership_and_proof(folder: Path) -> None:
    out = folder / "answer"
    result = run("solve", folder / "spec.json", folder / "data.csv", "--labelled-column", "known", "--out", out)
    assert result.exit_code == 0
    assert result.stdout.startswith("OPTIMAL")
    written = np.genfromtxt(out / "membership.csv", delimiter=",", names=True)
    document = json.loads((out / "solution.json").read_text())
    assert written["membership"].sum() == pytest.approx(document["objective"])
    assert set(document["separator"]["normal"]) == {"width", "height"}
    assert document["certificate"]["gap"] == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("solve", "problem.npz"), 0),
        (("solve", "problem.npz", "--backend", "glpk", "--tol", "1e-9"), 0),
        (("solve", "nothing.npz"), 2),
        (("solve", "spec.json"), 2),
        (("solve", "spec.json", "data.csv"), 2),
        (("solve", "spec.json", "data.csv", "--labelled-column", "nope"), 2),
        (("solve", "spec.json", "data.csv", "--labelled-column", "width"), 2),
        (("solve", "spec.json", "data.parquet", "--labelled-column", "known"), 2),
        (("solve", "problem.npz", "--labelled-column", "known"), 2),
        (("solve", "problem.npz", "--time-limit", "-1"), 2),
        (("solve", "problem.npz", "--backend", "scipy", "--threads", "2"), 2),
        (("solve", "empty.npz"), 3),
        (("solve", "problem.npz", "--iteration-limit", "0"), 4),
        (("solve", "infeasible.npz"), 5),
        (("solve", "problem.npz", "--backend", "nope"), 7),
        (("compare", "problem.npz"), 0),
        (("compare", "empty.npz"), 0),
        (("compare", "infeasible.npz"), 0),
        (("compare", "problem.npz", "--backend", "nope"), 7),
        (("compare", "problem.npz", "--time-limit", "1e-9", "--backend", "highs"), 6),
        (("nonsense",), 2),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else str(part),
)
def test_every_status_and_error_has_an_exit_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int
) -> None:
    monkeypatch.chdir(folder)
    result = run(*arguments)
    assert result.exit_code == code, result.output
    if code in (2, 7):
        assert result.stderr
        assert result.stdout == ""


def test_errors_can_be_printed_as_json(folder: Path) -> None:
    result = run("solve", folder / "nothing.npz", "--json")
    document = json.loads(result.stdout)
    assert document["error"] == "FileFormatError"
    assert "nothing.npz" in document["message"]


def test_compare_prints_a_table_and_writes_records(folder: Path) -> None:
    result = run("compare", folder / "problem.npz", "--backend", "highs", "--backend", "glpk", "--csv", folder / "rows.csv")
    assert result.exit_code == 0
    assert "2 of 2 certified" in result.stdout
    assert len((folder / "rows.csv").read_text().splitlines()) == 3
    rows = json.loads(run("compare", folder / "problem.npz", "--json").stdout)
    assert {row["backend"] for row in rows} == {info.name for info in mlp.backends() if info.is_linear}


def test_verbose_keeps_standard_output_clean(folder: Path) -> None:
    result = run("solve", folder / "problem.npz", "--json", "--verbose")
    json.loads(result.stdout)
    assert "HiGHS" in result.stderr


def test_demo_finds_digits_and_draws_them(tmp_path: Path) -> None:
    picture = tmp_path / "demo.png"
    result = run("demo", "--picture", picture, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["precision"] > 0.9
    assert document["recall"] > 0.9
    assert all(row["status"] == "optimal" for row in document["backends"])
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "Found" in run("demo", "--picture", tmp_path / "demo.svg").stdout
    assert run("demo", "--digit", "12", "--picture", picture).exit_code == 2
    assert run("demo", "--picture", tmp_path / "demo.xyz").exit_code == 2
    assert run("demo", "--labelled", "1", "--picture", picture).exit_code == 2


def test_version_and_help_are_printed() -> None:
    assert run("--version").stdout == f"momentlp {mlp.__version__}\n"
    for command in ("demo", "solve", "compare", "backends"):
        assert command in run("--help").stdout


def test_without_typer_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None; from momentlp.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "momentlp[cli]" in done.stderr
