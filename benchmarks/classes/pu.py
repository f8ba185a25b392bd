"""What pulearn has for learning from positives and unlabelled points: fitted to all points, then asked for the unlabelled.

Base estimators, scaling and the estimate of the prior are pulearn's to leave open: what is used here did best, of what its
documentation uses, on other splits of scikit-learn's digits. Everything else is at its default.
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

HOLD_OUT = 0.2  # as in the documentation of pulearn
DRAWS = 100  # of hold-out sets, until one has a known member in it
BAGS = 15  # as in the documentation of pulearn


def elkan_noto(unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> np.ndarray:
    """Return the members by ElkanotoPuClassifier over logistic regression.

    It raises where no known member is in the set that it holds out, as happens with few of them: then it draws again.
    """
    from pulearn import ElkanotoPuClassifier

    X, y = _together(unlabelled, sample)
    for draw in range(DRAWS):
        model = ElkanotoPuClassifier(_logistic(), hold_out_ratio=HOLD_OUT, random_state=seed + 1000 * draw)
        try:
            return _members(model.fit(X, y), X, unlabelled)
        except ValueError as error:
            if "hold-out set" not in str(error):
                raise
    raise RuntimeError(f"no known member in {DRAWS} hold-out sets")


def bagging(unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> np.ndarray:
    """Return the members by BaggingPuClassifier at its defaults: ten trees, none of them with balanced bags."""
    from pulearn import BaggingPuClassifier

    X, y = _together(unlabelled, sample)
    return _members(BaggingPuClassifier(random_state=seed).fit(X, y), X, unlabelled)


def bagging_svc(unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> np.ndarray:
    """Return the members by BaggingPuClassifier over 15 SVCs, each with as many unlabelled points as known members.

    SVC and their number are those of pulearn's documentation (but for gamma=0.4, which suits no data here), the balanced
    bags those of its notebook and of the paper that it follows. Scoring out of the bag is not used here, so it is left out.
    """
    from pulearn import BaggingPuClassifier

    X, y = _together(unlabelled, sample)
    base = SVC(C=10, probability=True, random_state=seed)
    balanced = {"max_samples": len(sample), "oob_score": False}
    model = BaggingPuClassifier(base, n_estimators=BAGS, random_state=seed, **balanced)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*`probability` parameter was deprecated", category=FutureWarning)
        return _members(model.fit(X, y), X, unlabelled)


def nnpu(unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> np.ndarray:
    """Return the members by NNPUClassifier on standardised columns, with the prior by cross-validated propensity.

    The prior is the share of known members over pulearn's estimate of the share of members that are known.
    """
    from pulearn import CrossValidatedPropensityEstimator, NNPUClassifier

    X, y = _together(unlabelled, sample)
    propensity = CrossValidatedPropensityEstimator(_logistic(), random_state=seed).estimate(y, X=X).c
    prior = float(np.clip(y.mean() / propensity, y.mean(), 0.99))
    X = StandardScaler().fit_transform(X)
    return _members(NNPUClassifier(prior=prior, random_state=seed).fit(X, y), X, unlabelled)


def _together(unlabelled: np.ndarray, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.vstack([unlabelled, sample]), np.repeat([0, 1], [len(unlabelled), len(sample)])


def _members(model: Any, X: np.ndarray, unlabelled: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict(X[: len(unlabelled)])) == 1


def _logistic() -> Pipeline:
    return make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=1000))
