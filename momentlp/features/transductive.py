"""Maps whose features depend on all points together, such as a graph of neighbours.

The features of one point are then not a function of that point alone. A sample that is not part of X must be fitted
together with X, and X cannot be read in chunks. Some of these maps also depend on which points are labelled.
"""

from __future__ import annotations

from typing import Any

from momentlp.features.base import FeatureMap, FittedMap
from momentlp.points.arrays import FloatArray, IndexArray, Matrix

__all__ = ["TransductiveMap", "depends_on_labels"]


class TransductiveMap(FeatureMap):
    """Base of maps whose features depend on all points together, and perhaps on which of them are labelled.

    A subclass has the methods of a :class:`~momentlp.FeatureMap`, and usually its own
    :meth:`~momentlp.FeatureMap.training`. If its features depend on the labelled points, it also overrides
    :meth:`depends_on_labels` and :meth:`with_labels`.

    Examples
    --------
    >>> import numpy as np
    >>> import momentlp as mlp
    >>> class Rank(mlp.TransductiveMap):
    ...     kind: str = "rank-example"
    ...
    ...     def learn(self, X, inputs):
    ...         return ("rank",), {"sorted": np.sort(X[:, 0])}
    ...
    ...     def transform(self, X, fitted):
    ...         return np.searchsorted(fitted.state["sorted"], X[:, :1]).astype(float)
    >>> Rank().fit(np.array([[1.0], [2.0], [9.0]]))([[5.0]])
    array([[2.]])
    """

    def needs_all_points(self) -> str | None:
        """Return the names of maps that can be used where X is read in chunks."""
        return "Linear, Quadratic, or Kernel(landmarks=...)"

    def depends_on_labels(self) -> bool:
        """Return whether the features depend on which points are labelled; then :meth:`with_labels` must be called."""
        return False

    def with_labels(
        self,
        fitted: FittedMap,
        known: IndexArray,
        counts: FloatArray,
        *,
        points: Matrix | None = None,
        weights: FloatArray | None = None,
    ) -> FittedMap:
        """Return the fitted map for a set of labelled points.

        Parameters
        ----------
        fitted : FittedMap
            This map after :meth:`~momentlp.FeatureMap.fit`.
        known : array of int, shape (n,)
            Row indices of the labelled points among those that the map was fitted on.
        counts : array, shape (n,)
            How often each labelled point counts.
        points : array or csr_array, shape (N, d), optional
            The points that the map was fitted on.
        weights : array, shape (N,), optional
            How many points each of them stands for; 0 for those of a sample.

        Returns
        -------
        FittedMap
            Its state now holds what depends on the labels.
        """
        return fitted


def depends_on_labels(features: Any) -> bool:
    """Return whether the features of a map depend on which points are labelled."""
    return isinstance(features, TransductiveMap) and features.depends_on_labels()
