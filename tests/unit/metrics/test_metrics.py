"""Metrics on labelled and unlabelled points, against those on points whose class is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.metrics
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import momentlp as mlp
from momentlp import metrics

PRIOR = 0.3


def draw(n: int = 200_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which points are labelled, which are members, and scores; labelled points are a random sample of the class."""
    random = np.random.default_rng(seed)
    labelled = np.arange(n) < n // 4
    member = labelled | (random.random(n) < PRIOR)
    return labelled, member, random.normal(size=n) + 1.5 * member


LABELLED, MEMBER, SCORE = draw()
Y, FOUND = LABELLED.astype(int), (SCORE > 0.8).astype(int)
REST = ~LABELLED


def test_estimates_agree_with_the_truth_on_the_unlabelled_points() -> None:
    truth, found = MEMBER[REST], FOUND[REST] == 1
    assert metrics.recall_score(Y, FOUND) == pytest.approx(sklearn.metrics.recall_score(truth, found), abs=0.01)
    precision = metrics.precision_score(Y, FOUND, class_prior=PRIOR)
    assert precision == pytest.approx(sklearn.metrics.precision_score(truth, found), abs=0.01)
    assert metrics.f1_score(Y, FOUND, class_prior=PRIOR) == pytest.approx(sklearn.metrics.f1_score(truth, found), abs=0.01)
    area = metrics.roc_auc_score(Y, SCORE, class_prior=PRIOR)
    assert area == pytest.approx(sklearn.metrics.roc_auc_score(truth, SCORE[REST]), abs=0.01)


def test_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    precision, recall = metrics.precision_score(Y, FOUND, class_prior=PRIOR), metrics.recall_score(Y, FOUND)
    expected = 2 * precision * recall / (precision + recall)
    assert metrics.f1_score(Y, FOUND, class_prior=PRIOR) == pytest.approx(expected)


def test_a_weight_stands_for_repeated_points() -> None:
    random = np.random.default_rng(1)
    rows = random.integers(LABELLED.size, size=400)
    times = random.integers(1, 4, 400)
    y, found, score = Y[rows], FOUND[rows], SCORE[rows]
    repeat = [np.repeat(values, times) for values in (y, found, score)]
    for metric, both in ((metrics.f1_score, found), (metrics.precision_score, found), (metrics.roc_auc_score, score)):
        other = repeat[1] if both is found else repeat[2]
        weighted = metric(y, both, class_prior=PRIOR, sample_weight=times)
        assert weighted == pytest.approx(metric(repeat[0], other, class_prior=PRIOR))


def test_estimates_stay_between_zero_and_one() -> None:
    assert metrics.precision_score([1, 0, 0, 0], [1, 1, 0, 0], class_prior=0.9) == 1.0
    assert metrics.precision_score([1, 0], [0, 0], class_prior=0.5) == 0.0
    assert metrics.f1_score([1, 0], [0, 0], class_prior=0.5) == 0.0
    assert metrics.roc_auc_score([1, 0, 0], [0.0, 1.0, 2.0], class_prior=0.5) == 0.0


@pytest.mark.parametrize("name", ["lee_liu", "recall", "precision", "f1", "roc_auc"])
def test_scorers_work_in_model_selection(name: str) -> None:
    X, y = SCORE[::400, None], Y[::400]
    chosen = metrics.scorer(name, class_prior=PRIOR)
    search = GridSearchCV(LogisticRegression(class_weight="balanced"), {"C": [0.1, 1.0]}, scoring=chosen, cv=3).fit(X, y)
    assert 0 < search.best_score_ < np.inf


def test_members_may_have_any_value() -> None:
    words = np.where(LABELLED, "yes", "unknown")
    assert metrics.recall_score(words, np.where(FOUND == 1, "yes", "no"), pos_label="yes") == metrics.recall_score(Y, FOUND)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.recall_score([0, 0], [0, 1]), "no labelled point"),
        (lambda: metrics.recall_score([1, 1], [0, 1]), "no unlabelled point"),
        (lambda: metrics.recall_score([1, 0], [1, 1], sample_weight=[0.0, 1.0]), "no labelled point of positive weight"),
        (lambda: metrics.f1_score([1, 0], [1, 0], class_prior=1.0), "class_prior must be below 1"),
        (lambda: metrics.f1_score([1, 0], [1, 0], class_prior=0.0), "class_prior"),
        (lambda: metrics.scorer("accuracy"), "metric must be one of lee_liu"),
        (lambda: metrics.scorer("f1"), "f1 needs class_prior"),
    ],
)
def test_what_cannot_be_measured_is_named(call: Any, message: str) -> None:
    with pytest.raises((mlp.DataError, mlp.OptionError), match=message):
        call()


def test_it_is_reached_from_the_package() -> None:
    assert mlp.metrics is metrics
    assert "metrics" in dir(mlp)
