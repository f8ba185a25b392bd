"""A block of moments: columns of the moment matrix A, stored as the features they are made of and a small affine map.

A block is::

    A = (Phi - 1 a^T) T + 1 t^T          (N x m)

Phi are the features (N x k, dense or sparse), ``a`` is their origin (the class mean), T a k x m matrix and t one shift per
moment. Centring, scaling and the two rows of a relative tolerance all live in (a, T, t). So Phi is never copied, and
sparse features stay sparse. The two products that a certificate needs are::

    A y   = (Phi - 1 a^T)(T y) + (t . y) 1        A^T h = T^T (Phi - 1 a^T)^T h + t sum(h)

For dense features the origin is subtracted before multiplying, chunk by chunk. A feature that is large against its own
spread, such as a time stamp, would otherwise lose all its digits to cancellation. Many features in memory, none of which is
large in that sense, are multiplied first, which takes half the time.

Features may also be read in chunks (:class:`~momentlp.points.chunked.Chunked`), because they do not fit in memory. A method
that needs all points then asks the matrix that consists of this block alone. That matrix reads one chunk after the other
(:meth:`MomentMatrix.scan <momentlp.MomentMatrix.scan>`) and calls the same method of a block whose features are that chunk,
in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_sparse
from momentlp.points.chunked import Chunked, load_in_memory
from momentlp.points.column_range import column_range
from momentlp.problem.cache_slices import rows_in_cache, slice_for_cache
from momentlp.problem.entry_sizes import compute_entry_range, compute_median_abs, compute_typical_abs

if TYPE_CHECKING:
    from momentlp.features import FittedMap
    from momentlp.problem.moment_matrix import MomentMatrix

__all__ = ["ROUNDING", "MomentBlock"]

ROUNDING = 8 * float(np.finfo(np.float64).eps)  # relative; see momentlp.problem.rounding
MIN_CENTRED_LATE = 1 << 18  # entries of a block whose origin may be subtracted from products
MAX_OFFSET, N_SAMPLED_ROWS = 32.0, 256  # of such an origin, times the lower quartile of |Phi - a| in these many rows


@dataclass(frozen=True, eq=False)
class MomentBlock:
    """Moments that share one feature matrix, with the bounds ``lower <= A^T h <= upper``.

    Attributes
    ----------
    features : array, csr_array or Chunked, shape (N, k)
        Phi, one row per point.
    origin : array, shape (k,)
        a, the mean that is subtracted from Phi.
    transform : csc_array of shape (k, m), or None
        T; None stands for the identity.
    shift : array, shape (m,)
        t, which is added to every row of A.
    lower, upper : array, shape (m,)
        Bounds on A^T h; ``-inf`` and ``inf`` leave a side open.
    names : tuple of str
        One per moment.
    fitted : FittedMap or None
        Maps new points to features; None where the features are all that is known.
    labels : tuple of str
        The names of the k features, where the block keeps their mean near ``origin``.
    width : array of shape (k,), or None
        The tolerance of each feature, in units of ``tolerance_on``; None for the rows of a constraint.
    tolerance_on : {"sum", "mean"} or None
        Whether ``width`` bounds the sum of the deviations or their mean; None for the rows of a constraint.
    side : {"both", "lower", "upper"}
        Which bounds a tolerance keeps: ``"lower"`` means that the mean must not be much smaller than its target.
    fixed : bool
        Whether the tolerance belongs to a constraint, so that :meth:`with_tolerance` keeps it.

    Examples
    --------
    >>> block = MomentBlock.near(
    ...     np.array([[0.0], [2.0]]), np.array([0.5]), np.array([0.1]), labels=("x",), tolerance_on="sum"
    ... )
    >>> block.forward(np.array([2.0])), block.adjoint(np.array([1.0, 1.0]))
    (array([-1.,  3.]), array([1.]))
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
    side: Literal["both", "lower", "upper"] = "both"
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
        side: Literal["both", "lower", "upper"] = "both",
    ) -> MomentBlock:
        """Build the rows that keep the mean of the set near a target.

        A tolerance on the sum is one row per feature j, bounded on both sides::

            -width_j  <=  sum_i (phi_ij - mean_j) h_i  <=  width_j

        A tolerance on the mean, ``|sum_i phi_ij h_i / sum_i h_i - mean_j| <= width_j``, becomes linear in h when it is
        multiplied by ``sum_i h_i``. That gives two rows per feature, each with one bound::

            sum_i (phi_ij - mean_j - width_j) h_i  <=  0        named "<label>:high"
            sum_i (phi_ij - mean_j + width_j) h_i  >=  0        named "<label>:low"

        Where ``width_j`` is zero both rows are the same equation, and only one is kept, named "<label>". All rows are
        built from the one feature matrix: T selects its columns, t is ``-width`` or ``+width``.

        Parameters
        ----------
        features : array, csr_array or Chunked, shape (N, k)
        mean : array, shape (k,)
            The target.
        width : array, shape (k,)
            The tolerance of each feature, none negative.
        labels : tuple of str
            The names of the k features.
        tolerance_on : {"sum", "mean"}
            What ``width`` bounds.
        fitted : FittedMap, optional
            Maps new points to features.
        side : {"both", "lower", "upper"}
            Keep both bounds, or one of them. One bound on the mean is one row per feature.

        Returns
        -------
        MomentBlock
            With k rows for a tolerance on the sum or on one side; with up to 2 k rows for one on the mean.

        Examples
        --------
        >>> x, mean, width = np.array([[0.0], [2.0]]), np.array([0.5]), np.array([0.1])
        >>> block = MomentBlock.near(x, mean, width, labels=("x",), tolerance_on="mean")
        >>> block.names, block.lower, block.upper
        (('x:high', 'x:low'), array([-inf,   0.]), array([ 0., inf]))
        >>> block.rows(slice(None))
        array([[-0.6, -0.4],
               [ 1.4,  1.6]])
        """
        about: dict[str, Any] = {
            "fitted": fitted,
            "labels": labels,
            "width": width,
            "tolerance_on": tolerance_on,
            "side": side,
        }
        if tolerance_on == "sum" or side != "both" or not (width > 0).any():
            # On the mean, one bound alone: sum_i (phi_ij - mean_j + width_j) h_i >= 0, or the same with -width_j and <=.
            shift = np.zeros(width.size) if tolerance_on == "sum" else {"lower": width, "upper": -width}.get(side, 0 * width)
            bound = width if tolerance_on == "sum" else np.zeros(width.size)
            lower = np.full(width.size, -np.inf) if side == "upper" else -bound
            upper = np.full(width.size, np.inf) if side == "lower" else bound.copy()
            return cls(features, mean, None, shift.copy(), lower, upper, names=labels, **about)
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
            **about,
        )

    def with_uniform_tolerance(self, width: float) -> MomentBlock:
        """Return the block with the tolerance ``width`` for all its features; the rows of a constraint stay as they are."""
        return self._with_width(np.full(self.origin.size, width))

    def with_tolerance(self, value: float, *, relative: bool = False) -> MomentBlock:
        """Return the block with another tolerance, unless the tolerance belongs to a constraint.

        Parameters
        ----------
        value : float
            The tolerance of every feature, in units of ``tolerance_on``.
        relative : bool
            Whether ``value`` multiplies the tolerances of the block instead.

        Examples
        --------
        >>> block = MomentBlock.near(np.eye(2), np.zeros(2), np.ones(2), labels=("a", "b"), tolerance_on="sum")
        >>> block.with_tolerance(3.0).upper
        array([3., 3.])
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
            self.features,
            self.origin,
            width,
            labels=self.labels,
            tolerance_on=self.tolerance_on,
            fitted=self.fitted,
            side=self.side,
        )
        block = replace(block, fixed=self.fixed) if self.fixed else block
        if "feature_range" in self.__dict__:  # the features are the same: no need to look at them again
            block.__dict__["feature_range"] = self.feature_range
        return block

    @property
    def n_points(self) -> int:
        """N, the number of points."""
        return int(self.features.shape[0])

    @property
    def n_moments(self) -> int:
        """The number of moments in this block."""
        return len(self.names)

    @property
    def is_same_for_all_points(self) -> bool:
        """Whether all points have the same row, as in a bound on the size: sparse features without a single entry."""
        return is_sparse(self.features) and not self.features.nnz

    @cached_property
    def constant(self) -> FloatArray:
        """``t - T^T a``, shape (m,): the part of A that is the same for all points and makes sparse features dense."""
        return self.shift - self._pull(self.origin)

    def forward(self, y: FloatArray) -> FloatArray:
        """Return A y, one number per point; ``y`` has shape (m,)."""
        if isinstance(self.features, Chunked):
            return self._as_matrix().matvec(y)
        direction = self._push(y)
        level = float(self.shift @ y)
        if self.is_same_for_all_points:
            return np.full(self.n_points, level - float(self.origin @ direction))
        if is_sparse(self.features):
            return np.asarray(self.features @ direction - self.origin @ direction + level, dtype=np.float64)
        if self._is_centred_late:
            product: FloatArray = self.features @ direction
            product += level - float(self.origin @ direction)
            return product
        result = np.empty(self.n_points)
        for rows in slice_for_cache(*self.features.shape):
            result[rows] = (self.features[rows] - self.origin) @ direction + level
        return result

    def adjoint(self, h: FloatArray) -> FloatArray:
        """Return A^T h, one number per moment; ``h`` has shape (N,)."""
        if isinstance(self.features, Chunked):
            return self._as_matrix().rmatvec(h)
        h, total = np.ascontiguousarray(h), float(h.sum())  # products with a constant vector are slow
        if self.is_same_for_all_points:
            pulled = -self.origin * total
        elif is_sparse(self.features):
            pulled = np.asarray(self.features.T @ h - self.origin * total, dtype=np.float64)
        elif self._is_centred_late:
            pulled = h @ self.features - self.origin * total
        else:
            pulled = np.zeros(self.origin.size)
            for rows in slice_for_cache(*self.features.shape):
                pulled += h[rows] @ (self.features[rows] - self.origin)
        return self._pull(pulled) + self.shift * total

    @cached_property
    def _is_centred_late(self) -> bool:
        """Whether the origin is subtracted from products: the features are many, and it is not large beside any of them."""
        if self.features.dtype != np.float64 or self.features.size < MIN_CENTRED_LATE:
            return False
        sample = np.abs(self.features[:: max(1, self.n_points // N_SAMPLED_ROWS)] - self.origin)
        typical = np.partition(sample, len(sample) // 4, axis=0)[len(sample) // 4]
        return bool((np.abs(self.origin) <= MAX_OFFSET * typical).all())

    def part(self, points: slice) -> MomentBlock:
        """Return the block of consecutive points, the slice ``points``, without copying their features."""
        if self.is_same_for_all_points:
            return replace(self, features=_no_entries(len(range(self.n_points)[points]), self.origin.size))
        block = replace(self, features=self.features[points])
        if not is_sparse(self.features):
            block.__dict__["_is_centred_late"] = self._is_centred_late  # the same for all parts
        return block

    def rows(self, points: IndexArray | slice) -> FloatArray:
        """Return the rows of A that belong to ``points``, row indices or a slice; a dense array of shape (n, m)."""
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

    def columns(self, moments: IndexArray) -> FloatArray:
        """Return the columns of A at the positions ``moments``, an array of int; a dense array of shape (N, n)."""
        if isinstance(self.features, Chunked):
            return self._as_matrix().columns(moments)
        if self.transform is None and not is_sparse(self.features):
            return np.asarray(self.features[:, moments] - self.origin[moments] + self.shift[moments], dtype=np.float64)
        if is_sparse(self.features):
            return np.asarray(self.linear_part().tocsc()[:, moments].toarray() + self.constant[moments], dtype=np.float64)
        transform = sp.csc_array(self.transform[:, moments])
        return np.asarray((self.features - self.origin) @ transform + self.shift[moments], dtype=np.float64)

    def linear_part(self) -> Any:
        """Return Phi T as a csr_array: A without its constant, for features that are sparse."""
        features = load_in_memory(self.features, "writing the moments out")
        if self.transform is None:
            return sp.csr_array(features, dtype=np.float64)
        return sp.csr_array(features @ self.transform, dtype=np.float64)

    def scaled(self, factors: FloatArray) -> MomentBlock:
        """Return the block with every moment and its bounds multiplied by its entry of ``factors``, shape (m,)."""
        indptr = np.arange(factors.size + 1)
        diagonal = sp.csc_array((factors, indptr[:-1], indptr), shape=(factors.size, factors.size))
        transform = diagonal if self.transform is None else sp.csc_array(self.transform @ diagonal)
        return replace(
            self,
            transform=transform,
            shift=self.shift * factors,
            lower=self.lower * factors,
            upper=self.upper * factors,
        )

    def max_abs(self) -> FloatArray:
        """Return the maximum absolute entry of each moment; 1 for a moment that is zero throughout."""
        low, high = self.entry_range
        size = np.maximum(np.abs(high), np.abs(low))
        return np.where(size > 0, size, 1.0)

    def median_abs(self) -> FloatArray:
        """Return the median absolute entry of each moment, zeros left out; 1 for a moment that is zero throughout.

        Where one point is an outlier, the maximum says nothing about the other points; the median does. Dense features are
        sampled at regular steps, which is enough for an order of magnitude.
        """
        return compute_median_abs(self)

    def typical_abs(self) -> FloatArray:
        """Return a quick estimate of :meth:`median_abs`, from a few rows."""
        return compute_typical_abs(self)

    @cached_property
    def entry_range(self) -> tuple[FloatArray, FloatArray]:
        """The minimum and the maximum entry of each moment."""
        return compute_entry_range(self)

    @cached_property
    def feature_range(self) -> NDArray[np.floating[Any]]:
        """The minimum and the maximum of each feature, shape (2, k), for features that are not sparse."""
        if isinstance(self.features, Chunked):  # known since the chunks were first read
            return np.vstack([self.features.summary.low, self.features.summary.high])
        return column_range(self.features)

    def magnitude(self, h: FloatArray) -> FloatArray:
        """Return ``|A|^T h``: the size of the terms that are added up in A^T h, to which its rounding is proportional.

        Parameters
        ----------
        h : array, shape (N,)

        Returns
        -------
        array, shape (m,)
        """
        if isinstance(self.features, Chunked):
            return self._as_matrix().per_moment("magnitude", h)
        if is_sparse(self.features):
            return np.asarray(abs(self.linear_part()).T @ h + np.abs(self.constant) * h.sum(), dtype=np.float64)
        support = np.flatnonzero(h)
        step = rows_in_cache(self.n_moments)
        total = np.zeros(self.n_moments)
        for start in range(0, support.size, step):
            chosen = support[start : start + step]
            total += h[chosen] @ np.abs(self.rows(chosen))
        return total

    def score_magnitude(self, y: FloatArray) -> FloatArray:
        """Return the size of the terms that are added up in A y, one number per point: at least ``|A| |y|``.

        Parameters
        ----------
        y : array, shape (m,)

        Returns
        -------
        array, shape (N,)
        """
        if isinstance(self.features, Chunked):
            return self._as_matrix().score_magnitude(y)
        direction = np.abs(y) if self.transform is None else np.asarray(abs(self.transform) @ np.abs(y))
        level = float(np.abs(self.shift) @ np.abs(y))
        if is_sparse(self.features):
            return np.asarray(abs(self.features) @ direction + np.abs(self.origin) @ direction + level, dtype=np.float64)
        result = np.empty(self.n_points)
        for rows in slice_for_cache(*self.features.shape):
            result[rows] = np.abs(self.features[rows] - self.origin) @ direction + level
        return result

    def offset(self) -> FloatArray:
        """Return ``|T|^T |a| + |t|``, the size of what is subtracted in each moment; entries far below it are rounding."""
        part = np.abs(self.origin) if self.transform is None else np.asarray(abs(self.transform).T @ np.abs(self.origin))
        return np.asarray(part + np.abs(self.shift), dtype=np.float64)

    def noise(self) -> NDArray[np.bool_]:
        """Return which moments consist of rounding errors alone: one number for all points, within the rounding of the mean.

        A constant feature whose mean was rounded leaves such a moment. Rows of constraints are never noise.
        """
        low, high = self.entry_range
        allowed = ROUNDING * self.mean_size()
        same = (high == low) & (np.abs(low) <= allowed) & (allowed > 0)
        return np.asarray(same & (self.lower <= 0) & (self.upper >= 0))

    def mean_size(self) -> FloatArray:
        """Return the size of the mean that is subtracted in each moment; 0 for constraints, whose rows have no mean."""
        return self.offset() if self.tolerance_on is not None else np.zeros(self.n_moments)

    def _as_matrix(self) -> MomentMatrix:
        """Return the matrix that consists of this block alone: it knows how to read features in chunks."""
        from momentlp.problem.moment_matrix import MomentMatrix  # made of blocks, so it cannot be imported above

        return MomentMatrix((self,))

    def _push(self, y: FloatArray) -> FloatArray:
        """Return T y."""
        return y if self.transform is None else np.asarray(self.transform @ y, dtype=np.float64)

    def _pull(self, v: FloatArray) -> FloatArray:
        """Return T^T v."""
        return v if self.transform is None else np.asarray(self.transform.T @ v, dtype=np.float64)


@lru_cache(maxsize=8)
def _no_entries(n_points: int, n_features: int) -> Any:
    """Return sparse features without a single entry; the parts of a matrix share them."""
    return sp.csr_array((n_points, n_features))


def _diagonal(transform: Any) -> FloatArray | None:
    """Return the diagonal of a square transform that has no other entries, or None."""
    size = transform.shape[0]
    if transform.shape[1] != size or transform.nnz > size:
        return None
    diagonal: FloatArray = transform.diagonal()
    return diagonal if np.count_nonzero(diagonal) == transform.count_nonzero() else None
