"""A projection on the first principal directions, where a graph of many points in many columns would take minutes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.features.state import Shapes, StateArray
from momentlp.points.arrays import FloatArray, Matrix, is_sparse

__all__ = ["Projection"]

MAX_PRODUCTS = 5e10  # N^2 times the entries of a row: with more, neighbours are searched for in the projection
N_DIRECTIONS = 50


@dataclass(frozen=True, eq=False)
class Projection:
    """A linear map to fewer columns, or the identity.

    Attributes
    ----------
    directions : array, shape (d, k), or None
        The principal directions, without subtracting a mean: distances do not depend on it. None for the identity.
    """

    directions: FloatArray | None

    @classmethod
    def of(cls, X: Matrix) -> Projection:
        """Return the identity for a small table, and the projection on 50 directions for a large one."""
        n, d = X.shape
        width = max(1.0, X.nnz / n) if is_sparse(X) else float(d)
        if n * n * width <= MAX_PRODUCTS or d <= N_DIRECTIONS or n <= N_DIRECTIONS:
            return cls(None)
        from sklearn.utils.extmath import randomized_svd

        directions = randomized_svd(X, N_DIRECTIONS, n_iter=4, random_state=0)[2].T
        return cls(np.ascontiguousarray(directions))

    def __call__(self, X: Matrix) -> Matrix:
        """Return projected points."""
        return X if self.directions is None else np.asarray(X @ self.directions)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the projection as plain arrays for the state of a map."""
        return {} if self.directions is None else {"projection.directions": self.directions}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Projection:
        """Return the projection that :meth:`state` took apart."""
        return cls(state.get("projection.directions"))

    @staticmethod
    def layout(shapes: Shapes, d: int) -> dict[str, StateArray]:
        """Return the layout of the arrays in a file; nothing for the identity."""
        if "projection.directions" not in shapes:
            return {}
        return {"projection.directions": StateArray((d, shapes["projection.directions"][-1]), finite=True)}
