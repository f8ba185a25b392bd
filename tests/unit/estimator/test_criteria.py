"""lee_liu_score: a metric for predictions where only some members are labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.clouds import clouds

import momentlp as mlp

X, truth, y = clouds()


@pytest.mark.parametrize(("member", "other"), [(1, 0), (1, -1), (True, False), ("yes", "no")])
def test_the_score_is_recall_squared_over_the_share_found(member: Any, other: Any) -> None:
    random = np.random.default_rng(0)
    labelled, found = random.random(200) < 0.2, random.random(200) < 0.4
    recall, share = found[labelled].mean(), found.mean()
    names = np.array([other, member])
    score = mlp.lee_liu_score(names[labelled * 1], names[found * 1], pos_label=member)
    assert score == pytest.approx(recall**2 / share)
    if not isinstance(member, str):
        assert mlp.lee_liu_score(names[labelled * 1], names[found * 1]) == score
    smaller = mlp.lee_liu_score(names[1 - labelled], names[1 - found], pos_label=other)
    assert smaller == pytest.approx(recall**2 / share)


def test_the_score_is_0_if_nothing_is_found_and_1_if_all_are_members() -> None:
    assert mlp.lee_liu_score([1, 0, 0], [0, 0, 0]) == 0.0
    assert mlp.lee_liu_score([1, 1], [1, 1]) == 1.0


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([0, 0, 0, 0], [0, 1, 0, 0], "y_true holds no 1: recall needs labelled members.*stratified splitter"),
        ([0, 0], [0, 0], "y_true holds no 1"),
        ([-1, -1], [-1, -1], "y_true holds no 1"),
        ([False, False], [False, True], "y_true holds no True"),
        ([0, 1, 1], [0, 2, 1], "y_true and y_pred hold 3 different values, 0, 1, 2: there must be two"),
        (["a", "b"], ["a", "a"], "give pos_label, the value that marks members"),
        ([], [], "y_true is empty"),
        ([0, 1, 1], [0, 1], "inconsistent numbers of samples"),
    ],
)
def test_labels_that_cannot_be_scored_raise(y_true: list[Any], y_pred: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mlp.lee_liu_score(y_true, y_pred)


def test_the_score_is_precision_times_recall_over_the_prior() -> None:
    """Where all members are labelled, so that precision can be measured."""
    found = np.random.default_rng(0).random(150) < np.where(truth, 0.8, 0.1)
    precision, recall = truth[found].mean(), found[truth].mean()
    assert mlp.lee_liu_score(truth, found) == pytest.approx(precision * recall / truth.mean())
