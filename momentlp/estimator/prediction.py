"""What a fitted MomentClassifier answers: scores, labels, probabilities, and an interval for the class prior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from momentlp.errors import DataError
from momentlp.estimator.class_prior import PriorInterval, bootstrap_interval
from momentlp.estimator.decision_rule import DecisionRule
from momentlp.estimator.defaults import is_auto
from momentlp.estimator.inspection import (
    Importance,
    Threshold,
    column_importance,
    find_threshold,
    most_uncertain,
)
from momentlp.estimator.parameters import check_interval_arguments
from momentlp.estimator.score_model import ScoreModel
from momentlp.estimator.search import Search
from momentlp.estimator.table_errors import explain_table_error
from momentlp.points.arrays import FloatArray, IndexArray, Matrix
from momentlp.runtime.argument_checks import check_integer
from momentlp.runtime.steps import show_steps
from momentlp.solution.solution import Solution

__all__ = ["PredictionMixin"]


def _has_probabilities(model: Any) -> bool:
    if model.probability or is_auto(model.features):
        return True
    raise AttributeError("predict_proba needs probability=True before fit, or features='auto'.")


class PredictionMixin:
    """The methods of a fitted classifier. :class:`~momentlp.MomentClassifier` sets the attributes."""

    classes_: NDArray[Any]
    pos_label_: Any
    rule_: DecisionRule
    offset_: float
    solution_: Solution
    membership_: FloatArray
    _probability_: FloatArray  # memberships before constraints limit the set
    random_state: Any

    def score_samples(self, X: Any) -> FloatArray:
        """Score points, seen or not: members score higher.

        With smoothing the score is the average membership of the neighbours, from 0 to 1. It falls to 0 for points that are
        further from all neighbours than any point of the fit. Without smoothing it is the score of the separator, or with
        bagging the mean score of all separators.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (n, d)

        Returns
        -------
        array, shape (n,)

        Raises
        ------
        NotFittedError
            If the model was not fitted.

        Examples
        --------
        >>> import momentlp as mlp
        >>> X, y = [[0.0], [1.0], [0.5], [9.0], [8.0]], [1, 1, 0, 0, 0]
        >>> model = mlp.MomentClassifier("linear").fit(X, y)
        >>> score = model.score_samples([[0.5], [8.5]])
        >>> (score > model.offset_).tolist()
        [True, False]
        """
        check_is_fitted(self)
        return self.rule_.score(self._check_points(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Return how far points are on the side of ``classes_[1]``.

        It is ``score_samples(X) - offset_`` if the members are ``classes_[1]``: above zero for members. If they are
        ``classes_[0]`` it is the negative of that: below zero for members.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (n, d)

        Returns
        -------
        array, shape (n,)

        Examples
        --------
        >>> import momentlp as mlp
        >>> X, y = [[0.0], [1.0], [0.5], [9.0], [8.0]], [1, 1, 0, 0, 0]
        >>> model = mlp.MomentClassifier("linear").fit(X, y)
        >>> (model.decision_function([[0.5], [8.5]]) > 0).tolist()
        [True, False]
        """
        score = self.score_samples(X) - self.offset_
        return score if self._positive_index() == 1 else -score

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of points, seen or not.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (n, d)

        Returns
        -------
        array, shape (n,)
            Values of ``classes_``.

        Examples
        --------
        >>> import momentlp as mlp
        >>> X, y = [[0.0], [1.0], [0.5], [9.0], [8.0]], [1, 1, 0, 0, 0]
        >>> model = mlp.MomentClassifier("linear").fit(X, y)
        >>> model.predict([[0.5], [8.5]]).tolist()
        [1, 0]
        """
        inside, positive = self.score_samples(X) > self.offset_, self._positive_index()
        return np.asarray(self.classes_[np.where(inside, positive, 1 - positive)])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, estimated from labelled points that were held out.

        With ``features="auto"`` it is that of :class:`~momentlp.estimator.score_model.ScoreModel`, with others that of
        :class:`~momentlp.estimator.calibration.Calibration`. A probability on the wrong side of one half is moved
        to one half, so that the more probable class is always the one that :meth:`predict` returns.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (n, d)

        Returns
        -------
        array, shape (n, 2)
            In the order of ``classes_``.

        Raises
        ------
        AttributeError
            If the model was fitted with other features than ``"auto"``, and without ``probability=True``.

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> from momentlp.synthetic import make_separable
        >>> case = make_separable(0)
        >>> y = np.isin(np.arange(len(case.X)), case.labelled).astype(int)
        >>> model = mlp.MomentClassifier("linear", probability=True).fit(case.X, y)
        >>> model.predict_proba(case.X).shape
        (1050, 2)
        """
        score = self.score_samples(X)  # raises if the model was not fitted
        probability = self.rule_.probability(score)
        both = np.column_stack([1 - probability, probability])
        return both if self._positive_index() == 1 else both[:, ::-1]

    def class_prior_interval(
        self,
        level: float = 0.9,
        n_resamples: int = 200,
        *,
        progress: bool | Callable[[int, int | None], Any] = True,
    ) -> PriorInterval:
        """Return an interval for the share of the class among the unlabelled points.

        With ``features="auto"`` it comes from the model of the scores, at once. With others it is a bootstrap interval:
        the search is repeated with samples of the labelled points.

        Parameters
        ----------
        level : float
            Confidence level, above 0 and below 1.
        n_resamples : int
            Number of bootstrap samples of the labelled points, at least 10. Each takes one search. Not used with
            ``features="auto"``.
        progress : bool or callable
            True for a bar on the error stream, or a function of the number of samples done and the number of all samples.

        Returns
        -------
        PriorInterval

        Raises
        ------
        DataError
            If the model was loaded from a file, which does not hold the points; not with ``features="auto"``.
        OptionError
            If an argument is of the wrong type or out of range.
        SolverError
            If fewer than half of the samples have an answer.

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> from momentlp.synthetic import make_separable
        >>> case = make_separable(0)
        >>> y = np.isin(np.arange(len(case.X)), case.labelled).astype(int)
        >>> model = mlp.MomentClassifier("linear", random_state=0).fit(case.X, y)
        >>> interval = model.class_prior_interval(0.9, 10, progress=False)
        >>> model.class_prior_ in interval
        True
        """
        check_is_fitted(self)
        level, n_resamples = check_interval_arguments(level, n_resamples, progress)
        if isinstance(self.rule_.calibration, ScoreModel):
            model = self.rule_.calibration
            return PriorInterval(model.prior, *model.interval(level), level, model.prior_quantiles)
        search = self._require_search()
        found = search.read(self.solution_)
        random = self._make_generator()
        return bootstrap_interval(search, found, level=level, n_resamples=n_resamples, random=random, progress=progress)

    def find_threshold(self, *, precision: float | None = None, recall: float | None = None) -> Threshold:
        """Find the threshold of ``score_samples`` for a wanted precision or recall, with an estimate of both.

        Parameters
        ----------
        precision : float, optional
            Take as many points as possible with this expected precision.
        recall : float, optional
            Take as few points as possible with this expected recall.

        Returns
        -------
        Threshold
            Without either, the threshold of :meth:`predict`, which has the largest expected F1.

        Raises
        ------
        OptionError
            If both are given, or no threshold is expected to reach the wanted value.
        DataError
            If the model was not fitted with ``features="auto"``.

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> from momentlp.synthetic import make_separable
        >>> case = make_separable(0)
        >>> y = np.isin(np.arange(len(case.X)), case.labelled).astype(int)
        >>> model = mlp.MomentClassifier("auto").fit(case.X, y)
        >>> threshold = model.find_threshold(recall=0.9)
        >>> bool(threshold.recall >= 0.9)
        True
        >>> taken = model.score_samples(case.X) > threshold.offset
        """
        check_is_fitted(self)
        return find_threshold(self.rule_, precision, recall)

    def query(self, n: int = 10) -> IndexArray:
        """Return the rows of X whose labels would help most: those whose membership is the most uncertain.

        Parameters
        ----------
        n : int
            The number of rows.

        Returns
        -------
        array of int, shape (n,)
            Row indices of unlabelled points, the most uncertain first.

        Raises
        ------
        DataError
            If the model was loaded from a file.

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> from momentlp.synthetic import make_separable
        >>> case = make_separable(0)
        >>> y = np.isin(np.arange(len(case.X)), case.labelled).astype(int)
        >>> model = mlp.MomentClassifier("auto").fit(case.X, y)
        >>> model.query(5).shape
        (5,)
        """
        check_is_fitted(self)
        unlabelled = self._require_search().unlabelled
        unlabelled[self._require_search().outside] = 0.0
        return most_uncertain(self._probability_, unlabelled, n)

    def importance(
        self, X: Any = None, *, n_repeats: int = 3, max_rows: int = 1000, names: Sequence[str] | None = None
    ) -> Importance:
        """Return how much each column matters for the scores: what changes when it is shuffled.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (n, d), optional
            Points to score. Default: those of the fit.
        n_repeats : int
            How often each column is shuffled.
        max_rows : int
            The maximum number of rows that are used, drawn at random.
        names : sequence of str, optional
            Names of the columns. Behind a pipeline, which passes on arrays without names, give
            ``pipeline[:-1].get_feature_names_out()``. Default: those of the frame of the fit, or x0, x1 and so on.

        Returns
        -------
        Importance
            A table; the most important column first.

        Raises
        ------
        DataError
            If X is not given, and the model was loaded from a file, or if there is not one name for each column.

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> random = np.random.default_rng(0)
        >>> X = random.normal(size=(300, 3))
        >>> y = (X[:, 1] > 1).astype(int) * (random.random(300) < 0.6)
        >>> next(iter(mlp.MomentClassifier("auto").fit(X, y).importance()))[0]
        'x1'
        """
        check_is_fitted(self)
        if X is None and not hasattr(self, "_search_"):
            raise DataError("a model that was loaded from a file does not hold the points of the fit: give X.")
        points = self._require_search().points if X is None else self._check_points(X)
        n_repeats = check_integer("n_repeats", n_repeats, minimum=1)
        max_rows = check_integer("max_rows", max_rows, minimum=2)
        random = self._make_generator()
        if points.shape[0] > max_rows:
            points = points[np.sort(random.choice(points.shape[0], max_rows, replace=False))]
        if names is None:
            names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(points.shape[1])])
        if len(names) != points.shape[1]:
            raise DataError(f"names must hold {points.shape[1]} names, one per column of X, not {len(names)}.")
        with show_steps(bool(getattr(self, "verbose", False))):  # the search over tolerances has no such parameter
            return column_importance(self.rule_, points, tuple(map(str, names)), n_repeats, random)

    def _require_search(self) -> Search:
        search: Search | None = getattr(self, "_search_", None)
        if search is None:
            raise DataError("a model that was loaded from a file does not hold the points of the fit: fit it anew.")
        return search

    def _check_points(self, X: Any) -> Matrix:
        try:
            return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        except (TypeError, ValueError) as error:
            raise explain_table_error(X, error) from None

    def _make_generator(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31))

    def _positive_index(self) -> int:
        """Return the position of the members' value in ``classes_``."""
        return int(np.flatnonzero(self.classes_ == self.pos_label_)[0])
