"""``momentlp reproduce``: what it prints, and what it says when the data is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from momentlp.cli.app import app


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
