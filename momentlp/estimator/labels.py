"""Two values of y: which stands for labelled members, and which for points of which nothing is known."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.points.arrays import FloatArray, IndexArray

__all__ = ["Labels"]


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a fit.

    Attributes
    ----------
    classes : array, shape (2,)
        Both values, sorted.
    positive : int
        Which of them marks the labelled members.
    labelled : array of bool, shape (N,)
    """

    classes: NDArray[Any]
    positive: int
    labelled: NDArray[np.bool_]

    @classmethod
    def of(cls, y: NDArray[Any], weight: FloatArray, pos_label: Any = None) -> Labels:
        """Read the labels, or say why they cannot be used.

        Parameters
        ----------
        y : array, shape (N,)
            Two values.
        weight : array, shape (N,)
            Points of weight zero do not count.
        pos_label : scalar, optional
            The value of labelled members. Default: the larger one.
        """
        from sklearn.utils.multiclass import check_classification_targets, type_of_target

        check_classification_targets(y)
        kind = type_of_target(y)
        classes = np.unique(y[weight > 0])
        if kind not in ("binary", "multiclass") or classes.size > 2:
            shown = ", ".join(str(value) for value in classes[:5].tolist()) + (", ..." if classes.size > 5 else "")
            raise DataError(
                f"Only binary classification is supported. The type of the target is {kind}. y must hold one value for "
                f"labelled members and one for all other points, but it holds {classes.size} different values: {shown}."
            )
        if pos_label is not None and pos_label not in classes.tolist():
            raise DataError(
                f"pos_label is {pos_label!r}, but y holds {_shown(classes)}: no point is labelled. Give the value that "
                "marks the labelled members."
            )
        if classes.size < 2:
            positive = pos_label is not None or _looks_positive(classes)
            lacking = "no unlabelled points among which to find the class" if positive else "no labelled points"
            raise DataError(
                f"y holds one class only, {_shown(classes)}: there are {lacking}. Mark labelled members with one value and "
                "all other points with another."
            )
        position = 1 if pos_label is None else classes.tolist().index(pos_label)
        labels = cls(classes, position, np.asarray(y == classes[position]))
        if pos_label is None and classes.dtype.kind not in "biuf":
            labels._warn_if_many(weight)
        return labels

    @property
    def known(self) -> IndexArray:
        """The places of the labelled members."""
        return np.flatnonzero(self.labelled)

    def named(self, inside: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the label of each point from whether it is in the class."""
        return np.asarray(self.classes[np.where(inside, self.positive, 1 - self.positive)])

    def _warn_if_many(self, weight: FloatArray) -> None:
        """Ask whether words were taken the wrong way round: which comes later in the alphabet says nothing of the two.

        Numbers pass in silence: 1 beside 0 is no accident, and scikit-learn's own checks mark half of all rows or more.
        """
        counted = weight > 0
        if weight[self.labelled].sum() <= weight.sum() / 2:
            return
        member, other = self.classes.tolist()[self.positive], self.classes.tolist()[1 - self.positive]
        warnings.warn(
            f"{np.count_nonzero(self.labelled & counted)} of {np.count_nonzero(counted)} rows are marked as members "
            f"({member!r}, the larger label): if {other!r} marks them, say pos_label={other!r}.",
            UserWarning,
            stacklevel=5,
        )


def _looks_positive(classes: NDArray[Any]) -> bool:
    return classes.size == 1 and classes.dtype.kind in "biuf" and bool(classes[0] > 0)


def _shown(classes: NDArray[Any]) -> str:
    return " and ".join(repr(value) for value in classes.tolist()) or "nothing"
