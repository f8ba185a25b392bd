"""The moment matrix A, kept as the features it came from and a small affine map.

A block of moments is::

    A = (Phi - 1 a^T) T + 1 t^T          (N x m)

with Phi the features (N x k, dense or sparse), ``a`` their origin (the class mean), T a k x m matrix and t a shift per
moment. Centring, scaling, and the doubled rows of a relative tolerance all live in (a, T, t), so Phi is never copied or
doubled and sparse features stay sparse. The two products that a certificate needs are::

    A y   = (Phi - 1 a^T)(T y) + (t . y) 1        A^T h = T^T (Phi - 1 a^T)^T h + t sum(h)

For dense features the origin is subtracted chunk by chunk before multiplying: a feature such as a time stamp, large
against its own spread, would otherwise lose every digit to cancellation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from momentlp.arrays import FloatArray, IndexArray, Matrix, is_sparse

if TYPE_CHECKING:
    from momentlp.features import FittedMap

__all__ = ["MomentBlock", "MomentMatrix"]

CHUNK_BYTES = 1 << 20  # a chunk of centred features that stays in cache


@dataclass(frozen=True, eq=False)
class MomentBlock:
    """Moments that share one feature matrix, with the bounds ``lower <= A^T h <= upper``.

    Attributes
    ----------
    features : array or csr_array, shape (N, k)
        Phi, as it came.
    origin : array, shape (k,)
        The mean that is subtracted from Phi.
    transform : csc_array of shape (k, m), or None
        T; ``None`` stands for the identity.
    shift, lower, upper : array, shape (m,)
    names : tuple of str
        One per moment.
    fitted : FittedMap or None
        Maps new points to features; ``None`` where the features are all there is.
    """

    features: Matrix
    origin: FloatArray
    transform: Any
    shift: FloatArray
    lower: FloatArray
    upper: FloatArray
    names: tuple[str, ...]
    fitted: FittedMap | None = None

    @property
    def n_points(self) -> int:
        """N."""
        return int(self.features.shape[0])

    @property
    def n_moments(self) -> int:
        """The number of moments in this block."""
        return len(self.names)

    @cached_property
    def constant(self) -> FloatArray:
        """What every point has in common, ``t - T^T a``: the part of A that makes sparse features dense."""
        return self.shift - self._pull(self.origin)

    def forward(self, y: FloatArray) -> FloatArray:
        """Return A y, one number per point."""
        direction = self._push(y)
        level = float(self.shift @ y)
        if is_sparse(self.features):
            return np.asarray(self.features @ direction - self.origin @ direction + level, dtype=np.float64)
        result = np.empty(self.n_points)
        for rows in self._chunks():
            result[rows] = (self.features[rows] - self.origin) @ direction + level
        return result

    def adjoint(self, h: FloatArray) -> FloatArray:
        """Return A^T h, one number per moment."""
        total = float(h.sum())
        if is_sparse(self.features):
            pulled = np.asarray(self.features.T @ h - self.origin * total, dtype=np.float64)
        else:
            pulled = np.zeros(self.origin.size)
            for rows in self._chunks():
                pulled += h[rows] @ (self.features[rows] - self.origin)
        return self._pull(pulled) + self.shift * total

    def rows(self, points: IndexArray | slice) -> FloatArray:
        """Return the rows of A that belong to some points, dense."""
        chosen = self.features[points]
        if is_sparse(chosen):
            chosen = chosen.toarray()
        result = np.asarray(chosen - self.origin, dtype=np.float64)
        if self.transform is not None:
            diagonal = _diagonal(self.transform)
            if diagonal is not None:
                result *= diagonal
            else:
                result = np.asarray(result @ self.transform, dtype=np.float64)
        if self.shift.any():
            result += self.shift
        return result

    def linear_part(self) -> Any:
        """Return Phi T as a csr_array: A without its constant, for features that are sparse."""
        if self.transform is None:
            return sp.csr_array(self.features, dtype=np.float64)
        return sp.csr_array(self.features @ self.transform, dtype=np.float64)

    def scale(self) -> FloatArray:
        """Return the largest absolute entry of each column of A."""
        if is_sparse(self.features):
            part = self.linear_part().tocsc()
            high = np.ravel(part.max(axis=0).toarray()) + self.constant
            low = np.ravel(part.min(axis=0).toarray()) + self.constant
            return np.asarray(np.maximum(np.abs(high), np.abs(low)), dtype=np.float64)
        largest = np.zeros(self.n_moments)
        for rows in self._chunks():
            chunk = self.rows(rows)
            np.maximum(largest, np.maximum(chunk.max(axis=0), -chunk.min(axis=0)), out=largest)
        return largest

    def scaled(self, factors: FloatArray) -> MomentBlock:
        """Multiply every moment, and its bounds, by a factor of its own."""
        diagonal = sp.csc_array(sp.diags_array(factors))
        transform = diagonal if self.transform is None else sp.csc_array(self.transform @ diagonal)
        return replace(
            self,
            transform=transform,
            shift=self.shift * factors,
            lower=self.lower * factors,
            upper=self.upper * factors,
        )

    def _push(self, y: FloatArray) -> FloatArray:
        return y if self.transform is None else np.asarray(self.transform @ y, dtype=np.float64)

    def _pull(self, v: FloatArray) -> FloatArray:
        return v if self.transform is None else np.asarray(self.transform.T @ v, dtype=np.float64)

    def _chunks(self) -> Iterator[slice]:
        step = max(1, CHUNK_BYTES // (8 * max(1, self.origin.size)))
        return (slice(start, start + step) for start in range(0, self.n_points, step))


class MomentMatrix(LinearOperator):  # type: ignore[misc]  # scipy ships no types
    """All moments side by side: the N x m matrix A of a problem, as an operator.

    ``A @ y`` and ``A.T @ h`` cost one pass over the features and allocate nothing of size N x m; ``toarray()`` (or
    ``numpy.asarray``) writes the matrix out.
    """

    def __init__(self, blocks: tuple[MomentBlock, ...]) -> None:
        self.blocks = blocks
        self._cuts = np.cumsum([block.n_moments for block in blocks])[:-1]
        super().__init__(np.dtype(np.float64), (blocks[0].n_points, sum(block.n_moments for block in blocks)))

    def _matvec(self, y: FloatArray) -> FloatArray:
        parts = np.split(np.ravel(y).astype(np.float64, copy=False), self._cuts)
        products = [block.forward(part) for block, part in zip(self.blocks, parts, strict=True)]
        return np.asarray(np.sum(products, axis=0), dtype=np.float64)

    def _rmatvec(self, h: FloatArray) -> FloatArray:
        flat = np.ravel(h).astype(np.float64, copy=False)
        return np.concatenate([block.adjoint(flat) for block in self.blocks])

    def rows(self, points: IndexArray | slice) -> FloatArray:
        """Return the rows of A that belong to some points, dense."""
        return np.hstack([block.rows(points) for block in self.blocks])

    def scale(self) -> FloatArray:
        """Return the largest absolute entry of each column."""
        return np.concatenate([block.scale() for block in self.blocks])

    def toarray(self) -> FloatArray:
        """Write the matrix out, dense."""
        return self.rows(slice(None))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.toarray(), dtype=dtype)


def _diagonal(transform: Any) -> FloatArray | None:
    """Return the diagonal of a square transform that has nothing else, or None."""
    size = transform.shape[0]
    if transform.shape[1] != size or transform.nnz > size:
        return None
    diagonal: FloatArray = transform.diagonal()
    return diagonal if np.count_nonzero(diagonal) == transform.count_nonzero() else None
