"""The class prior: bagging, bootstrap intervals, and samples without an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.clouds import clouds

import momentlp as mlp
from momentlp.estimator.resampling import bootstrap_counts

X, truth, y = clouds()
new = np.random.default_rng(1).uniform(-3.0, 8.0, size=(60, 2))


# Bagging


@pytest.mark.parametrize("features", ["linear", mlp.Spectral(8, 5)])
def test_bagging_is_the_mean_over_bootstrap_samples(features: str | mlp.FeatureMap) -> None:
    """A labelled point that was drawn twice counts as two points, and one that was not drawn as unlabelled.

    The walk is left out: a point of weight two keeps the label of its copy there, and a point that was drawn twice does not.
    """
    model = mlp.MomentClassifier(features, smoothing=None, bagging=4, random_state=3).fit(X, y)
    random = np.random.default_rng(np.random.RandomState(3).randint(2**31))
    known, memberships = np.flatnonzero(y), []
    for _ in range(4):
        counts = np.bincount(random.integers(20, size=20), minlength=20)
        drawn, weight = np.zeros(150, dtype=int), np.ones(150)
        drawn[known[counts > 0]] = 1
        weight[known[counts > 0]] = counts[counts > 0]
        memberships.append(mlp.MomentClassifier(features, smoothing=None).fit(X, drawn, weight).membership_)
    assert np.allclose(model.membership_, np.mean(memberships, axis=0), atol=1e-6)


def test_with_bagging_predict_agrees_with_transduction() -> None:
    near = np.where(truth[:, None], X, X - 3.5)
    model = mlp.MomentClassifier("spectral", bagging=5, random_state=0).fit(near, y)
    clear = (y == 0) & (np.abs(model.decision_function(near)) > 1e-6)
    assert np.array_equal(model.predict(near)[clear], model.transduction_[clear])


def test_bagging_depends_on_the_random_state_only() -> None:
    one, same, other = (
        mlp.MomentClassifier("linear", bagging=3, random_state=seed).fit(X, y).membership_ for seed in (0, 0, 1)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_bagging_does_not_change_the_solution() -> None:
    bagged = mlp.MomentClassifier("linear", bagging=3, random_state=0).fit(X, y)
    plain = mlp.MomentClassifier("linear").fit(X, y)
    assert np.array_equal(bagged.solution_.membership, plain.solution_.membership)
    assert bagged.solution_.certificate.holds()


@pytest.mark.parametrize("n_known", [1, 2, 3, 50])
def test_a_bootstrap_sample_has_as_many_points_and_two_that_differ(n_known: int) -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        counts = bootstrap_counts(n_known, random)
        assert counts.sum() == n_known
        assert np.count_nonzero(counts) >= min(2, n_known)


# The interval


def test_the_interval_holds_the_estimate_and_every_resampled_share() -> None:
    reported: list[tuple[int, int | None]] = []
    model = mlp.MomentClassifier("linear", random_state=0).fit(X, y)
    found = model.class_prior_interval(0.8, 20, progress=lambda done, total: reported.append((done, total)))
    assert reported == [(done, 20) for done in range(1, 21)]
    assert found.estimate == model.class_prior_
    assert found.level == 0.8
    assert found.resampled.shape == (20,)
    assert 0 <= found.low <= found.high <= 1
    assert found.low in found
    assert found.high + 1e-9 not in found
    again = mlp.MomentClassifier("linear", random_state=0).fit(X, y).class_prior_interval(0.8, 20)
    assert np.array_equal(found.resampled, again.resampled)
    other = mlp.MomentClassifier("linear", random_state=1).fit(X, y).class_prior_interval(0.8, 20)
    assert not np.array_equal(found.resampled, other.resampled)


def test_a_higher_level_is_a_wider_interval() -> None:
    model = mlp.MomentClassifier("linear", random_state=0).fit(X, y)
    narrow, wide = (model.class_prior_interval(level, 40) for level in (0.5, 0.95))
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert wide.high - wide.low > narrow.high - narrow.low


def test_intervals_cover_the_true_share() -> None:
    """The test asks for four of six, less than the level promises: enough to show that the right share is estimated."""
    held = 0
    for seed in range(6):
        points, members, labels = clouds(seed=seed)
        model = mlp.MomentClassifier("linear", random_state=0).fit(points, labels)
        held += members[labels == 0].mean() in model.class_prior_interval(0.9, 20)
    assert held >= 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"level": 0.0}, "level must be a number above 0, not 0.0. Use 0.9"),
        ({"level": 1.0}, "level must be a number above 0 and below 1, not 1.0"),
        ({"level": 90}, "level must be a number above 0 and below 1, not 90"),
        ({"n_resamples": 3}, "n_resamples must be an integer of at least 10, not 3"),
        ({"n_resamples": -1}, "n_resamples must be an integer of at least 10"),
    ],
)
def test_interval_arguments_out_of_range_raise(given: dict[str, Any], message: str) -> None:
    with pytest.raises(mlp.OptionError, match=message):
        mlp.MomentClassifier("linear").fit(X, y).class_prior_interval(**given)


# Samples without an answer


def test_samples_without_an_answer_are_left_out() -> None:
    largest = mlp.MomentClassifier("linear").fit(X, y).solution_.objective / 150
    close = mlp.Share(largest - 0.01, 1.0)  # all labelled points together just allow it
    model = mlp.MomentClassifier("linear", constraints=[close], bagging=20, probability=True, random_state=0)
    with pytest.warns(RuntimeWarning) as reported:
        model.fit(X, y)
    messages = [str(item.message) for item in reported]
    assert any("of 20 bootstrap samples of the labelled points have no answer and are left out" in item for item in messages)
    assert any("of 5 folds of the labelled points have no answer and are left out" in item for item in messages)
    assert len(messages) == 2
    assert 10 <= len(model.rule_.voters) < 20
    assert np.allclose(model.predict_proba(new).sum(axis=1), 1.0)
    with pytest.warns(RuntimeWarning, match="of 30 bootstrap samples"):
        found = model.class_prior_interval(n_resamples=30)
    assert 15 <= found.resampled.size < 30
    assert found.low < model.class_prior_ < found.high


@pytest.mark.parametrize("more", [{"bagging": 20}, {"probability": True}])
def test_too_many_samples_without_an_answer_raise(more: dict[str, Any]) -> None:
    @mlp.constraint("test-all-labelled")
    def all_labelled(problem: mlp.Problem, data: mlp.Data) -> mlp.Problem:
        minimum = 0.0 if problem.labelled is not None and problem.labelled.size == 20 else 1.0
        return problem.with_rows(np.zeros((data.n_points, 1)), minimum, np.inf, ["all labelled"])

    model = mlp.MomentClassifier("linear", constraints=[all_labelled()], random_state=0)
    with pytest.raises(mlp.SolverError, match=r"only 0 of \d+ .* have an answer, fewer than half: loosen the constraints"):
        model.fit(X, y).set_params(**more).fit(X, y)
