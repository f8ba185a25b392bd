"""How well the default finds classes in known data. The limits lie well below the usual results: they catch defects."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import f1_score

import momentlp as mlp
from momentlp.datasets.usps import usps_split

pytestmark = pytest.mark.filterwarnings("ignore::momentlp.DoubtfulResultWarning")  # quality is measured here


def f1(X: np.ndarray, truth: np.ndarray, n_known: int, seed: int, **parameters: object) -> float:
    """Label some members at random; return the F1 score on the other points."""
    labels = np.zeros(len(X), dtype=int)
    labels[np.random.default_rng(seed).choice(np.flatnonzero(truth), n_known, replace=False)] = 1
    model = mlp.MomentClassifier(**parameters).fit(X, labels)
    assert model.solution_.certificate.holds()
    unlabelled = labels == 0
    return float(f1_score(truth[unlabelled], model.transduction_[unlabelled] == 1))


@pytest.mark.parametrize(("digit", "floor"), [(0, 0.97), (3, 0.9), (8, 0.8)])
def test_digits_are_found(digit: int, floor: float) -> None:
    X, y = load_digits(return_X_y=True)
    assert np.mean([f1(X, y == digit, 25, seed) for seed in range(3)]) > floor


def test_breast_cancer_is_found() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    assert np.mean([f1(X, y == 1, 30, seed) for seed in range(4)]) > 0.85


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_wine_is_found(kind: int) -> None:
    X, y = load_wine(return_X_y=True)
    assert np.mean([f1(X, y == kind, 15, seed) for seed in range(4)]) > 0.75


def test_usps_zeros_are_found(usps: tuple[np.ndarray, np.ndarray]) -> None:
    points, truth, sample = usps_split(*usps, 100, 3)
    labels = np.concatenate([np.ones(len(sample), dtype=int), np.zeros(len(points), dtype=int)])
    found = mlp.MomentClassifier().fit(np.vstack([sample, points]), labels).transduction_[len(sample) :] == 1
    assert truth[found].mean() >= 0.95
    assert found[truth].mean() >= 0.95
