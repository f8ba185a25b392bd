"""The labels y of MomentClassifier: which values are accepted, and which raise or warn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.clouds import clouds

import momentlp as mlp

X, truth, y = clouds()
new = np.random.default_rng(1).uniform(-3.0, 8.0, size=(80, 2))


@pytest.mark.parametrize(
    ("member", "other"),
    [(1, 0), (1, -1), (True, False), ("member", "anything"), (2.0, 1.0), (0, 1), (-1, 1), (False, True), ("a", "b")],
)
def test_any_two_values_of_y_are_accepted(member: Any, other: Any) -> None:
    usual = mlp.MomentClassifier("spectral", probability=True).fit(X, y)
    labels = np.where(y == 1, member, other)
    model = mlp.MomentClassifier("spectral", probability=True, pos_label=member).fit(X, labels)
    assert model.classes_.tolist() == sorted([member, other])
    assert model.pos_label_ == member
    assert model.transduction_.dtype == model.predict(new).dtype == labels.dtype
    inside = usual.predict(new) == 1
    assert np.array_equal(model.predict(new), np.where(inside, member, other))
    assert np.array_equal(model.transduction_ == member, usual.transduction_ == 1)
    assert np.array_equal(model.score_samples(new), usual.score_samples(new))
    assert np.array_equal(model.decision_function(new) > 0, model.predict(new) == model.classes_[1])
    column = model.classes_.tolist().index(member)
    assert np.array_equal(model.predict_proba(new)[:, column], usual.predict_proba(new)[:, 1])
    assert model.class_prior_ == usual.class_prior_
    if member > other:
        assert mlp.MomentClassifier("spectral").fit(X, labels).pos_label_ == member


def test_it_warns_if_text_labels_may_be_exchanged() -> None:
    message = np.where(y == 1, "positive", "unlabelled")
    expected_message = r"130 of 150 rows are marked as members \('unlabelled', the larger label\)\. .* pos_label='positive'"
    for labels in (message, message.astype(object)):
        with pytest.warns(UserWarning, match=expected_message) as seen:
            model = mlp.MomentClassifier("linear").fit(X, labels)
        assert seen[0].filename == __file__
        assert model.pos_label_ == "unlabelled"  # the rule stays what it is
    mlp.MomentClassifier("linear", pos_label="positive").fit(X, message)
    mlp.MomentClassifier("linear", pos_label="unlabelled").fit(X, message)  # who says it means it


def test_the_warning_about_text_labels_counts_rows_by_weight() -> None:
    message, heavy = np.where(y == 1, "positive", "unlabelled"), np.where(y == 1, 100.0, 1.0)
    assert mlp.MomentClassifier("linear").fit(X, message, heavy).pos_label_ == "unlabelled"
    with pytest.warns(UserWarning, match="20 of 150 rows are marked as members"):
        mlp.MomentClassifier("linear").fit(X, np.where(y == 1, "yes", "no"), heavy)


def test_numeric_labels_give_no_warning() -> None:
    """The checks of scikit-learn mark two rows in three with a 1."""
    mlp.MomentClassifier("linear").fit(X, 1 - y)


def test_labels_of_objects_stay_objects() -> None:
    labels = np.where(y == 1, "yes", "no").astype(object)
    model = mlp.MomentClassifier("linear").fit(X, labels)
    assert model.predict(X).dtype == model.transduction_.dtype == model.classes_.dtype == object


@pytest.mark.parametrize(
    ("labels", "pos_label", "message"),
    [
        (np.ones(150, dtype=int), None, "one class only, 1: there are no unlabelled points"),
        (np.zeros(150, dtype=int), None, "one class only, 0: there are no labelled points"),
        (np.full(150, "m"), "m", "one class only, 'm': there are no unlabelled points"),
        (np.full(150, "m"), None, "one class only, 'm': there are either no labelled points or no unlabelled ones"),
        (np.arange(150) % 3, None, "Only binary classification is supported.*holds 3 different values: 0, 1, 2"),
        (np.arange(150) / 7, None, "Unknown label type: continuous"),
        (y, 7, "pos_label is 7, but y holds 0 and 1"),
        (y, "1", "pos_label is '1', but y holds 0 and 1"),
        (np.full(150, np.nan), None, "y holds nothing but None or NaN: no point is labelled"),
        (np.where(y == 1, 1.0, np.nan), 0, "pos_label is 0, but y holds 1 and missing values"),
    ],
)
def test_unusable_labels_raise(labels: np.ndarray, pos_label: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mlp.MomentClassifier(pos_label=pos_label).fit(X, labels)
