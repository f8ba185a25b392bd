"""The classifier: from a few labelled members to the whole class."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from momentlp.errors import DataError, OnlyLabelledWarning, OptionError
from momentlp.estimator.calibration import FOLDS, Calibration, counts_without, held_out_scores, split_folds
from momentlp.estimator.labels import Labels
from momentlp.estimator.nearest import is_undetermined
from momentlp.estimator.parameters import check_interval, check_parameters
from momentlp.estimator.prior import PriorInterval, bootstrap_counts, interval, share_found
from momentlp.estimator.resampling import refit_samples
from momentlp.estimator.rule import Rule
from momentlp.estimator.search import Search, SearchResult
from momentlp.features import FeatureMap, Spectral
from momentlp.points.arrays import FloatArray, Matrix
from momentlp.points.distinct_rows import distinct_rows
from momentlp.solution.solution import Solution
from momentlp.spec.constraints import Known
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import StandardError, Tolerance
from momentlp.status import Status

__all__ = ["MomentClassifier", "default_features"]

COMPONENTS, NEIGHBOURS, RESTART, WIDTH = 16, 5, 0.02, 2.5  # of the default; benchmarks/classes/defaults.py tries others
NARROW = 0.8  # standard errors, for features that are no graph


def default_features(n_points: int, components: int = COMPONENTS) -> FeatureMap:
    """Return the map of the default: smooth functions on the graph of neighbours, fewer where there are few points."""
    components = max(1, min(components, n_points // 10))
    neighbours = max(1, min(NEIGHBOURS, n_points - 1))
    return Spectral(components, neighbours, walk=RESTART, scale="range")


def n_different(points: Any, weight: FloatArray | None) -> int:
    """Return how many different points there are, those of no weight not counted."""
    plain = np.asarray(points.to_numpy(), dtype=np.float64) if hasattr(points, "to_numpy") else points
    return int(distinct_rows(plain if weight is None else plain[weight > 0])[0].size)


def _probable(model: Any) -> bool:
    if not model.probability:
        raise AttributeError("predict_proba needs probability=True before fit.")
    return True


class MomentClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Find a class from a few of its members, without a single counterexample.

    The class is the largest set of points whose mean, in a feature space, is that of the labelled members. Finding it is a
    linear program; ``solution_`` holds the answer and the certificate that proves it.

    Parameters
    ----------
    features : FeatureMap or str
        Such as ``momentlp.Quadratic()`` or ``"quadratic"``. ``"spectral"`` is :class:`~momentlp.Spectral` with 16 components
        (fewer for less than 160 points), 5 neighbours, a walk that stops with chance 0.02, and columns divided by their
        range.
    tolerance : Tolerance or float, optional
        How far the mean of the set may be from that of the labelled points; a number is in standard errors. Default: 2.5
        for :class:`~momentlp.Spectral`, 0.8 for other features.
    constraints : sequence of Constraint
        What else is known; points are counted as the rows of X.
    pos_label : scalar, optional
        The value of y that marks labelled members. Default: the larger of the two.
    smoothing : float, "auto" or None
        Average the memberships over neighbourhoods before the cut at one half: the chance that the walk stops at a step, 1
        for no averaging at all. ``"auto"`` is 0.05 where the features are a graph (:class:`~momentlp.Spectral`), None
        elsewhere.
    margin : float or "auto"
        Where memberships are averaged over neighbourhoods, count only points whose score in the linear program is above
        this: a wide tolerance forgives the error of the labelled mean, and what it lets in besides lies near the hyperplane,
        where scores are zero. ``"auto"`` is 0.3 where ``tolerance`` is left as it is, and 0 with one of your own.
    bagging : int
        Average the memberships over this many bootstrap samples of the labelled points; 0 for none.
    probability : bool
        Whether :meth:`predict_proba` is wanted: takes five more searches.
    backend : str or Backend
    tol : float
        The certificate must hold within this.
    time_limit : float, optional
        Seconds for one linear program.
    solve_params : mapping, optional
        What else :func:`momentlp.solve` takes, but for what has a parameter here.
    random_state : int, RandomState or None
        For bagging and :meth:`class_prior_interval`.

    Attributes
    ----------
    membership_ : array, shape (N,)
        The share of each row of X that is in the class, averaged over neighbourhoods and bootstrap samples if so asked;
        ``solution_.membership`` is the optimum itself.
    transduction_ : array, shape (N,)
        The label of each row of X: members are the labelled rows and those with ``membership_`` above one half.
    labelled_ : array of bool, shape (N,)
        Which rows of X were marked as members, those of no weight among them.
    class_prior_ : float
        The share of the class among the unlabelled rows.
    solution_ : Solution
        The linear program's answer with its certificate.
    separator_ : Separator
        Its hyperplane in feature space.
    offset_ : float
        The score above which a point is a member: ``decision_function`` is ``score_samples`` less this, with the sign turned
        if the members are ``classes_[0]``.
    rule_ : Rule
        How points are scored.
    classes_ : array, shape (2,)
    pos_label_ : scalar
        Which of them is that of the members.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np, momentlp as mlp
    >>> from sklearn.datasets import load_digits
    >>> X, digit = load_digits(return_X_y=True)
    >>> y = np.zeros(len(X), dtype=int)
    >>> threes = np.flatnonzero(digit == 3)
    >>> y[np.random.default_rng(0).choice(threes, 25, replace=False)] = 1  # 25 threes are known
    >>> model = mlp.MomentClassifier().fit(X, y)
    >>> model.solution_.certificate.holds()
    True
    >>> found = model.transduction_ == 1
    >>> f"precision {np.mean(digit[found] == 3):.2f}, recall {np.mean(found[digit == 3]):.2f}"
    'precision 0.99, recall 0.92'
    """

    def __init__(
        self,
        features: FeatureMap | str = "spectral",
        tolerance: Tolerance | float | None = None,
        constraints: Any = (),
        *,
        pos_label: Any = None,
        smoothing: float | str | None = "auto",
        margin: float | str = "auto",
        bagging: int = 0,
        probability: bool = False,
        backend: Any = "auto",
        tol: float = 1e-7,
        time_limit: float | None = None,
        solve_params: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.tolerance = tolerance
        self.constraints = constraints
        self.pos_label = pos_label
        self.smoothing = smoothing
        self.margin = margin
        self.bagging = bagging
        self.probability = probability
        self.backend = backend
        self.tol = tol
        self.time_limit = time_limit
        self.solve_params = solve_params
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the class.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (N, d)
            All points, labelled and unlabelled.
        y : array, shape (N,)
            Two values: one marks the labelled members, the other all points of which nothing is known.
        sample_weight : array, shape (N,), optional
            How many points each row stands for.

        Raises
        ------
        ValueError
            If y does not hold two values, or X is not all finite numbers.
        SolverError
            If no set meets the constraints.
        """
        self._check_params()
        points, labels, weight = self._checked(X, y, sample_weight)
        self._settle(self._search(points, labels, weight), labels)
        return self

    def fit_predict(self, X: Any, y: Any, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, and return the label of every row of X."""
        return np.asarray(self.fit(X, y, sample_weight).transduction_)

    def score_samples(self, X: Any) -> FloatArray:
        """Score points, seen or not: the higher, the more a member.

        Where memberships were averaged over a graph it is the average of the neighbours, between 0 and 1, and falls to 0
        for points that are further from all neighbours than any point seen; elsewhere it is the score of the separator, or
        with bagging the mean score of all.
        """
        check_is_fitted(self)
        return self.rule_.score(self._points(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Return how far points are on the side of ``classes_[1]``, as everywhere in scikit-learn.

        It is ``score_samples`` less ``offset_``, above zero for members, where they are ``classes_[1]``. If ``pos_label`` is
        ``classes_[0]`` it is the negative of that, below zero for members.
        """
        score = self.score_samples(X) - self.offset_
        return score if self._positive() == 1 else -score

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of points, seen or not."""
        inside, positive = self.score_samples(X) > self.offset_, self._positive()
        return np.asarray(self.classes_[np.where(inside, positive, 1 - positive)])

    @available_if(_probable)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, calibrated on labelled points that were held out.

        See :class:`~momentlp.estimator.calibration.Calibration`. On the wrong side of one half it is moved to it, so that
        the likelier class is always the one that :meth:`predict` returns.
        """
        score = self.score_samples(X)
        probability = self.rule_.probability(score)
        both = np.column_stack([1 - probability, probability])
        return both if self._positive() == 1 else both[:, ::-1]

    def class_prior_interval(
        self,
        level: float = 0.9,
        n_resamples: int = 200,
        *,
        progress: bool | Callable[[int, int | None], Any] = True,
    ) -> PriorInterval:
        """Return an interval for the share of the class among the unlabelled points, by the bootstrap.

        Parameters
        ----------
        level : float
        n_resamples : int
            Bootstrap samples of the labelled points; each takes one search.
        progress : bool or callable
            True for a bar on the error stream, or a function that is told how many are done and how many there are.
        """
        check_is_fitted(self)
        search: Search | None = getattr(self, "_search_", None)
        if search is None:
            raise DataError("a model that was loaded from a file has no points to search again: fit it anew.")
        check_interval(level, n_resamples, progress)
        random = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        found = search.read(self.solution_)
        return interval(search, found, level=level, n_resamples=n_resamples, random=random, progress=progress)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file of plain arrays: nothing in it can run code when it is read."""
        from momentlp.estimator.model_files import save_model

        check_is_fitted(self)
        save_model(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that :meth:`save` wrote. The certificate is computed anew from what the file holds."""
        from momentlp.estimator.model_files import load_model

        model: Self = load_model(cls, Path(path))
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _check_params(self) -> None:
        """Refuse parameters that make no sense before anything is computed with them."""
        check_parameters(self.get_params(deep=False))
        _tolerance(self.tolerance, None)
        _smoothing(self.smoothing)
        _margin(self.margin)
        _whole("bagging", self.bagging)

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Labels, FloatArray | None]:
        """Check the data as scikit-learn does; a frame stays one, for the names of its columns."""
        points, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, points, dtype=np.float64)
        if weight is not None and (weight < 0).any():
            raise DataError(f"sample_weight must not be negative, but entry {int(np.argmax(weight < 0))} is {weight.min()}.")
        labels = Labels.of(y, np.ones(len(y)) if weight is None else weight, self.pos_label)
        return (X if hasattr(self, "feature_names_in_") and hasattr(X, "columns") else points), labels, weight

    def _points(self, X: Any) -> Matrix:
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _search(self, points: Any, labels: Labels, weight: FloatArray | None, **other: Any) -> Search:
        """Fit the feature maps. ``other`` replaces parameters of the estimator."""
        settings = {**self.get_params(deep=False), **other}
        features = settings["features"]
        if isinstance(features, str):
            named = features == "spectral"
            features = default_features(n_different(points, weight)) if named else FeatureMap.parse({"kind": features})
        tolerance = _tolerance(settings["tolerance"], features)
        known = labels.known if weight is None else labels.known[weight[labels.known] > 0]
        constraints = tuple(settings["constraints"])
        Spec(constraints=(*constraints, Known(positives=known)))  # an error if a labelled point is known to be outside
        spec = Spec(features=features, tolerance=tolerance, constraints=constraints)
        options = {"tol": self.tol, "time_limit": self.time_limit, **_solve_params(self.solve_params)}
        prepared = spec.prepare(points, sample_weight=weight).precompute_for(known)
        margin = 0.0 if self.margin == "auto" and self.tolerance is not None else _margin(self.margin)
        return Search(prepared, known, _smoothing(self.smoothing), self.backend, options, margin=margin)

    def _settle(self, search: Search, labels: Labels) -> None:
        """Search, and keep what was found."""
        found = search.run()
        if is_undetermined(found.solution):
            warnings.warn(
                f"a constraint limits the set to {found.solution.objective:.6g} points, and many sets of that size have the "
                "very mean of the labelled points: which was taken is arbitrary, and the separator says nothing. Allow "
                "more, or leave that bound out and take the rows with the highest score_samples.",
                RuntimeWarning,
                stacklevel=3,
            )
        membership, scores, voters = found.membership, found.solution.scores, [found.solution.separator]
        if _whole("bagging", self.bagging):
            random = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            samples = (bootstrap_counts(search.known.size, random) for _ in range(self.bagging))
            drawn = [
                each
                for each in refit_samples(search, samples, found.solution, _whole_answer, what="bootstrap samples")
                if each
            ]
            membership = np.mean([each.membership for each in drawn], axis=0)
            scores = np.mean([each.solution.scores for each in drawn], axis=0)
            voters = [each.solution.separator for each in drawn]
        self.classes_, self.pos_label_ = labels.classes, labels.classes.tolist()[labels.positive]
        self.solution_, self.separator_ = found.solution, found.solution.separator
        self.membership_, self.labelled_ = membership, labels.labelled
        self.transduction_ = labels.named(labels.labelled | (membership > 0.5))
        self.class_prior_ = share_found(membership, search.unlabelled)
        self.n_iter_ = max(1, found.solution.iterations or 0)
        self._search_ = search
        if found.smoother is None:
            self.rule_ = Rule(tuple(voters))
        else:
            present = search.prepared.present
            self.rule_ = Rule((), found.smoother, membership if present is None else membership[present])
        self.offset_ = self.rule_.offset
        if self.probability:
            scores = scores if found.smoother is None else membership
            self.rule_ = replace(self.rule_, calibration=self._calibration(search, found.solution, scores))
        proved = found.solution.status is Status.OPTIMAL  # or there is a warning about a limit already
        if self.class_prior_ == 0 and proved and labels.labelled.mean() < 0.5:
            # where half of all rows are labelled, as in the checks of scikit-learn, that there are no others is no surprise
            warnings.warn(
                "no unlabelled point was found: the class is the labelled points and nothing else. Label more, use a larger "
                "tolerance, or smoothing=None.",
                OnlyLabelledWarning,
                stacklevel=3,
            )

    def _calibration(self, search: Search, start: Solution, scores: FloatArray) -> Calibration:
        n_known, unlabelled = search.known.size, search.unlabelled
        if n_known < 3:
            raise DataError(f"probability=True needs at least 3 labelled points to hold some out, but there are {n_known}.")

        def score(found: SearchResult) -> FloatArray:
            return (found.solution.scores if found.smoother is None else found.membership)[search.known]

        folds = split_folds(n_known, min(FOLDS, n_known))
        seen = refit_samples(search, (counts_without(n_known, fold) for fold in folds), start, score, what="folds")
        members = held_out_scores(seen, folds)
        counted = unlabelled > 0
        return Calibration.of(members, scores[counted], unlabelled[counted], self.class_prior_)

    def _positive(self) -> int:
        """Return which of the classes is that of the members."""
        return int(np.flatnonzero(self.classes_ == self.pos_label_)[0])


def _tolerance(value: Any, features: Any) -> Tolerance:
    """Return the tolerance; what a wider one lets in, averages over a graph leave out again."""
    if isinstance(value, Tolerance):
        return value
    if value is None:
        return StandardError(WIDTH if isinstance(features, Spectral) else NARROW)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise OptionError(f"tolerance must be a Tolerance, or a number of standard errors, not {value!r}.")
    return StandardError(float(value))


def _smoothing(value: Any) -> float | str | None:
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < float(value) <= 1:
        raise OptionError(f"smoothing must be a number above 0 and up to 1, 'auto' or None, not {value!r}.")
    return float(value)


def _whole_answer(found: SearchResult) -> SearchResult:
    return found


def _solve_params(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Refuse what is said elsewhere: two places for one thing would contradict each other, and a saved model knows one."""
    params = dict(given or {})
    for name in ("tol", "time_limit", "backend"):
        if name in params:
            raise OptionError(f"solve_params holds {name!r}: use the parameter {name}={params[name]!r} of the estimator.")
    if "start" in params:
        raise OptionError("solve_params holds 'start', but the estimator makes its own starts: leave it out.")
    return params


def _margin(value: Any) -> float | str:
    if isinstance(value, str) and value == "auto":
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) < np.inf:
        raise OptionError(f"margin must be a number of at least 0, or 'auto', not {value!r}.")
    return float(value)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
        raise OptionError(f"{name} must be a whole number of at least 0, not {value!r}.")
    return int(value)
