"""Probabilities of membership, calibrated on labelled points that were held out."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.clouds import clouds

import momentlp as mlp
from momentlp.estimator.calibration import Calibration
from momentlp.estimator.folds import held_out_counts, held_out_scores, split_folds

X, truth, y = clouds()


def density(x: np.ndarray, mean: float) -> np.ndarray:
    return np.exp(-((x - mean) ** 2) / 2) / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("prior", [0.1, 0.3, 0.6])
def test_calibration_approximates_the_posterior(prior: float) -> None:
    """Two normal densities: one sample is of the first, the other of their mixture."""
    random = np.random.default_rng(0)
    members = random.normal(1.0, size=4000)
    unlabelled = np.where(random.random(20_000) < prior, random.normal(1.0, size=20_000), random.normal(-1.0, size=20_000))
    learned = Calibration.fit(members, unlabelled, np.ones(20_000), prior)
    grid = np.linspace(-2.5, 2.5, 101)
    inside, outside = prior * density(grid, 1.0), (1 - prior) * density(grid, -1.0)
    assert np.abs(learned(grid) - inside / (inside + outside)).mean() < 0.05
    assert (np.diff(learned(grid)) >= 0).all()
    assert learned(unlabelled).mean() == pytest.approx(prior, abs=0.03)


def test_calibration_counts_by_weight() -> None:
    random = np.random.default_rng(0)
    members, unlabelled = random.normal(1.0, size=40), random.normal(size=200)
    weight = random.integers(1, 4, size=200)
    weighed = Calibration.fit(members, unlabelled, weight.astype(float), 0.3)
    repeated = Calibration.fit(members, np.repeat(unlabelled, weight), np.ones(weight.sum()), 0.3)
    grid = np.linspace(-3, 3, 50)
    assert np.allclose(weighed(grid), repeated(grid))


def test_every_labelled_point_is_scored_while_it_is_held_out() -> None:
    folds = split_folds(11, 3, np.random.default_rng(0))
    assert sorted(np.concatenate(folds).tolist()) == list(range(11))
    assert max(map(len, folds)) - min(map(len, folds)) <= 1
    counts = [held_out_counts(11, fold) for fold in folds]
    assert held_out_scores(counts, folds).tolist() == [0.0] * 11  # the score is how often it counts
    assert held_out_scores([np.arange(11.0), None, np.arange(11.0)], folds).tolist() == [*folds[0], *folds[2]]


@pytest.mark.parametrize("features", ["spectral", "linear"])
def test_probabilities_are_about_right(features: str) -> None:
    """The mean squared error of a guess that knows the prior and nothing else is 0.21."""
    errors = []
    for seed in range(4):
        points, members, labels = clouds(seed=seed)
        probability = mlp.MomentClassifier(features, probability=True).fit(points, labels).predict_proba(points)[:, 1]
        assert ((probability >= 0) & (probability <= 1)).all()
        errors.append(np.mean((probability - members)[labels == 0] ** 2))
    assert np.mean(errors) < 0.08


def test_probabilities_need_labels_to_hold_out() -> None:
    few = np.zeros(150, dtype=int)
    few[np.flatnonzero(y)[:2]] = 1
    with pytest.raises(mlp.DataError, match="probability=True needs at least 3 labelled points to hold some out"):
        mlp.MomentClassifier("spectral", probability=True).fit(X, few)
