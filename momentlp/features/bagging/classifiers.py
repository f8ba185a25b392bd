"""Any classifier of scikit-learn, trained on every bag. What it learned is an object, not arrays, so it cannot be saved."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.errors import CompileError
from momentlp.features.bagging.bags import Bags
from momentlp.features.bagging.parallel import run_parallel
from momentlp.points.arrays import FloatArray, Matrix

__all__ = ["Classifiers"]


class Classifiers:
    """Clones of a classifier, one per bag.

    Attributes
    ----------
    models : list
        The fitted clones.
    """

    def __init__(self, models: list[Any]) -> None:
        self.models = models

    def __len__(self) -> int:
        return len(self.models)

    @classmethod
    def train(cls, classifier: Any, X: Matrix, bags: Bags, n_jobs: int | None) -> Classifiers:
        """Train a clone per bag. A parameter ``random_state``, also of a step of a pipeline, gets the seed of the bag.

        Raises
        ------
        CompileError
            If the classifier raises an error.
        """
        from sklearn.base import clone

        def train_one(bag: int) -> Any:
            rows, target = bags.training(bag)
            model = clone(classifier)
            seeds = {name: bags.seeds[bag] for name in model.get_params() if name.rpartition("__")[2] == "random_state"}
            try:
                return model.set_params(**seeds).fit(X[rows], target)
            except Exception as error:  # noqa: BLE001  a classifier of the user may raise anything
                raise CompileError(
                    f"{type(classifier).__name__} cannot be fitted to a bag of these points: {error}"
                ) from None

        return cls(run_parallel(train_one, len(bags), n_jobs))

    def total(self, X: Matrix) -> FloatArray:
        """Return the sum of the scores over all bags."""
        return np.asarray(np.sum([_score(model, X) for model in self.models], axis=0), dtype=np.float64)

    def score_bag(self, bag: int, X: Matrix) -> FloatArray:
        """Return the scores of the classifier of one bag."""
        return _score(self.models[bag], X)


def _score(model: Any, X: Matrix) -> FloatArray:
    """Return the decision function, or the probability of the class of labelled points."""
    try:
        scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, -1]
    except Exception as error:
        raise CompileError(f"{type(model).__name__} cannot score these points: {error}") from error
    return np.ravel(np.asarray(scores, dtype=np.float64))
