"""MomentClassifierCV: the classifier with features and tolerance chosen by cross-validation.

Only labelled members are used: :mod:`momentlp.estimator.criteria` says how a choice is possible without a counterexample.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv

from momentlp.errors import DataError, OptionError, SolverError
from momentlp.estimator.build_search import build_search
from momentlp.estimator.class_prior import class_share
from momentlp.estimator.classifier import MomentClassifier
from momentlp.estimator.criteria import Criterion, is_eligible, jackknife, resolve_criterion
from momentlp.estimator.defaults import count_distinct_points, default_features
from momentlp.estimator.folds import held_out_counts, split_folds
from momentlp.estimator.labels import Labels
from momentlp.estimator.search import Search
from momentlp.features import FeatureMap
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.runtime.argument_checks import check_integer
from momentlp.runtime.progress_bar import show_progress
from momentlp.runtime.warn_caller import warn_caller
from momentlp.spec.tolerances import StandardError, Tolerance

__all__ = ["MomentClassifierCV"]

MIN_LABELLED = 3
MIN_TRAINING_LABELLED = 2  # labelled points left in every fold: one point alone has no standard error
TOLERANCES = (4.0, 2.5, 1.6, 1.0, 0.6, 0.3)
DEFAULT_COMPONENTS = (8, 16, 24)  # of the three feature maps that "spectral" stands for


class MomentClassifierCV(MomentClassifier):
    """:class:`MomentClassifier` with features and tolerance chosen by cross-validation on labelled members alone.

    Each fold of labelled points is held out once: its points are treated as unlabelled. Recall is the share of them that
    the fit finds. The tolerances are tried along a path, so each linear program starts from the solution of the one before.
    A feature map (its graph, its kernel) is fitted once for all folds.

    Parameters
    ----------
    features : FeatureMap, str, or sequence of these
        The feature maps to choose from. ``"spectral"`` stands for the map of ``MomentClassifier("spectral")`` with 8, 16
        and 24 components.
    tolerance : Tolerance or float, optional
        The tolerance that ``tolerances`` multiply. A number counts standard errors. Default: one standard error.
    constraints : sequence of Constraint
        As in :class:`MomentClassifier`.
    tolerances : sequence of float
        The multiples of ``tolerance`` to choose from, at least 0.
    cv : int, splitter or iterable of splits
        Number of folds of the labelled points; or splits of the rows of X as elsewhere in scikit-learn. Then the labelled
        rows of each test set are held out.
    criterion : {"lee-liu", "difference"} or callable
        ``"lee-liu"``: recall^2 / share. ``"difference"``: recall - share. Or a function of two arrays, recall and share,
        that returns an array of scores of the same shape. The largest score wins.
    one_standard_error : bool
        True to take the simplest candidate whose score is within one standard error of the best: the one with the fewest
        moments, then the one with the largest tolerance. False to take the best.
    progress : bool or callable
        True for a bar on the error stream, or a function of the number of folds done and the number of all folds.
    pos_label, smoothing, margin, bagging, probability, backend, tol, time_limit, solve_params
        As in :class:`MomentClassifier`.
    random_state : int, RandomState or None
        Shuffles the folds, and serves what it serves in :class:`MomentClassifier`.

    Attributes
    ----------
    best_params_ : dict
        The chosen ``features``, the chosen ``tolerance`` (the multiple), and the ``margin`` that was used with them.
    best_index_ : int
        The position of the choice in the arrays of ``cv_results_``.
    best_score_ : float
        The score of the choice.
    cv_results_ : dict of arrays
        One entry per candidate: ``param_features``, ``param_tolerance``, ``n_moments``, ``mean_recall``, ``mean_share``,
        ``mean_test_score`` (the criterion of these two means), its ``standard_error``, ``rank_test_score``, and
        ``split0_test_score``, ``split1_test_score``, ... A candidate without an answer in some fold has NaN.
    one_standard_error_ : float
        The best score minus its standard error. Simpler candidates with at least this score may be chosen.

    All attributes of :class:`MomentClassifier`.

    Examples
    --------
    >>> import numpy as np, momentlp as mlp
    >>> from momentlp.synthetic import make_gaussian
    >>> case = make_gaussian(0)
    >>> y = np.isin(np.arange(len(case.X)), case.labelled).astype(int)
    >>> model = mlp.MomentClassifierCV(["linear", "quadratic"], cv=3, random_state=0).fit(case.X, y)
    >>> model.best_params_["features"]
    'quadratic'
    >>> model.cv_results_["mean_test_score"].shape  # two feature maps, six tolerances
    (12,)
    """

    def __init__(
        self,
        features: Any = "spectral",
        tolerance: Tolerance | float | None = None,
        constraints: Any = (),
        *,
        tolerances: Sequence[float] = TOLERANCES,
        cv: Any = 5,
        criterion: str | Criterion = "lee-liu",
        one_standard_error: bool = True,
        progress: Any = False,
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
        super().__init__(
            features,
            tolerance,
            constraints,
            pos_label=pos_label,
            smoothing=smoothing,
            margin=margin,
            bagging=bagging,
            probability=probability,
            backend=backend,
            tol=tol,
            time_limit=time_limit,
            solve_params=solve_params,
            random_state=random_state,
        )
        self.tolerances = tolerances
        self.cv = cv
        self.criterion = criterion
        self.one_standard_error = one_standard_error
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose features and tolerance, then find the class with all labelled points.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (N, d)
            All points, labelled and unlabelled.
        y : array, shape (N,)
            Two values: one for labelled members, another for unlabelled points.
        sample_weight : array, shape (N,), optional
            The number of points that each row stands for.

        Returns
        -------
        MomentClassifierCV
            The estimator itself.

        Raises
        ------
        OptionError
            If a parameter cannot be used.
        DataError
            If there are fewer than 3 labelled points, or X and y cannot be used; see :meth:`MomentClassifier.fit`.
        SolverError
            If no candidate has an answer in every fold.

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> from momentlp.synthetic import make_separable
        >>> case = make_separable(0)
        >>> y = np.isin(np.arange(len(case.X)), case.labelled).astype(int)
        >>> model = mlp.MomentClassifierCV("linear", tolerances=[1.0, 0.5], cv=3, random_state=0).fit(case.X, y)
        >>> model.solution_.certificate.holds()
        True
        """
        self._check_params()
        criterion = resolve_criterion(self.criterion)
        tolerances = _check_tolerances(self.tolerances)
        points, labels, weight = self._check_data(X, y, sample_weight)
        known = labels.known if weight is None else labels.known[weight[labels.known] > 0]
        folds = self._split(points, labels, known)
        base = StandardError(1.0) if self.tolerance is None else self.tolerance
        candidates = self._list_candidates(points, weight)
        params = self.get_params(deep=False)
        searches: list[Search] = []
        recall = np.full((len(candidates), tolerances.size, len(folds)), np.nan)
        share = recall.copy()
        with show_progress(self.progress, len(candidates) * len(folds)) as report:
            for row, features in enumerate(candidates):
                search = build_search(params, points, labels, weight, features=features, tolerance=base)
                for column, fold in enumerate(folds):
                    recall[row, :, column], share[row, :, column] = _evaluate(search, tolerances, fold)
                    report(row * len(folds) + column + 1)
                searches.append(search)
        self._choose(candidates, tolerances, recall, share, criterion, searches)
        row, column = divmod(self.best_index_, tolerances.size)
        self._set_fitted(searches[row].with_tolerance_factor(float(tolerances[column])), labels)
        return self

    def _split(self, points: Any, labels: Labels, known: IndexArray) -> list[IndexArray]:
        """Return the folds: for each, the positions in ``known`` of the labelled points to hold out."""
        if known.size < MIN_LABELLED:
            raise DataError(
                f"cross-validation needs at least {MIN_LABELLED} labelled points to hold some out, but there are "
                f"{known.size}."
            )
        if isinstance(self.cv, numbers.Integral):
            n_folds = check_integer("cv", self.cv, minimum=2)
            folds = split_folds(known.size, min(n_folds, known.size), self._make_generator())
        else:
            splits = check_cv(self.cv, labels.labelled, classifier=True).split(points, labels.labelled)
            folds = [np.flatnonzero(np.isin(known, test)) for _, test in splits]
            folds = [fold for fold in folds if fold.size]
        if len(folds) < 2:
            raise OptionError(f"cv gives {len(folds)} test set(s) with labelled points: at least 2 are needed.")
        n_left = known.size - max(fold.size for fold in folds)
        if n_left < MIN_TRAINING_LABELLED:
            raise OptionError(
                f"cv holds out all but {n_left} of the {known.size} labelled points in some fold: at least "
                f"{MIN_TRAINING_LABELLED} must be left for a standard error. Use more folds, stratified ones, or label more "
                "points."
            )
        return folds

    def _list_candidates(self, points: Any, weight: FloatArray | None) -> list[Any]:
        """Return the feature maps, or their names, to choose from."""
        if isinstance(self.features, str) and self.features == "spectral":
            n_points = count_distinct_points(points, weight)
            return list(dict.fromkeys(default_features(n_points, size) for size in DEFAULT_COMPONENTS))
        features: Any = self.features
        candidates = [features] if isinstance(features, (str, FeatureMap)) else list(features)
        if not candidates:
            raise OptionError("features is empty: give at least one feature map to choose from.")
        return candidates

    def _choose(
        self,
        candidates: list[Any],
        tolerances: FloatArray,
        recall: FloatArray,
        share: FloatArray,
        criterion: Criterion,
        searches: list[Search],
    ) -> None:
        """Set ``cv_results_`` and the attributes of the choice.

        ``recall`` and ``share`` have the shape (candidates, tolerances, folds).
        """
        n_folds = recall.shape[2]
        answered = np.isfinite(recall).all(axis=2).ravel()
        if not answered.any():
            raise SolverError("no candidate has an answer in every fold: loosen the constraints, or try another backend.")
        if not answered.all():
            warn_caller(
                f"{np.count_nonzero(~answered)} of {answered.size} candidates have no answer in some fold and are left out.",
                FitFailedWarning,
            )
        # A criterion may turn NaN into a number, but a candidate without an answer must have no score.
        scores = np.where(np.isfinite(recall), criterion(recall, share), np.nan).reshape(-1, n_folds)
        mean, error = (np.where(answered, values, np.nan) for values in jackknife(recall, share, criterion))
        mean_recall = recall.mean(axis=2).ravel()
        eligible = is_eligible(mean_recall, mean)
        if not eligible.any():
            raise OptionError("criterion gives no candidate a finite score: it must return one number for each recall.")
        best = int(np.argmax(np.where(eligible, mean, -np.inf)))
        n_moments = np.repeat([search.n_features for search in searches], tolerances.size)
        tolerance = np.tile(tolerances, len(candidates))
        self.one_standard_error_ = float(mean[best] - error[best])
        if self.one_standard_error:
            near = np.flatnonzero(eligible & (mean >= self.one_standard_error_))
            best = int(near[np.lexsort((-tolerance[near], n_moments[near]))[0]])
        row = best // tolerances.size
        self.best_index_, self.best_score_ = best, float(mean[best])
        self.best_params_ = {
            "features": candidates[row],
            "tolerance": float(tolerance[best]),
            "margin": searches[row].used_margin,
        }
        features = np.empty(len(candidates), dtype=object)
        features[:] = candidates
        self.cv_results_ = {
            "param_features": np.repeat(features, tolerances.size),
            "param_tolerance": tolerance,
            "n_moments": n_moments,
            "mean_recall": mean_recall,
            "mean_share": share.mean(axis=2).ravel(),
            "mean_test_score": mean,
            "standard_error": error,
            "rank_test_score": (-mean).argsort(kind="stable").argsort(kind="stable").astype(np.int32) + 1,  # NaN comes last
        } | {f"split{fold}_test_score": scores[:, fold].copy() for fold in range(n_folds)}


def _evaluate(search: Search, tolerances: FloatArray, fold: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return recall and share at every tolerance while a fold is held out; NaN where there is no answer.

    Recall is the share, by weight, of the held-out points that are found. The share is that of the unlabelled points.
    """
    held_out = search.known[fold]
    recall = np.full(tolerances.size, np.nan)
    share = recall.copy()
    for step, solution in enumerate(search.solve_path(tolerances, held_out_counts(search.known.size, fold))):
        with suppress(SolverError):  # a candidate without an answer is not chosen
            membership = search.read(solution).membership
            recall[step] = np.average(membership[held_out] > 0.5, weights=search.prepared.caps[held_out])
            share[step] = class_share(membership, search.unlabelled)
    return recall, share


def _check_tolerances(tolerances: Any) -> FloatArray:
    """Return the multiples in falling order."""
    values = np.sort(np.asarray(tolerances, dtype=np.float64).ravel())[::-1]
    if not values.size or not np.isfinite(values).all() or values[-1] < 0:
        raise OptionError(f"tolerances must be finite numbers of at least 0, one or more, not {tolerances!r}.")
    return values.copy()
