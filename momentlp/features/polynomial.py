"""Columns as they are, and all their products: a plane, and a surface of the second order."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Literal

import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import CompileError
from momentlp.features.base import FeatureMap, FittedMap
from momentlp.points.arrays import Matrix, is_sparse
from momentlp.points.chunked import Chunked
from momentlp.points.statistics import column_spread

__all__ = ["Linear", "Quadratic"]

TIMES = "\N{MULTIPLICATION SIGN}"
MOST_MOMENTS = 50_000  # of a quadratic map: 300 columns or so; 3000 would make 4.5 million, which no memory holds


class Linear(FeatureMap):
    """The features are the columns of X themselves: a class cut off by a plane in the space it lives in.

    Parameters
    ----------
    standardise : bool
        Divide each column by its standard deviation over the points, so that one tolerance suits all of them. (There is
        nothing to centre: the mean of the class is subtracted anyway, and sparse columns stay sparse.)

    Examples
    --------
    >>> import numpy as np
    >>> fitted = Linear().fit(np.array([[1.0, 2.0]]), ("width", "height"))
    >>> fitted.names
    ('width', 'height')
    """

    kind: Literal["linear"] = "linear"
    standardise: bool = False

    if TYPE_CHECKING:

        def __init__(self, standardise: bool = False) -> None: ...

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Remember the spread of each column, if it is to be divided by."""
        return inputs, {"spread": column_spread(X)} if self.standardise else {}

    def rows_to_learn(self) -> int:
        """Return none, unless the spread is to be known."""
        return super().rows_to_learn() if self.standardise else 0

    def lazily(self, points: Chunked, fitted: FittedMap) -> Chunked:
        """Return the points themselves where nothing is to be done with them."""
        return super().lazily(points, fitted) if self.standardise else points

    def state_shapes(self, shapes: Mapping[str, tuple[int, ...]], d: int, k: int) -> Mapping[str, tuple[int, ...]]:
        """Return the shape of the spread."""
        return {"spread": (k,)} if self.standardise else {}

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the points, divided by the spread if so asked."""
        if not self.standardise:
            return X
        inverse = 1.0 / fitted.state["spread"]
        return sp.csr_array(X @ sp.diags_array(inverse)) if is_sparse(X) else X * inverse


class Quadratic(FeatureMap):
    """The columns and all their pairwise products, each once: fixes mean and covariance, as for a Gaussian class.

    Parameters
    ----------
    standardise : bool
        Divide each feature, product or not, by its standard deviation over the points.

    Raises
    ------
    CompileError
        When compiled with so many columns d that there would be more than 50,000 of the ``d (d + 3) / 2`` moments.

    Examples
    --------
    >>> import numpy as np
    >>> Quadratic().fit(np.ones((3, 2)), ("a", "b")).names
    ('a', 'b', 'a^2', 'a b', 'b^2')
    """

    kind: Literal["quadratic"] = "quadratic"
    standardise: bool = False

    if TYPE_CHECKING:

        def __init__(self, standardise: bool = False) -> None: ...

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Name the products, and remember the spread of each feature if it is to be divided by."""
        wide = len(inputs)
        if (moments := wide * (wide + 3) // 2) > MOST_MOMENTS:
            raise CompileError(
                f"Quadratic makes {moments:,} moments of {wide:,} columns, and more than {MOST_MOMENTS:,} are too many: "
                "give fewer columns, such as PCA(50).fit_transform(X), or use another map, such as mlp.Transformer(PCA(50)) "
                "or mlp.Kernel(landmarks=200)."
            )
        products = self._products(X[:1]).get_feature_names_out(list(inputs))
        state = {"spread": column_spread(self._expand(X))} if self.standardise else {}
        return tuple(str(name) for name in products), state

    def titles(self, fitted: FittedMap) -> tuple[str, ...]:
        """Set a sign between the factors of a product: the names of columns may have spaces of their own."""
        pairs = combinations_with_replacement(fitted.inputs, 2)  # in the order in which scikit-learn has them
        return (*fitted.inputs, *(f"{one}^2" if one == other else f"{one} {TIMES} {other}" for one, other in pairs))

    def rows_to_learn(self) -> int:
        """Return one, for the names, unless the spread is to be known."""
        return super().rows_to_learn() if self.standardise else 1

    def state_shapes(self, shapes: Mapping[str, tuple[int, ...]], d: int, k: int) -> Mapping[str, tuple[int, ...]]:
        """Return the shape of the spread."""
        return {"spread": (k,)} if self.standardise else {}

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return columns and products, divided by the spread if so asked."""
        features = self._expand(X)
        if not self.standardise:
            return features
        inverse = 1.0 / fitted.state["spread"]
        return sp.csr_array(features @ sp.diags_array(inverse)) if is_sparse(features) else features * inverse

    def _products(self, X: Matrix) -> Any:
        from sklearn.preprocessing import PolynomialFeatures

        return PolynomialFeatures(degree=2, include_bias=False).fit(X)

    def _expand(self, X: Matrix) -> Matrix:
        features = self._products(X[:1]).transform(X)
        return sp.csr_array(features) if is_sparse(features) else features
