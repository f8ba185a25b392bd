r"""Metrics for predictions where only some members are labelled and the other points are unlabelled.

Nobody knows which unlabelled points are members, so precision cannot be counted. But with the class prior, the share pi of
members among the unlabelled points, it can be computed. Let r be the share of labelled points that are predicted to be
members, and q that of unlabelled points. If the labelled points are a random sample of the class, r estimates the recall,
and::

    precision  =  pi r / q            F1  =  2 pi r / (pi + q)            ROC AUC  =  (A - pi / 2) / (1 - pi)

where A is the ROC AUC of labelled against unlabelled points. All of them speak of the unlabelled points. Use labelled points
that were not used for training, or cross-validation: on its own training points a model recalls too many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.metrics
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from momentlp.errors import DataError, OptionError
from momentlp.estimator.criteria import lee_liu_score
from momentlp.points.arrays import FloatArray
from momentlp.points.validation import as_vector
from momentlp.runtime.argument_checks import check_number

__all__ = ["f1_score", "lee_liu_score", "precision_score", "recall_score", "roc_auc_score", "scorer"]


def recall_score(y_true: Any, y_pred: Any, *, pos_label: Any = 1, sample_weight: Any = None) -> float:
    """Return the share of the labelled points that are predicted to be members.

    Parameters
    ----------
    y_true : array, shape (n,)
        ``pos_label`` for labelled members, anything else for unlabelled points.
    y_pred : array, shape (n,)
        Predictions: ``pos_label`` for members.
    pos_label : scalar
        The value of members.
    sample_weight : array, shape (n,), optional
        How often each point counts.

    Returns
    -------
    float

    Raises
    ------
    DataError
        If there is no labelled or no unlabelled point, or lengths differ.

    Examples
    --------
    >>> recall_score([1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0])
    0.75
    """
    return _shares(y_true, y_pred, pos_label, sample_weight)[0]


def precision_score(y_true: Any, y_pred: Any, *, class_prior: float, pos_label: Any = 1, sample_weight: Any = None) -> float:
    """Return the estimated share of members among the unlabelled points that are predicted to be members.

    Parameters
    ----------
    y_true, y_pred, pos_label, sample_weight
        As in :func:`recall_score`.
    class_prior : float
        The share of members among the unlabelled points, such as ``MomentClassifier.class_prior_``.

    Returns
    -------
    float
        At most 1; 0 if no point is predicted to be a member.

    Raises
    ------
    DataError
        As in :func:`recall_score`.
    OptionError
        If ``class_prior`` is not above 0 and below 1.

    Examples
    --------
    >>> precision_score([1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], class_prior=0.25)
    0.5
    """
    recall, share = _shares(y_true, y_pred, pos_label, sample_weight)
    return min(1.0, _check_prior(class_prior) * recall / share) if share > 0 else 0.0


def f1_score(y_true: Any, y_pred: Any, *, class_prior: float, pos_label: Any = 1, sample_weight: Any = None) -> float:
    """Return the estimated F1, the harmonic mean of precision and recall, on the unlabelled points.

    Parameters
    ----------
    y_true, y_pred, class_prior, pos_label, sample_weight
        As in :func:`precision_score`.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    DataError, OptionError
        As in :func:`precision_score`.

    Examples
    --------
    >>> round(f1_score([1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], class_prior=0.25), 3)
    0.667
    """
    recall, share = _shares(y_true, y_pred, pos_label, sample_weight)
    prior = _check_prior(class_prior)
    return min(1.0, 2 * prior * recall / (prior + share))


def roc_auc_score(y_true: Any, y_score: Any, *, class_prior: float, pos_label: Any = 1, sample_weight: Any = None) -> float:
    """Return the estimated area under the ROC curve of members against others.

    Members among the unlabelled points make the area of labelled against unlabelled points too small: with a share of pi it
    is ``(1 - pi) AUC + pi / 2``.

    Parameters
    ----------
    y_true : array, shape (n,)
        ``pos_label`` for labelled members, anything else for unlabelled points.
    y_score : array, shape (n,)
        Larger for members.
    class_prior, pos_label, sample_weight
        As in :func:`precision_score`.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    DataError, OptionError
        As in :func:`precision_score`.

    Examples
    --------
    >>> roc_auc_score([1, 1, 0, 0, 0, 0], [3.0, 4.0, 3.5, 1.0, 2.0, 0.0], class_prior=0.25)
    1.0
    """
    scores = column_or_1d(y_score)
    labelled, weights = _check_labels(y_true, scores, pos_label, sample_weight)
    prior = _check_prior(class_prior)
    area = float(sklearn.metrics.roc_auc_score(labelled, scores, sample_weight=weights))
    return float(np.clip((area - prior / 2) / (1 - prior), 0.0, 1.0))


def scorer(metric: str, *, class_prior: float | None = None, pos_label: Any = 1) -> Callable[..., float]:
    """Return a scorer for scikit-learn's model selection, such as ``GridSearchCV(..., scoring=scorer("lee_liu"))``.

    Parameters
    ----------
    metric : {"lee_liu", "recall", "precision", "f1", "roc_auc"}
    class_prior : float, optional
        The share of members among the unlabelled points; needed by precision, f1 and roc_auc.
    pos_label : scalar
        The value of members.

    Returns
    -------
    callable
        Takes an estimator, X and y, where y marks labelled points.

    Raises
    ------
    OptionError
        If the metric is unknown, or needs a class prior.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.arange(12.0)[:, None], np.array([0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1])
    >>> model = LogisticRegression().fit(X, y)
    >>> scorer("roc_auc", class_prior=1 / 3)(model, X, y) > 0.9
    True
    """
    metrics: dict[str, Callable[..., float]] = {
        "lee_liu": lee_liu_score,
        "recall": recall_score,
        "precision": precision_score,
        "f1": f1_score,
        "roc_auc": roc_auc_score,
    }
    if metric not in metrics:
        raise OptionError(f"metric must be one of {', '.join(metrics)}, not {metric!r}.")
    arguments: dict[str, Any] = {"pos_label": pos_label}
    if metric in ("precision", "f1", "roc_auc"):
        if class_prior is None:
            raise OptionError(f"{metric} needs class_prior, the share of members among the unlabelled points.")
        arguments["class_prior"] = _check_prior(class_prior)
    needs = ("decision_function", "predict_proba") if metric == "roc_auc" else ("predict",)
    made: Callable[..., float] = sklearn.metrics.make_scorer(metrics[metric], response_method=needs, **arguments)
    return made


def _shares(y_true: Any, y_pred: Any, pos_label: Any, sample_weight: Any) -> tuple[float, float]:
    """Return the shares of labelled and of unlabelled points that are predicted to be members."""
    predicted = column_or_1d(y_pred)
    labelled, weights = _check_labels(y_true, predicted, pos_label, sample_weight)
    inside = predicted == pos_label
    recall, share = (float(np.average(inside[rows], weights=weights[rows])) for rows in (labelled, ~labelled))
    return recall, share


def _check_labels(
    y_true: Any, predicted: NDArray[Any], pos_label: Any, sample_weight: Any
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which points are labelled, and the weights."""
    truth = column_or_1d(y_true)
    check_consistent_length(truth, predicted)
    weights = np.ones(truth.size) if sample_weight is None else as_vector(sample_weight, truth.size, "sample_weight")
    labelled = np.asarray(truth == pos_label)
    for rows, name in ((labelled, "labelled"), (~labelled, "unlabelled")):
        if not weights[rows].sum() > 0:
            raise DataError(
                f"y_true holds no {name} point of positive weight; {pos_label!r} marks labelled ones. In cross-validation "
                "use a stratified splitter, such as StratifiedKFold."
            )
    return labelled, weights


def _check_prior(class_prior: float) -> float:
    prior = check_number("class_prior", class_prior, above=0, maximum=1)
    if prior == 1:
        raise OptionError("class_prior must be below 1, not 1: with members alone there is nothing to tell apart.")
    return prior
