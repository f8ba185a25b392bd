"""Reasons to doubt a result are found where there are some, and not elsewhere."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp


def label(truth: np.ndarray, n_labelled: int, seed: int = 0, odds: np.ndarray | None = None) -> np.ndarray:
    members = np.flatnonzero(truth)
    chance = None if odds is None else odds[members] / odds[members].sum()
    y = np.zeros(truth.size, dtype=int)
    y[np.random.default_rng(seed).choice(members, n_labelled, replace=False, p=chance)] = 1
    return y


def two_clouds(seed: int, share: float = 0.3, distance: float = 4.0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.random(500) < share
    return random.normal(size=(500, 4)) + distance * truth[:, None] * [1, 1, 0, 0], truth


def fit(X: np.ndarray | sp.csr_array, y: np.ndarray) -> mlp.MomentClassifier:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = mlp.MomentClassifier().fit(X, y)
    assert [str(warning.message) for warning in caught] == list(model.doubts_)
    assert {warning.category for warning in caught} <= {mlp.DoubtfulResultWarning}
    assert all(warning.filename == __file__ for warning in caught)
    return model


@pytest.mark.parametrize("seed", range(4))
def test_there_is_no_doubt_about_a_clear_class(seed: int) -> None:
    X, truth = two_clouds(seed)
    assert fit(X, label(truth, 40, seed)).doubts_ == ()


def test_labelled_points_like_all_others_are_doubtful() -> None:
    X = np.random.default_rng(0).normal(size=(500, 4))
    doubts = " ".join(fit(X, label(np.ones(500, dtype=bool), 30)).doubts_)
    assert "nearly all unlabelled points were found" in doubts or "the size of the class is uncertain" in doubts


@pytest.mark.parametrize("sparse", [False, True])
def test_labels_chosen_by_a_column_are_doubtful_and_the_column_is_named(sparse: bool) -> None:
    """The class is two clouds; only members with a large third column were labelled."""
    X, truth = two_clouds(1)
    X = X - X.min(axis=0)
    y = label(truth, 40, odds=np.exp(3 * X[:, 2]))
    doubts = fit(sp.csr_array(X) if sparse else X, y).doubts_
    biased = [text for text in doubts if "do not look like a random sample" in text]
    assert len(biased) == 1
    assert "column 2" in biased[0]


def test_columns_of_a_frame_are_named() -> None:
    pd = pytest.importorskip("pandas")
    X, truth = two_clouds(1)
    y = label(truth, 40, odds=np.exp(3 * X[:, 2]))
    doubts = fit(pd.DataFrame(X, columns=["height", "width", "age", "depth"]), y).doubts_
    assert any("they differ in age" in text for text in doubts)


def test_few_labels_of_a_class_that_overlaps_leave_its_size_uncertain() -> None:
    X, truth = two_clouds(0, distance=1.0)
    doubts = fit(X, label(truth, 8)).doubts_
    assert any("its share of the unlabelled points is between" in text and "query()" in text for text in doubts)


def test_a_second_fit_forgets_the_doubts_of_the_first() -> None:
    X, truth = two_clouds(0, distance=1.0)
    model = fit(X, label(truth, 8))
    assert model.doubts_
    assert model.set_params(features="linear").fit(X, label(truth, 8)).doubts_ == ()


def test_points_to_label_are_those_of_the_last_fit() -> None:
    X, truth = two_clouds(0)
    y = label(truth, 40)
    model = fit(X, y).set_params(features="quadratic").fit(X, y)
    assert np.array_equal(model.query(5), mlp.MomentClassifier("quadratic").fit(X, y).query(5))


@pytest.mark.filterwarnings("ignore::momentlp.DoubtfulResultWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_labels_that_were_selected_do_not_decide_the_size_of_the_class(seed: int) -> None:
    """Members with a large x0 are labelled, so the labelled points look like a small part of the class."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(1500, 4))
    X[:300, 1] += 2.5
    X[:300, 0] *= 2
    odds = np.exp(0.75 * X[:300, 0])
    selected, at_random = (random.choice(300, 100, replace=False, p=p) for p in (odds / odds.sum(), None))
    biased, fair = (mlp.MomentClassifier().fit(X, np.isin(np.arange(1500), known)) for known in (selected, at_random))
    share = 200 / 1400
    wide, narrow = biased.class_prior_interval(0.9), fair.class_prior_interval(0.9)
    assert share in wide
    assert share in narrow
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
