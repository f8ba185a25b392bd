"""The state of a map from a file is checked against the layout that the map declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp
from momentlp.features import StateArray, check_state_array, state_shapes
from momentlp.features.state import pack_matrix, unpack_matrix

STATE = {"centres": np.eye(3), "node": np.array([0, 2, 1, 1]), "gamma": np.array(0.5)}


@pytest.mark.parametrize("matrix", [np.eye(3), sp.csr_array(np.eye(3))], ids=["dense", "sparse"])
def test_a_matrix_is_packed_and_unpacked(matrix: Any) -> None:
    state = pack_matrix(matrix, "points")
    assert all(type(array) is np.ndarray for array in state.values())
    assert state_shapes(state)["points"] == (3, 3)
    check_state_array("points", StateArray((3, 3), finite=True), state, state_shapes(state), "the map")
    back = unpack_matrix(state, "points")
    assert sp.issparse(back) == sp.issparse(matrix)
    assert np.array_equal(np.eye(3), back.toarray() if sp.issparse(back) else back)


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("centres", StateArray((3, 3), finite=True)),
        ("node", StateArray((4,), rows_of="centres")),
        ("gamma", StateArray((), below=1.0)),
    ],
)
def test_arrays_that_fit_the_layout_are_accepted(name: str, layout: StateArray) -> None:
    check_state_array(name, layout, STATE, state_shapes(STATE), "the map")


@pytest.mark.parametrize(
    ("name", "array", "layout", "message"),
    [
        ("centres", None, StateArray((3, 3)), r"'centres' of the map does not have the shape \(3, 3\)"),
        ("centres", np.eye(2), StateArray((3, 3)), r"does not have the shape \(3, 3\)"),
        ("centres", np.zeros((0, 3)), StateArray((0, 3)), r"does not have the shape \(0, 3\)"),
        ("centres", np.eye(3, dtype=int), StateArray((3, 3)), "holds int64 values, not floats"),
        ("centres", np.full((3, 3), np.nan), StateArray((3, 3), finite=True), "is not finite"),
        ("node", np.zeros(4), StateArray((4,), rows_of="centres"), "holds float64 values, not integers"),
        ("node", np.array([0, 1, 2, 3]), StateArray((4,), rows_of="centres"), "an index that 'centres' has no row for"),
        ("node", np.array([0, 1, 2, -1]), StateArray((4,), rows_of="centres"), "an index that 'centres' has no row for"),
        ("gamma", np.array(1.0), StateArray((), below=1.0), "is 1.0, not a number of at least 0 and below 1"),
        ("gamma", np.array(-1.0), StateArray((), below=1.0), "is -1.0"),
        ("gamma", np.array(np.nan), StateArray((), below=np.inf), "is nan"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name: str, array: Any, layout: StateArray, message: str) -> None:
    state = {key: value for key, value in {**STATE, name: array}.items() if value is not None}
    with pytest.raises(mlp.FileFormatError, match=message):
        check_state_array(name, layout, state, state_shapes(state), "the map")


@pytest.mark.parametrize(
    "features",
    [
        mlp.Linear(standardise=True),
        mlp.Quadratic(standardise=True),
        mlp.Kernel(landmarks=4),
        mlp.Kernel("cosine"),
        mlp.Spectral(2, 3, scale="range"),
        mlp.Spectral(2, 3, walk=0.1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("build", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_every_map_declares_the_arrays_it_keeps(features: mlp.FeatureMap, build: Any) -> None:
    X = np.abs(np.random.default_rng(0).normal(size=(20, 3)))
    problem = mlp.Spec(features=features).compile(build(X), labelled=range(5))
    fitted = problem.blocks[0].fitted
    shapes = state_shapes(fitted.state)
    layout = features.state_layout(shapes, 3, len(fitted.names))
    assert {name.partition(".")[0] for name in fitted.state} == layout.keys()
    for name, array in layout.items():
        check_state_array(name, array, fitted.state, shapes, "the map")


def test_maps_with_a_model_say_that_they_cannot_be_saved() -> None:
    assert not mlp.Concat.is_savable
    assert not mlp.Transformer.is_savable
    assert mlp.Spectral.is_savable
