"""Maps whose features depend on all points, on the labels or on neighbours have their own base classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import momentlp as mlp
from momentlp.features import SmoothingMap, TransductiveMap, depends_on_labels, interpolate_values, smooth_values

LINE = np.linspace(0.0, 1.0, 20)[:, None]


class Ranks(TransductiveMap):
    """The rank of a point among all points."""

    kind: str = "test-ranks"

    def learn(self, X: Any, inputs: tuple[str, ...]) -> Any:
        return ("rank",), {"sorted": np.sort(X[:, 0])}

    def transform(self, X: Any, fitted: mlp.FittedMap) -> Any:
        return np.searchsorted(fitted.state["sorted"], X[:, :1]).astype(float)


def test_only_transductive_maps_have_methods_about_labels() -> None:
    assert isinstance(mlp.Spectral(), TransductiveMap)
    for features in (mlp.Linear(), mlp.Quadratic(), mlp.Kernel()):
        assert not isinstance(features, TransductiveMap)
        assert not hasattr(features, "with_labels")
        assert not isinstance(features, SmoothingMap)
    assert not depends_on_labels(mlp.Linear())
    assert not depends_on_labels(mlp.Spectral())
    assert depends_on_labels(mlp.Spectral(walk=0.1))


def test_a_sample_is_fitted_together_with_the_points() -> None:
    problem = mlp.Spec(features=Ranks()).compile(LINE, sample=[[5.0], [6.0]])
    assert problem.blocks[0].origin == pytest.approx([20.5])
    assert problem.blocks[0].features[-1, 0] == 19.0


def test_a_transductive_map_cannot_be_read_in_chunks(tmp_path: Any) -> None:
    np.save(tmp_path / "points.npy", LINE)
    with pytest.raises(mlp.CompileError, match=r"Ranks needs all points at once.*use Linear"):
        mlp.Spec(features=Ranks()).compile(mlp.open_points(tmp_path / "points.npy"), labelled=[0])


def test_maps_with_a_graph_smooth_and_interpolate_values() -> None:
    fitted = mlp.Spectral(2, 3).fit(LINE)
    smooth = smooth_values(fitted, np.arange(20.0), 0.5)
    assert smooth is not None
    assert 0 < smooth[0] < smooth[-1] < 19
    assert np.array_equal(interpolate_values(fitted, smooth, LINE), smooth)


def test_other_maps_do_not_smooth_values() -> None:
    fitted = mlp.Linear().fit(LINE)
    assert smooth_values(fitted, np.ones(20), 0.5) is None
    with pytest.raises(TypeError, match="Linear has no method interpolate"):
        interpolate_values(fitted, np.ones(20), LINE)
