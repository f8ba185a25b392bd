"""The labels y of a fit: one value for labelled members, another for unlabelled points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.runtime.warn_caller import warn_caller

__all__ = ["Labels"]

MAX_VALUES_SHOWN = 5  # values of y that a message lists


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a fit.

    Attributes
    ----------
    classes : array, shape (2,)
        Both values of y, sorted.
    positive : int
        The position in ``classes`` of the value that marks labelled members.
    labelled : array of bool, shape (N,)
        Which rows are labelled members.
    """

    classes: NDArray[Any]
    positive: int
    labelled: NDArray[np.bool_]

    @classmethod
    def from_y(cls, y: NDArray[Any], weight: FloatArray, pos_label: Any = None) -> Labels:
        """Read the labels.

        Parameters
        ----------
        y : array, shape (N,)
            Two values.
        weight : array, shape (N,)
            Rows of weight 0 do not count.
        pos_label : scalar, optional
            The value of labelled members. Default: the larger value.

        Raises
        ------
        DataError
            If y does not hold two values, or ``pos_label`` is not one of them.
        """
        from sklearn.utils.multiclass import check_classification_targets, type_of_target

        check_classification_targets(y)
        kind = type_of_target(y)
        classes = np.unique(y[weight > 0])
        if kind not in ("binary", "multiclass") or classes.size > 2:
            values = ", ".join(str(value) for value in classes[:MAX_VALUES_SHOWN].tolist())
            dots = ", ..." if classes.size > MAX_VALUES_SHOWN else ""
            raise DataError(
                f"Only binary classification is supported. The type of the target is {kind}. y must hold one value for "
                f"labelled members and one for all other points, but it holds {classes.size} different values: "
                f"{values}{dots}."
            )
        if pos_label is not None and pos_label not in classes.tolist():
            raise DataError(
                f"pos_label is {pos_label!r}, but y holds {_format_classes(classes)}: no point is labelled. Give the value "
                "that marks the labelled members."
            )
        if classes.size < 2:
            positive = pos_label is not None or _looks_positive(classes)
            missing = "no unlabelled points among which to find the class" if positive else "no labelled points"
            if pos_label is None and classes.dtype.kind not in "biuf":
                missing = "either no labelled points or no unlabelled ones"
            if np.unique(y).size > 1:
                raise DataError(
                    f"all rows whose sample_weight is above 0 have the same label, {_format_classes(classes)}: there are "
                    f"{missing}. Give the others a weight too."
                )
            raise DataError(
                f"y holds one class only, {_format_classes(classes)}: there are {missing}. Mark labelled members with one "
                "value and all other points with another."
            )
        position = 1 if pos_label is None else classes.tolist().index(pos_label)
        labels = cls(classes, position, np.asarray(y == classes[position]))
        if pos_label is None and classes.dtype.kind not in "biuf":
            labels._warn_if_most_are_labelled(weight)
        return labels

    @property
    def known(self) -> IndexArray:
        """The row indices of the labelled members."""
        return np.flatnonzero(self.labelled)

    def to_y(self, inside: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the label of each point from whether it is in the class."""
        return np.asarray(self.classes[np.where(inside, self.positive, 1 - self.positive)])

    def _warn_if_most_are_labelled(self, weight: FloatArray) -> None:
        """Warn if more than half of the rows count as labelled: the two words may have been exchanged.

        The default takes the word that comes later in the alphabet, which says nothing about its meaning. Numbers give no
        warning: 1 beside 0 is clear, and scikit-learn's own checks mark half of all rows or more.
        """
        counted = weight > 0
        if weight[self.labelled].sum() <= weight.sum() / 2:
            return
        member, other = self.classes.tolist()[self.positive], self.classes.tolist()[1 - self.positive]
        warn_caller(
            f"{np.count_nonzero(self.labelled & counted)} of {np.count_nonzero(counted)} rows are marked as members "
            f"({member!r}, the larger label). If {other!r} marks the members, use pos_label={other!r}; if {member!r} does, "
            f"pos_label={member!r} says so.",
            UserWarning,
        )


def _looks_positive(classes: NDArray[Any]) -> bool:
    return classes.size == 1 and classes.dtype.kind in "biuf" and bool(classes[0] > 0)


def _format_classes(classes: NDArray[Any]) -> str:
    return " and ".join(repr(value) for value in classes.tolist()) or "nothing"
