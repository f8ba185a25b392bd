"""The methods that are compared. Each takes the points, the rows of the labelled ones and a seed, and returns the members.

All run with their defaults or settings chosen on the half of the data sets that ours were chosen on; none sees the truth.
They are listed in the order in which they are run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.classes import bags, neighbours, priors, pu

__all__ = ["METHODS", "OURS", "PRIORS", "Found", "Method"]

OURS = "momentlp"
Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Found:
    """Scores and members, for all points; class prior, its interval and probabilities where a method estimates them.

    A method that only estimates the class prior has neither scores nor members.
    """

    scores: np.ndarray | None = None
    members: np.ndarray | None = None
    prior: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    probability: np.ndarray | None = None


@dataclass(frozen=True)
class Method:
    """A method: its title and a remark for the report, and the package that it needs."""

    title: str
    remark: str
    run: Callable[[Any, np.ndarray, int], Found | Pair]
    package: str = "sklearn"

    def find(self, X: Any, known: np.ndarray, seed: int) -> Found:
        """Run the method."""
        found = self.run(X, known, seed)
        return found if isinstance(found, Found) else Found(*found)

    def reason_missing(self) -> str:
        """Return why the method cannot be run here; an empty text if it can."""
        return f"{self.package} is not installed" if find_spec(self.package) is None else ""


def _momentlp(X: Any, known: np.ndarray, seed: int, features: str = "auto") -> Found:
    import warnings

    import momentlp as mlp

    y = np.zeros(X.shape[0], dtype=int)
    y[known] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mlp.MomentClassifier(features, random_state=seed).fit(X, y)
    found = Found(model.membership_, model.transduction_ == 1, float(model.class_prior_))
    if features != "auto":
        return found
    interval = model.class_prior_interval(0.9)
    probability = model.predict_proba(X)[:, 1]
    return Found(model.score_samples(X), found.members, found.prior, interval.low, interval.high, probability)


def _prior_from_scores(estimate: Callable[[np.ndarray, np.ndarray], float]) -> Callable[[Any, np.ndarray, int], Found]:
    def run(X: Any, known: np.ndarray, seed: int) -> Found:
        scores, _ = bags.svc_quantiles(X, known, seed)
        rest = np.ones(len(scores), dtype=bool)
        rest[known] = False
        return Found(prior=estimate(scores[known], scores[rest]))

    return run


METHODS: dict[str, Method] = {
    OURS: Method("momentlp", "`MomentClassifier()`, nothing set", _momentlp, "momentlp"),
    "graph": Method(
        'momentlp, "spectral"', '`MomentClassifier("spectral")`, the default before',
        lambda X, known, seed: _momentlp(X, known, seed, "spectral"), "momentlp",
    ),
    "svc": Method("bag of SVCs", "60 `SVC()` on standardised columns, Lee and Liu's cut", bags.svc_standard),
    "svc-quantiles": Method("bag of SVCs, quantiles", "the same on normal quantiles of the columns", bags.svc_quantiles),
    "trees": Method("bag of trees", "60 decision trees, Lee and Liu's cut", bags.trees),
    "extra-trees": Method("bag of extra trees", "60 extremely random trees, Lee and Liu's cut", bags.extra_trees),
    "logistic": Method(
        "logistic regression", "labelled against all unlabelled points, on normal quantiles, Lee and Liu's cut", pu.logistic
    ),
    "spies": Method("spies", "15% of the labelled points as spies, then an SVC against the reliable negatives", pu.spies),
    "spreading": Method("label spreading", "on the graph of 10 neighbours, Lee and Liu's cut", neighbours.spreading),
    "nearest": Method("k-NN distance", "mean distance to 3 labelled points, Lee and Liu's cut", neighbours.nearest),
    "walk": Method("graph walk", "restart 0.01, 10 neighbours, columns as they are, Lee and Liu's cut", neighbours.walk),
    "walk-quantiles": Method("graph walk, quantiles", "the same on normal quantiles", neighbours.walk_quantiles),
    "elkan-noto": Method(
        "pulearn Elkan-Noto", "`ElkanotoPuClassifier` over logistic regression, a fifth held out", pu.elkan_noto, "pulearn"
    ),
    "pulearn-bagging": Method(
        "pulearn bagging", "`BaggingPuClassifier` over 15 `SVC(C=10)`, bags of equal parts", pu.bagging_svc,
        "pulearn",
    ),
    "nnpu": Method("pulearn nnPU", "`NNPUClassifier`, prior by `CrossValidatedPropensityEstimator`", pu.nnpu, "pulearn"),
}  # fmt: skip
PRIORS: dict[str, Method] = {
    "prior-elkan-noto": Method("Elkan and Noto", "on scores of a bag of SVCs", _prior_from_scores(priors.elkan_noto)),
    "prior-dedpul": Method("DEDPUL", "on the same scores", _prior_from_scores(priors.dedpul)),
    "prior-bbe": Method("BBE", "on the same scores", _prior_from_scores(priors.bbe)),
    "prior-km2": Method("KM2", "on normal quantiles", lambda X, known, seed: Found(prior=priors.km2(X, known, seed))),
}
