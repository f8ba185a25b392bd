"""The outlier view: +1 for members, -1 for the rest, for those who come from OneClassSVM."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from momentlp.errors import DataError, OptionError
from momentlp.estimator.classifier import MomentClassifier
from momentlp.estimator.model_files import load_detector, save_model
from momentlp.features import FeatureMap
from momentlp.points.arrays import FloatArray, IndexArray, Matrix
from momentlp.points.distinct_rows import distinct_rows
from momentlp.points.validation import as_indices
from momentlp.spec.constraints import Known
from momentlp.spec.tolerances import Tolerance

__all__ = ["MomentOutlierDetector"]

NEIGHBOURS = 5
DIGITS = 12  # of scores: where points score alike, rounding is not to tell which are outliers


class MomentOutlierDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """:class:`MomentClassifier` as an outlier detector: members are +1, all other points -1.

    Where ``OneClassSVM().fit(inliers).predict(pile)`` learns from the inliers alone, this looks at the pile as well:
    ``fit(vstack([inliers, pile]), known=range(len(inliers)))``. Without ``known`` the half of the points with the nearest
    neighbours stands for the inliers.

    Parameters
    ----------
    contamination : float or "auto"
        The share of the points, up to one half, that shall be outliers; ``"auto"`` leaves it to the linear program.
    features, tolerance, constraints, smoothing, margin, backend, tol, time_limit, solve_params
        As in :class:`MomentClassifier`.

    Attributes
    ----------
    offset_ : float
        ``decision_function`` is ``score_samples`` less this.
    classifier_ : MomentClassifier
        What was fitted, with the solution and its certificate.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np, momentlp as mlp
    >>> random = np.random.default_rng(0)
    >>> X = np.vstack([random.normal(size=(95, 2)), random.uniform(6, 9, size=(5, 2))])
    >>> mlp.MomentOutlierDetector(contamination=0.05).fit_predict(X)[-5:].tolist()
    [-1, -1, -1, -1, -1]
    """

    def __init__(
        self,
        contamination: float | str = "auto",
        features: FeatureMap | str = "spectral",
        tolerance: Tolerance | float | None = None,
        constraints: Any = (),
        *,
        smoothing: float | str | None = "auto",
        margin: float | str = "auto",
        backend: Any = "auto",
        tol: float = 1e-7,
        time_limit: float | None = None,
        solve_params: Mapping[str, Any] | None = None,
    ) -> None:
        self.contamination = contamination
        self.features = features
        self.tolerance = tolerance
        self.constraints = constraints
        self.smoothing = smoothing
        self.margin = margin
        self.backend = backend
        self.tol = tol
        self.time_limit = time_limit
        self.solve_params = solve_params

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, known: Any = None) -> Self:
        """Tell inliers from outliers.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (N, d)
        y : ignored
        sample_weight : array, shape (N,), optional
            How many points each row stands for.
        known : indices or boolean mask into X, optional
            Rows that are known to be inliers. Without them the densest half stands for the inliers, rows that
            ``Known(negatives=...)`` says are outside left out.

        Raises
        ------
        DataError
            If ``known`` holds no row, or all of them, or one that is known to be outside; without it, if all rows are equal.
        """
        share = _share(self.contamination)
        points = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, points, dtype=np.float64)
        mass = np.ones(points.shape[0]) if weight is None else weight
        labels = np.zeros(points.shape[0], dtype=int)
        outside = self._outside()
        labels[_guess(points, mass, outside) if known is None else _known(known, mass, outside)] = 1
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "contamination"}
        named = hasattr(self, "feature_names_in_") and hasattr(X, "columns")
        self.classifier_ = MomentClassifier(**parameters).fit(X if named else points, labels, weight)
        self.offset_ = self.classifier_.offset_
        if share is not None:
            self.offset_ = _quantile(self.score_samples(X)[mass > 0], mass[mass > 0], share)
        return self

    def _outside(self) -> IndexArray:
        """Return the rows that a constraint says are outliers."""
        negatives = [each.negatives for each in self.constraints if isinstance(each, Known)]
        return np.unique(np.concatenate([np.zeros(0), *negatives])).astype(np.intp)

    def score_samples(self, X: Any) -> FloatArray:
        """Score points, seen or not: the lower, the more of an outlier."""
        check_is_fitted(self)
        points = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.round(self.classifier_.rule_.score(points), DIGITS)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of points less ``offset_``: below zero for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return +1 for inliers and -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def save(self, path: str | Path) -> None:
        """Write the fitted detector to one file of plain arrays: nothing in it can run code when it is read."""
        check_is_fitted(self)
        save_model(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a detector that :meth:`save` wrote. The certificate is computed anew from what the file holds."""
        detector: Self = load_detector(cls, MomentClassifier, Path(path))
        return detector

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _share(contamination: Any) -> float | None:
    if isinstance(contamination, str) and contamination == "auto":
        return None
    number = isinstance(contamination, numbers.Real) and not isinstance(contamination, bool)
    if not number or not 0 < float(contamination) <= 0.5:
        raise OptionError(f"contamination must be a share above 0 and up to 0.5, or 'auto', not {contamination!r}.")
    return float(contamination)


def _known(known: Any, weight: FloatArray, outside: IndexArray) -> IndexArray:
    """Check the rows that are known to be inliers."""
    chosen = as_indices(known, weight.size, "known")
    if not weight[chosen].any():
        raise DataError("known holds no row that has a weight: there is nothing to say what an inlier is.")
    if not np.delete(weight, chosen).any():
        raise DataError("known holds every row of X: none is left to be told an inlier or an outlier. Add the pile to X.")
    if (both := np.intersect1d(chosen, outside)).size:
        raise DataError(f"known holds row {both[0]}, but a constraint says that it is outside: leave it out of one of them.")
    return chosen


def _guess(points: Matrix, weight: FloatArray, outside: IndexArray) -> IndexArray:
    """Return the rows that stand for the inliers where none are known; those known to be outside are not asked."""
    weight = weight.copy()
    total = np.count_nonzero(weight)
    weight[outside[outside < weight.size]] = 0.0  # rows that are not there are an error of the constraint's own
    if not weight.any():
        raise DataError("no row of X has a weight and may be an inlier: there is nothing to say what an inlier is.")
    chosen = _densest(points, weight)
    if chosen.size == total:
        raise DataError("all rows of X are equal: none has nearer neighbours than another. Say by known= which are inliers.")
    return chosen


def _densest(points: Matrix, weight: FloatArray) -> IndexArray:
    """Return the rows with the nearest neighbours that make up half of the weight; equal rows count as one point."""
    counted = np.flatnonzero(weight > 0)
    first, place = distinct_rows(points[counted])
    if first.size < 2:
        return counted
    finder = NearestNeighbors(n_neighbors=min(NEIGHBOURS, first.size - 1)).fit(points[counted][first])
    distance = finder.kneighbors()[0].mean(axis=1)
    order = np.argsort(distance, kind="stable")
    mass = np.cumsum(np.bincount(place, weight[counted])[order])
    dense = np.zeros(first.size, dtype=bool)
    dense[order[: int(np.searchsorted(mass, mass[-1] / 2)) + 1]] = True
    return np.asarray(counted[dense[place]])


def _quantile(scores: FloatArray, weight: FloatArray, share: float) -> float:
    """Return the score below which that share of the points lies, where each row is as many points as it weighs."""
    order = np.argsort(scores, kind="stable")
    place = np.cumsum(weight[order]) - weight[order]  # rows before each, as percentile counts them
    last = place + np.maximum(weight[order] - 1, 0.0)
    at = share * (weight.sum() - 1)
    corners, heights = np.column_stack([place, last]).ravel(), np.repeat(scores[order], 2)
    return float(np.interp(at, corners, heights))
