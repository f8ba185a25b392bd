"""Write the files that later versions must still read: ``python tests/compatibility/write_files.py FOLDER``.

Run it with the last commit of a version, and keep the folder in this one. ``files_0_1`` was written by 0.1.0.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import momentlp as mlp
from momentlp.experiments.engine.journal import Journal

RANDOM = np.random.default_rng(7)
POINTS = RANDOM.normal(size=(40, 3))
POINTS[:15] += 2.0
LABELLED = np.arange(6)
NEW_POINTS = np.round(RANDOM.normal(size=(4, 3)), 3)
GROUPS = tuple("ab"[point % 2] for point in range(40))


def specs() -> dict[str, mlp.Spec]:
    """Return a spec for each kind of feature map, tolerance and constraint."""
    return {
        "linear-absolute": mlp.Spec(tolerance=mlp.Absolute(2.0)),
        "linear-standardised-relative": mlp.Spec(
            features=mlp.Linear(standardise=True), tolerance=mlp.Relative([0.1, 0.0, 0.3])
        ),
        "quadratic-standard-error": mlp.Spec(features=mlp.Quadratic(standardise=True), tolerance=mlp.StandardError(1.5)),
        "kernel-landmarks": mlp.Spec(features=mlp.Kernel(landmarks=5, random_state=1), tolerance=mlp.StandardError(1.0)),
        "kernel-laplacian": mlp.Spec(features=mlp.Kernel("laplacian"), tolerance=mlp.Absolute(0.5)),
        "spectral-walk": mlp.Spec(features=mlp.Spectral(3, 4, walk=0.05, scale="range"), tolerance=mlp.StandardError(2.0)),
        "concat-constraints": mlp.Spec(
            features=mlp.Concat([mlp.Linear(), mlp.Kernel("poly", gamma=0.5, landmarks=3)]),
            tolerance=mlp.Relative([0.2, 0.5]),
            constraints=[
                mlp.Share(0.1, 0.8),
                mlp.Known(positives=[0, 1], negatives=[39]),
                mlp.GroupShare(GROUPS, low={"a": 0.3}, high={"b": 0.65}),
                mlp.Moment(mlp.Linear(), [1.5, 1.5, 1.5], mlp.Relative(2.0), name="extra"),
            ],
        ),
    }


def problems() -> dict[str, tuple[mlp.Problem, Any]]:
    """Return a problem for each spec, two more, and new points to score with each."""
    found = {name: (spec.compile(POINTS, labelled=LABELLED), NEW_POINTS) for name, spec in specs().items()}
    sparse = sp.csr_array(sp.random_array((40, 8), density=0.3, random_state=np.random.default_rng(3), format="csr"))
    weight = np.linspace(1, 2, 40)
    spec = mlp.Spec(tolerance=mlp.Relative(0.05))
    found["sparse-weighted"] = (
        spec.compile(sparse, labelled=np.arange(10), sample_weight=weight),
        sp.csr_array(sparse[:4]),
    )
    found["from-arrays"] = (
        mlp.Problem.from_arrays(
            np.round(RANDOM.normal(size=(12, 2)), 3),
            [-1.0, -np.inf],
            [1.0, 2.0],
            weights=np.linspace(0.5, 1.5, 12),
            caps=2.0,
            names=["first", "second"],
        ),
        NEW_POINTS[:, :2],
    )
    return found


def models() -> dict[str, Any]:
    """Return a fitted estimator of each class, and of each way to score points."""
    y = np.zeros(40, dtype=int)
    y[LABELLED] = 1
    words = np.where(y == 1, "member", "unknown")
    bagging = mlp.MomentClassifier("linear", 1.0, bagging=3, probability=True, random_state=0)
    with_words = mlp.MomentClassifier(mlp.Quadratic(), mlp.Relative(0.5), [mlp.Share(0.1, 0.9)], pos_label="member")
    return {
        "classifier": mlp.MomentClassifier().fit(POINTS, y),
        "classifier-bagging-probability": bagging.fit(POINTS, y),
        "classifier-words": with_words.fit(POINTS, words),
        "cross-validation": mlp.MomentClassifierCV(cv=3, tolerances=(2.0, 1.0), random_state=0).fit(POINTS, y),
        "outlier": mlp.MomentOutlierDetector().fit(POINTS),
    }


def main(folder: Path) -> None:
    """Write all files, and ``expected.json``, which says what they must give."""
    for name in ("problems", "models", "specs", "journal"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    expected: dict[str, Any] = {"new": NEW_POINTS.tolist(), "problems": {}, "models": {}}
    for name, spec in specs().items():
        spec.save(folder / "specs" / f"{name}.json")
        spec.save(folder / "specs" / f"{name}.yaml")
    for name, (problem, new_points) in problems().items():
        problem.save(folder / "problems" / f"{name}.npz")
        solution = mlp.solve(problem, "highs")
        expected["problems"][name] = {
            "status": solution.status.name,
            "objective": solution.objective,
            "names": list(problem.names),
            "scores": solution.separator.decision_function(new_points).tolist(),
        }
    for name, model in models().items():
        model.save(folder / "models" / f"{name}.npz")
        facts = {
            "class": type(model).__name__,
            "predict": model.predict(NEW_POINTS).tolist(),
            "scores": model.score_samples(NEW_POINTS).tolist(),
        }
        if hasattr(model, "class_prior_"):
            facts["class_prior"] = model.class_prior_
        if getattr(model, "probability", False):
            facts["probability"] = model.predict_proba(NEW_POINTS).tolist()
        if hasattr(model, "best_score_"):
            facts["best_score"] = model.best_score_
        expected["models"][name] = facts
    with Journal(folder / "journal", {"experiment": "figure1", "seed": 0}) as journal:
        journal.append("split 0", [{"labels": 25, "precision": 0.9, "recall": 0.75}])
        journal.append("split 1", [{"labels": 25, "precision": 1.0, "recall": None}])
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(Path(sys.argv[1]))
