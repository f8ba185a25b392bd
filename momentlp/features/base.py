"""Feature maps: which functions of a point have their mean fixed.

A :class:`FeatureMap` is the declaration; fitting it to points gives a :class:`FittedMap`, which can map points never seen
before, so that the separating hyperplane answers for them too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from numpy.typing import NDArray

from momentlp.arrays import Matrix, as_points
from momentlp.errors import DataError
from momentlp.kinds import Kind

__all__ = ["FeatureMap", "FittedMap", "Linear"]


@dataclass(frozen=True)
class FittedMap:
    """A feature map after it has seen its points.

    Attributes
    ----------
    declared : FeatureMap
        What it was fitted from.
    inputs : tuple of str
        Names of the columns that a point must have, in order.
    names : tuple of str
        Names of the features it gives.
    state : mapping of str to array
        Whatever the map learned from the points: plain arrays, so that a saved problem needs no pickle.
    named_inputs : bool
        Whether ``inputs`` are names the user gave. Then a frame of new points must carry the same ones.
    """

    declared: FeatureMap
    inputs: tuple[str, ...]
    names: tuple[str, ...]
    state: Mapping[str, NDArray[Any]]
    named_inputs: bool = False

    def __call__(self, X: Any, argument: str = "X") -> Matrix:
        """Map points to features, shape (n, k)."""
        return self.declared.transform(self.check(X, argument), self)

    def check(self, X: Any, argument: str = "X") -> Matrix:
        """Check that new points have the columns this map was fitted on."""
        matrix, names = as_points(X, argument)
        if matrix.shape[1] != len(self.inputs):
            raise DataError(
                f"{argument} has {matrix.shape[1]} column(s), but the feature map was fitted on {len(self.inputs)}."
            )
        if names is not None and self.named_inputs and names != self.inputs:
            differing = next(pair for pair in zip(names, self.inputs, strict=True) if pair[0] != pair[1])
            raise DataError(
                f"{argument} has column {differing[0]!r} where {differing[1]!r} is expected. "
                "Give the same columns in the same order."
            )
        return matrix


class FeatureMap(Kind):
    """Base of all feature maps.

    A map of your own is a subclass with a ``kind`` and two methods: :meth:`learn`, which returns the names of its
    features and the arrays it wants to remember, and :meth:`transform`.
    """

    group: ClassVar[str] = "momentlp.features"

    def fit(self, X: Matrix, inputs: tuple[str, ...] | None = None) -> FittedMap:
        """Fit to checked points. ``inputs`` are their column names, if they have any."""
        columns = inputs or tuple(f"x{column}" for column in range(X.shape[1]))
        names, state = self.learn(X, columns)
        return FittedMap(self, columns, tuple(names), state, named_inputs=inputs is not None)

    @abstractmethod
    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Return the names of the features, and what must be remembered to map new points."""

    @abstractmethod
    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Map checked points, shape (n, d), to features, shape (n, k)."""


class Linear(FeatureMap):
    """The features are the columns of X themselves: a class cut off by a plane in the space it lives in.

    Examples
    --------
    >>> import numpy as np
    >>> fitted = Linear().fit(np.array([[1.0, 2.0]]), ("width", "height"))
    >>> fitted.names
    ('width', 'height')
    """

    kind: Literal["linear"] = "linear"

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Remember nothing: a column keeps its name."""
        return inputs, {}

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the points as they are."""
        return X
