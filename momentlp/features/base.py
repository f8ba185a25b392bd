"""Feature maps: which functions of a point have their mean fixed.

A :class:`FeatureMap` is the declaration; fitting it to points gives a :class:`FittedMap`, which can map points never seen
before, so that the separating hyperplane answers for them too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import CompileError, DataError
from momentlp.features.chunked_features import ChunkedFeatures
from momentlp.kinds import Kind
from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_sparse
from momentlp.points.chunked import Chunked, evenly_spaced_rows
from momentlp.points.statistics import summarise
from momentlp.points.validation import as_points, check_columns

__all__ = ["FeatureMap", "FittedMap", "pack_matrix", "unpack_matrix"]

PARTS = ("data", "indices", "indptr")


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
    model : object, optional
        What it learned, where that is not plain arrays. A problem that holds one cannot be saved.
    """

    declared: FeatureMap
    inputs: tuple[str, ...]
    names: tuple[str, ...]
    state: Mapping[str, NDArray[Any]]
    named_inputs: bool = False
    model: Any = None

    def __call__(self, X: Any, argument: str = "X") -> Matrix:
        """Map new points to features, shape (n, k)."""
        return self.declared.checked(self.declared.transform(self.check(X, argument), self), self)

    def check(self, X: Any, argument: str = "X") -> Matrix:
        """Check that new points have the columns this map was fitted on."""
        matrix, names = as_points(X, argument)
        if matrix.shape[1] != len(self.inputs):
            raise DataError(
                f"{argument} has {matrix.shape[1]} column(s), but the feature map was fitted on {len(self.inputs)}."
            )
        check_columns(names, self.inputs if self.named_inputs else None, argument)
        return matrix


class FeatureMap(Kind):
    """Base of all feature maps.

    A map of your own is a subclass with a ``kind`` and two methods: :meth:`learn`, which returns the names of its
    features and the arrays it wants to remember, and :meth:`transform`. (:func:`momentlp.feature_map` makes one from a
    function.)
    """

    group: ClassVar[str] = "momentlp.features"
    joint: ClassVar[bool] = False
    """Whether a sample that is not part of X is fitted together with X, as it must be for a map that is a graph."""

    def needs_all_points(self) -> str | None:
        """Say what to use instead if this map needs all points at once; None if it works point by point.

        Point by point: what it learned and one point are enough for the features of that point. Only then can it map points
        that are read in chunks.
        """
        return "Linear, Quadratic, or Kernel(landmarks=...)" if self.joint else None

    def rows_to_learn(self) -> int:
        """Say how many points are enough to learn from, where they are read in chunks; they are taken at regular steps."""
        return 10_000

    def parts(self) -> tuple[FeatureMap, ...]:
        """Return the maps whose features stand side by side; each becomes a block of moments of its own."""
        return (self,)

    def fit(self, X: Matrix, inputs: tuple[str, ...] | None = None) -> FittedMap:
        """Fit to checked points. ``inputs`` are their column names, if they have any."""
        columns = inputs or tuple(f"x{column}" for column in range(X.shape[1]))
        learned: Any = self.learn(X, columns)
        if not (isinstance(learned, tuple) and len(learned) == 2 and isinstance(learned[1], dict)):
            raise CompileError(f"{type(self).__name__}.learn must return the names of its features and a dict of arrays.")
        names, state = learned
        return FittedMap(self, columns, tuple(names), state, named_inputs=inputs is not None)

    def fit_chunks(self, points: Chunked) -> tuple[FittedMap, Chunked]:
        """Fit to points that are read in chunks, and return their features, which are computed when they are needed."""
        instead = self.needs_all_points()
        if instead is not None:
            raise CompileError(
                f"{type(self).__name__} needs all points at once, but X is read in chunks: use {instead}, or read X with "
                "numpy.asarray if memory allows."
            )
        sample = evenly_spaced_rows(points, self.rows_to_learn())
        if not np.isfinite(sample).all():
            summarise(points)  # which says where
        fitted = self.fit(sample, points.names)
        return fitted, self.lazily(points, fitted)

    def lazily(self, points: Chunked, fitted: FittedMap) -> Chunked:
        """Return the features of points that are read in chunks."""
        return ChunkedFeatures(points, fitted)

    def titles(self, fitted: FittedMap) -> tuple[str, ...]:
        """Return the names of the features as tables and pictures show them; names in files and errors stay as they are."""
        return fitted.names

    @abstractmethod
    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Return the names of the features, and what must be remembered to map new points."""

    @abstractmethod
    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Map checked points, shape (n, d), to features, shape (n, k)."""

    def training(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the features of the very points that the map was fitted on."""
        return self.checked(self.transform(X, fitted), fitted)

    def depends_on_labels(self) -> bool:
        """Whether the features depend on which points are labelled; then :meth:`with_labels` says which."""
        return False

    def with_labels(self, fitted: FittedMap, known: IndexArray, counts: FloatArray) -> FittedMap:
        """Return the fitted map once it is known which of its points are members, and how often each counts."""
        return fitted

    def smooth(self, values: FloatArray, fitted: FittedMap, restart: float) -> FloatArray | None:
        """Average values, one for each point the map was fitted on, over neighbourhoods; None if the map knows of none.

        The smaller ``restart`` the wider the neighbourhood: 1 leaves the values as they are.
        """
        return None

    def interpolate(self, values: FloatArray, X: Matrix, fitted: FittedMap) -> FloatArray:
        """Return at new points what :meth:`smooth` gave at those the map was fitted on."""
        raise NotImplementedError

    def state_shapes(self, shapes: Mapping[str, tuple[int, ...]], d: int, k: int) -> Mapping[str, tuple[int, ...]]:
        """Return the shape that each array of the state must have, given those in a file, d inputs and k features."""
        return {}

    def checked(self, features: Matrix, fitted: FittedMap) -> Matrix:
        """Check what :meth:`transform` returned, so that a mistake in a map of your own is named as such."""
        try:
            matrix, _ = as_points(features, f"what {type(self).__name__}.transform returned")
        except DataError as error:
            raise CompileError(str(error)) from None
        if matrix.shape[1] != len(fitted.names):
            raise CompileError(
                f"{type(self).__name__}.transform returned {matrix.shape[1]} feature(s), but it named {len(fitted.names)}."
            )
        return matrix


def pack_matrix(matrix: Matrix, key: str) -> dict[str, NDArray[Any]]:
    """Return a matrix, dense or sparse, as plain arrays for the state of a map."""
    if not is_sparse(matrix):
        return {key: np.asarray(matrix)}
    matrix = sp.csr_array(matrix)
    return {f"{key}.{part}": getattr(matrix, part) for part in PARTS} | {f"{key}.shape": np.array(matrix.shape)}


def unpack_matrix(state: Mapping[str, NDArray[Any]], key: str) -> Matrix:
    """Return a matrix that :func:`pack_matrix` took apart."""
    if key in state:
        return state[key]
    return sp.csr_array(tuple(state[f"{key}.{part}"] for part in PARTS), shape=tuple(state[f"{key}.shape"]))
