"""The subject of a plot: the points of a Solution or of a fitted estimator, in one form for all plots."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.plots.axes import BLUE, GREY, RED
from momentlp.points.arrays import FloatArray, Matrix
from momentlp.points.validation import as_points, check_columns
from momentlp.solution.solution import Solution

if TYPE_CHECKING:
    from momentlp.estimator import MomentClassifier

__all__ = ["Group", "Subject", "get_classifier", "is_detector"]


@dataclass(frozen=True, eq=False)
class Group:
    """Points that are drawn in the same way.

    Attributes
    ----------
    mask : array of bool, shape (N,)
    name : str
    colour : str
    is_labelled : bool
        Whether these are the labelled points.
    """

    mask: NDArray[np.bool_]
    name: str
    colour: str
    is_labelled: bool = False


@dataclass(frozen=True, eq=False)
class Subject:
    """The points of a plot, and the result for each of them.

    Attributes
    ----------
    points : matrix, shape (N, d)
    columns : tuple of str
        Names of the columns; ``x0``, ``x1``, ... if they have none.
    membership : array, shape (N,)
        The share of each point that is in the class, from 0 to 1, whatever its weight.
    inside : array of bool, shape (N,)
        Which points are in the class.
    score : callable
        A function that scores points, seen or not.
    offset : float
        The score above which a point is in the class.
    groups : tuple of Group
        Every point is in one of them. They are drawn in this order, so the last group is never covered.
    """

    points: Matrix
    columns: tuple[str, ...]
    membership: FloatArray
    inside: NDArray[np.bool_]
    score: Callable[[Any], FloatArray]
    offset: float
    groups: tuple[Group, ...]

    @classmethod
    def from_source(cls, source: Any, X: Any) -> Subject:
        """Read a Solution or a fitted estimator, and its points.

        Raises
        ------
        DataError
            If ``source`` is neither, or X has another shape or other columns.
        """
        if isinstance(source, Solution):
            points, names = _check_points(X, source)
            caps = source.problem.caps
            share = np.clip(source.membership / np.where(caps > 0, caps, 1.0), 0.0, 1.0)
            inside = share > 0.5
            groups = _member_groups(inside, _labelled_mask(source))
            return cls(points, names, share, inside, source.separator.decision_function, 0.0, groups)
        model = get_classifier(source)
        points, names = _check_points(X, model.solution_, getattr(source, "feature_names_in_", None), source.n_features_in_)
        score, offset = _without_name_warning(source.score_samples), float(source.offset_)
        if is_detector(source):
            inside = score(points) >= offset
            groups = _outlier_groups(inside, model.labelled_)
        else:
            inside = model.membership_ > 0.5
            groups = _member_groups(inside, model.labelled_)
        return cls(points, names, model.membership_, inside, score, offset, groups)


def is_detector(model: Any) -> bool:
    """Return whether a model is an outlier detector: it holds a classifier, and may have a cut-off of its own."""
    from momentlp.estimator import MomentOutlierDetector

    return isinstance(model, MomentOutlierDetector)


def get_classifier(model: Any) -> MomentClassifier:
    """Return the fitted classifier of an estimator: itself, or the one inside an outlier detector.

    Raises
    ------
    DataError
        If it is no estimator of this package.
    NotFittedError
        If it was not fitted.
    """
    from sklearn.utils.validation import check_is_fitted

    from momentlp.estimator import MomentClassifier

    if not isinstance(model, MomentClassifier) and not is_detector(model):
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise DataError(
            f"model must be a fitted MomentClassifier, MomentClassifierCV or MomentOutlierDetector, not {given}."
        )
    check_is_fitted(model)
    return model if isinstance(model, MomentClassifier) else model.classifier_


def _member_groups(inside: NDArray[np.bool_], labelled: NDArray[np.bool_]) -> tuple[Group, ...]:
    out, found = Group(~inside & ~labelled, "out", GREY), Group(inside & ~labelled, "found", RED)
    return out, found, Group(labelled, "labelled", BLUE, is_labelled=True)


def _outlier_groups(inside: NDArray[np.bool_], labelled: NDArray[np.bool_]) -> tuple[Group, ...]:
    taken = Group(labelled & inside, "taken as known", BLUE, is_labelled=True)
    return Group(inside & ~labelled, "inlier", GREY), taken, Group(~inside, "outlier", RED)


def _labelled_mask(solution: Solution) -> NDArray[np.bool_]:
    labelled = np.zeros(solution.problem.n_points, dtype=bool)
    if solution.problem.labelled is not None:
        labelled[solution.problem.labelled] = True
    return labelled


def _check_points(
    X: Any, solution: Solution, fitted: Any = None, width: int | None = None
) -> tuple[Matrix, tuple[str, ...]]:
    """Check that X may be the points of the solution; return it with the names of its columns."""
    points, names = as_points(X, "X")
    n_points = solution.problem.n_points
    if points.shape[0] != n_points or points.shape[1] != (width or points.shape[1]):
        wanted = f"{n_points} points" + (f" in {width} column(s)" if width else "")
        raise DataError(f"X has shape {points.shape}, but the answer is for {wanted}: give the points that were searched.")
    known = None if fitted is None else tuple(map(str, fitted))
    check_columns(names, known, "X")
    return points, names or known or tuple(f"x{column}" for column in range(points.shape[1]))


def _without_name_warning(score: Callable[[Any], FloatArray]) -> Callable[[Any], FloatArray]:
    """Return a scoring function without scikit-learn's warning for plain arrays where the model was fitted on a frame."""

    def score_quietly(X: Any) -> FloatArray:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
            return score(X)

    return score_quietly
