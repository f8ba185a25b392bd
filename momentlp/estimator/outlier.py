"""MomentOutlierDetector: +1 for inliers and -1 for outliers, as in OneClassSVM."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from momentlp.errors import DataError
from momentlp.estimator.classifier import MomentClassifier
from momentlp.estimator.model_files import load_detector, save_model
from momentlp.features import FeatureMap
from momentlp.points.arrays import FloatArray, IndexArray, Matrix
from momentlp.points.distinct_rows import distinct_rows
from momentlp.points.validation import as_indices
from momentlp.runtime.argument_checks import check_number
from momentlp.spec.constraints import Known
from momentlp.spec.tolerances import Tolerance

__all__ = ["MomentOutlierDetector"]

N_NEIGHBOURS = 5  # for the density of a point, where no inliers are given
SCORE_DECIMALS = 12  # rounding errors must not decide which of several equal points are outliers


class MomentOutlierDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """:class:`MomentClassifier` as an outlier detector: members are +1, all other points -1.

    ``OneClassSVM().fit(inliers).predict(others)`` learns from the inliers only. This detector looks at the other points too:
    ``fit(vstack([inliers, others]), known=range(len(inliers)))``. Without ``known``, the half of the points with the nearest
    neighbours is taken as known inliers.

    Parameters
    ----------
    contamination : float or "auto"
        The share of outliers among the points, above 0 and at most 0.5. ``"auto"`` leaves it to the linear program.
    features, tolerance, constraints, smoothing, margin, backend, tol, time_limit, solve_params
        As in :class:`MomentClassifier`.

    Attributes
    ----------
    offset_ : float
        ``decision_function`` is ``score_samples - offset_``.
    classifier_ : MomentClassifier
        The fitted classifier, with the solution and its certificate.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str, shape (d,)
        Column names of X, if X was a frame.

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
        """Separate inliers from outliers.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (N, d)
        y : ignored
            For compatibility with scikit-learn.
        sample_weight : array, shape (N,), optional
            The number of points that each row stands for.
        known : indices or boolean mask into X, optional
            Rows that are known to be inliers. Default: the densest half of the rows, without those that
            ``Known(negatives=...)`` declares to be outside.

        Returns
        -------
        MomentOutlierDetector
            The detector itself.

        Raises
        ------
        OptionError
            If a parameter cannot be used.
        DataError
            If ``known`` holds no row, or all rows, or a row that is declared to be outside; without ``known``, if all rows
            are equal.
        SolverError
            If no set of points meets the constraints, or the backend proved no answer.

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> X = np.append(np.linspace(0.0, 1.0, 30), 9.0)[:, None]
        >>> detector = mlp.MomentOutlierDetector(0.03, "linear").fit(X, known=range(10))
        >>> detector.classifier_.solution_.certificate.holds()
        True
        """
        share = _check_contamination(self.contamination)
        points = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, points, dtype=np.float64)
        mass = np.ones(points.shape[0]) if weight is None else weight
        labels = np.zeros(points.shape[0], dtype=int)
        outside = self._declared_outside()
        labels[_guess_inliers(points, mass, outside) if known is None else _check_known(known, mass, outside)] = 1
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "contamination"}
        is_frame = hasattr(self, "feature_names_in_") and hasattr(X, "columns")
        self.classifier_ = MomentClassifier(**parameters).fit(X if is_frame else points, labels, weight)
        self.offset_ = self.classifier_.offset_
        if share is not None:
            self.offset_ = _weighted_quantile(self.score_samples(X)[mass > 0], mass[mass > 0], share)
        return self

    def _declared_outside(self) -> IndexArray:
        """Return the rows that a ``Known`` constraint declares to be outliers."""
        negatives = [constraint.negatives for constraint in self.constraints if isinstance(constraint, Known)]
        return np.unique(np.concatenate([np.zeros(0), *negatives])).astype(np.intp)

    def score_samples(self, X: Any) -> FloatArray:
        """Score points, seen or not: outliers score lower.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (n, d)

        Returns
        -------
        array, shape (n,)

        Raises
        ------
        NotFittedError
            If the detector was not fitted.

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> X = np.append(np.linspace(0.0, 1.0, 30), 9.0)[:, None]
        >>> detector = mlp.MomentOutlierDetector(0.03, "linear").fit(X, known=range(10))
        >>> score = detector.score_samples([[0.1], [9.0]])
        >>> bool(score[0] > score[1])
        True
        """
        check_is_fitted(self)
        points = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.round(self.classifier_.rule_.score(points), SCORE_DECIMALS)

    def decision_function(self, X: Any) -> FloatArray:
        """Return ``score_samples(X) - offset_``: below zero for outliers.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (n, d)

        Returns
        -------
        array, shape (n,)

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> X = np.append(np.linspace(0.0, 1.0, 30), 9.0)[:, None]
        >>> detector = mlp.MomentOutlierDetector(0.03, "linear").fit(X, known=range(10))
        >>> (detector.decision_function([[0.1], [9.0]]) < 0).tolist()
        [False, True]
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return +1 for inliers and -1 for outliers.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (n, d)

        Returns
        -------
        array of int, shape (n,)

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> X = np.append(np.linspace(0.0, 1.0, 30), 9.0)[:, None]
        >>> detector = mlp.MomentOutlierDetector(0.03, "linear").fit(X, known=range(10))
        >>> detector.predict([[0.1], [9.0]]).tolist()
        [1, -1]
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def save(self, path: str | Path) -> None:
        """Write the fitted detector to one file of plain arrays. Reading the file cannot run code.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        FileFormatError
            If a parameter cannot be saved without a pickle, such as a function.

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> X = np.append(np.linspace(0.0, 1.0, 30), 9.0)[:, None]
        >>> detector = mlp.MomentOutlierDetector(0.03, "linear").fit(X, known=range(10))
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     detector.save(f"{folder}/detector.npz")
        ...     loaded = mlp.MomentOutlierDetector.load(f"{folder}/detector.npz")
        >>> loaded.predict([[9.0]]).tolist()
        [-1]
        """
        check_is_fitted(self)
        save_model(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a detector that :meth:`save` wrote. The certificate is computed again from what the file holds.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        MomentOutlierDetector

        Raises
        ------
        FileFormatError
            If the file is damaged, or holds something else.

        Examples
        --------
        >>> import numpy as np, momentlp as mlp
        >>> X = np.append(np.linspace(0.0, 1.0, 30), 9.0)[:, None]
        >>> detector = mlp.MomentOutlierDetector(0.03, "linear").fit(X, known=range(10))
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     detector.save(f"{folder}/detector.npz")
        ...     loaded = mlp.MomentOutlierDetector.load(f"{folder}/detector.npz")
        >>> loaded.predict([[9.0]]).tolist()
        [-1]
        """
        detector: Self = load_detector(cls, MomentClassifier, Path(path))
        return detector

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _check_contamination(value: Any) -> float | None:
    """Return the share of outliers, or None for ``"auto"``."""
    if isinstance(value, str) and value == "auto":
        return None
    return check_number("contamination", value, above=0, maximum=0.5, hint="Use 'auto' to leave it to the linear program.")


def _check_known(known: Any, weight: FloatArray, outside: IndexArray) -> IndexArray:
    """Check the rows that are known to be inliers; return their indices."""
    chosen = as_indices(known, weight.size, "known")
    if not weight[chosen].any():
        raise DataError("known holds no row that has a weight: at least one inlier must be known.")
    if not np.delete(weight, chosen).any():
        raise DataError("known holds every row of X: none is left to be judged. Add the other points to X.")
    if (both := np.intersect1d(chosen, outside)).size:
        raise DataError(
            f"known holds row {both[0]}, but a constraint declares it to be outside: remove it from one of them."
        )
    return chosen


def _guess_inliers(points: Matrix, weight: FloatArray, outside: IndexArray) -> IndexArray:
    """Return the rows to take as known inliers, where none are given. Rows declared to be outside are left out."""
    weight = weight.copy()
    n_weighted = np.count_nonzero(weight)
    weight[outside[outside < weight.size]] = 0.0  # the constraint itself raises an error for rows that do not exist
    if not weight.any():
        raise DataError("no row of X has a weight and may be an inlier: at least one row must be a possible inlier.")
    chosen = _densest_half(points, weight)
    if chosen.size == n_weighted:
        raise DataError(
            "all rows of X are equal: none has nearer neighbours than another. Say with known= which are inliers."
        )
    return chosen


def _densest_half(points: Matrix, weight: FloatArray) -> IndexArray:
    """Return the rows with the nearest neighbours that make up half of the weight. Equal rows count as one point."""
    counted = np.flatnonzero(weight > 0)
    first, group = distinct_rows(points[counted])
    if first.size < 2:
        return counted
    finder = NearestNeighbors(n_neighbors=min(N_NEIGHBOURS, first.size - 1)).fit(points[counted][first])
    distance = finder.kneighbors()[0].mean(axis=1)
    order = np.argsort(distance, kind="stable")
    mass = np.cumsum(np.bincount(group, weight[counted])[order])
    dense = np.zeros(first.size, dtype=bool)
    dense[order[: int(np.searchsorted(mass, mass[-1] / 2)) + 1]] = True
    return np.asarray(counted[dense[group]])


def _weighted_quantile(scores: FloatArray, weight: FloatArray, share: float) -> float:
    """Return the score below which a share of the points lies, where each row stands for as many points as it weighs.

    For weights of one this is ``numpy.quantile``.
    """
    order = np.argsort(scores, kind="stable")
    first = np.cumsum(weight[order]) - weight[order]  # position of the first point of each row, counted from 0
    last = first + np.maximum(weight[order] - 1, 0.0)
    position = share * (weight.sum() - 1)
    corners, heights = np.column_stack([first, last]).ravel(), np.repeat(scores[order], 2)
    return float(np.interp(position, corners, heights))
