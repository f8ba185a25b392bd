"""Choosing the tolerance and the features without a single counterexample.

Precision cannot be measured where nothing is known to be outside. But with recall r (measured on labelled points that were
held out) and the share p of all points that is called a member, ``r^2 / p`` is ``precision * recall / prior``. The prior is
a constant, so the best r^2 / p is the best product of precision and recall (Lee and Liu, 2003).
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d

from momentlp.errors import DataError, OptionError, SolverError
from momentlp.estimator.calibration import split_folds
from momentlp.estimator.classifier import MomentClassifier, default_features, n_different
from momentlp.estimator.labels import Labels
from momentlp.estimator.prior import share_found
from momentlp.estimator.search import Search
from momentlp.features import FeatureMap
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.runtime.progress_bar import show_progress as shown
from momentlp.spec.tolerances import StandardError, Tolerance

__all__ = ["CRITERIA", "MomentClassifierCV", "lee_liu_score", "may_be_chosen"]

LEAST_RECALL = 0.5  # below this the criterion rewards tiny sets by chance
LEAST_LEFT = 2  # labelled points in a fold: one alone has no spread to go by
TOLERANCES = (4.0, 2.5, 1.6, 1.0, 0.6, 0.3)

Criterion = Callable[[FloatArray, FloatArray], FloatArray]


def _lee_liu(recall: FloatArray, share: FloatArray) -> FloatArray:
    """Return precision times recall over the prior."""
    return np.asarray(np.where(share > 0, recall**2 / np.where(share > 0, share, 1.0), 0.0))


def _difference(recall: FloatArray, share: FloatArray) -> FloatArray:
    """Return recall less share: the informedness of the rule, ``recall - false positive rate``, times one less the prior."""
    return recall - share


CRITERIA: Mapping[str, Criterion] = {"lee-liu": _lee_liu, "difference": _difference}


def lee_liu_score(y_true: Any, y_pred: Any, *, pos_label: Any = None) -> float:
    """Score predictions where only some members are labelled: recall^2 over the share of points called members.

    For ``GridSearchCV(MomentClassifier(), ..., scoring=make_scorer(lee_liu_score))``, or for any other classifier. Only
    comparisons on the same points mean something: it is precision times recall over the unknown prior.

    Parameters
    ----------
    y_true, y_pred : array, shape (n,)
        ``y_true`` marks the labelled members and leaves all others unlabelled.
    pos_label : scalar, optional
        The value of members. Default: the larger of the two numbers in ``y_true`` and ``y_pred`` together; words have none
        that is larger in any useful sense.

    Raises
    ------
    DataError
        If ``y_true`` holds no member, or it cannot be told which value stands for members.

    Examples
    --------
    >>> lee_liu_score([1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0])
    2.0
    """
    truth, found = (column_or_1d(values) for values in (y_true, y_pred))
    check_consistent_length(truth, found)
    if not truth.size:
        raise DataError("y_true is empty: there is nothing to score.")
    positive = _member(truth, found) if pos_label is None else pos_label
    members = truth == positive
    if not members.any():
        raise DataError(
            f"y_true holds no {positive!r}: recall needs labelled members. In cross-validation use a stratified splitter, "
            "such as StratifiedKFold, so that every test set has some."
        )
    inside = found == positive
    return float(_lee_liu(np.array(inside[members].mean()), np.array(inside.mean())))


def _member(truth: NDArray[Any], found: NDArray[Any]) -> Any:
    """Return the value of members: the larger number, wherever it stands. A lone value of 0 or -1 is none."""
    if not all(values.dtype.kind in "biuf" for values in (truth, found)):
        raise DataError("y_true and y_pred hold no numbers: say by pos_label which value stands for members.")
    values = np.union1d(truth, found).tolist()
    if len(values) > 2:
        raise DataError(
            f"y_true and y_pred hold {len(values)} different values, {', '.join(map(str, values[:5]))}: there must be two, "
            "one for members and one for all others."
        )
    return values[-1] if len(values) > 1 or values[0] > 0 else 1


class MomentClassifierCV(MomentClassifier):
    """:class:`MomentClassifier` with features and tolerance chosen by cross-validation on labelled members alone.

    Every fold of labelled points is held out once, left among the unlabelled ones: the share of it that is found again is
    recall. Tolerances are tried along a path, each linear program started from the answer to the one before, and the graph
    or kernel of a feature map is made once for all folds.

    Parameters
    ----------
    features : sequence of FeatureMap or str, or one
        What to choose from. ``"spectral"``: the map of :class:`MomentClassifier` with 8, 16 and 24 components.
    tolerance : Tolerance or float, optional
        What ``tolerances`` multiply. Default: one standard error.
    constraints : sequence of Constraint
    tolerances : sequence of float
    cv : int, splitter or iterable of splits
        Number of folds of the labelled points; or splits of the rows of X as elsewhere in scikit-learn, of which the
        labelled rows of the test set are held out.
    criterion : {"lee-liu", "difference"} or callable
        ``"lee-liu"``: recall^2 / share. ``"difference"``: recall - share. Or a function of arrays of recall and share.
    one_standard_error : bool
        Whether to take the simplest choice whose score is within one standard error of the best: fewest moments, then the
        largest tolerance, under which fewest multipliers differ from zero. Otherwise the best itself.
    progress : bool or callable
        True for a bar on the error stream.
    pos_label, smoothing, margin, bagging, probability, backend, tol, time_limit, solve_params, random_state
        As in :class:`MomentClassifier`; ``random_state`` shuffles the folds too.

    Attributes
    ----------
    best_params_ : dict
        ``features`` and ``tolerance`` as they were chosen, the tolerance as the multiple, and the ``margin`` they go with.
    best_index_ : int
    best_score_ : float
    cv_results_ : dict of arrays
        One entry for everything tried: ``param_features``, ``param_tolerance``, ``n_moments``, ``mean_recall``,
        ``mean_share``, ``mean_test_score`` (the criterion of these two), its ``standard_error``, ``rank_test_score`` and the
        score of every split. Those of a candidate that has no answer in some fold are NaN.
    one_standard_error_ : float
        The score from which a simpler choice is taken.

    Those of :class:`MomentClassifier` besides.
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
        """Choose features and tolerance, then find the class with all labelled points. See :meth:`MomentClassifier.fit`."""
        self._check_params()
        criterion = _criterion(self.criterion)
        widths = _widths(self.tolerances)
        points, labels, weight = self._checked(X, y, sample_weight)
        known = labels.known if weight is None else labels.known[weight[labels.known] > 0]
        folds = self._folds(points, labels, known)
        n_folds = len(folds)
        tolerance = StandardError(1.0) if self.tolerance is None else self.tolerance
        candidates = self._candidates(points, weight)
        searches: list[Search] = []
        recall = np.full((len(candidates), widths.size, n_folds), np.nan)
        share = recall.copy()
        with shown(self.progress, len(candidates) * n_folds) as tell:
            for number, features in enumerate(candidates):
                search = self._search(points, labels, weight, features=features, tolerance=tolerance)
                for place, fold in enumerate(folds):
                    counts = np.ones(known.size)
                    counts[fold] = 0.0
                    held = known[fold]
                    for step, solution in enumerate(search.along(widths, counts)):
                        with suppress(SolverError):  # what has no answer is not chosen
                            membership = search.read(solution).membership
                            inside = np.average(membership[held] > 0.5, weights=search.prepared.caps[held])
                            recall[number, step, place] = inside
                            share[number, step, place] = share_found(membership, search.unlabelled)
                    tell(number * n_folds + place + 1)
                searches.append(search)
        self._choose(candidates, widths, recall, share, criterion, searches)
        best = divmod(self.best_index_, widths.size)
        self._settle(searches[best[0]].scaled(float(widths[best[1]])), labels)
        return self

    def _folds(self, points: Any, labels: Labels, known: IndexArray) -> list[IndexArray]:
        """Return which of the labelled points each fold holds out."""
        if known.size < 3:
            raise DataError(f"selection needs at least 3 labelled points to hold some out, but there are {known.size}.")
        if isinstance(self.cv, numbers.Integral):
            if int(self.cv) < 2:
                raise OptionError(f"cv must be at least 2 folds, not {self.cv}.")
            random = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            folds = split_folds(known.size, min(int(self.cv), known.size), random)
        else:
            splits = check_cv(self.cv, labels.labelled, classifier=True).split(points, labels.labelled)
            folds = [np.flatnonzero(np.isin(known, test)) for _, test in splits]
            folds = [fold for fold in folds if fold.size]
        if len(folds) < 2:
            raise OptionError(f"cv gives {len(folds)} test set(s) with labelled points: at least 2 are needed.")
        left = known.size - max(fold.size for fold in folds)
        if left < LEAST_LEFT:
            raise OptionError(
                f"cv holds out all but {left} of the {known.size} labelled points in some fold: at least {LEAST_LEFT} must "
                "be left to see how much they differ. Use more folds, stratified ones, or label more points."
            )
        return folds

    def _candidates(self, points: Any, weight: FloatArray | None) -> list[Any]:
        if isinstance(self.features, str) and self.features == "spectral":
            most = n_different(points, weight)
            return list(dict.fromkeys(default_features(most, size) for size in (8, 16, 24)))
        given = [self.features] if isinstance(self.features, (str, FeatureMap)) else list(self.features)
        if not given:
            raise OptionError("features is empty: give at least one feature map to choose from.")
        return given

    def _choose(
        self,
        candidates: list[Any],
        widths: FloatArray,
        recall: FloatArray,
        share: FloatArray,
        criterion: Criterion,
        searches: list[Search],
    ) -> None:
        n_folds = recall.shape[2]
        answered = np.isfinite(recall).all(axis=2).ravel()
        if not answered.any():
            raise SolverError("no candidate has an answer in every fold: loosen the constraints, or try another backend.")
        if not answered.all():
            warnings.warn(
                f"{np.count_nonzero(~answered)} of {answered.size} candidates have no answer in some fold and are left out.",
                FitFailedWarning,
                stacklevel=3,
            )
        # a criterion may make a number of what is none: what has no answer has no score
        scores = np.where(np.isfinite(recall), criterion(recall, share), np.nan).reshape(-1, n_folds)
        mean, error = (np.where(answered, values, np.nan) for values in _jackknife(recall, share, criterion))
        found = recall.mean(axis=2).ravel()
        allowed = may_be_chosen(found, mean)
        if not allowed.any():
            raise OptionError("criterion gives no candidate a finite score: it must return numbers, one for each recall.")
        best = int(np.argmax(np.where(allowed, mean, -np.inf)))
        moments = np.repeat(
            [sum(len(part.fitted.names) for part in search.prepared.parts) for search in searches], widths.size
        )
        width = np.tile(widths, len(candidates))
        self.one_standard_error_ = float(mean[best] - error[best])
        if self.one_standard_error:
            near = np.flatnonzero(allowed & (mean >= self.one_standard_error_))
            best = int(near[np.lexsort((-width[near], moments[near]))[0]])
        self.best_index_, self.best_score_ = best, float(mean[best])
        chosen = searches[best // widths.size]
        self.best_params_ = {
            "features": candidates[best // widths.size],
            "tolerance": float(width[best]),
            "margin": chosen.used_margin,
        }
        named = np.empty(len(candidates), dtype=object)
        named[:] = candidates
        self.cv_results_ = {
            "param_features": np.repeat(named, widths.size),
            "param_tolerance": width,
            "n_moments": moments,
            "mean_recall": found,
            "mean_share": share.mean(axis=2).ravel(),
            "mean_test_score": mean,
            "standard_error": error,
            "rank_test_score": (-mean).argsort(kind="stable").argsort(kind="stable").astype(np.int32) + 1,  # NaN comes last
        } | {f"split{number}_test_score": scores[:, number].copy() for number in range(n_folds)}


def may_be_chosen(recall: FloatArray, score: FloatArray) -> NDArray[np.bool_]:
    """Return which candidates have an answer in every fold, and find half of what is held out or, if none does, the most."""
    scored = np.isfinite(recall) & np.isfinite(score)
    most = recall[scored].max(initial=0.0)
    return np.asarray(scored & (recall >= min(LEAST_RECALL, most)))


def _jackknife(recall: FloatArray, share: FloatArray, criterion: Criterion) -> tuple[FloatArray, FloatArray]:
    """Return the criterion of mean recall and mean share over the folds, and its standard error.

    The mean of the criterion over folds would be ruled by folds that find next to nothing, where the share is tiny.
    """
    n_folds = recall.shape[2]
    whole = np.asarray(criterion(recall.mean(axis=2), share.mean(axis=2)), dtype=np.float64).ravel()
    without = [np.delete(np.arange(n_folds), fold) for fold in range(n_folds)]
    parts = [criterion(recall[..., rest].mean(axis=2), share[..., rest].mean(axis=2)) for rest in without]
    spread = np.array(parts, dtype=np.float64).reshape(n_folds, -1)
    error = np.sqrt((n_folds - 1) / n_folds * ((spread - spread.mean(axis=0)) ** 2).sum(axis=0))
    return whole, error


def _criterion(asked: Any) -> Criterion:
    if callable(asked):
        return asked  # type: ignore[no-any-return]
    if asked not in CRITERIA:
        raise OptionError(f"criterion must be one of {', '.join(map(repr, CRITERIA))} or a function, not {asked!r}.")
    return CRITERIA[asked]


def _widths(tolerances: Any) -> FloatArray:
    widths = np.sort(np.asarray(tolerances, dtype=np.float64).ravel())[::-1]
    if not widths.size or not np.isfinite(widths).all() or widths[-1] < 0:
        raise OptionError(f"tolerances must be finite numbers of at least 0, one or more, not {tolerances!r}.")
    return widths.copy()
