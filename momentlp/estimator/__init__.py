"""The estimators: momentlp with the conventions of scikit-learn."""

from momentlp.estimator.classifier import MomentClassifier
from momentlp.estimator.outlier import MomentOutlierDetector
from momentlp.estimator.prior import PriorInterval
from momentlp.estimator.selection import MomentClassifierCV, lee_liu_score

__all__ = ["MomentClassifier", "MomentClassifierCV", "MomentOutlierDetector", "PriorInterval", "lee_liu_score"]
