"""The model of the scores: probabilities, class prior, cut, and precision and recall at any cut."""

from __future__ import annotations

import numpy as np
import pytest

from momentlp.estimator.score_model import ScoreModel


def mixture(prior: float, n: int, distance: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of unlabelled points, and which of them are members."""
    random = np.random.default_rng(seed)
    truth = random.random(n) < prior
    return random.normal(size=n) + distance * truth, truth


def fitted(prior: float, n_labelled: int, distance: float = 3.0, seed: int = 0) -> tuple[ScoreModel, np.ndarray, np.ndarray]:
    scores, truth = mixture(prior, 3000, distance, seed)
    members = np.random.default_rng(seed + 1000).normal(size=n_labelled) + distance
    return ScoreModel.fit(members, scores, np.ones(3000)), scores, truth


@pytest.mark.parametrize("prior", [0.03, 0.2, 0.5, 0.85])
@pytest.mark.parametrize("n_labelled", [10, 100])
def test_the_prior_is_close_where_classes_hardly_overlap(prior: float, n_labelled: int) -> None:
    errors = [abs(fitted(prior, n_labelled, 4.0, seed)[0].prior - prior) for seed in range(5)]
    assert np.mean(errors) < (0.15 if n_labelled == 10 else 0.06)


def test_intervals_cover_as_often_as_they_say() -> None:
    covered = 0
    for seed in range(60):
        model, _, truth = fitted(0.3, 25, 2.5, seed)
        low, high = model.interval(0.9)
        covered += low <= truth.mean() <= high
    assert 46 <= covered <= 60  # 54 are expected


def test_expected_figures_are_those_of_the_truth() -> None:
    model, scores, truth = fitted(0.25, 200, 3.0)
    found = scores > model.cut
    node = int(np.searchsorted(model.scores, model.cut))
    assert model.precision[node] == pytest.approx(truth[found].mean(), abs=0.06)
    assert model.recall[node] == pytest.approx(found[truth].mean(), abs=0.06)
    assert model.share[node] == pytest.approx(found.mean(), abs=0.01)
    assert model(scores).mean() == pytest.approx(model.prior, abs=0.01)


def test_the_cut_is_nearly_the_best_one() -> None:
    model, scores, truth = fitted(0.2, 50, 3.0)

    def f1(cut: float) -> float:
        found = scores > cut
        return float(2 * (found & truth).sum() / (found.sum() + truth.sum()))

    assert f1(model.cut) > max(map(f1, np.linspace(-2, 5, 200))) - 0.02


def test_the_cut_lies_in_a_gap() -> None:
    """No score lies between 1 and 5: every cut there finds the same points, and none of the others."""
    random = np.random.default_rng(0)
    unlabelled = np.concatenate([random.uniform(5, 6, 100), random.uniform(0, 1, 900)])
    model = ScoreModel.fit(random.uniform(5, 6, 15), unlabelled, np.ones(1000))
    assert 1 <= model.cut <= 5.2
    assert model.prior == pytest.approx(0.1, abs=0.02)


def test_probabilities_rise_with_the_score_and_do_not_depend_on_its_unit() -> None:
    scores, _ = mixture(0.3, 500, 2.0, 0)
    members = np.random.default_rng(1).normal(size=20) + 2
    one, other = (ScoreModel.fit(factor * members - 7, factor * scores - 7, np.ones(500)) for factor in (1.0, 1e6))
    assert (np.diff(one.probability) > -1e-12).all()
    assert other.prior == pytest.approx(one.prior)
    assert other.cut + 7 == pytest.approx(1e6 * (one.cut + 7), rel=1e-6)


def test_a_weight_stands_for_repeated_points() -> None:
    random = np.random.default_rng(0)
    scores, members = random.normal(size=200), random.normal(size=12) + 2
    times, own = random.integers(1, 4, 200), random.integers(1, 4, 12)
    weighted = ScoreModel.fit(members, scores, times.astype(float), own.astype(float))
    repeated = ScoreModel.fit(np.repeat(members, own), np.repeat(scores, times), np.ones(times.sum()))
    assert weighted.prior == pytest.approx(repeated.prior)
    assert weighted.cut == pytest.approx(repeated.cut)


@pytest.mark.parametrize("members", [np.zeros(3), np.array([5.0]), np.array([-1e9, 1e9])])
def test_scores_that_say_nothing_give_numbers(members: np.ndarray) -> None:
    model = ScoreModel.fit(members, np.zeros(50), np.ones(50))
    assert 0 <= model.prior <= 1
    assert np.isfinite(model.probability).all()
    assert np.isfinite(model.cut)


def test_one_labelled_point_with_a_low_score_does_not_decide() -> None:
    scores, _ = mixture(0.2, 2000, 4.0, 0)
    members = np.random.default_rng(1).normal(size=30) + 4
    plain = ScoreModel.fit(members, scores, np.ones(2000))
    with_outlier = ScoreModel.fit(np.append(members, -3.0), scores, np.ones(2000))
    assert with_outlier.prior < plain.prior + 0.1


def test_members_beyond_all_unlabelled_points_do_not_make_the_class_empty() -> None:
    """A quarter of the labelled points score higher than any other point; the rest score like a third of the points."""
    random = np.random.default_rng(0)
    unlabelled = np.concatenate([random.normal(2.0, 1.0, 60), random.normal(-1.0, 0.5, 120)])
    members = np.concatenate([random.normal(2.0, 1.0, 15), np.full(5, unlabelled.max() + 1.0)])
    model = ScoreModel.fit(members, unlabelled, np.ones(180), np.full(20, 2.0))
    assert 0.1 < model.prior < 0.5
    assert model.recall[np.searchsorted(model.scores, model.cut)] > 0.5
