"""The one-class methods of scikit-learn, OneClassSVM and IsolationForest, fitted to the sample.

Each is used in two ways: with its defaults, and with settings that are selected without negatives.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import OneClassSVM

from benchmarks.classes.criterion import cut_off, folds, lee_liu

__all__ = ["forest", "select_forest", "select_svm", "svm"]

NUS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
GAMMAS = 2.0 ** np.arange(-6, 3)  # times the default
MIN_RECALL = 0.5  # recall that a selection must keep: the best of 0, 0.5 and 0.8 on other splits


def svm(unlabelled: np.ndarray, sample: np.ndarray, _: int) -> np.ndarray:
    """Return the members by OneClassSVM at its defaults."""
    return OneClassSVM().fit(sample).predict(unlabelled) > 0


def select_svm(unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> np.ndarray:
    """Return the members by OneClassSVM with nu and gamma of the largest criterion."""
    default = 1 / (sample.shape[1] * sample.var())
    near, far = euclidean_distances(sample, squared=True), euclidean_distances(unlabelled, sample, squared=True)
    left_out = list(folds(len(sample), seed))
    best, members = -1.0, np.zeros(len(unlabelled), dtype=bool)
    for gamma in default * GAMMAS:
        inner, outer = np.exp(-gamma * near), np.exp(-gamma * far)
        for nu in NUS:
            model = OneClassSVM(kernel="precomputed", nu=nu)
            recall = sum(_count_recalled(model, inner, out) for out in left_out) / len(sample)
            found = model.fit(inner).predict(outer) > 0
            criterion = float(lee_liu(np.array(recall), found.mean(), MIN_RECALL))
            if criterion > best:
                best, members = criterion, found
    return members


def _count_recalled(model: OneClassSVM, kernel: np.ndarray, out: np.ndarray) -> int:
    fitted = model.fit(kernel[np.ix_(~out, ~out)])
    return int((fitted.predict(kernel[np.ix_(out, ~out)]) > 0).sum())


def forest(unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> np.ndarray:
    """Return the members by IsolationForest at its defaults."""
    return IsolationForest(random_state=seed).fit(sample).predict(unlabelled) > 0


def select_forest(unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> np.ndarray:
    """Return the members by IsolationForest with the cut-off (its contamination) of the largest criterion."""
    left_out = np.empty(len(sample))
    for out in folds(len(sample), seed):
        left_out[out] = IsolationForest(random_state=seed).fit(sample[~out]).score_samples(sample[out])
    scores = IsolationForest(random_state=seed).fit(sample).score_samples(unlabelled)
    return scores >= cut_off(scores, left_out, MIN_RECALL)
