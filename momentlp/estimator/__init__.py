"""Estimators with the interface of scikit-learn.

Public names, importable from ``momentlp`` too unless it says otherwise:

- :class:`MomentClassifier` finds a class from a few labelled members.
- :class:`MomentClassifierCV` also chooses the features and the tolerance, by cross-validation.
- :class:`MomentOutlierDetector` returns +1 for inliers and -1 for outliers.
- :class:`Threshold` and :class:`Importance`, not in ``momentlp``, are what ``find_threshold`` and ``importance`` return.
- :class:`PriorInterval` is what ``class_prior_interval`` returns.
- :func:`lee_liu_score` is a metric for predictions where only some members are labelled.
"""

from momentlp.estimator.class_prior import PriorInterval
from momentlp.estimator.classifier import MomentClassifier
from momentlp.estimator.criteria import lee_liu_score
from momentlp.estimator.cross_validation import MomentClassifierCV
from momentlp.estimator.inspection import Importance, Threshold
from momentlp.estimator.outlier import MomentOutlierDetector

__all__ = [
    "Importance",
    "MomentClassifier",
    "MomentClassifierCV",
    "MomentOutlierDetector",
    "PriorInterval",
    "Threshold",
    "lee_liu_score",
]
