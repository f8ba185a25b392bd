"""Find a class from a few of its members: the largest set with their mean, and a proof that it is the largest.

>>> import numpy as np, momentlp as mlp
>>> X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [11.0]])
>>> spec = mlp.Spec(features=mlp.Linear(), tolerance=mlp.Absolute(0.5))
>>> solution = mlp.solve(spec.compile(X, labelled=[1, 2]))
>>> solution.status.name, solution.certificate.holds()
('OPTIMAL', True)
>>> solution.separator.predict([[2.5], [12.0]]).tolist()
[True, False]
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from momentlp._version import __version__
from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome, Progress
from momentlp.backend.registry import BackendInfo, backends
from momentlp.errors import (
    BackendNotFoundError,
    BackendUnavailableError,
    CompileError,
    DataError,
    DoubtfulResultWarning,
    ExtraMissingError,
    FileFormatError,
    ModelError,
    MomentLPError,
    NoMatchError,
    OnlyLabelledWarning,
    OptionError,
    SentinelWarning,
    SolverError,
    SpecError,
    StratumSkippedWarning,
    UnmatchedLevelWarning,
)
from momentlp.features import (
    Concat,
    FeatureMap,
    FittedMap,
    Kernel,
    Learned,
    Linear,
    Quadratic,
    Spectral,
    TransductiveMap,
    Transformer,
)
from momentlp.points.chunked import Chunked
from momentlp.points.sources import open_points
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp.problem.problem import Problem
from momentlp.proof.certificate import Certificate
from momentlp.proof.exact.proof import ExactProof
from momentlp.solution.balance import Balance, BalanceRow
from momentlp.solution.explanation import Explanation, SmallestTolerance
from momentlp.solution.separator import Separator
from momentlp.solution.solution import Solution
from momentlp.solving.comparison import Comparison, compare
from momentlp.solving.many.solve_problems import FailedSolve, solve_many
from momentlp.solving.solve_problem import solve
from momentlp.solving.tolerance_path import Path, path
from momentlp.spec.constraints import Constraint, GroupShare, Known, Moment, Share
from momentlp.spec.data import Data
from momentlp.spec.decorators import constraint, feature_map
from momentlp.spec.prepared import Prepared
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import Absolute, Relative, StandardError, Target, Tolerance
from momentlp.status import Status

if _TYPE_CHECKING:
    from momentlp import datasets as datasets
    from momentlp import matching as matching
    from momentlp import plots as plots
    from momentlp import synthetic as synthetic
    from momentlp import testing as testing
    from momentlp.estimator import MomentClassifier, MomentClassifierCV, MomentOutlierDetector, PriorInterval, lee_liu_score

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
    "DoubtfulResultWarning",
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
    "Learned",
    "Linear",
    "ModelError",
    "Moment",
    "MomentBlock",
    "MomentClassifier",
    "MomentClassifierCV",
    "MomentLPError",
    "MomentMatrix",
    "MomentOutlierDetector",
    "NoMatchError",
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
    "SentinelWarning",
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
    "StratumSkippedWarning",
    "Target",
    "Tolerance",
    "TransductiveMap",
    "Transformer",
    "UnmatchedLevelWarning",
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
_SUBMODULES = ("datasets", "matching", "metrics", "plots", "synthetic", "testing")


def __getattr__(name: str) -> _Any:
    """Load the estimators (with scikit-learn) and some submodules when they are first used, to keep the import fast."""
    if name in _ESTIMATORS:
        return getattr(_import_module("momentlp.estimator"), name)
    if name in _SUBMODULES:
        return _import_module(f"momentlp.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "matching", "metrics", "plots"])
