"""How points are scaled for classifiers and graphs that use distances or sums of columns; trees take them as they are.

Dense columns become normal scores: each value is replaced by the normal quantile of its rank, and the column is divided by
its standard deviation. So neither units nor heavy tails matter, and a column of zeros and ones stays one of two values.
Sparse rows, counts or TF-IDF, become the logarithm of one plus the entry and get length one, which keeps them sparse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.features.bagging.normal_scores import NormalScores
from momentlp.features.state import Shapes, StateArray
from momentlp.points.arrays import FloatArray, Matrix, is_sparse
from momentlp.points.distinct_rows import distinct_rows

__all__ = ["Scaling"]

MAX_ROWS = 20_000  # from which the ranks are learned, evenly spread over all rows
MAX_LEVELS = 256  # that are kept of each column


@dataclass(frozen=True, eq=False)
class Scaling:
    """The scaling of points.

    Attributes
    ----------
    levels, scores : array, shape (d, q), or None
        For each column, values in increasing order and the scaled values that they become; between them a value is
        interpolated. Columns with fewer different values repeat the last one. None for sparse points.
    """

    levels: FloatArray | None
    scores: FloatArray | None

    @classmethod
    def of(cls, X: Matrix) -> Scaling:
        """Learn the scaling from points, shape (N, d)."""
        if is_sparse(X):
            return cls(None, None)
        distinct = X[distinct_rows(X)[0]]  # so that repeated points do not matter
        rows = distinct[:: max(1, -(-distinct.shape[0] // MAX_ROWS))]
        columns = [_normal_scores(np.asarray(rows[:, j], dtype=np.float64)) for j in range(X.shape[1])]
        q = max(column.levels.size for column in columns)
        return cls(*(np.array([_pad(getattr(column, name), q) for column in columns]) for name in ("levels", "quantiles")))

    @property
    def n_columns(self) -> int:
        """The number of columns; 0 for sparse points."""
        return 0 if self.levels is None else int(self.levels.shape[0])

    @property
    def gamma(self) -> float:
        """The coefficient of an RBF kernel for scaled points: 1 over the number of columns; 1 for rows of length 1."""
        return 1.0 / self.n_columns if self.n_columns else 1.0

    def __call__(self, X: Matrix) -> Matrix:
        """Return scaled points."""
        if self.levels is not None and self.scores is not None:
            dense = X.toarray() if is_sparse(X) else X
            scaled = np.empty(dense.shape)
            for j, (levels, scores) in enumerate(zip(self.levels, self.scores, strict=True)):
                scaled[:, j] = np.interp(dense[:, j], levels, scores)
            return scaled
        rows = sp.csr_array(X, dtype=np.float64, copy=True)
        rows.data = np.sign(rows.data) * np.log1p(np.abs(rows.data))
        length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        return sp.csr_array(sp.diags_array(1.0 / np.where(length > 0, length, 1.0)) @ rows)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the scaling as plain arrays for the state of a map."""
        if self.levels is None or self.scores is None:
            return {}
        return {"scaling.levels": self.levels, "scaling.scores": self.scores}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Scaling:
        """Return the scaling that :meth:`state` took apart."""
        return cls(state.get("scaling.levels"), state.get("scaling.scores"))

    @staticmethod
    def layout(shapes: Shapes, d: int) -> dict[str, StateArray]:
        """Return the layout of the arrays in a file; nothing for sparse points."""
        if "scaling.levels" not in shapes:
            return {}
        shape = (d, shapes["scaling.levels"][-1])
        return {f"scaling.{name}": StateArray(shape, finite=True) for name in ("levels", "scores")}


def _pad(values: FloatArray, size: int) -> FloatArray:
    """Return values followed by repetitions of the last one."""
    return np.concatenate([values, np.full(size - values.size, values[-1])])


def _normal_scores(column: FloatArray) -> NormalScores:
    """Return the normal scores of one column, divided by their standard deviation."""
    normal = NormalScores.of(column, np.ones(column.size), max_levels=MAX_LEVELS)
    scores = normal(column)
    spread = float(scores.std())
    return NormalScores(normal.levels, (normal.quantiles - float(scores.mean())) / (spread if spread > 0 else 1.0))
