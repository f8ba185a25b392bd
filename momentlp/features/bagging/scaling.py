"""How points are scaled for classifiers that use distances or sums of columns; trees take them as they are.

Dense columns are standardised, since they come in any unit. Sparse rows, counts or TF-IDF, become the logarithm of one plus
the entry and get length one, which keeps them sparse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, Matrix, is_sparse
from momentlp.points.statistics import column_spread

__all__ = ["Scaling"]


@dataclass(frozen=True, eq=False)
class Scaling:
    """The scaling of points.

    Attributes
    ----------
    centre, unit : array, shape (d,), or None
        What is subtracted from every column, and what it is divided by then; None for sparse points.
    """

    centre: FloatArray | None
    unit: FloatArray | None

    @classmethod
    def of(cls, X: Matrix) -> Scaling:
        """Learn the scaling from points, shape (N, d)."""
        return cls(None, None) if is_sparse(X) else cls(X.mean(axis=0), column_spread(X))

    @property
    def gamma(self) -> float:
        """The coefficient of an RBF kernel for scaled points: 1 over the number of columns; 1 for rows of length 1."""
        return 1.0 if self.centre is None else 1.0 / self.centre.size

    def __call__(self, X: Matrix) -> Matrix:
        """Return scaled points."""
        if self.centre is not None and self.unit is not None:
            return ((X.toarray() if is_sparse(X) else X) - self.centre) / self.unit
        rows = sp.csr_array(X, dtype=np.float64, copy=True)
        rows.data = np.sign(rows.data) * np.log1p(np.abs(rows.data))
        length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        return sp.csr_array(sp.diags_array(1.0 / np.where(length > 0, length, 1.0)) @ rows)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the scaling as plain arrays for the state of a map."""
        return {} if self.centre is None or self.unit is None else {"scaling.centre": self.centre, "scaling.unit": self.unit}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Scaling:
        """Return the scaling that :meth:`state` took apart."""
        return cls(state.get("scaling.centre"), state.get("scaling.unit"))
