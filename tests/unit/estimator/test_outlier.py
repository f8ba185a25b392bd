"""MomentOutlierDetector: +1 for inliers, -1 for outliers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import momentlp as mlp

random = np.random.default_rng(0)
inliers, outliers = random.normal(size=(150, 2)), random.uniform(5.0, 9.0, size=(10, 2)) * [1.0, -1.0]
X = np.vstack([inliers, outliers])
out = np.arange(160) >= 150


@parametrize_with_checks([mlp.MomentOutlierDetector(), mlp.MomentOutlierDetector(contamination=0.1)])
def test_it_passes_the_checks_of_scikit_learn(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or one of them is skipped
    check(estimator)


def test_outliers_are_found() -> None:
    model = mlp.MomentOutlierDetector(contamination=10 / 160).fit(X)
    assert np.array_equal(model.predict(X) == -1, out)
    assert model.classifier_.solution_.certificate.holds()


def test_known_inliers_determine_what_an_inlier_is() -> None:
    """The small cloud is the class if its points are the known inliers, though most points lie elsewhere."""
    small = np.flatnonzero(out)
    model = mlp.MomentOutlierDetector().fit(X, known=small[:6])
    assert (model.predict(outliers) == 1).all()
    assert (model.predict(inliers) == -1).all()
    mask = mlp.MomentOutlierDetector().fit(X, known=np.isin(np.arange(160), small[:6]))
    assert np.array_equal(mask.score_samples(X), model.score_samples(X))


def test_it_agrees_with_the_classifier() -> None:
    known = np.arange(40)
    detector = mlp.MomentOutlierDetector("auto", "quadratic", 0.5).fit(X, known=known)
    classifier = mlp.MomentClassifier("quadratic", 0.5).fit(X, np.isin(np.arange(160), known).astype(int))
    assert np.allclose(detector.score_samples(X), classifier.score_samples(X), rtol=0, atol=1e-12)
    clear = np.abs(classifier.decision_function(X)) > 1e-9  # on the hyperplane a point is neither in nor out
    assert np.array_equal(detector.predict(X)[clear], np.where(classifier.predict(X) == 1, 1, -1)[clear])
    assert clear.sum() > 140
    assert detector.offset_ == classifier.offset_


@pytest.mark.parametrize("features", ["spectral", "linear", "quadratic"])
@pytest.mark.parametrize("contamination", [0.02, 0.1, 0.5])
def test_the_share_of_outliers_is_the_one_asked_for(features: str, contamination: float) -> None:
    model = mlp.MomentOutlierDetector(contamination, features).fit(X)
    assert np.mean(model.score_samples(X) < model.offset_) == pytest.approx(contamination, abs=1 / 160)


@pytest.mark.parametrize("contamination", ["auto", 0.1])
def test_all_methods_agree(contamination: Any) -> None:
    model = mlp.MomentOutlierDetector(contamination).fit(X)
    assert np.array_equal(model.decision_function(X), model.score_samples(X) - model.offset_)
    assert np.array_equal(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))
    assert np.array_equal(model.fit_predict(X), model.predict(X))


@pytest.mark.parametrize("contamination", ["auto", 0.1])
def test_a_weight_stands_for_repeated_rows_and_zero_for_none(contamination: Any) -> None:
    weight = np.random.default_rng(1).integers(0, 3, size=160)
    weighed = mlp.MomentOutlierDetector(contamination).fit(X, sample_weight=weight)
    repeated = mlp.MomentOutlierDetector(contamination).fit(np.repeat(X, weight, axis=0))
    assert np.allclose(weighed.decision_function(X), repeated.decision_function(X), atol=1e-9)


def test_frames_and_sparse_matrices_are_accepted() -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    plain = mlp.MomentOutlierDetector(0.1).fit(X)
    model = mlp.MomentOutlierDetector(0.1).fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert np.array_equal(model.predict(frame), plain.predict(X))
    sparse = mlp.MomentOutlierDetector(0.1).fit(sp.csr_array(X))
    assert np.allclose(sparse.score_samples(sp.csr_array(X)), plain.score_samples(X), atol=1e-6)


def test_a_constraint_names_a_column() -> None:
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(group=np.arange(160) % 2)
    bound = mlp.GroupShare("group", high={"1": 0.4})
    bounded, free = (
        mlp.MomentOutlierDetector("auto", "linear", 3.0, item).fit(frame).classifier_.solution_.membership
        for item in ([bound], [])
    )
    group = frame["group"].to_numpy()
    assert bounded @ group / bounded.sum() == pytest.approx(0.4)
    assert free @ group / free.sum() > 0.45


@pytest.mark.parametrize("contamination", [0, 0.0, 0.6, -0.1, 1, True, None, "much", np.nan])
def test_unusable_contamination_raises(contamination: Any) -> None:
    with pytest.raises(mlp.OptionError, match=r"contamination must be a number above 0 and at most 0\.5, not .* Use 'auto'"):
        mlp.MomentOutlierDetector(contamination).fit(X)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ([], "known selects no point"),
        ([160], "known holds index 160"),
        ([True, False], "known is a boolean mask of shape"),
        (range(160), "known holds every row of X: none is left"),
        ([0, 1, 150], "known holds row 150, but a constraint declares it to be outside"),
    ],
)
def test_unusable_known_inliers_raise(known: list[Any], message: str) -> None:
    with pytest.raises(mlp.DataError, match=message):
        mlp.MomentOutlierDetector(constraints=[mlp.Known(negatives=[150])]).fit(X, known=known)


def test_known_inliers_of_weight_zero_raise() -> None:
    with pytest.raises(mlp.DataError, match="known holds no row that has a weight"):
        mlp.MomentOutlierDetector().fit(X, sample_weight=np.arange(160) > 9, known=range(10))
    with pytest.raises(mlp.DataError, match="known holds every row of X"):
        mlp.MomentOutlierDetector().fit(X, sample_weight=np.arange(160) < 10, known=range(10))


def test_equal_rows_raise() -> None:
    with pytest.raises(mlp.DataError, match="all rows of X are equal"):
        mlp.MomentOutlierDetector().fit(np.ones((20, 2)))


def test_rows_known_to_be_outside_are_not_taken_as_inliers() -> None:
    dense = np.argsort(np.linalg.norm(inliers, axis=1))[:5]
    model = mlp.MomentOutlierDetector("auto", "quadratic", constraints=[mlp.Known(negatives=dense)]).fit(X)
    assert model.classifier_.membership_[dense].tolist() == [0.0] * 5
    assert (model.predict(outliers) == -1).all()


def test_methods_raise_before_fit() -> None:
    with pytest.raises(NotFittedError):
        mlp.MomentOutlierDetector().predict(X)


def test_rounding_errors_do_not_decide_between_equal_points() -> None:
    """If all points have the same score none is an outlier, and a weight stands for repeated rows."""
    random = np.random.RandomState(42)
    points, weight = random.rand(15, 30), random.randint(0, 5, size=15)
    weighed = mlp.MomentOutlierDetector(contamination=0.1).fit(points, sample_weight=weight)
    repeated = mlp.MomentOutlierDetector(contamination=0.1).fit(random.permutation(points.repeat(weight, axis=0)))
    assert np.array_equal(weighed.predict(points), repeated.predict(points))
