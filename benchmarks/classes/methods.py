"""The methods that are compared. Each takes the unlabelled points, the sample and a seed, and returns the members.

All run with their defaults or choose their settings without negatives; none sees the truth. They are listed in the order in
which they are run, cheap ones first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks.classes import one_class, pu
from benchmarks.classes.walk import walk

__all__ = ["METHODS", "OURS", "RIVAL", "Found", "Method"]

OURS, RIVAL = "momentlp", "walk"


@dataclass(frozen=True)
class Found:
    """The members among the unlabelled points, and the class prior where a method estimates it separately."""

    membership: np.ndarray
    prior: float = float("nan")


@dataclass(frozen=True)
class Method:
    """A method: its name and a remark for the report, and the package that it needs.

    ``packaged`` is False for a method that users cannot install, because only this benchmark has it.
    """

    title: str
    remark: str
    run: Callable[[np.ndarray, np.ndarray, int], np.ndarray | Found]
    package: str = "sklearn"
    packaged: bool = True

    def find(self, unlabelled: np.ndarray, sample: np.ndarray, seed: int) -> Found:
        """Run the method."""
        found = self.run(unlabelled, sample, seed)
        return found if isinstance(found, Found) else Found(found)

    def reason_missing(self) -> str:
        """Return why the method cannot be run here; an empty text if it can."""
        if find_spec(self.package) is None:
            return f"{self.package} is not installed"
        if self.run is _find_with_momentlp:
            import momentlp

            return "" if hasattr(momentlp, "MomentClassifier") else "this momentlp has no MomentClassifier"
        return ""


def _find_with_momentlp(unlabelled: np.ndarray, sample: np.ndarray, _: int) -> Found:
    from momentlp import MomentClassifier

    X = np.vstack([unlabelled, sample])
    y = np.repeat([0, 1], [len(unlabelled), len(sample)])
    model = MomentClassifier()
    members = np.asarray(model.fit_predict(X, y))[: len(unlabelled)] == 1
    return Found(members, float(model.class_prior_))


METHODS: dict[str, Method] = {
    OURS: Method("momentlp", "`MomentClassifier()`, nothing set", _find_with_momentlp, "momentlp"),
    RIVAL: Method(
        "graph walk",
        "random walk with restart 0.01 on the graph of 10 neighbours, cut at the largest criterion; not in any package",
        walk, packaged=False,
    ),
    "walk-5": Method(
        "graph walk, 5", "the same on the graph of 5 neighbours, as in `MomentClassifier()`", partial(walk, neighbours=5),
        packaged=False,
    ),
    "ocsvm": Method("OneClassSVM", "scikit-learn's, at its defaults", one_class.svm),
    "elkan-noto": Method(
        "pulearn Elkan-Noto", "`ElkanotoPuClassifier` over logistic regression on columns from 0 to 1, a fifth held out",
        pu.elkan_noto, "pulearn",
    ),
    "forest": Method("IsolationForest", "scikit-learn's, at its defaults", one_class.forest),
    "ocsvm-selected": Method("OneClassSVM, selected", "nu and gamma of the largest criterion", one_class.select_svm),
    "forest-selected": Method(
        "IsolationForest, selected", "contamination of the largest criterion", one_class.select_forest
    ),
    "bagging-svc": Method(
        "pulearn bagging, SVC",
        "`BaggingPuClassifier` over 15 `SVC(C=10)`, in each as many unlabelled points as known members",
        pu.bagging_svc, "pulearn",
    ),
    "nnpu": Method(
        "pulearn nnPU",
        "`NNPUClassifier` on standardised columns, prior by `CrossValidatedPropensityEstimator` over logistic regression",
        pu.nnpu, "pulearn",
    ),
    "bagging": Method("pulearn bagging", "`BaggingPuClassifier` at its defaults: 10 trees", pu.bagging, "pulearn"),
}  # fmt: skip
