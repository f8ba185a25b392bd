"""Methods for labelled and unlabelled points: logistic regression, spies, and those of pulearn.

Where a method needs scores of labelled points that did not train it, these come from five folds.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from benchmarks.classes.bags import cut
from benchmarks.classes.criterion import folds
from benchmarks.classes.scaling import quantiles, standard

__all__ = ["bagging_svc", "elkan_noto", "logistic", "nnpu", "spies"]

HOLD_OUT_SHARE = 0.2  # as in the documentation of pulearn
MAX_DRAWS = 100  # hold-out sets that are drawn until one contains a labelled point
SPY_SHARE, SPIES_BELOW = 0.15, 0.15  # of Liu and others 2002: labelled points sent as spies; spies that may score lower


def logistic(X: Any, known: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and members by logistic regression against all unlabelled points, both classes of equal weight."""
    scaled = quantiles(X)
    y = np.zeros(X.shape[0], dtype=int)
    y[known] = 1
    scores = _fit(scaled, y).decision_function(scaled)
    pool = y == 0
    for mask in folds(len(known), seed):
        rest = np.ones(len(y), dtype=bool)
        rest[known[mask]] = False
        if mask.any() and y[rest].any():
            other = _fit(scaled[rest], y[rest]).decision_function(scaled)
            scores[known[mask]] = _same_rank(other[known[mask]], other[pool], scores[pool])
    return cut(scores, known)


def _fit(X: Any, y: np.ndarray) -> LogisticRegression:
    return LogisticRegression(class_weight="balanced", max_iter=1000).fit(X, y)


def _same_rank(scores: np.ndarray, pool: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the scores of the same rank among those of another model."""
    rank = np.searchsorted(np.sort(pool), scores) / len(pool)
    return np.quantile(other, np.clip(rank, 0, 1))


def spies(X: Any, known: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and members by spies (the first step of S-EM), and an SVC against the reliable negatives."""
    scaled = standard(X)
    random = np.random.default_rng(seed)
    sent = random.choice(known, max(1, round(SPY_SHARE * len(known))), replace=False)
    y = np.zeros(X.shape[0], dtype=int)
    y[np.setdiff1d(known, sent)] = 1
    first = _fit(scaled, y).decision_function(scaled)
    limit = np.quantile(first[sent], SPIES_BELOW)
    pool = np.setdiff1d(np.arange(X.shape[0]), known)
    negatives = pool[first[pool] < limit]
    if len(negatives) < len(known):
        negatives = pool[np.argsort(first[pool])[: len(known)]]
    rows = np.concatenate([known, negatives])
    target = np.repeat([1, 0], [len(known), len(negatives)])
    gamma = 1.0 if sp.issparse(scaled) else 1 / X.shape[1]
    scores = SVC(gamma=gamma, class_weight="balanced").fit(scaled[rows], target).decision_function(scaled)
    return scores, scores > 0


def elkan_noto(X: Any, known: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and members by pulearn's ElkanotoPuClassifier over logistic regression.

    It raises if the set that it holds out contains no labelled point, as happens with few labels. Then another is drawn.
    """
    from pulearn import ElkanotoPuClassifier

    points, y = _dense(quantiles(X)), _signs(X, known)
    for draw in range(MAX_DRAWS):
        base = LogisticRegression(max_iter=1000)
        model = ElkanotoPuClassifier(base, hold_out_ratio=HOLD_OUT_SHARE, random_state=seed + 1000 * draw)
        try:
            model.fit(points, y)
        except ValueError as error:
            if "hold-out set" not in str(error):
                raise
            continue
        return np.ravel(np.asarray(model.predict_proba(points))[..., -1]), np.asarray(model.predict(points)) == 1
    raise RuntimeError(f"no labelled point in {MAX_DRAWS} hold-out sets")


def bagging_svc(X: Any, known: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and members by pulearn's BaggingPuClassifier over 15 support vector machines, cut at one half.

    Each is trained on as many unlabelled as labelled points, as in pulearn's notebook and in the paper that it follows.
    """
    from pulearn import BaggingPuClassifier

    points = _dense(quantiles(X))
    base = SVC(C=10, probability=True, random_state=seed)
    model = BaggingPuClassifier(base, n_estimators=15, max_samples=len(known), oob_score=False, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*`probability` parameter was deprecated", category=FutureWarning)
        model.fit(points, (_signs(X, known) > 0).astype(int))
        return np.asarray(model.predict_proba(points))[:, 1], np.asarray(model.predict(points)) == 1


def nnpu(X: Any, known: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and members by pulearn's NNPUClassifier, with the prior by cross-validated propensity."""
    from pulearn import CrossValidatedPropensityEstimator, NNPUClassifier

    points, y = _dense(quantiles(X)), (_signs(X, known) > 0).astype(int)
    base = LogisticRegression(max_iter=1000)
    propensity = CrossValidatedPropensityEstimator(base, random_state=seed).estimate(y, X=points).c
    prior = float(np.clip(y.mean() / propensity, y.mean(), 0.99))
    model = NNPUClassifier(prior=prior, random_state=seed).fit(points, y)
    return np.asarray(model.decision_function(points)), np.asarray(model.predict(points)) == 1


def _signs(X: Any, known: np.ndarray) -> np.ndarray:
    y = np.full(X.shape[0], -1)
    y[known] = 1
    return y


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X
