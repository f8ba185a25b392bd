"""The moment matrix A, kept as the features it came from and a small affine map.

A block of moments is::

    A = (Phi - 1 a^T) T + 1 t^T          (N x m)

with Phi the features (N x k, dense or sparse), ``a`` their origin (the class mean), T a k x m matrix and t a shift per
moment. Centring, scaling, and the doubled rows of a relative tolerance all live in (a, T, t), so Phi is never copied or
doubled and sparse features stay sparse. The two products that a certificate needs are::

    A y   = (Phi - 1 a^T)(T y) + (t . y) 1        A^T h = T^T (Phi - 1 a^T)^T h + t sum(h)

For dense features the origin is subtracted chunk by chunk before multiplying: a feature such as a time stamp, large
against its own spread, would otherwise lose every digit to cancellation.

Features may also be read in chunks (:class:`~momentlp.points.chunked.Chunked`), because there are more than memory holds. Then
everything that needs all points is a pass over the chunks, :meth:`MomentMatrix.scan`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_sparse
from momentlp.points.chunked import Chunked, load_in_memory

if TYPE_CHECKING:
    from momentlp.features import FittedMap
    from momentlp.problem.moment_matrix import MomentMatrix

__all__ = ["MomentBlock"]

CHUNK_BYTES = 1 << 20  # a chunk of centred features that stays in cache
SAMPLED_ROWS = 500  # as many rows tell the typical size of a moment

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class MomentBlock:
    """Moments that share one feature matrix, with the bounds ``lower <= A^T h <= upper``.

    Attributes
    ----------
    features : array, csr_array or Chunked, shape (N, k)
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
    labels : tuple of str
        Names of the features, where the block keeps their mean near ``origin``.
    width : array of shape (k,), or None
        How near: the tolerance of each feature.
    widens : {"sum", "mean"} or None
        Whether that tolerance is on the sum of deviations or on the mean; None for the rows of a constraint.
    fixed : bool
        Whether the tolerance is that of a constraint, which a path along the tolerance leaves alone.
    """

    features: Matrix
    origin: FloatArray
    transform: Any
    shift: FloatArray
    lower: FloatArray
    upper: FloatArray
    names: tuple[str, ...]
    fitted: FittedMap | None = None
    labels: tuple[str, ...] = ()
    width: FloatArray | None = None
    tolerance_on: Literal["sum", "mean"] | None = None
    fixed: bool = False

    @classmethod
    def near(
        cls,
        features: Matrix,
        mean: FloatArray,
        width: FloatArray,
        *,
        labels: tuple[str, ...],
        tolerance_on: Literal["sum", "mean"],
        fitted: FittedMap | None = None,
    ) -> MomentBlock:
        """Return the rows that keep a mean near its target.

        On the sum: ``-width <= sum (phi - mean) h <= width``. On the mean: ``sum (phi - mean - width) h <= 0`` and
        ``sum (phi - mean + width) h >= 0``, all built from the one feature matrix by a selection of its columns; a width
        of zero gives a single equation.
        """
        if tolerance_on == "sum" or not (width > 0).any():
            rows: dict[str, Any] = {"transform": None, "shift": np.zeros(width.size), "lower": -width, "upper": width.copy()}
            return cls(
                features, mean, names=labels, fitted=fitted, labels=labels, width=width, tolerance_on=tolerance_on, **rows
            )
        loose = np.flatnonzero(width > 0)
        columns = np.concatenate([np.arange(width.size), loose])
        high = [f"{label}:high" if value > 0 else label for label, value in zip(labels, width, strict=True)]
        return cls(
            features,
            mean,
            transform=sp.csc_array(
                (np.ones(columns.size), (columns, np.arange(columns.size))), shape=(width.size, columns.size)
            ),
            shift=np.concatenate([-width, width[loose]]),
            lower=np.concatenate([np.where(width > 0, -np.inf, 0.0), np.zeros(loose.size)]),
            upper=np.concatenate([np.zeros(width.size), np.full(loose.size, np.inf)]),
            names=(*high, *(f"{labels[column]}:low" for column in loose)),
            fitted=fitted,
            labels=labels,
            width=width,
            tolerance_on=tolerance_on,
        )

    def with_uniform_tolerance(self, width: float) -> MomentBlock:
        """Return the block with one tolerance for all its features; the rows of a constraint stay as they are."""
        return self._with_width(np.full(self.origin.size, width))

    def with_tolerance(self, value: float, *, relative: bool = False) -> MomentBlock:
        """Return the block with another tolerance: the same for all its features, or its own times a number.

        That of a constraint stays as it is.
        """
        if self.fixed:
            return self
        return (
            self._with_width(value * self.width)
            if relative and self.width is not None
            else self.with_uniform_tolerance(value)
        )

    def _with_width(self, width: FloatArray) -> MomentBlock:
        if self.tolerance_on is None:
            return self
        block = MomentBlock.near(
            self.features, self.origin, width, labels=self.labels, tolerance_on=self.tolerance_on, fitted=self.fitted
        )
        block = replace(block, fixed=self.fixed) if self.fixed else block
        if "_extent" in self.__dict__:  # the features are the same: no need to look at them again
            block.__dict__["_extent"] = self._extent
        return block

    @property
    def n_points(self) -> int:
        """N."""
        return int(self.features.shape[0])

    @property
    def counts_alike(self) -> bool:
        """Whether all points have the same row, as in a bound on the size: sparse features without a single entry."""
        return is_sparse(self.features) and not self.features.nnz

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
        if isinstance(self.features, Chunked):
            return self._as_matrix().matvec(y)
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
        if isinstance(self.features, Chunked):
            return self._as_matrix().rmatvec(h)
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
        features = load_in_memory(self.features, "writing the moments out")
        if self.transform is None:
            return sp.csr_array(features, dtype=np.float64)
        return sp.csr_array(features @ self.transform, dtype=np.float64)

    def largest(self) -> FloatArray:
        """Return the largest absolute entry of each moment; 1 for one that is zero throughout."""
        low, high = self._range
        size = np.maximum(np.abs(high), np.abs(low))
        return np.where(size > 0, size, 1.0)

    @cached_property
    def _range(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest entry of each moment."""
        if is_sparse(self.features):
            part = self.linear_part().tocsc()
            low, high = (np.ravel(extreme.toarray()) + self.constant for extreme in (part.min(axis=0), part.max(axis=0)))
            return low, high
        if self.transform is None or np.diff(sp.csc_array(self.transform).indptr).max(initial=0) <= 1:
            # Rounding keeps the order of numbers, so the least and the largest entry of a feature give those of a moment
            # that is made of it alone.
            ends = replace(self, features=self._extent).rows(slice(None))
            return ends.min(axis=0), ends.max(axis=0)
        if isinstance(self.features, Chunked):
            lows, highs = zip(*self._as_matrix().scan(_range_of), strict=True)
            return np.min(lows, axis=0), np.max(highs, axis=0)
        low, high = np.full(self.n_moments, np.inf), np.full(self.n_moments, -np.inf)
        for rows in self._chunks():
            chunk = self.rows(rows)
            np.minimum(low, chunk.min(axis=0), out=low)
            np.maximum(high, chunk.max(axis=0), out=high)
        return low, high

    @cached_property
    def _extent(self) -> NDArray[np.floating[Any]]:
        """The least and the largest entry of each feature, in two rows; chunks were seen when they were first looked at."""
        if isinstance(self.features, Chunked):
            return np.vstack([self.features.summary.low, self.features.summary.high])
        return np.vstack([self.features.min(axis=0), self.features.max(axis=0)])

    def columns(self, moments: IndexArray) -> FloatArray:
        """Return some columns of A, dense."""
        if isinstance(self.features, Chunked):
            return self._as_matrix().columns(moments)
        if self.transform is None and not is_sparse(self.features):
            return np.asarray(self.features[:, moments] - self.origin[moments] + self.shift[moments], dtype=np.float64)
        if is_sparse(self.features):
            return np.asarray(self.linear_part().tocsc()[:, moments].toarray() + self.constant[moments], dtype=np.float64)
        transform = sp.csc_array(self.transform[:, moments])
        return np.asarray((self.features - self.origin) @ transform + self.shift[moments], dtype=np.float64)

    def typical(self) -> FloatArray:
        """Return the typical size of the entries of each moment: the median of those that are not zero; 1 if all are.

        Where one point is an outlier, the largest entry says nothing about the others. Dense features are sampled at regular
        steps, which is enough for an order of magnitude.
        """
        if is_sparse(self.features):
            part = self.linear_part().tocsc()
            columns = [np.abs(part.data[part.indptr[j] : part.indptr[j + 1]]) for j in range(part.shape[1])]
            sizes = [column[column > 0] for column in columns]
            typical = np.array(
                [np.median(size) if size.size else abs(c) for size, c in zip(sizes, self.constant, strict=True)]
            )
        else:
            sample = np.abs(self.rows(slice(None, None, max(1, self.n_points // SAMPLED_ROWS))))
            typical = _medians(sample)
            missed = typical == 0
            if missed.any() and isinstance(self.features, Chunked):
                typical[missed] = self.largest()[missed]
            elif missed.any():
                typical[missed] = _medians(np.abs(self.rows(slice(None))[:, missed]))
        return np.where(typical > 0, typical, 1.0)

    def magnitude(self, h: FloatArray) -> FloatArray:
        """Return |A|^T h: the size of what is added up in each row, against which a residual is to be measured."""
        if isinstance(self.features, Chunked):
            return self._as_matrix().each("magnitude", h)
        if is_sparse(self.features):
            return np.asarray(abs(self.linear_part()).T @ h + np.abs(self.constant) * h.sum(), dtype=np.float64)
        support = np.flatnonzero(h)
        step = max(1, CHUNK_BYTES // (8 * max(1, self.n_moments)))
        total = np.zeros(self.n_moments)
        for start in range(0, support.size, step):
            chosen = support[start : start + step]
            total += h[chosen] @ np.abs(self.rows(chosen))
        return total

    def rounding(self, h: FloatArray) -> FloatArray:
        """Return how far A^T h may be off because the origin is itself a rounded number."""
        return np.asarray(4 * np.finfo(np.float64).eps * self.offset() * h.sum(), dtype=np.float64)

    def offset(self) -> FloatArray:
        """Return the size of what is subtracted in each moment: entries far below it are what rounding left over."""
        part = np.abs(self.origin) if self.transform is None else np.asarray(abs(self.transform).T @ np.abs(self.origin))
        return np.asarray(part + np.abs(self.shift), dtype=np.float64)

    def vanishing(self) -> FloatArray:
        """Return units in which what rounding left over, in the precision of the features, is as small as a float's own."""
        return self.offset() * float(np.finfo(self.features.dtype).eps / np.finfo(np.float64).eps)

    def cancelled(self) -> FloatArray:
        """Return the size of what cancels in the scores of each moment: sparse features are centred after the product."""
        return self.offset() if is_sparse(self.features) else np.zeros(self.n_moments)

    def absolute(self, y: FloatArray) -> FloatArray:
        """Return the size of what is added up in A y, one number per point."""
        if isinstance(self.features, Chunked):
            return self._as_matrix().absolute(y)
        direction = np.abs(y) if self.transform is None else np.asarray(abs(self.transform) @ np.abs(y))
        level = float(np.abs(self.shift) @ np.abs(y))
        if is_sparse(self.features):
            return np.asarray(abs(self.features) @ direction + np.abs(self.origin) @ direction + level, dtype=np.float64)
        result = np.empty(self.n_points)
        for rows in self._chunks():
            result[rows] = np.abs(self.features[rows] - self.origin) @ direction + level
        return result

    def noise(self) -> NDArray[np.bool_]:
        """Return which moments are rounding and nothing else: the same number everywhere, next to nothing beside the mean.

        That is what a constant feature leaves whose mean was rounded. Rows of constraints mean what they say.
        """
        if self.tolerance_on is None:
            return np.zeros(self.n_moments, dtype=bool)
        low, high = self._range
        ulp = float(np.finfo(self.features.dtype).eps) * self.offset()
        same = (high - low <= ulp) & (np.maximum(np.abs(low), np.abs(high)) <= 8 * ulp)
        return np.asarray(same & (self.lower <= 0) & (self.upper >= 0) & (ulp > 0))

    def scaled(self, factors: FloatArray) -> MomentBlock:
        """Multiply every moment, and its bounds, by a factor of its own."""
        places = np.arange(factors.size + 1)
        diagonal = sp.csc_array((factors, places[:-1], places), shape=(factors.size, factors.size))
        transform = diagonal if self.transform is None else sp.csc_array(self.transform @ diagonal)
        return replace(
            self,
            transform=transform,
            shift=self.shift * factors,
            lower=self.lower * factors,
            upper=self.upper * factors,
        )

    def _as_matrix(self) -> MomentMatrix:
        """Return a matrix of this block alone, which can pass over features that are read in chunks."""
        from momentlp.problem.moment_matrix import MomentMatrix  # which is made of blocks

        return MomentMatrix((self,))

    def _push(self, y: FloatArray) -> FloatArray:
        return y if self.transform is None else np.asarray(self.transform @ y, dtype=np.float64)

    def _pull(self, v: FloatArray) -> FloatArray:
        return v if self.transform is None else np.asarray(self.transform.T @ v, dtype=np.float64)

    def _chunks(self) -> Iterator[slice]:
        step = max(1, CHUNK_BYTES // (8 * max(1, self.origin.size)))
        return (slice(start, start + step) for start in range(0, self.n_points, step))


def _medians(sizes: FloatArray) -> FloatArray:
    """Return the median of the entries above zero in each column; zero where there are none."""
    ordered = np.sort(sizes, axis=0)
    positive = (sizes > 0).sum(axis=0)
    place = len(sizes) - positive + positive // 2
    return np.where(positive > 0, np.take_along_axis(ordered, np.minimum(place, len(sizes) - 1)[None, :], axis=0)[0], 0.0)


def _diagonal(transform: Any) -> FloatArray | None:
    """Return the diagonal of a square transform that has nothing else, or None."""
    size = transform.shape[0]
    if transform.shape[1] != size or transform.nnz > size:
        return None
    diagonal: FloatArray = transform.diagonal()
    return diagonal if np.count_nonzero(diagonal) == transform.count_nonzero() else None


def _range_of(part: MomentMatrix) -> tuple[FloatArray, FloatArray]:
    return part.blocks[0]._range  # noqa: SLF001  of this very class
