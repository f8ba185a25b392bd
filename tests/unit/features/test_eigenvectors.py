"""Eigenvectors of a graph: both ways find the same functions, and a graph that one cannot handle goes to the other."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import momentlp as mlp
from momentlp.features import eigenvectors
from momentlp.features.eigenvectors import find_eigenvectors
from momentlp.features.graph import Graph


@pytest.fixture
def graph() -> Graph:
    return Graph.of(np.random.default_rng(0).normal(size=(400, 2)) * [3.0, 1.0], 8)


def test_both_methods_find_the_same_functions(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    inverted = find_eigenvectors(graph, 5)
    monkeypatch.setattr(eigenvectors, "MIN_POINTS", 10)
    lanczos = find_eigenvectors(graph, 5)
    assert lanczos.shape == (400, 5)
    for one, other in zip(inverted.T, lanczos.T, strict=True):
        assert abs(np.corrcoef(one, other)[0, 1]) == pytest.approx(1.0, abs=1e-6)


def test_they_are_eigenvectors_of_the_walk(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eigenvectors, "MIN_POINTS", 10)
    vectors = find_eigenvectors(graph, 4)
    after = (graph.weights @ vectors) / graph.degree[:, None]
    values = (after * vectors).sum(axis=0) / (vectors**2).sum(axis=0)
    assert after == pytest.approx(values * vectors, abs=1e-6 * np.abs(vectors).max())
    assert (np.diff(values) <= 1e-12).all()


def test_where_lanczos_does_not_converge_the_other_method_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = make_blobs(600, centers=40, cluster_std=0.01, random_state=0)
    graph = Graph.of(X, 4)
    monkeypatch.setattr(eigenvectors, "MAX_RESTARTS", 1)
    expected = find_eigenvectors(graph, 6)
    monkeypatch.setattr(eigenvectors, "MIN_POINTS", 10)
    assert np.array_equal(find_eigenvectors(graph, 6), expected)


def test_no_resample_is_lost_where_the_parts_are_nearly_separate() -> None:
    """What an eigenvector says beyond its precision is noise. As the spread of labelled points it made exact constraints."""
    X, part = make_blobs(600, centers=8, cluster_std=0.05, random_state=1)
    y = np.zeros(600, dtype=int)
    y[np.random.default_rng(1).choice(np.flatnonzero(part == 0), 15, replace=False)] = 1
    model = mlp.MomentClassifier("spectral", random_state=0).fit(X, y)
    found = model.class_prior_interval(0.9, 60, progress=False)  # a lost resample would be a warning
    assert found.resampled.size == 60
    assert np.array_equal(model.transduction_ == 1, part == 0)
