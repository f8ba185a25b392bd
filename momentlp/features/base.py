"""The base of feature maps: declared by a :class:`FeatureMap`, and a :class:`FittedMap` once it is fitted to points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import CompileError, DataError
from momentlp.features.chunked_features import ChunkedFeatures
from momentlp.features.state import Shapes, StateArray
from momentlp.kinds import Kind
from momentlp.points.arrays import Matrix
from momentlp.points.chunked import Chunked, evenly_spaced_rows
from momentlp.points.statistics import summarise
from momentlp.points.validation import as_points, check_columns

__all__ = ["FeatureMap", "FittedMap"]


@dataclass(frozen=True)
class FittedMap:
    """A feature map that was fitted to points. Called with new points, it returns their features.

    Attributes
    ----------
    declared : FeatureMap
        The map before it was fitted.
    inputs : tuple of str
        Names of the d columns that a point must have, in order.
    names : tuple of str
        Names of the k features.
    state : mapping of str to array
        What the map learned from the points: plain arrays, so that a saved problem needs no pickle.
    named_inputs : bool
        Whether the user gave the names in ``inputs``. Then a frame of new points must have the same ones.
    model : object, optional
        What the map learned, if that is not plain arrays. A problem that holds one cannot be saved.

    Examples
    --------
    >>> import numpy as np
    >>> import momentlp as mlp
    >>> fitted = mlp.Quadratic().fit(np.array([[1.0, 2.0], [3.0, 4.0]]), ("a", "b"))
    >>> fitted.names
    ('a', 'b', 'a^2', 'a b', 'b^2')
    >>> fitted([[2.0, 5.0]])
    array([[ 2.,  5.,  4., 10., 25.]])
    """

    declared: FeatureMap
    inputs: tuple[str, ...]
    names: tuple[str, ...]
    state: Mapping[str, NDArray[Any]]
    named_inputs: bool = False
    model: Any = None

    def __call__(self, X: Any, argument: str = "X") -> Matrix:
        """Map new points to features.

        Parameters
        ----------
        X : array, sparse matrix or frame, shape (n, d)
        argument : str
            What X is called in an error message.

        Returns
        -------
        array or csr_array, shape (n, k)

        Raises
        ------
        DataError
            If X is not a finite table with the columns that the map was fitted on.
        CompileError
            If the map returns something else than k finite features.
        """
        return self.declared.checked(self.declared.transform(self.check(X, argument), self), self)

    def check(self, X: Any, argument: str = "X") -> Matrix:
        """Check that new points have the columns this map was fitted on, and return them as a matrix.

        Parameters
        ----------
        X : array, sparse matrix or frame, shape (n, d)
        argument : str
            What X is called in an error message.

        Returns
        -------
        array or csr_array, shape (n, d)

        Raises
        ------
        DataError
            If X is not a finite table, or its columns are others.
        """
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
    features and the arrays it must keep, and :meth:`transform`. The decorator :func:`momentlp.feature_map` makes one from
    a function.

    Examples
    --------
    >>> import numpy as np
    >>> import momentlp as mlp
    >>> class Radius(mlp.FeatureMap):
    ...     kind: str = "radius-example"
    ...
    ...     def learn(self, X, inputs):
    ...         return ("radius",), {}
    ...
    ...     def transform(self, X, fitted):
    ...         return np.linalg.norm(X, axis=1, keepdims=True)
    >>> fitted = Radius().fit(np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> fitted([[6.0, 8.0]])
    array([[10.]])
    """

    group: ClassVar[str] = "momentlp.features"
    is_savable: ClassVar[bool] = True
    """Whether a fitted map is plain arrays, so that a problem that holds it can be saved."""

    def needs_all_points(self) -> str | None:
        """Return None if the map works point by point; otherwise name maps to use instead where X is read in chunks.

        A map works point by point if its state and one point are enough to compute the features of that point.
        """
        return None

    def rows_to_learn(self) -> int:
        """Return how many points :meth:`learn` needs where X is read in chunks; they are taken at even distances."""
        return 10_000

    def parts(self) -> tuple[FeatureMap, ...]:
        """Return the maps whose features stand side by side. Each becomes its own block of moments."""
        return (self,)

    def fit(self, X: Matrix, inputs: tuple[str, ...] | None = None) -> FittedMap:
        """Fit the map to points.

        Parameters
        ----------
        X : array or csr_array, shape (N, d)
            Checked points.
        inputs : tuple of str, optional
            Names of the columns; default ``x0, x1, ...``.

        Returns
        -------
        FittedMap

        Raises
        ------
        CompileError
            If :meth:`learn` does not return what it must.
        """
        columns = inputs or tuple(f"x{column}" for column in range(X.shape[1]))
        learned: Any = self.learn(X, columns)
        if not (isinstance(learned, tuple) and len(learned) == 2 and isinstance(learned[1], dict)):
            raise CompileError(f"{type(self).__name__}.learn must return the names of its features and a dict of arrays.")
        names, state = learned
        return FittedMap(self, columns, tuple(names), state, named_inputs=inputs is not None)

    def fit_chunks(self, points: Chunked) -> tuple[FittedMap, Chunked]:
        """Fit the map to points that are read in chunks.

        Parameters
        ----------
        points : Chunked, shape (N, d)

        Returns
        -------
        fitted : FittedMap
        features : Chunked
            The features of the points, computed whenever they are read.

        Raises
        ------
        CompileError
            If the map needs all points at once.
        """
        instead = self.needs_all_points()
        if instead is not None:
            raise CompileError(
                f"{type(self).__name__} needs all points at once, but X is read in chunks: use {instead}, or read X with "
                "numpy.asarray if memory allows."
            )
        sample = evenly_spaced_rows(points, self.rows_to_learn())
        if not np.isfinite(sample).all():
            summarise(points)  # raises an error that names the entry
        fitted = self.fit(sample, points.names)
        return fitted, self.lazily(points, fitted)

    def lazily(self, points: Chunked, fitted: FittedMap) -> Chunked:
        """Return the features of points that are read in chunks, computed whenever they are read.

        Parameters
        ----------
        points : Chunked, shape (N, d)
        fitted : FittedMap
            This map, fitted.

        Returns
        -------
        Chunked, shape (N, k)
        """
        return ChunkedFeatures(points, fitted)

    def titles(self, fitted: FittedMap) -> tuple[str, ...]:
        """Return names of the features of ``fitted`` for tables and plots; files and errors use :attr:`FittedMap.names`."""
        return fitted.names

    @abstractmethod
    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Learn from points what is needed to map others.

        Parameters
        ----------
        X : array or csr_array, shape (N, d)
            Checked points.
        inputs : tuple of str
            Names of the d columns.

        Returns
        -------
        names : tuple of str
            Names of the k features.
        state : dict of str to array
            What :meth:`transform` needs, as plain arrays.

        Raises
        ------
        CompileError
            If the map cannot learn from these points, for example because they are too few.
        """

    @abstractmethod
    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Map points to features.

        Parameters
        ----------
        X : array or csr_array, shape (n, d)
            Checked points.
        fitted : FittedMap
            This map, fitted; ``fitted.state`` holds what :meth:`learn` returned.

        Returns
        -------
        array or csr_array, shape (n, k)

        Raises
        ------
        CompileError
            If the map has no features for these points.
        """

    def training(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the features of the points that the map was fitted on.

        Parameters
        ----------
        X : array or csr_array, shape (N, d)
            The points that the map was fitted on.
        fitted : FittedMap
            This map, fitted.

        Returns
        -------
        array or csr_array, shape (N, k)
        """
        return self.checked(self.transform(X, fitted), fitted)

    def state_layout(self, shapes: Shapes, d: int, k: int) -> Mapping[str, StateArray]:
        """Return the layout of the arrays that :meth:`learn` keeps, so that a file can be checked.

        Parameters
        ----------
        shapes : mapping of str to tuple of int
            The shapes of the arrays in the file.
        d, k : int
            The number of inputs and of features.

        Returns
        -------
        mapping of str to StateArray
            Arrays that are not named here are not checked.
        """
        return {}

    def checked(self, features: Matrix, fitted: FittedMap) -> Matrix:
        """Check what :meth:`transform` returned, so that an error names the map and not the points.

        Parameters
        ----------
        features : array or csr_array, shape (n, k)
        fitted : FittedMap
            This map, fitted.

        Returns
        -------
        array or csr_array, shape (n, k)

        Raises
        ------
        CompileError
            If it is not a finite table with one column per feature.
        """
        try:
            matrix, _ = as_points(features, f"what {type(self).__name__}.transform returned")
        except DataError as error:
            raise CompileError(str(error)) from None
        if matrix.shape[1] != len(fitted.names):
            raise CompileError(
                f"{type(self).__name__}.transform returned {matrix.shape[1]} feature(s), but it named {len(fitted.names)}."
            )
        return matrix
