"""Criteria for choosing a model where no point is known to be outside the class.

Precision cannot be measured then. Recall r can be: on labelled points that were held out. The share p of all points that
are predicted to be members can be measured too. Lee and Liu (2003) observe that

    r^2 / p  =  precision * recall / prior

The prior is an unknown constant. So the model with the largest r^2 / p also has the largest product of precision and recall.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from momentlp.errors import DataError, OptionError
from momentlp.points.arrays import FloatArray

__all__ = ["CRITERIA", "MIN_RECALL", "Criterion", "is_eligible", "jackknife", "lee_liu_score", "resolve_criterion"]

MIN_RECALL = 0.5  # below this the criterion rewards tiny sets that found a held-out point by accident

Criterion = Callable[[FloatArray, FloatArray], FloatArray]


def _lee_liu(recall: FloatArray, share: FloatArray) -> FloatArray:
    """Return ``recall^2 / share``, and 0 where the share is 0."""
    return np.asarray(np.where(share > 0, recall**2 / np.where(share > 0, share, 1.0), 0.0))


def _difference(recall: FloatArray, share: FloatArray) -> FloatArray:
    """Return ``recall - share``, which is ``(recall - false positive rate) * (1 - prior)``."""
    return recall - share


CRITERIA: Mapping[str, Criterion] = {"lee-liu": _lee_liu, "difference": _difference}


def lee_liu_score(y_true: Any, y_pred: Any, *, pos_label: Any = None) -> float:
    """Score predictions where only some members are labelled: recall^2 / share of points predicted to be members.

    This is precision times recall, divided by the unknown class prior. So only scores on the same points can be compared.
    It serves any classifier, for instance in
    ``GridSearchCV(MomentClassifier(), ..., scoring=make_scorer(lee_liu_score))``.

    Parameters
    ----------
    y_true : array, shape (n,)
        One value for labelled members, another for unlabelled points.
    y_pred : array, shape (n,)
        Predictions, in the same two values.
    pos_label : scalar, optional
        The value of members. Default: the larger of the two numbers in ``y_true`` and ``y_pred`` together. Labels that are
        not numbers have no default.

    Returns
    -------
    float
        At least 0; larger is better.

    Raises
    ------
    DataError
        If ``y_true`` holds no member, or the value of members is unclear.

    Examples
    --------
    >>> import momentlp as mlp
    >>> mlp.lee_liu_score([1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0])
    2.0
    """
    truth, predicted = (column_or_1d(values) for values in (y_true, y_pred))
    check_consistent_length(truth, predicted)
    if not truth.size:
        raise DataError("y_true is empty: there is nothing to score.")
    positive = _default_pos_label(truth, predicted) if pos_label is None else pos_label
    members = truth == positive
    if not members.any():
        raise DataError(
            f"y_true holds no {positive!r}: recall needs labelled members. In cross-validation use a stratified splitter, "
            "such as StratifiedKFold, so that every test set has some."
        )
    inside = predicted == positive
    return float(_lee_liu(np.array(inside[members].mean()), np.array(inside.mean())))


def _default_pos_label(truth: NDArray[Any], predicted: NDArray[Any]) -> Any:
    """Return the larger number. If there is one value only and it is not above 0, return 1."""
    if not all(values.dtype.kind in "biuf" for values in (truth, predicted)):
        raise DataError("y_true and y_pred hold no numbers: give pos_label, the value that marks members.")
    values = np.union1d(truth, predicted).tolist()
    if len(values) > 2:
        raise DataError(
            f"y_true and y_pred hold {len(values)} different values, {', '.join(map(str, values[:5]))}: there must be two, "
            "one for members and one for all others."
        )
    return values[-1] if len(values) > 1 or values[0] > 0 else 1


def resolve_criterion(value: Any) -> Criterion:
    """Return the criterion of a name, or the function itself.

    Raises
    ------
    OptionError
        If it is neither.
    """
    if callable(value):
        return value  # type: ignore[no-any-return]  # a user's function; its results are checked when it is used
    if value not in CRITERIA:
        raise OptionError(f"criterion must be one of {', '.join(map(repr, CRITERIA))} or a function, not {value!r}.")
    return CRITERIA[value]


def is_eligible(recall: FloatArray, score: FloatArray) -> NDArray[np.bool_]:
    """Return which candidates may be chosen.

    A candidate needs an answer in every fold (else recall and score are NaN) and a recall of at least one half. If no
    candidate reaches one half, those with the largest recall may be chosen.
    """
    has_score = np.isfinite(recall) & np.isfinite(score)
    largest = recall[has_score].max(initial=0.0)
    return np.asarray(has_score & (recall >= min(MIN_RECALL, largest)))


def jackknife(recall: FloatArray, share: FloatArray, criterion: Criterion) -> tuple[FloatArray, FloatArray]:
    """Return the criterion of the mean recall and the mean share over the folds, and its jackknife standard error.

    The mean of the criterion over the folds would depend on folds that find almost nothing: there the share is tiny.

    Parameters
    ----------
    recall, share : array, shape (features, tolerances, folds)
    criterion : callable

    Returns
    -------
    score, error : array, shape (features * tolerances,)
    """
    n_folds = recall.shape[2]
    score = np.asarray(criterion(recall.mean(axis=2), share.mean(axis=2)), dtype=np.float64).ravel()
    others = [np.delete(np.arange(n_folds), fold) for fold in range(n_folds)]
    without_fold = [criterion(recall[..., rest].mean(axis=2), share[..., rest].mean(axis=2)) for rest in others]
    values = np.array(without_fold, dtype=np.float64).reshape(n_folds, -1)
    error = np.sqrt((n_folds - 1) / n_folds * ((values - values.mean(axis=0)) ** 2).sum(axis=0))
    return score, error
