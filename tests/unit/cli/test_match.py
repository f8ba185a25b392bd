"""The command ``match``: what it reads, prints and writes, and the code it exits with."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner, Result

import momentlp as mlp
from momentlp.cli.app import app
from momentlp.formats.tabular import read_columns


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["match", *(str(argument) for argument in arguments)])


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the breast cancer data as one file, and as pool and target, with ids, words and gaps."""
    data = load_breast_cancer(as_frame=True)
    frame = data.data[["mean radius", "mean texture", "mean smoothness"]].set_axis(["radius", "texture", "smooth"], axis=1)
    frame["group"] = np.where(data.target == 0, "malignant", "benign")
    frame["region"] = np.array(["north", "south", "west"])[np.arange(len(frame)) % 3]
    frame["site"] = np.where(np.arange(len(frame)) % 2, "a", "b")
    frame["code"] = [f"{row:05d}" for row in range(len(frame))]
    frame.loc[::50, "region"] = None
    frame.loc[::40, "smooth"] = np.nan
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame[frame["group"] == "benign"].to_csv(tmp_path / "pool.csv", index=False)
    frame[frame["group"] == "malignant"].drop(columns="code").to_csv(tmp_path / "target.csv", index=False)
    return tmp_path


def test_a_profile_match_is_that_of_the_function(folder: Path) -> None:
    result = run(
        folder / "pool.csv", folder / "target.csv", "--columns", "radius,texture,region", "--id", "code",
        "--tolerance", 0.5, "--out", folder / "matched.csv", "--json",
    )  # fmt: skip
    pool, target = pd.read_csv(folder / "pool.csv", dtype={"code": str}), pd.read_csv(folder / "target.csv")
    expected = mlp.matching.profile_match(
        pool, target, columns=["radius", "texture", "region"], tolerance=0.5, ids=pool["code"]
    )
    document = json.loads(result.stdout)
    assert result.exit_code == {"optimal": 0, "limit": 4}[document["status"]], result.stderr
    assert (document["status"], document["size"], document["bound"]) == (
        expected.status.value,
        expected.size,
        expected.bound,
    )
    assert document["description"] == expected.describe()
    assert [row["name"] for row in document["balance"]] == [row.name for row in expected.balance()]
    assert expected.size > 5
    written = rows_of(folder / "matched.csv")
    assert [row["id"] for row in written] == expected.columns()["id"].tolist() == document["rows"]["id"]
    assert all(row["id"] == pool["code"][int(row["row"])] for row in written)  # zeros at the beginning are kept


def test_a_cardinality_match_prints_size_bound_balance_and_text(folder: Path) -> None:
    result = run(
        folder / "people.csv", "--group", "group", "--columns", "radius,smooth,region", "--id", "code",
        "--out", folder / "matched.csv", "--plot", folder / "love.png",
    )  # fmt: skip
    assert result.exit_code in (0, 4), result.stderr
    for words in ("size  ", "bound  ", "of benign", "of malignant", "SMD before", "smooth=missing", "region=north"):
        assert words in result.stdout
    assert "Cardinality matching (Zubizarreta" in result.stdout
    assert "love.png" in result.stdout
    groups = [row["group"] for row in rows_of(folder / "matched.csv")]
    assert groups.count("benign") == groups.count("malignant") > 0
    assert (folder / "love.png").read_bytes().startswith(b"\x89PNG")


def test_all_options_of_groups_reach_the_function(folder: Path) -> None:
    result = run(
        folder / "people.csv", "--group", "group", "--columns", "radius", "--columns", "texture,smooth", "--exact", "site",
        "--fine", "site", "--ratio", "benign=2", "--unit", "all", "--features", "variances", "--time-limit", 5,
        "--tolerance", "radius=0.3,texture=0.2,smooth^2=0.4", "--json",
    )  # fmt: skip
    document = json.loads(result.stdout)
    assert document["groups"]["benign"] == 2 * document["groups"]["malignant"] > 0
    assert document["unit"] == "standard deviations of all rows"
    tolerance = {row["name"]: row["tolerance"] for row in document["balance"]}
    assert (tolerance["radius"], tolerance["texture"], tolerance["smooth^2"]) == (0.3, 0.2, 0.4)
    assert "Every joint level of site" in document["description"]
    assert "Every level of site, each by itself" in document["description"]


def test_strata_that_cannot_be_matched_are_named(folder: Path) -> None:
    pool, target = pd.read_csv(folder / "pool.csv"), pd.read_csv(folder / "target.csv")
    pool[pool["site"] == "a"].to_csv(folder / "pool_a.csv", index=False)
    target["site"] = target["site"].fillna("a")
    target.to_csv(folder / "target.csv", index=False)
    arguments = [folder / "pool_a.csv", folder / "target.csv", "--strata", "site", "--columns", "smooth", "--tolerance", 0.5]
    result = run(*arguments)
    assert result.exit_code in (0, 4), result.stderr
    assert "1 matched, 1 skipped" in result.stdout
    assert "b: the pool has no rows in it" in result.stdout
    assert json.loads(run(*arguments, "--json").stdout)["skipped"] == {"b": "the pool has no rows in it"}


def test_parquet_files_and_missing_marks_are_read(folder: Path) -> None:
    frame = pd.read_csv(folder / "people.csv")
    frame.to_parquet(folder / "people.parquet")
    frame.to_csv(folder / "marked.csv", index=False, na_rep="NA")
    arguments = ["--group", "group", "--columns", "radius,smooth,region", "--json"]
    documents = [
        json.loads(run(folder / name, *arguments).stdout) for name in ("people.csv", "people.parquet", "marked.csv")
    ]
    assert documents[0] == documents[1] == documents[2]


def test_columns_of_text_files_are_numbers_words_or_as_written(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,age, race ,score\n007,30,black,1\n8,,NA,x\n")
    columns = read_columns(tmp_path / "t.csv", "id")
    assert columns["id"].tolist() == ["007", "8"]
    np.testing.assert_array_equal(columns["age"], [30.0, np.nan])
    assert columns["race"].tolist() == ["black", None]
    assert columns["score"].tolist() == ["1", "x"]


def test_a_match_that_does_not_exist_is_explained(folder: Path) -> None:
    near, far = folder / "near.csv", folder / "far.csv"
    near.write_text("age\n20\n30\n")
    far.write_text("age\n60\n62\n")
    result = run(far, near, "--out", folder / "matched.csv", "--plot", folder / "love.png")
    assert result.exit_code == 3
    assert "EMPTY" in result.stdout
    assert "A whole set was found with a tolerance of" in result.stdout
    assert rows_of(folder / "matched.csv") == []
    assert not (folder / "love.png").exists()
    assert json.loads(run(far, near, "--json").stdout)["explanation"].startswith("EMPTY")


def test_a_group_that_cannot_be_kept_is_explained(folder: Path) -> None:
    result = run(folder / "people.csv", "--group", "group", "--columns", "radius", "--keep", "malignant")
    assert result.exit_code == 5
    assert "Smallest tolerance for all moments" in result.stdout


def test_no_stratum_with_a_match_is_a_result(folder: Path) -> None:
    (folder / "p.csv").write_text("town,age\na,1\na,2\n")
    (folder / "t.csv").write_text("town,age\nb,1\nb,2\n")
    result = run(folder / "p.csv", folder / "t.csv", "--strata", "town", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"] == "NoMatchError"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["people.csv"], "--group"),
        (["pool.csv", "target.csv", "--group", "group"], "either a second file"),
        (["pool.csv", "target.csv", "--ratio", "a=2"], "--ratio is about groups"),
        (["pool.csv", "target.csv", "--keep", "a"], "--keep is about groups"),
        (["people.csv", "--group", "grp"], "'grp'"),
        (["people.csv", "--group", "group", "--columns", "radius,weight"], "'weight'"),
        (["people.csv", "--group", "group", "--columns", "radius", "--id", "region"], "ids"),
        (["people.csv", "--group", "group", "--columns", "radius", "--tolerance", "wide"], "needs a number, not 'wide'"),
        (["people.csv", "--group", "group", "--columns", "radius", "--tolerance", "-1"], "tolerance"),
        (["people.csv", "--group", "group", "--columns", "radius", "--tolerance", "0.1,0.2"], "NAME=NUMBER"),
        (["people.csv", "--group", "group", "--columns", "radius", "--tolerance", "radius=1,radius=2"], "more than once"),
        (["people.csv", "--group", "group", "--columns", "radius", "--unit", "metre"], "'metre'"),
        (["people.csv", "--group", "group", "--columns", "radius", "--ratio", "nobody=2"], "'nobody'"),
        (["people.csv", "--group", "group", "--columns", "radius", "--features", "moons"], "'moons'"),
        (["people.csv", "--group", "group", "--columns", "radius", "--out", "matched.xlsx"], ".csv"),
        (["people.csv", "--group", "group", "--columns", "radius", "--out", "nowhere/matched.csv"], "does not exist"),
        (["people.csv", "--group", "group", "--columns", "radius", "--plot", "love.gif"], ".png"),
        (["absent.csv", "--group", "group"], "there is no file"),
        (["people.dta", "--group", "group"], "cannot read"),
        (["numbers.csv", "--group", "x0"], "it must name the columns"),
        (["twice.csv", "--group", "a"], "more than one column named 'a'"),
        (["heading.csv", "--group", "a"], "no rows"),
    ],
)
def test_mistakes_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str) -> None:
    monkeypatch.chdir(folder)
    Path("numbers.csv").write_text("1,2\n3,4\n")
    Path("twice.csv").write_text("a,a\n3,4\n")
    Path("heading.csv").write_text("a,b\n")
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.stderr.split())


def test_an_unknown_backend_has_a_code_of_its_own(folder: Path) -> None:
    assert run(folder / "people.csv", "--group", "group", "--columns", "radius", "--backend", "abacus").exit_code == 7


def test_the_examples_of_the_help_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"treated": random.random(200) < 0.3, "age": random.normal(40, 9, 200)})
    frame["income"] = random.normal(30, 5, 200) + frame["treated"]
    frame.to_csv("people.csv", index=False)
    frame[~frame["treated"]].drop(columns="treated").to_csv("pool.csv", index=False)
    frame[frame["treated"]].drop(columns="treated").to_csv("target.csv", index=False)
    text = CliRunner().invoke(app, ["match", "--help"], env={"COLUMNS": "120"}).stdout
    commands = re.findall(r"^ +(momentlp match .*?) *$", text, flags=re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        result = run(*shlex.split(command)[2:])
        assert result.exit_code in (0, 4), result.output
    assert rows_of(tmp_path / "matched.csv")
    assert (tmp_path / "balance.png").exists()
