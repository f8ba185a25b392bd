"""The columns of X themselves, and all their pairwise products."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Literal

import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import CompileError
from momentlp.features.base import FeatureMap, FittedMap
from momentlp.features.state import Shapes, StateArray
from momentlp.points.arrays import FloatArray, Matrix, is_sparse
from momentlp.points.chunked import Chunked
from momentlp.points.statistics import column_spread

__all__ = ["Linear", "Quadratic"]

TIMES = "\N{MULTIPLICATION SIGN}"
MAX_MOMENTS = 50_000  # of a quadratic map: about 300 columns; 3000 columns would make 4.5 million moments


class Linear(FeatureMap):
    """The columns of X themselves: for a class that a hyperplane in the space of the points separates.

    Parameters
    ----------
    standardise : bool
        Divide each column by its standard deviation over the points, so that one tolerance suits all of them. Columns
        are not centred: the mean of the class is subtracted anyway, and sparse columns stay sparse.

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
        """Keep the standard deviation of each column if it is needed."""
        return inputs, {"spread": column_spread(X)} if self.standardise else {}

    def rows_to_learn(self) -> int:
        """Return 0 unless standard deviations are needed."""
        return super().rows_to_learn() if self.standardise else 0

    def lazily(self, points: Chunked, fitted: FittedMap) -> Chunked:
        """Return the points themselves if they are not standardised."""
        return super().lazily(points, fitted) if self.standardise else points

    def state_layout(self, shapes: Shapes, d: int, k: int) -> Mapping[str, StateArray]:
        """Return the layout of the standard deviations if the map keeps them."""
        return {"spread": StateArray((d,))} if self.standardise else {}

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the points, divided by the standard deviations if asked for."""
        return _divide_columns(X, fitted.state["spread"]) if self.standardise else X


class Quadratic(FeatureMap):
    """The columns and all their pairwise products, each once: for a Gaussian class.

    The moments then fix the mean and the covariance of the class.

    Parameters
    ----------
    standardise : bool
        Divide each feature, column or product, by its standard deviation over the points.

    Raises
    ------
    CompileError
        When fitted, if d columns would make more than 50,000 moments; there are ``d (d + 3) / 2``.

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
        """Name the products, and keep the standard deviation of each feature if it is needed."""
        d = len(inputs)
        if (n_moments := d * (d + 3) // 2) > MAX_MOMENTS:
            raise CompileError(
                f"Quadratic makes {n_moments:,} moments of {d:,} columns, and more than {MAX_MOMENTS:,} are too many: "
                "give fewer columns, such as PCA(50).fit_transform(X), or use another map, such as mlp.Transformer(PCA(50)) "
                "or mlp.Kernel(landmarks=200)."
            )
        products = self._products(X[:1]).get_feature_names_out(list(inputs))
        state = {"spread": column_spread(self._expand(X))} if self.standardise else {}
        return tuple(str(name) for name in products), state

    def titles(self, fitted: FittedMap) -> tuple[str, ...]:
        """Return the names in ``fitted`` with a multiplication sign in each product: names of columns may hold spaces."""
        pairs = combinations_with_replacement(fitted.inputs, 2)  # in the order of scikit-learn
        return (*fitted.inputs, *(f"{one}^2" if one == other else f"{one} {TIMES} {other}" for one, other in pairs))

    def rows_to_learn(self) -> int:
        """Return 1, for the names, unless standard deviations are needed."""
        return super().rows_to_learn() if self.standardise else 1

    def state_layout(self, shapes: Shapes, d: int, k: int) -> Mapping[str, StateArray]:
        """Return the layout of the standard deviations if the map keeps them."""
        return {"spread": StateArray((d * (d + 3) // 2,))} if self.standardise else {}

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return columns and products, divided by the standard deviations if asked for."""
        features = self._expand(X)
        return _divide_columns(features, fitted.state["spread"]) if self.standardise else features

    def _products(self, X: Matrix) -> Any:
        from sklearn.preprocessing import PolynomialFeatures

        return PolynomialFeatures(degree=2, include_bias=False).fit(X)

    def _expand(self, X: Matrix) -> Matrix:
        features = self._products(X[:1]).transform(X)
        return sp.csr_array(features) if is_sparse(features) else features


def _divide_columns(features: Matrix, divisors: FloatArray) -> Matrix:
    """Divide each column by a number; a sparse matrix stays sparse."""
    inverse = 1.0 / divisors
    return sp.csr_array(features @ sp.diags_array(inverse)) if is_sparse(features) else features * inverse
