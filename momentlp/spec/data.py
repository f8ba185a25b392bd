"""The points that a spec is compiled with, as constraints see them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from momentlp.errors import CompileError
from momentlp.features import FeatureMap, FittedMap
from momentlp.points.arrays import FloatArray, IndexArray, Matrix
from momentlp.points.chunked import Chunked

__all__ = ["Data"]


@dataclass(frozen=True, eq=False)
class Data:
    """The points that a spec is compiled with, as a constraint sees them.

    The points may be dense, sparse, or read in chunks; :meth:`column` works for all three.

    Attributes
    ----------
    points : array, csr_array or Chunked, shape (N, d)
    columns : tuple of str, or None
        The names of the columns of ``points``, if they have names.
    present : array of int, or None
        The indices of the points with a positive weight, if some have none: feature maps learn from these alone.

    Examples
    --------
    >>> data = Data(np.array([[1.0, 5.0], [2.0, 6.0]]), columns=("a", "b"))
    >>> data.n_points, data.column("b", "my constraint")
    (2, array([5., 6.]))
    """

    points: Matrix
    columns: tuple[str, ...] | None = None
    present: IndexArray | None = None

    @property
    def n_points(self) -> int:
        """N, the number of points."""
        return int(self.points.shape[0])

    def column(self, name: str | int, owner: str) -> FloatArray:
        """Return one column of the points, whether they are dense, sparse or read in chunks.

        Parameters
        ----------
        name : str or int
            The name of the column, or its position from 0. Columns without names are called ``x0``, ``x1``, ...
        owner : str
            Who asks, for the error message.

        Returns
        -------
        array, shape (N,)

        Raises
        ------
        CompileError
            If there is no such column.

        Examples
        --------
        >>> Data(np.array([[1.0, 5.0], [2.0, 6.0]])).column("x1", "my constraint")
        array([5., 6.])
        """
        names = self.columns or tuple(f"x{number}" for number in range(self.points.shape[1]))
        if name in names:
            position = names.index(str(name))
        elif isinstance(name, int) and 0 <= name < len(names):
            position = name
        else:
            raise CompileError(f"{owner} names column {name!r}, but the points have {', '.join(names[:8])}.")
        if isinstance(self.points, Chunked):
            return self.points.column(position)
        values = self.points[:, [position]]
        return np.ravel(values.toarray() if sp.issparse(values) else values).astype(np.float64)

    def fit(self, part: FeatureMap) -> tuple[FittedMap, Matrix | Chunked]:
        """Fit a feature map to the points with a positive weight, and return it with the features of all points.

        Parameters
        ----------
        part : FeatureMap
            One map, not a ``Concat``.

        Returns
        -------
        fitted : FittedMap
        features : array, csr_array or Chunked, shape (N, k)

        Raises
        ------
        CompileError
            If the map cannot be fitted to these points.

        Examples
        --------
        >>> import momentlp as mlp
        >>> fitted, features = Data(np.array([[1.0], [2.0]])).fit(mlp.Quadratic())
        >>> fitted.names, features.tolist()
        (('x0', 'x0^2'), [[1.0, 1.0], [2.0, 4.0]])
        """
        if isinstance(self.points, Chunked):
            return part.fit_chunks(self.points)
        rows = self.points if self.present is None else self.points[self.present]
        fitted = part.fit(rows, self.columns)
        features = part.training(rows, fitted)
        return fitted, self.completed(features, fitted)

    def completed(self, features: Matrix, fitted: FittedMap) -> Matrix:
        """Return the features of all points, given the features of the points with a positive weight.

        Parameters
        ----------
        features : array or csr_array, shape (n, k)
            The features of the n points in ``present``, or of all points if that is None.
        fitted : FittedMap
            Maps the other points.

        Returns
        -------
        array or csr_array, shape (N, k)
        """
        if self.present is None:
            return features
        absent = np.setdiff1d(np.arange(self.n_points), self.present)
        others = fitted(self.points[absent])
        order = np.argsort(np.concatenate([self.present, absent]), kind="stable")
        together = [features, others]
        return (sp.vstack(together, format="csr") if sp.issparse(others) else np.vstack(together))[order]
