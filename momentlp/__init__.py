"""Find a class from a few of its members: the largest set with their mean, with a proof that it is the largest.

>>> import numpy as np, momentlp as mlp
>>> X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [11.0]])
>>> spec = mlp.Spec(features=mlp.Linear(), tolerance=mlp.Absolute(0.5))
>>> solution = mlp.solve(spec.compile(X, labelled=[1, 2]))
>>> solution.status.name, solution.certificate.holds()
('OPTIMAL', True)
>>> solution.separator.predict([[2.5], [12.0]]).tolist()
[True, False]
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from momentlp.backend import Answer, Backend, Capability, Options, Outcome, Progress
from momentlp.balance import Balance, BalanceRow
from momentlp.certificate import Certificate
from momentlp.chunks import Chunked
from momentlp.compare import Comparison, compare
from momentlp.constraints import Constraint, Data, GroupShare, Known, Moment, Share
from momentlp.errors import (
    BackendNotFoundError,
    BackendUnavailableError,
    CompileError,
    DataError,
    ExtraMissingError,
    FileFormatError,
    ModelError,
    MomentLPError,
    OnlyLabelledWarning,
    OptionError,
    SolverError,
    SpecError,
)
from momentlp.exact import ExactProof
from momentlp.explain import Explanation, SmallestTolerance
from momentlp.features import Concat, FeatureMap, FittedMap, Kernel, Linear, Quadratic, Spectral, Transformer
from momentlp.functions import constraint, feature_map
from momentlp.many import FailedSolve, solve_many
from momentlp.moments import MomentBlock, MomentMatrix
from momentlp.path import Path, path
from momentlp.prepared import Prepared
from momentlp.problem import Problem
from momentlp.registry import BackendInfo, backends
from momentlp.separator import Separator
from momentlp.solution import Solution
from momentlp.solve import solve
from momentlp.sources import open_points
from momentlp.spec import Spec
from momentlp.status import Status
from momentlp.tolerances import Absolute, Relative, StandardError, Target, Tolerance

if _TYPE_CHECKING:
    from momentlp.estimator import MomentClassifier, MomentClassifierCV, MomentOutlierDetector, PriorInterval, lee_liu_score

__version__ = "0.1.0"

__all__ = [
    "Absolute",
    "Answer",
    "Backend",
    "BackendInfo",
    "BackendNotFoundError",
    "BackendUnavailableError",
    "Balance",
    "BalanceRow",
    "Capability",
    "Certificate",
    "Chunked",
    "Comparison",
    "CompileError",
    "Concat",
    "Constraint",
    "Data",
    "DataError",
    "ExactProof",
    "Explanation",
    "ExtraMissingError",
    "FailedSolve",
    "FeatureMap",
    "FileFormatError",
    "FittedMap",
    "GroupShare",
    "Kernel",
    "Known",
    "Linear",
    "ModelError",
    "Moment",
    "MomentBlock",
    "MomentClassifier",
    "MomentClassifierCV",
    "MomentLPError",
    "MomentMatrix",
    "MomentOutlierDetector",
    "OnlyLabelledWarning",
    "OptionError",
    "Options",
    "Outcome",
    "Path",
    "Prepared",
    "PriorInterval",
    "Problem",
    "Progress",
    "Quadratic",
    "Relative",
    "Separator",
    "Share",
    "SmallestTolerance",
    "Solution",
    "SolverError",
    "Spec",
    "SpecError",
    "Spectral",
    "StandardError",
    "Status",
    "Target",
    "Tolerance",
    "Transformer",
    "__version__",
    "backends",
    "compare",
    "constraint",
    "feature_map",
    "lee_liu_score",
    "open_points",
    "path",
    "solve",
    "solve_many",
]

_ESTIMATORS = ("MomentClassifier", "MomentClassifierCV", "MomentOutlierDetector", "PriorInterval", "lee_liu_score")


def __getattr__(name: str) -> _Any:
    """Load the estimators, and scikit-learn with them, only when one is asked for."""
    if name in _ESTIMATORS:
        from momentlp import estimator

        return getattr(estimator, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
