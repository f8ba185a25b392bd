"""Reasons to doubt what was found, each with what to do about it. They become warnings of a fit with ``"auto"`` features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from momentlp.estimator.combined_score import rank_quality
from momentlp.estimator.score_model import ScoreModel
from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_sparse
from momentlp.points.statistics import column_mean

__all__ = ["Evidence", "find_doubts", "find_selecting_columns"]

NEARLY_ALL = 0.95  # share of the unlabelled points that are found
NEARLY_NONE = 0.05  # unlabelled points found, for each labelled one
LEVEL = 0.9  # of the interval of the class prior
MAX_WIDTH, MAX_RATIO = 0.35, 6.0  # of the ends of that interval: a larger difference or ratio is a doubt
MIN_OVERLAP, MIN_QUALITY = 0.6, 0.75  # of what classifiers and graphs find, if both tell labelled from unlabelled points
FALSE_ALARMS = 0.01  # probability that any column is named though the labelled points are a random sample
MIN_LABELLED = 8  # labelled points from which columns are compared
MAX_COLUMNS = 5  # columns that a message names


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a fit knows.

    Attributes
    ----------
    model : ScoreModel
    scores : array, shape (N,)
    learned, graph : array, shape (N,)
        What the learned moments, and those of the graphs, contribute to the score; all zero if there are none.
    known, counts : array, shape (l,)
        Rows of the labelled points, and how many points each stands for.
    unlabelled : array, shape (N,)
        The weight of each unlabelled point, 0 for labelled points.
    points : array or csr_array, shape (N, d)
    names : sequence of str
        The columns.
    """

    model: ScoreModel
    scores: FloatArray
    learned: FloatArray
    graph: FloatArray
    known: IndexArray
    counts: FloatArray
    unlabelled: FloatArray
    points: Matrix
    names: Sequence[str]


def find_doubts(evidence: Evidence) -> tuple[str, ...]:
    """Return the reasons for doubt, in sentences; none if there are none."""
    checks = (_doubt_size, _doubt_prior, _doubt_agreement, _doubt_sample)
    return tuple(text for text in (check(evidence) for check in checks) if text)


def _doubt_size(evidence: Evidence) -> str:
    """Doubt that nearly everything, or nearly nothing, is in the class."""
    total = evidence.unlabelled.sum()
    found = evidence.unlabelled @ (evidence.scores > evidence.model.cut)
    if found > NEARLY_ALL * total:
        return (
            f"nearly all unlabelled points were found ({found / total:.0%}). If the class is smaller, the labelled "
            "points look like all others: label more points, or add columns that tell members from others."
        )
    if found <= NEARLY_NONE * evidence.counts.sum():
        return (
            f"nearly nothing was found: {found:.6g} unlabelled points. Either few members are unlabelled, or the labelled "
            "points look like no others: compare where they and the other points come from."
        )
    return ""


def _doubt_prior(evidence: Evidence) -> str:
    """Doubt a class prior with a wide interval."""
    low, high = evidence.model.interval(LEVEL)
    if high - low <= MAX_WIDTH and high <= MAX_RATIO * low:
        return ""
    return (
        f"the size of the class is uncertain: its share of the unlabelled points is between {low:.1%} and {high:.1%} with "
        f"probability {LEVEL:.0%}. Label more points; query() says which."
    )


def _doubt_agreement(evidence: Evidence) -> str:
    """Doubt a set of which classifiers and graphs each find another part, though both tell labelled from other points."""
    parts = evidence.learned, evidence.graph
    known, counts, unlabelled = evidence.known, evidence.counts, evidence.unlabelled
    if any(rank_quality(part, known, counts, unlabelled) < MIN_QUALITY for part in parts):
        return ""
    counted = unlabelled > 0
    weights = unlabelled[counted]
    size = float(weights @ (evidence.scores[counted] > evidence.model.cut))
    first, second = (_take_best(part[counted], weights, size) for part in parts)
    overlap = weights @ (first & second) / max(weights @ first, weights @ second)
    if overlap >= MIN_OVERLAP:
        return ""
    return (
        f"classifiers and graphs disagree: of the points that one finds, the other finds {overlap:.0%}. Look at both: "
        "MomentClassifier(features=momentlp.Learned()) and MomentClassifier(features='spectral')."
    )


def _take_best(scores: FloatArray, weights: FloatArray, size: float) -> NDArray[np.bool_]:
    """Return the points with the best scores, as many as ``size``, at least one."""
    order = np.argsort(-scores, kind="stable")
    taken = np.zeros(scores.size, dtype=bool)
    n_taken = int(np.searchsorted(np.cumsum(weights[order]), size, side="right"))
    taken[order[: max(1, n_taken)]] = True
    return taken


def _doubt_sample(evidence: Evidence) -> str:
    """Doubt that labelled points are a random sample of the class, if they differ in some columns from what was found."""
    columns = find_selecting_columns(evidence, FALSE_ALARMS)
    if not columns.size:
        return ""
    named = ", ".join(evidence.names[j] for j in columns[:MAX_COLUMNS])
    more = f" and {columns.size - MAX_COLUMNS} more" if columns.size > MAX_COLUMNS else ""
    return (
        f"the labelled points do not look like a random sample of what was found: they differ in {named}{more}. "
        "If they were chosen by these columns, leave the columns out, or label members of other kinds too."
    )


def find_selecting_columns(evidence: Evidence, false_alarms: float) -> IndexArray:
    """Return the columns in which the labelled points differ from what was found, the most different first.

    Both means of a column have a standard error of the labelled sample. The variance is the sum of that of the labelled
    points and that of the points found, so that a column of rare entries is not named for one of them.

    Parameters
    ----------
    evidence : Evidence
    false_alarms : float
        The probability that any column is returned though the labelled points are a random sample.
    """
    from scipy.stats import t as student

    n_labelled = evidence.known.size
    probability = evidence.model(evidence.scores) * evidence.unlabelled
    if n_labelled < MIN_LABELLED or not probability.sum() > 0:
        return np.zeros(0, dtype=np.intp)
    labelled, labelled_variance = _column_moments(evidence.points[evidence.known], evidence.counts)
    found, found_variance = _column_moments(evidence.points, probability)
    variance = labelled_variance + found_variance
    floor = 1e-18 * np.maximum(np.abs(labelled), np.abs(found)) ** 2  # a constant column has the variance of its rounding
    error = np.sqrt(np.maximum(variance, floor) / n_labelled)
    z = np.abs(labelled - found) / np.where(error > 0, error, 1.0)
    limit = student.ppf(1 - false_alarms / (2 * z.size), n_labelled - 1)
    order = np.argsort(-z, kind="stable")
    return np.asarray(order[z[order] > limit])


def _column_moments(X: Matrix, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weighted mean and variance of each column."""
    mean = column_mean(X, weights)
    weights = weights / weights.sum()
    if is_sparse(X):
        square = X.copy()
        square.data = square.data**2
        return mean, np.maximum(np.asarray(square.T @ weights) - mean**2, 0.0)
    return mean, np.asarray(weights @ (X - mean) ** 2)
