"""The estimators: momentlp with the conventions of scikit-learn."""

from momentlp.estimator.classifier import MomentClassifier
from momentlp.estimator.cross_validation import MomentClassifierCV, lee_liu_score
from momentlp.estimator.outlier import MomentOutlierDetector
from momentlp.estimator.prior import PriorInterval

__all__ = ["MomentClassifier", "MomentClassifierCV", "MomentOutlierDetector", "PriorInterval", "lee_liu_score"]
