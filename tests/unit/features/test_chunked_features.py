"""Features of points that are read in chunks are computed in the pass that needs them, a few points at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.chunked_points import (
    LABELLED,
    SPECS,
    D,
    assert_same,
    close,
    open_source,
    points,
)

import momentlp as mlp
from momentlp.features.chunked_features import ChunkedFeatures
from momentlp.points import chunked as chunks
from momentlp.points.chunked import evenly_spaced_rows
from momentlp.points.sources import MemoryMapped


def test_features_are_computed_in_the_pass_that_needs_them(tmp_path: Path) -> None:
    table = open_source("memmap32", points(), tmp_path)
    problem = mlp.Spec(features=mlp.Concat([mlp.Linear(), mlp.Quadratic()])).compile(table, mean=np.zeros(33))
    assert [type(block.features) for block in problem.blocks] == [MemoryMapped, ChunkedFeatures]
    assert problem.scale.size == 33
    assert table.passes == 1


def test_many_features_are_computed_a_few_points_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MAPPED_BYTES", 8 * 27 * 50)
    problem = SPECS["mean"].compile(open_source("memmap32", points(), tmp_path), labelled=LABELLED)
    assert max(span.stop - span.start for span in problem.A.spans) == 50
    assert list(problem.A.scan(_rows)) == [span.stop - span.start for span in problem.A.spans]
    assert_same(SPECS["mean"].compile(points(), labelled=LABELLED), problem)
    X = np.abs(points()) + 1.0
    X[800, 1] = 3e38
    with pytest.raises(mlp.CompileError, match="row 800"):
        mlp.Spec(features=mlp.Quadratic()).compile(open_source("memmap32", X, tmp_path), labelled=LABELLED)


def _rows(A: mlp.MomentMatrix) -> int:
    return A.shape[0]


def test_an_error_about_infinite_features_names_the_map(tmp_path: Path) -> None:
    X = np.abs(points()) + 1.0
    X[800, 1] = 3e38
    with pytest.raises(mlp.CompileError, match=r"what Quadratic.transform returned must be finite, but row 800"):
        mlp.Spec(features=mlp.Quadratic()).compile(open_source("memmap32", X, tmp_path), labelled=LABELLED)


@pytest.mark.parametrize("features", [mlp.Spectral(), mlp.Kernel()])
def test_maps_that_need_all_points_say_what_to_use_instead(features: Any, tmp_path: Path) -> None:
    with pytest.raises(mlp.CompileError, match=r"needs all points at once.*Kernel\(landmarks"):
        mlp.Spec(features=features).compile(open_source("memmap32", points(), tmp_path), labelled=LABELLED)


def test_maps_learn_from_a_bounded_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = open_source("memmap32", points(), tmp_path)
    sample = evenly_spaced_rows(table, 100)
    assert np.array_equal(sample, points()[::10])
    monkeypatch.setattr(mlp.Linear, "rows_to_learn", lambda self: 100)
    problem = mlp.Spec(features=mlp.Linear(standardise=True)).compile(table, mean=np.zeros(D))
    spread = problem.blocks[0].fitted.state["spread"]
    assert close(spread[:5], points()[::10].std(axis=0, dtype=float)[:5])


def test_a_transformer_and_a_function_work_in_chunks(tmp_path: Path) -> None:
    from sklearn.decomposition import PCA

    @mlp.feature_map("cubed")
    def cubed(X: np.ndarray) -> np.ndarray:
        return X**3

    table = open_source("memmap64", points(np.float64), tmp_path)
    for features in (mlp.Transformer(PCA(2)), cubed()):
        spec = mlp.Spec(features=features, tolerance=mlp.Absolute(1.0))
        assert_same(spec.compile(points(np.float64), labelled=LABELLED), spec.compile(table, labelled=LABELLED))
