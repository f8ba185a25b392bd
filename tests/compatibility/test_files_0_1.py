"""Files that momentlp 0.1.0 wrote are read by every later version, and mean the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp
from momentlp.experiments.engine.journal import Journal

FILES = Path(__file__).parent / "files_0_1"
EXPECTED = json.loads((FILES / "expected.json").read_text())
NEW_POINTS = np.array(EXPECTED["new"])


def _new_points(problem: mlp.Problem) -> Any:
    """Return points to score: the first rows of a sparse problem, four other points for all others."""
    features = problem.blocks[0].features
    if sp.issparse(features):
        return sp.csr_array(features[:4])
    return NEW_POINTS if problem.blocks[0].fitted is not None else NEW_POINTS[:, :2]


@pytest.mark.parametrize("name", EXPECTED["problems"])
def test_a_saved_problem_has_the_same_solution(name: str) -> None:
    expected = EXPECTED["problems"][name]
    problem = mlp.Problem.load(FILES / "problems" / f"{name}.npz")
    assert list(problem.names) == expected["names"]
    solution = mlp.solve(problem, "highs")
    assert solution.status.name == expected["status"]
    assert solution.objective == pytest.approx(expected["objective"], rel=1e-9)
    scores = solution.separator.decision_function(_new_points(problem))
    assert scores == pytest.approx(expected["scores"], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", EXPECTED["models"])
def test_a_saved_model_predicts_the_same(name: str) -> None:
    expected = EXPECTED["models"][name]
    model = getattr(mlp, expected["class"]).load(FILES / "models" / f"{name}.npz")
    assert model.predict(NEW_POINTS).tolist() == expected["predict"]
    assert model.score_samples(NEW_POINTS) == pytest.approx(expected["scores"], rel=1e-9, abs=1e-12)
    if "class_prior" in expected:
        assert model.class_prior_ == pytest.approx(expected["class_prior"])
    if "probability" in expected:
        assert model.predict_proba(NEW_POINTS) == pytest.approx(np.array(expected["probability"]))
    if "best_score" in expected:
        assert model.best_score_ == pytest.approx(expected["best_score"])


@pytest.mark.parametrize("path", sorted((FILES / "specs").glob("*.json")), ids=lambda path: path.stem)
def test_a_saved_spec_is_the_same_in_json_and_yaml_and_compiles_to_the_saved_problem(path: Path) -> None:
    spec = mlp.Spec.load(path)
    assert mlp.Spec.load(path.with_suffix(".yaml")) == spec
    assert json.loads(spec.to_json()) == json.loads(path.read_text())
    assert spec.to_yaml() == path.with_suffix(".yaml").read_text()
    saved = mlp.Problem.load(FILES / "problems" / f"{path.stem}.npz")
    fitted = [block.fitted.declared for block in saved.blocks if block.fitted is not None]
    assert fitted[: len(spec.features.parts())] == list(spec.features.parts())


def test_a_journal_continues_from_the_results_it_holds(tmp_path: Path) -> None:
    for name in ("settings.json", "results.jsonl"):
        (tmp_path / name).write_bytes((FILES / "journal" / name).read_bytes())
    identity = json.loads((tmp_path / "settings.json").read_text())
    with Journal(tmp_path, identity) as journal:
        assert journal.done == {
            "split 0": [{"labels": 25, "precision": 0.9, "recall": 0.75}],
            "split 1": [{"labels": 25, "precision": 1.0, "recall": None}],
        }
        journal.append("split 2", [])
    assert (tmp_path / "results.jsonl").read_bytes().startswith((FILES / "journal" / "results.jsonl").read_bytes())
