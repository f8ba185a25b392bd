"""Learned features: scores of classifiers that were trained on labelled against unlabelled points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, PlainSerializer

from momentlp.errors import CompileError
from momentlp.features.bagging.bags import Ensemble, draw_bags, out_of_bag_means
from momentlp.features.bagging.classifiers import Classifiers
from momentlp.features.bagging.ensembles import ARRAY_ENSEMBLES
from momentlp.features.bagging.groups import group_points
from momentlp.features.bagging.normal_scores import NormalScores
from momentlp.features.bagging.scaling import Scaling
from momentlp.features.bagging.standard_scores import StandardScores
from momentlp.features.base import FittedMap
from momentlp.features.sklearn_tables import comparison_key, from_table, to_table
from momentlp.features.state import Shapes, StateArray
from momentlp.features.transductive import TransductiveMap
from momentlp.points.arrays import FloatArray, IndexArray, Matrix
from momentlp.runtime.steps import report_step

__all__ = ["Learned"]


def _read_estimators(value: Any) -> Any:
    """Return names as they are, tables as estimators, and check that all others are classifiers."""
    if isinstance(value, str):
        return value if value == "auto" else (_read_estimator(value),)
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError(f"expected 'auto' or a list of names and classifiers, but got {value!r}.")
    return tuple(_read_estimator(entry) for entry in value)


def _read_estimator(value: Any) -> Any:
    if isinstance(value, str):
        if value not in ARRAY_ENSEMBLES:
            raise ValueError(
                f"{value!r} is none of {', '.join(map(repr, ARRAY_ENSEMBLES))}: give one of them, or a classifier."
            )
        return value
    if isinstance(value, dict):
        return from_table(value, "classifier")
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "get_params")):
        raise ValueError(f"expected a name or a classifier of scikit-learn, but got {value!r}.")
    if not (hasattr(value, "decision_function") or hasattr(value, "predict_proba")):
        raise ValueError(f"{type(value).__name__} has neither decision_function nor predict_proba: it scores no points.")
    return value


def _write_estimators(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return [entry if isinstance(entry, str) else to_table(entry, "classifier") for entry in value]


Estimators = Annotated[Any, BeforeValidator(_read_estimators), PlainSerializer(_write_estimators, when_used="json")]


class Learned(TransductiveMap):
    """Scores of classifiers that tell labelled from unlabelled points, one feature per classifier.

    The unlabelled points hold members too, but a classifier that is trained on labelled against unlabelled points still
    ranks members above others. It is trained in bags, each a bootstrap sample of the labelled points beside as many
    unlabelled ones. The score of a point is the mean over the bags that did not train on it. Each score is then compared
    with those of the unlabelled points, see ``scores``.

    Parameters
    ----------
    estimators : "auto" or list
        ``"auto"`` stands for all three of ``"trees"`` (decision trees), ``"svm"`` (support vector machines with an RBF
        kernel) and ``"logistic"`` (logistic regressions). A list holds such names, and classifiers or pipelines of
        scikit-learn. The named ones replace dense columns by normal quantiles and scale sparse rows to unit length where
        they need it, and can be saved.
    n_bags : int
        The number of bags.
    scores : {"normal", "standard"}
        What becomes of the scores. ``"normal"``: the normal quantile of each score among the unlabelled points.
        ``"standard"``: the score minus the mean of the unlabelled points, divided by their standard deviation, and limited
        to 4 of them. This keeps a gap between two groups of scores.
    random_state : int
        The seed of the bags.
    n_jobs : int, optional
        The number of threads that train classifiers; -1 for as many as there are cores. It does not change the features.

    Raises
    ------
    SpecError
        If an entry of ``estimators`` is neither a name nor a classifier.
    CompileError
        When fitted, if a classifier raises an error, or no labelled points are given.

    Notes
    -----
    New points are scored by all bags. A map with classifiers of your own keeps them as objects, so a problem or model that
    holds it cannot be saved without a pickle: save the spec and the data instead.

    Examples
    --------
    >>> import numpy as np
    >>> import momentlp as mlp
    >>> random = np.random.default_rng(0)
    >>> X = np.vstack([random.normal(size=(60, 2)), random.normal(size=(60, 2)) + 3])
    >>> spec = mlp.Spec(features=mlp.Learned(["logistic"]), tolerance=mlp.StandardError(1.0))
    >>> solution = mlp.solve(spec.compile(X, labelled=range(20)))
    >>> found = solution.membership > 0.5
    >>> bool(found[:60].mean() > 0.9), bool(found[60:].mean() < 0.2)
    (True, True)
    """

    kind: Literal["learned"] = "learned"
    estimators: Estimators = "auto"
    n_bags: Annotated[int, Field(ge=2)] = 60
    scores: Literal["normal", "standard"] = "normal"
    random_state: Annotated[int, Field(ge=0)] = 0
    n_jobs: int | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            estimators: Any = "auto",
            n_bags: int = 60,
            scores: Literal["normal", "standard"] = "normal",
            random_state: int = 0,
            n_jobs: int | None = None,
        ) -> None: ...

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Learned) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # classifiers have parameters that change

    def _key(self) -> tuple[Any, ...]:
        classifiers = [entry if isinstance(entry, str) else comparison_key(entry) for entry in self.used_estimators]
        return classifiers, self.n_bags, self.scores, self.random_state, self.n_jobs

    @property
    def used_estimators(self) -> tuple[Any, ...]:
        """The estimators: names of those that ``"auto"`` stands for, or those that were given."""
        if self.estimators == "auto":
            return tuple(ARRAY_ENSEMBLES)
        return tuple(self.estimators)

    def depends_on_labels(self) -> bool:
        """Return True: classifiers are trained on the labelled points."""
        return True

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Keep the scaling of the columns; the rest is learned in :meth:`with_labels`."""
        titles = [entry if isinstance(entry, str) else type(entry).__name__ for entry in self.used_estimators]
        names: list[str] = []
        for place, title in enumerate(titles):
            number = "" if titles.count(title) == 1 else f" {titles[:place].count(title) + 1}"
            names.append(f"learned {title}{number}")
        return tuple(names), Scaling.of(X).state()

    def with_labels(
        self,
        fitted: FittedMap,
        known: IndexArray,
        counts: FloatArray,
        *,
        points: Matrix | None = None,
        weights: FloatArray | None = None,
    ) -> FittedMap:
        """Train the classifiers and score all points out of bag.

        Labelled points that count zero, held out of a fold, are in no bag.

        Raises
        ------
        CompileError
            If the points are missing, or a classifier raises an error.
        """
        if points is None:
            raise CompileError("Learned needs the points that it was fitted on: compile it with a spec.")
        labelled, pool = group_points(points, known, counts, np.ones(points.shape[0]) if weights is None else weights)
        random = np.random.default_rng(self.random_state)
        bags = draw_bags(labelled.first, labelled.total, pool.first, pool.total, self.n_bags, random)
        scaling, state = Scaling.from_state(fitted.state), dict(fitted.state)
        columns: list[FloatArray] = []
        models: list[Classifiers | None] = []
        for number, entry in enumerate(self.used_estimators):
            ensemble: Ensemble
            report_step(f"training {fitted.names[number].removeprefix('learned ')} in {self.n_bags} bags")
            if isinstance(entry, str):
                trained = ARRAY_ENSEMBLES[entry].train(points, scaling, bags, self.n_jobs)
                state |= {f"{number}.{key}": array for key, array in trained.state().items()}
                ensemble, model = trained, None
            else:
                ensemble = model = Classifiers.train(entry, points, bags, self.n_jobs)
            models.append(model)
            report_step("scoring all points out of bag")
            scores = out_of_bag_means(ensemble, points, bags)
            pool.spread(scores)
            labelled.spread(scores)
            compare = self._compare(scores[pool.rows], pool.weights)
            state |= {f"{number}.{key}": array for key, array in _comparison_state(compare).items()}
            columns.append(compare(scores))
        state["scores"] = np.column_stack(columns)
        return replace(fitted, state=state, model=models if any(model is not None for model in models) else None)

    def training(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the out-of-bag scores of the points that the map was fitted on."""
        return np.asarray(fitted.state["scores"])

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Score new points by all bags."""
        if "scores" not in fitted.state:
            raise CompileError("Learned has no classifiers before it knows the labelled points: compile it with a spec.")
        columns = []
        for number in range(len(self.used_estimators)):
            ensemble = self._ensemble(number, fitted)
            columns.append(self._comparison(number, fitted)(ensemble.total(X) / len(ensemble)))
        return np.column_stack(columns)

    def _compare(self, scores: FloatArray, weights: FloatArray) -> NormalScores | StandardScores:
        """Return the function that compares a score with those of the unlabelled points."""
        return (NormalScores if self.scores == "normal" else StandardScores).of(scores, weights)

    def _comparison(self, number: int, fitted: FittedMap) -> NormalScores | StandardScores:
        """Return that function of one feature from the state."""
        if self.scores == "normal":
            return NormalScores(fitted.state[f"{number}.levels"], fitted.state[f"{number}.quantiles"])
        return StandardScores(*fitted.state[f"{number}.standard"].tolist())

    def _ensemble(self, number: int, fitted: FittedMap) -> Ensemble:
        """Return the trained classifiers of one feature."""
        if fitted.model is not None and fitted.model[number] is not None:
            ensemble: Ensemble = fitted.model[number]
            return ensemble
        prefix = f"{number}."
        arrays = {key.removeprefix(prefix): array for key, array in fitted.state.items() if key.startswith(prefix)}
        return ARRAY_ENSEMBLES[self.used_estimators[number]](arrays, Scaling.from_state(fitted.state))

    def state_layout(self, shapes: Shapes, d: int, k: int) -> Mapping[str, StateArray]:
        """Return the layout of the scores, of the scaling, and of every ensemble."""
        layout = {"scores": StateArray((shapes.get("scores", (0,))[0], k), finite=True)}
        layout |= Scaling.layout(shapes, d)
        for number, entry in enumerate(self.used_estimators):
            prefix, n_levels = f"{number}.", shapes.get(f"{number}.levels", (0,))[0]
            if self.scores == "normal":
                layout |= {f"{prefix}{key}": StateArray((n_levels,), finite=True) for key in ("levels", "quantiles")}
            else:
                layout[f"{prefix}standard"] = StateArray((2,), finite=True)
            if isinstance(entry, str):
                arrays = ARRAY_ENSEMBLES[entry].layout(shapes, prefix, d, self.n_bags)
                layout |= {f"{prefix}{key}": array for key, array in arrays.items()}
        return layout


def _comparison_state(compare: NormalScores | StandardScores) -> dict[str, NDArray[Any]]:
    if isinstance(compare, NormalScores):
        return {"levels": compare.levels, "quantiles": compare.quantiles}
    return {"standard": np.array([compare.centre, compare.unit])}
