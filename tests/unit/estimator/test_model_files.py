"""Saved models: a loaded model gives the same answers, and a damaged file raises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.clouds import clouds
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import FunctionTransformer

import momentlp as mlp
from momentlp.backend.registry import get_backend
from momentlp.formats.container import read_container, write_container

X, truth, y = clouds()
new = np.random.default_rng(1).uniform(-3.0, 8.0, size=(60, 2))
WALK = mlp.Spectral(4, 5, walk=0.05)
KINDS: dict[str, Any] = {
    "default": mlp.MomentClassifier(),
    "graph": mlp.MomentClassifier("spectral"),
    "everything": mlp.MomentClassifier("spectral", probability=True, bagging=3, random_state=0),
    "no smoothing": mlp.MomentClassifier(WALK, smoothing=None, probability=True),
    "walks of their own": mlp.MomentClassifier(WALK, smoothing=None, bagging=3, random_state=0),
    "linear": mlp.MomentClassifier("linear", 0.5, bagging=3, probability=True, random_state=0),
    "kernel": mlp.MomentClassifier(mlp.Kernel(landmarks=8), mlp.Relative(0.3, standardised=True)),
    "concat": mlp.MomentClassifier(mlp.Concat([mlp.Linear(), WALK]), 0.8),
    "constraints": mlp.MomentClassifier(
        "quadratic", constraints=[mlp.Share(0.0, 0.5), mlp.GroupShare([i % 2 for i in range(150)], high={"0": 0.9})]
    ),
    "options": mlp.MomentClassifier("spectral", backend="highs", tol=1e-6, time_limit=60.0, solve_params={"threads": 1}),
    "chosen": mlp.MomentClassifierCV(["linear", mlp.Quadratic()], tolerances=[1.0, 0.5], cv=3, random_state=0),
    "chosen by default": mlp.MomentClassifierCV(tolerances=(1.0, 0.5), cv=3, probability=True, random_state=0),
    "outliers": mlp.MomentOutlierDetector(0.1),
}


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    return {name: model.fit(X, y) for name, model in KINDS.items()}


@pytest.mark.parametrize("name", KINDS)
def test_a_loaded_model_gives_the_same_answers(name: str, fitted: dict[str, Any], tmp_path: Path) -> None:
    model = fitted[name]
    model.save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    for points in (X, new):
        assert np.array_equal(loaded.score_samples(points), model.score_samples(points))
        assert np.array_equal(loaded.decision_function(points), model.decision_function(points))
        assert np.array_equal(loaded.predict(points), model.predict(points))
        if hasattr(model, "predict_proba"):
            assert np.array_equal(loaded.predict_proba(points), model.predict_proba(points))
    assert loaded.n_features_in_ == 2
    assert loaded.offset_ == model.offset_


@pytest.mark.parametrize("name", [name for name in KINDS if name != "outliers"])
def test_a_loaded_model_has_the_same_attributes(name: str, fitted: dict[str, Any], tmp_path: Path) -> None:
    model = fitted[name]
    model.save(tmp_path / "model")
    loaded = mlp.MomentClassifier.load(tmp_path / "model")
    for attribute in ("membership_", "transduction_", "classes_"):
        assert np.array_equal(getattr(loaded, attribute), getattr(model, attribute))
    for attribute in ("class_prior_", "pos_label_", "n_iter_"):
        assert getattr(loaded, attribute) == getattr(model, attribute)
    assert loaded.solution_.status is mlp.Status.OPTIMAL
    assert loaded.solution_.certificate.holds()
    assert loaded.solution_.objective == model.solution_.objective
    assert np.array_equal(loaded.separator_.normal, model.separator_.normal)
    assert loaded.fit(X, y).class_prior_ == pytest.approx(model.class_prior_)  # and it can be fitted again


def test_cv_results_survive_saving(fitted: dict[str, Any], tmp_path: Path) -> None:
    model = fitted["chosen"]
    model.save(tmp_path / "model")
    loaded = mlp.MomentClassifierCV.load(tmp_path / "model")
    assert loaded.cv_results_.keys() == model.cv_results_.keys()
    assert all(np.array_equal(loaded.cv_results_[name], model.cv_results_[name]) for name in model.cv_results_)
    assert loaded.best_params_ == model.best_params_
    assert loaded.best_index_ == model.best_index_
    assert loaded.best_score_ == model.best_score_
    assert loaded.one_standard_error_ == model.one_standard_error_


@pytest.mark.parametrize(("member", "other"), [("yes", "no"), (True, False), (1.0, -1.0), (-1, 1), ("a", "b")])
def test_labels_of_all_kinds_survive_saving(member: Any, other: Any, tmp_path: Path) -> None:
    model = mlp.MomentClassifier("linear", pos_label=member).fit(X, np.where(y == 1, member, other))
    model.save(tmp_path / "model")
    loaded = mlp.MomentClassifier.load(tmp_path / "model")
    assert loaded.pos_label_ == member
    assert loaded.classes_.dtype == model.classes_.dtype
    assert np.array_equal(loaded.predict(new), model.predict(new))
    assert np.array_equal(loaded.decision_function(new), model.decision_function(new))
    assert np.array_equal(loaded.transduction_, model.transduction_)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint64", "float32", "float64", "str", "object"])
def test_labels_keep_their_type(dtype: str, tmp_path: Path) -> None:
    values = np.array(["known", "?"] if dtype in ("str", "object") else [1, 0], dtype=dtype)
    labels = values[1 - y]
    model = mlp.MomentClassifier("linear").fit(X, labels)
    model.save(tmp_path / "model")
    loaded = mlp.MomentClassifier.load(tmp_path / "model")
    for item in (model, loaded):
        kept = (item.classes_, item.predict(new), item.transduction_)
        assert [array.dtype for array in kept] == [labels.dtype] * 3
    assert np.array_equal(loaded.transduction_, model.transduction_)


def test_labels_of_a_type_that_cannot_be_saved_raise(tmp_path: Path) -> None:
    model = mlp.MomentClassifier("linear").fit(X, y)
    model.classes_ = model.classes_.astype(np.longdouble)
    with pytest.raises(mlp.FileFormatError, match="labels of type"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("kind", [mlp.MomentClassifier, mlp.MomentOutlierDetector])
def test_column_names_survive_saving(kind: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["height", "width"])
    kind(features="linear").fit(frame, y).save(tmp_path / "model")
    loaded = kind.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == ["height", "width"]
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame[["width", "height"]])


def test_a_loaded_model_has_no_interval(fitted: dict[str, Any], tmp_path: Path) -> None:
    fitted["graph"].save(tmp_path / "model")
    with pytest.raises(mlp.DataError, match="loaded from a file does not hold the points of the fit"):
        mlp.MomentClassifier.load(tmp_path / "model").class_prior_interval()


# What cannot be saved


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (mlp.MomentClassifier("linear", backend=get_backend("highs")), "backend is a Highs"),
        (mlp.MomentClassifier("linear", random_state=np.random.RandomState(0)), "random_state is a RandomState"),
        (mlp.MomentClassifier("linear", solve_params={"log": str}), "solve_params is a type"),
        (mlp.MomentClassifierCV("linear", criterion=lambda recall, share: recall - share), "criterion is a function"),
        (mlp.MomentClassifierCV("linear", cv=StratifiedKFold(3)), "cv is a StratifiedKFold"),
        (mlp.MomentClassifierCV("linear", progress=lambda done, total: None), "progress is a function"),
        (mlp.MomentClassifier(mlp.Transformer(PCA(1))), "fitted PCA"),
    ],
)
def test_a_model_that_cannot_be_saved_is_refused(model: Any, message: str, tmp_path: Path) -> None:
    model.fit(X, y)
    (tmp_path / "model").write_bytes(b"what was there before")
    with pytest.raises(mlp.FileFormatError, match=f"{message}.* cannot be saved without a pickle"):
        model.save(tmp_path / "model")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"what was there before"]


def test_a_user_defined_function_cannot_be_saved(tmp_path: Path) -> None:
    model = mlp.MomentClassifier(mlp.Transformer(FunctionTransformer(np.cbrt))).fit(X, y)
    with pytest.raises(mlp.FileFormatError, match="FunctionTransformer"):
        model.save(tmp_path / "model")


# What cannot be read


@pytest.fixture
def saved(fitted: dict[str, Any], tmp_path: Path) -> Path:
    fitted["everything"].save(tmp_path / "model")
    return tmp_path / "model"


def test_a_truncated_file_raises(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        with pytest.raises(mlp.FileFormatError, match="is not a complete saved model of momentlp"):
            mlp.MomentClassifier.load(saved)


def test_a_changed_file_raises_or_gives_the_same_answers(saved: Path, fitted: dict[str, Any]) -> None:
    """A byte without meaning, such as the date of an entry, may change. Every other change raises."""
    whole, refused = saved.read_bytes(), 0
    for position in np.linspace(0, len(whole) - 1, 60).astype(int):
        broken = bytearray(whole)
        broken[position] ^= 0xFF
        saved.write_bytes(broken)
        try:
            loaded = mlp.MomentClassifier.load(saved)
        except mlp.FileFormatError:
            refused += 1
        else:
            assert np.array_equal(loaded.predict_proba(new), fitted["everything"].predict_proba(new))
    assert refused > 50


def test_files_of_another_kind_raise(saved: Path, fitted: dict[str, Any]) -> None:
    with pytest.raises(mlp.FileFormatError, match="it holds a MomentClassifier, not a MomentClassifierCV"):
        mlp.MomentClassifierCV.load(saved)
    with pytest.raises(mlp.FileFormatError, match="it holds a MomentClassifier, not a MomentOutlierDetector"):
        mlp.MomentOutlierDetector.load(saved)
    with pytest.raises(mlp.FileFormatError, match="not a saved problem"):
        mlp.Problem.load(saved)
    fitted["outliers"].save(saved)
    with pytest.raises(mlp.FileFormatError, match="it holds a MomentOutlierDetector, not a MomentClassifier"):
        mlp.MomentClassifier.load(saved)
    fitted["linear"].solution_.problem.save(saved)
    with pytest.raises(mlp.FileFormatError, match="not a saved model"):
        mlp.MomentClassifier.load(saved)
    np.savez(saved.with_suffix(".npz"), X=X)
    with pytest.raises(mlp.FileFormatError, match="not a complete saved model"):
        mlp.MomentClassifier.load(saved.with_suffix(".npz"))
    with pytest.raises(mlp.FileFormatError, match="there is no file"):
        mlp.MomentClassifier.load(saved.with_name("none"))


def change(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Change a saved model and give it a valid digest, as an attacker would."""
    old: dict[str, Any] = {}
    read_container(path, "momentlp-model", 1, "saved model", lambda said, held: old.update(header=said, arrays=held))
    kept = {name: array for name, array in old["arrays"].items() if name not in ("header", "digest")}
    said = {
        name: {**value, **header.pop(name, {})} if isinstance(value, dict) else value
        for name, value in old["header"].items()
    }
    write_container(path, {**said, **header}, {**kept, **{name: build(kept[name]) for name, build in arrays.items()}})


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({"version": 99}, {}),
        ({"kind": "Pickle"}, {}),
        ({"params": {"backdoor": 1}}, {}),
        ({"params": {"features": {"kind": "transformer", "transformer": {"name": "os.system"}}}}, {}),
        ({"classes": {"values": [1]}}, {}),
        ({"classes": {"positive": 2}}, {}),
        ({"smoother": 7}, {}),
        ({"smoother": None, "voters": 3}, {}),
        ({"solution": {"status": "PERFECT"}}, {}),
        ({}, {"model.h": np.zeros_like}),
        ({}, {"model.h": lambda h: h[:-1]}),
        ({}, {"model.y": lambda y: -y}),
        ({}, {"model.membership": lambda h: h[:-1]}),
        ({}, {"model.values": lambda h: h * np.nan}),
        ({}, {"calibration.scores": lambda scores: scores[:-1]}),
    ],
)
def test_the_content_of_a_file_is_checked(header: dict[str, Any], arrays: dict[str, Any], saved: Path) -> None:
    change(saved, dict(header), arrays)
    with pytest.raises(mlp.FileFormatError):
        mlp.MomentClassifier.load(saved)


def test_a_file_rewritten_without_a_change_loads(saved: Path, fitted: dict[str, Any]) -> None:
    """The test above changes files in this way; without a change they must load."""
    change(saved, {}, {})
    assert np.array_equal(mlp.MomentClassifier.load(saved).predict_proba(new), fitted["everything"].predict_proba(new))


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({"attributes": {"offset_": "half"}}, {}),
        ({"attributes": {"n_features_in_": 5}}, {}),
        ({"names": ["height"]}, {}),
        ({"classes": {"values": [1, 1]}}, {}),
        ({"classes": {"dtype": "V8"}}, {}),
        ({"classes": {"dtype": ["int8", "int8"]}}, {}),
        ({"classes": {"dtype": "object"}}, {}),
        ({"classes": {"dtype": "object", "values": ["a", ["b"]]}}, {}),
        ({"classes": {"dtype": "uint8", "values": [0, 300]}}, {}),
        ({"classes": {"dtype": "int64", "values": [0.5, 1.5]}}, {}),
        ({}, {"model.found": lambda found: found[:3]}),
        ({}, {"model.membership": lambda h: 7 * h}),
    ],
)
def test_attributes_in_a_file_are_checked(header: dict[str, Any], arrays: dict[str, Any], saved: Path) -> None:
    change(saved, dict(header), arrays)
    with pytest.raises(mlp.FileFormatError):
        mlp.MomentClassifier.load(saved)
