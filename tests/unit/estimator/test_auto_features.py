"""MomentClassifier with ``features="auto"``: learned scores and graph scores, the program on them, and the score model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs, make_moons

import momentlp as mlp
from momentlp.estimator.combined_score import combine, rank_quality
from momentlp.estimator.graph_scores import GraphScores
from momentlp.estimator.projection import Projection


def labels(truth: np.ndarray, n_labelled: int, seed: int = 0) -> np.ndarray:
    y = np.zeros(truth.size, dtype=int)
    y[np.random.default_rng(seed).choice(np.flatnonzero(truth), n_labelled, replace=False)] = 1
    return y


def f1(truth: np.ndarray, found: np.ndarray) -> float:
    return float(2 * (truth & found).sum() / (truth.sum() + found.sum()))


def f1_of(model: mlp.MomentClassifier, truth: np.ndarray, y: np.ndarray) -> float:
    return f1(truth[y == 0], (model.transduction_ == 1)[y == 0])


def overlapping(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds in columns of very different units, the last without meaning; a quarter of the points are in the class."""
    random = np.random.default_rng(seed)
    truth = random.random(400) < 0.25
    X = random.normal(size=(400, 5)) + 2.5 * truth[:, None] * [1, 1, 1, 1, 0]
    return X * [1.0, 1e4, 1e-3, 1.0, 1.0], truth


@pytest.fixture(scope="module")
def case() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, truth = overlapping()
    return X, truth, labels(truth, 20)


@pytest.fixture(scope="module")
def model(case: Any) -> mlp.MomentClassifier:
    return mlp.MomentClassifier("auto").fit(case[0], case[2])


def test_the_class_is_found_and_the_program_is_proved(case: Any, model: mlp.MomentClassifier) -> None:
    _, truth, y = case
    assert f1_of(model, truth, y) > 0.85
    assert model.solution_.status is mlp.Status.OPTIMAL
    assert model.solution_.certificate.holds()
    assert (model.solution_.multipliers <= 0).all()  # no score counts against a point
    assert abs(model.class_prior_ - truth[y == 0].mean()) < 0.1
    assert model.class_prior_ in model.class_prior_interval(0.9)


def test_labels_scores_and_probabilities_agree(case: Any, model: mlp.MomentClassifier) -> None:
    X, _, _ = case
    inside = model.score_samples(X) > model.offset_
    assert np.array_equal(inside, model.predict(X) == 1)
    assert np.array_equal(inside, model.predict_proba(X)[:, 1] > 0.5)
    assert np.array_equal(model.transduction_ == 1, model.membership_ > 0.5)


def test_the_combined_score_is_the_same_for_the_points_of_the_fit_and_as_a_hyperplane(model: mlp.MomentClassifier) -> None:
    search = model._search_
    weights = search.prepared.caps[search.known]
    combined = combine(model.solution_, search.known, weights, search.unlabelled)
    separator, scores = combined.separator, combined.scores
    features = np.hstack([np.asarray(block.features) for block in model.solution_.problem.blocks])
    assert separator.offset + features @ separator.normal == pytest.approx(scores, abs=1e-9)
    assert scores[search.unlabelled > 0].mean() == pytest.approx(0.0, abs=1e-9)


def test_rank_quality_is_the_roc_auc() -> None:
    from sklearn.metrics import roc_auc_score

    random = np.random.default_rng(0)
    scores, known = random.integers(0, 9, 60).astype(float), np.arange(10)
    unlabelled = np.where(np.arange(60) < 10, 0.0, random.integers(0, 3, 60))
    counts = random.integers(1, 4, 10).astype(float)
    weights = np.where(np.arange(60) < 10, np.append(counts, np.zeros(50)), unlabelled)
    expected = roc_auc_score(np.arange(60) < 10, scores, sample_weight=weights)
    assert rank_quality(scores, known, counts, unlabelled) == pytest.approx(expected)


def test_the_same_fit_gives_the_same_result_and_another_seed_another(case: Any, model: mlp.MomentClassifier) -> None:
    X, _, y = case
    assert np.array_equal(mlp.MomentClassifier("auto").fit(X, y).membership_, model.membership_)
    assert not np.array_equal(mlp.MomentClassifier("auto", random_state=1).fit(X, y).membership_, model.membership_)


def test_copies_of_labelled_rows_are_found() -> None:
    """300 equal rows, 20 of them labelled, and 300 others far away."""
    X = np.vstack([np.zeros((300, 2)), np.random.default_rng(0).normal(size=(300, 2)) * 0.1 + 10])
    y = np.append(np.ones(20, dtype=int), np.zeros(580, dtype=int))
    model = mlp.MomentClassifier("auto").fit(X, y)
    found = model.transduction_ == 1
    assert found[:300].all()
    assert not found[300:].any()
    assert 280 / 580 in model.class_prior_interval()


def test_a_spread_of_nothing_is_no_exact_constraint() -> None:
    """Eight tight clusters: the labelled points agree in some eigenvectors to the last digits."""
    X, cluster = make_blobs(400, centers=8, cluster_std=0.05, random_state=0)
    y = labels(cluster == 0, 15)
    assert f1_of(mlp.MomentClassifier("auto").fit(X, y), cluster == 0, y) > 0.9
    spectral = mlp.MomentClassifier("spectral", random_state=0).fit(X, y)
    assert spectral.class_prior_interval(n_resamples=20, progress=False).resampled.size == 20


def test_words_are_found_in_sparse_counts() -> None:
    random = np.random.default_rng(0)
    truth = random.random(500) < 0.2
    rates = np.where(truth[:, None], np.linspace(0.0, 1.0, 300), np.linspace(1.0, 0.0, 300)) * 0.15
    X = sp.csr_array(random.poisson(rates).astype(float))
    y = labels(truth, 25)
    model = mlp.MomentClassifier("auto").fit(X, y)
    assert f1_of(model, truth, y) > 0.9
    assert model.predict(X[:7]).shape == (7,)


@pytest.mark.filterwarnings("ignore:the size of the class is uncertain")
@pytest.mark.parametrize("n_labelled", [20, 60])
def test_moons_are_found(n_labelled: int) -> None:
    X, moon = make_moons(600, noise=0.06, random_state=0)
    y = labels(moon == 1, n_labelled)
    assert f1_of(mlp.MomentClassifier("auto").fit(X, y), moon == 1, y) > (0.85 if n_labelled == 20 else 0.93)


def test_digits_are_found() -> None:
    X, digit = load_digits(return_X_y=True)
    y = labels(digit == 6, 25)
    assert f1_of(mlp.MomentClassifier("auto").fit(X, y), digit == 6, y) > 0.95


def test_known_points_are_where_they_are_known_to_be(case: Any) -> None:
    X, truth, y = case
    inside, outside = np.flatnonzero(truth & (y == 0))[:5], np.flatnonzero(~truth)[:5]
    known = mlp.Known(positives=inside, negatives=outside)
    model = mlp.MomentClassifier("auto", constraints=[known]).fit(X, y)
    assert (model.transduction_[inside] == 1).all()
    assert (model.transduction_[outside] == 0).all()
    assert not set(model.query(300)) & set(outside.tolist())


def test_a_share_is_met(case: Any) -> None:
    X, _, y = case
    model = mlp.MomentClassifier(constraints=[mlp.Share(high=0.15)]).fit(X, y)
    assert model.limited_solution_.certificate.holds()
    inside = model.membership_ > 0.5
    assert 0.14 < inside.mean() <= 0.15
    scores, others = model.score_samples(X), y == 0
    assert scores[others & inside].min() >= scores[others & ~inside].max() - 1e-9  # the best scores are taken
    assert not hasattr(model.set_params(constraints=[]).fit(X, y), "limited_solution_")


def test_a_share_that_does_not_bind_changes_nothing(case: Any, model: mlp.MomentClassifier) -> None:
    X, _, y = case
    free = mlp.MomentClassifier(constraints=[mlp.Share(0.0, 0.9)]).fit(X, y)
    assert np.array_equal(free.transduction_, model.transduction_)
    assert np.array_equal(free.score_samples(X), model.score_samples(X))


def test_groups_are_held_to_their_shares(case: Any, model: mlp.MomentClassifier) -> None:
    X, _, y = case
    group = np.where(np.arange(len(X)) % 3 == 0, "a", "b")
    share = np.mean(group[model.transduction_ == 1] == "a")
    limited = mlp.MomentClassifier(constraints=[mlp.GroupShare(group.tolist(), high={"a": share / 2})]).fit(X, y)
    inside = limited.membership_
    assert inside[group == "a"].sum() <= share / 2 * inside.sum() + 1e-6
    assert f1(model.transduction_ == 1, limited.transduction_ == 1) > 0.7


def test_a_share_below_that_of_the_labelled_points_raises(case: Any) -> None:
    X, _, y = case
    with pytest.raises(mlp.SolverError, match="In conflict: share, known positives"):
        mlp.MomentClassifier(constraints=[mlp.Share(high=0.02)]).fit(X, y)


@pytest.mark.filterwarnings("ignore::momentlp.DoubtfulResultWarning")
def test_a_share_takes_all_it_may_where_all_points_are_equal() -> None:
    y = (np.arange(60) < 8).astype(int)
    assert (mlp.MomentClassifier().fit(np.ones((60, 2)), y).transduction_ == 1).all()
    most = mlp.MomentClassifier(constraints=[mlp.Share(high=0.99)]).fit(np.ones((60, 2)), y)
    assert (most.transduction_ == 1).sum() == 59


def test_points_to_label_do_not_depend_on_a_share(case: Any, model: mlp.MomentClassifier) -> None:
    X, _, y = case
    limited = mlp.MomentClassifier(constraints=[mlp.Share(high=0.15)]).fit(X, y)
    assert np.array_equal(limited.query(5), model.query(5))


def test_constraints_that_leave_nothing_to_find_raise(case: Any) -> None:
    X, _, y = case
    with pytest.raises(mlp.DataError, match="every unlabelled point is declared to be outside"):
        mlp.MomentClassifier(constraints=[mlp.Known(negatives=np.flatnonzero(y == 0))]).fit(X, y)


def test_shares_that_no_set_has_raise(case: Any) -> None:
    X, _, y = case
    group = np.where(np.arange(len(X)) % 3 == 0, "a", "b").tolist()
    with pytest.raises(mlp.SolverError, match="no set of points meets the constraints"):
        mlp.MomentClassifier(constraints=[mlp.Share(0.9, 1.0), mlp.GroupShare(group, high={"a": 0.01})]).fit(X, y)


def test_a_saved_model_predicts_the_same(case: Any, model: mlp.MomentClassifier, tmp_path: Path) -> None:
    X, _, _ = case
    model.save(tmp_path / "model.npz")
    loaded = mlp.MomentClassifier.load(tmp_path / "model.npz")
    assert np.array_equal(loaded.score_samples(X), model.score_samples(X))
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.find_threshold(recall=0.8) == model.find_threshold(recall=0.8)
    assert repr(loaded.class_prior_interval(0.8)) == repr(model.class_prior_interval(0.8))
    with pytest.raises(mlp.DataError, match="does not hold the points"):
        loaded.query()


def test_a_threshold_has_the_wanted_recall_or_precision(case: Any, model: mlp.MomentClassifier) -> None:
    X, truth, y = case
    plain = model.find_threshold()
    assert plain.offset == pytest.approx(model.offset_)
    many, few = model.find_threshold(recall=0.95), model.find_threshold(recall=0.5)
    assert many.recall >= 0.95 > few.recall >= 0.5
    assert many.offset < few.offset
    assert few.precision >= many.precision
    found = (model.score_samples(X) > many.offset)[y == 0]
    assert found[truth[y == 0]].mean() > 0.85
    sure = model.find_threshold(precision=few.precision)
    assert sure.precision >= few.precision


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"precision": 0.9, "recall": 0.9}, "cannot both be wanted"),
        ({"precision": 1.0}, "is expected at no threshold: the largest is"),
        ({"recall": 1.5}, "recall must be"),
        ({"precision": "high"}, "precision must be"),
    ],
)
def test_a_threshold_that_cannot_be_is_refused(model: mlp.MomentClassifier, wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(mlp.OptionError, match=message):
        model.find_threshold(**wanted)


def test_thresholds_need_the_score_model(case: Any) -> None:
    with pytest.raises(mlp.DataError, match="features='auto'"):
        mlp.MomentClassifier("linear").fit(case[0], case[2]).find_threshold(recall=0.9)


def test_queried_points_are_unlabelled_and_near_the_cut(case: Any, model: mlp.MomentClassifier) -> None:
    _, _, y = case
    rows = model.query(8)
    assert (y[rows] == 0).all()
    others = np.setdiff1d(np.flatnonzero(y == 0), rows)
    assert np.abs(model.membership_[rows] - 0.5).max() <= np.abs(model.membership_[others] - 0.5).min()
    with pytest.raises(mlp.OptionError, match="n must be"):
        model.query(0)


@pytest.mark.filterwarnings("ignore::momentlp.DoubtfulResultWarning")
@pytest.mark.parametrize("sparse", [False, True])
def test_columns_without_meaning_are_unimportant(sparse: bool) -> None:
    random = np.random.default_rng(0)
    X = np.abs(random.normal(size=(300, 4)))
    truth = X[:, 1] + X[:, 2] > 2.2
    points = sp.csr_array(X) if sparse else X
    importance = mlp.MomentClassifier("auto").fit(points, labels(truth, 25)).importance(n_repeats=2)
    assert len(importance) == 4
    assert {name for name, _ in list(importance)[:2]} == {"x1", "x2"}
    assert "importance" in repr(importance)


def test_what_the_default_features_cannot_use_raises(case: Any) -> None:
    X, _, y = case
    with pytest.raises(mlp.OptionError, match=r"bagging is 3, but the scores .* are averages over bags already"):
        mlp.MomentClassifier(bagging=3).fit(X, y)
    for features in ("auto", ["linear", "auto"]):
        with pytest.raises(mlp.OptionError, match=r"features is 'auto', which leaves nothing to choose"):
            mlp.MomentClassifierCV(features).fit(X, y)
    for parameters in ({"smoothing": 0.05}, {"margin": 0.3}):
        with pytest.raises(mlp.OptionError, match=r"is 0.*needs features that have neighbourhoods"):
            mlp.MomentClassifier(**parameters).fit(X, y)


def test_graph_scores_of_labelled_points_do_not_use_their_own_labels() -> None:
    """Labels without meaning: held-out labelled points score like unlabelled ones."""
    X = np.random.default_rng(0).normal(size=(400, 3))
    gaps = []
    for seed in range(6):
        known = np.random.default_rng(seed).choice(400, 40, replace=False)
        problem = mlp.Spec(features=GraphScores(), tolerance=mlp.Relative(1.0)).compile(X, labelled=known)
        features = np.asarray(problem.blocks[0].features)
        gaps.append(features[known].mean(axis=0) - np.delete(features, known, axis=0).mean(axis=0))
    assert np.abs(np.mean(gaps, axis=0)).max() < 0.35


def test_too_few_different_points_have_no_graph() -> None:
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    problem = mlp.Spec(features=GraphScores(), tolerance=mlp.Relative(1.0)).compile(X, labelled=[0])
    assert not np.asarray(problem.blocks[0].features).any()
    assert not problem.blocks[0].fitted([[0.5]]).any()


def test_neighbours_in_the_projection_are_those_of_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    from momentlp.estimator import projection

    random = np.random.default_rng(0)
    X = random.normal(size=(120, 5)) @ random.normal(size=(5, 80))
    assert Projection.of(X).directions is None
    monkeypatch.setattr(projection, "MAX_PRODUCTS", 1.0)
    monkeypatch.setattr(projection, "N_DIRECTIONS", 10)
    projected = Projection.of(X)(X)
    assert projected.shape == (120, 10)
    assert np.linalg.norm(projected[0] - projected[1]) == pytest.approx(np.linalg.norm(X[0] - X[1]))
