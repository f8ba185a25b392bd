"""The methods of pulearn for positive and unlabelled points. Each is fitted to all points and predicts the unlabelled ones.

pulearn leaves the base estimator, the scaling and the estimate of the prior to its users. The choices here are those
from its documentation that were best on other splits of scikit-learn's digits. Everything else has its default.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

__all__ = ["bagging", "bagging_svc", "elkan_noto", "nnpu"]

HOLD_OUT_SHARE = 0.2  # as in the documentation of pulearn
MAX_DRAWS = 100  # hold-out sets that are drawn until one contains a known member
N_BAGS = 15  # as in the documentation of pulearn


def elkan_noto(unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> np.ndarray:
    """Return the members by ElkanotoPuClassifier over logistic regression.

    It raises if the set that it holds out contains no known member, as happens with few labels. Then another set is drawn.
    """
    from pulearn import ElkanotoPuClassifier

    X, y = _join(unlabelled, sample)
    for draw in range(MAX_DRAWS):
        model = ElkanotoPuClassifier(_make_logistic(), hold_out_ratio=HOLD_OUT_SHARE, random_state=seed + 1000 * draw)
        try:
            return _predict_members(model.fit(X, y), X, unlabelled)
        except ValueError as error:
            if "hold-out set" not in str(error):
                raise
    raise RuntimeError(f"no known member in {MAX_DRAWS} hold-out sets")


def bagging(unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> np.ndarray:
    """Return the members by BaggingPuClassifier at its defaults: ten trees, without balanced bags."""
    from pulearn import BaggingPuClassifier

    X, y = _join(unlabelled, sample)
    return _predict_members(BaggingPuClassifier(random_state=seed).fit(X, y), X, unlabelled)


def bagging_svc(unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> np.ndarray:
    """Return the members by BaggingPuClassifier over 15 SVCs, each with as many unlabelled points as known members.

    The SVCs are those of pulearn's documentation, but without its gamma=0.4, which suits none of these data sets. Balanced
    bags are used in pulearn's notebook and in the paper that it follows. Scoring out of the bag is not needed here.
    """
    from pulearn import BaggingPuClassifier

    X, y = _join(unlabelled, sample)
    base = SVC(C=10, probability=True, random_state=seed)
    balanced = {"max_samples": len(sample), "oob_score": False}
    model = BaggingPuClassifier(base, n_estimators=N_BAGS, random_state=seed, **balanced)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*`probability` parameter was deprecated", category=FutureWarning)
        return _predict_members(model.fit(X, y), X, unlabelled)


def nnpu(unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> np.ndarray:
    """Return the members by NNPUClassifier on standardised columns, with the prior by cross-validated propensity.

    The prior is the share of known members over pulearn's estimate of the share of members that are known.
    """
    from pulearn import CrossValidatedPropensityEstimator, NNPUClassifier

    X, y = _join(unlabelled, sample)
    propensity = CrossValidatedPropensityEstimator(_make_logistic(), random_state=seed).estimate(y, X=X).c
    prior = float(np.clip(y.mean() / propensity, y.mean(), 0.99))
    X = StandardScaler().fit_transform(X)
    return _predict_members(NNPUClassifier(prior=prior, random_state=seed).fit(X, y), X, unlabelled)


def _join(unlabelled: np.ndarray, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.vstack([unlabelled, sample]), np.repeat([0, 1], [len(unlabelled), len(sample)])


def _predict_members(model: Any, X: np.ndarray, unlabelled: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict(X[: len(unlabelled)])) == 1


def _make_logistic() -> Pipeline:
    return make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=1000))
