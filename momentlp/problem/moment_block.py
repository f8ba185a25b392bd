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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.points.bit_packing import SlicedVector, unpack_vector
from momentlp.points.chunked import Chunked, ChunkedFeatures, load_in_memory, map_chunk, rows_per_step, split_rows
from momentlp.points.validation import FloatArray, IndexArray, Matrix, is_constant_vector, is_sparse

if TYPE_CHECKING:
    from momentlp.features import FittedMap

__all__ = ["MomentBlock", "MomentMatrix"]

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
            return MomentMatrix((self,)).matvec(y)
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
            return MomentMatrix((self,)).rmatvec(h)
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
            lows, highs = zip(*MomentMatrix((self,)).scan(_range_of), strict=True)
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
            return MomentMatrix((self,)).columns(moments)
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
            return MomentMatrix((self,)).each("magnitude", h)
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
            return MomentMatrix((self,)).absolute(y)
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

    def _push(self, y: FloatArray) -> FloatArray:
        return y if self.transform is None else np.asarray(self.transform @ y, dtype=np.float64)

    def _pull(self, v: FloatArray) -> FloatArray:
        return v if self.transform is None else np.asarray(self.transform.T @ v, dtype=np.float64)

    def _chunks(self) -> Iterator[slice]:
        step = max(1, CHUNK_BYTES // (8 * max(1, self.origin.size)))
        return (slice(start, start + step) for start in range(0, self.n_points, step))


class MomentMatrix:
    """All moments side by side: the N x m matrix A of a problem, as an operator.

    ``A @ y``, ``A.T @ h`` and ``h @ A`` cost one pass over the features and allocate nothing of size N x m; ``toarray()``
    (or ``numpy.asarray``) writes the matrix out. ``scipy.sparse.linalg.aslinearoperator`` takes it as it is.
    """

    dtype = np.dtype(np.float64)
    ndim = 2
    __array_ufunc__ = None  # numpy leaves products to the methods below

    def __init__(self, blocks: tuple[MomentBlock, ...]) -> None:
        self.blocks = blocks
        self.shape = (blocks[0].n_points, sum(block.n_moments for block in blocks))
        self._cuts = np.cumsum([block.n_moments for block in blocks])[:-1]
        tables = [block.features.source for block in blocks if isinstance(block.features, Chunked)]
        if any(table is not tables[0] for table in tables):
            raise DataError(
                "blocks are read in chunks from different tables: compile them from one, or read the smaller one with "
                "numpy.asarray."
            )
        self.table: Chunked | None = tables[0] if tables else None
        """Where the points are read from in chunks, if they are."""

    def scan(self, work: Callable[..., Result], *vectors: Any) -> Iterator[Result]:
        """Yield ``work(part, *pieces)`` for the points of each of :attr:`spans`, in order: one pass over the points.

        Where nothing is read in chunks that is one call, with the whole matrix and the vectors as they are.

        Parameters
        ----------
        work : callable
            Gets a MomentMatrix of the points of one span, in memory, and the piece of each vector that belongs to them. A
            function of a module, or a :func:`functools.partial` of one: a cluster has to send it.
        *vectors : arrays of length N, or what is sliced like one
            One that is :func:`~momentlp.points.validation.constant_vector`, and one that is 0 or one other number almost everywhere, cost
            next to nothing to send.

        Examples
        --------
        >>> A = MomentMatrix((MomentBlock.near(np.eye(3), np.zeros(3), np.ones(3), labels=("a", "b", "c"), tolerance_on="sum"),))
        >>> list(A.scan(MomentMatrix.rmatvec, np.array([1.0, 2.0, 3.0])))
        [array([1., 2., 3.])]
        """
        if self.table is None:
            yield work(self, *vectors)
            return
        table, (blocks, maps) = self.table, self._shells()
        own = _Own(tuple(block.features for block in self.blocks if not isinstance(block.features, Chunked)), table.spans)
        pieces = [SlicedVector(vector, table.spans, table.remote) for vector in vectors]
        for results in table.scan(partial(_on_parts, blocks, maps, self._most_rows, work), own, *pieces):
            yield from results

    @cached_property
    def spans(self) -> tuple[slice, ...]:
        """The rows that :meth:`scan` looks at together: chunks as they are read, cut where their features are many."""
        if self.table is None:
            return (slice(0, self.shape[0]),)
        return tuple(
            slice(span.start + part.start, span.start + part.stop)
            for span in self.table.spans
            for part in split_rows(span.stop - span.start, self._most_rows)
        )

    @property
    def _most_rows(self) -> int:
        """How many points to compute features of at a time, so that these take no more than points do."""
        return rows_per_step(
            sum(b.features.shape[1] for b in self.blocks if isinstance(b.features, ChunkedFeatures)), self.shape[0]
        )

    def _shells(self) -> tuple[tuple[MomentBlock, ...], tuple[Any, ...]]:
        """Return the blocks without features, and how each comes by them.

        By a map of the points, or None for the points themselves; False for a block whose features are at hand.
        """
        maps = tuple(
            (block.features.fitted if isinstance(block.features, ChunkedFeatures) else None)
            if isinstance(block.features, Chunked)
            else False
            for block in self.blocks
        )
        return tuple(replace(block, features=None, fitted=None) for block in self.blocks), maps

    def matvec(self, y: Any) -> FloatArray:
        """Return A y."""
        if self.table is not None:
            return self._filled(methodcaller("matvec", _vector(y, self.shape[1], "A @ y")))
        parts = np.split(_vector(y, self.shape[1], "A @ y"), self._cuts)
        products = [block.forward(part) for block, part in zip(self.blocks, parts, strict=True)]
        return np.asarray(np.sum(products, axis=0), dtype=np.float64)

    def rmatvec(self, h: Any) -> FloatArray:
        """Return A^T h."""
        vector = h if is_constant_vector(h) and h.size == self.shape[0] else _vector(h, self.shape[0], "A.T @ h")
        if self.table is not None:
            return _total(self.scan(MomentMatrix.rmatvec, vector))
        return np.concatenate([block.adjoint(vector) for block in self.blocks])

    @property
    def T(self) -> _Transposed:  # noqa: N802  as numpy calls it
        """The transpose, for ``A.T @ h``."""
        return _Transposed(self)

    def __matmul__(self, y: Any) -> FloatArray:
        return _by_columns(self.matvec, y)

    def __rmatmul__(self, h: Any) -> FloatArray:
        return _by_columns(self.rmatvec, np.asarray(h).T).T

    def rows(self, points: IndexArray | slice) -> FloatArray:
        """Return the rows of A that belong to some points, dense."""
        if self.table is not None:
            own = tuple(block.features[points] for block in self.blocks if not isinstance(block.features, Chunked))
            return _part(*self._shells(), self.table[points], own).toarray()
        parts = [block.rows(points) for block in self.blocks]
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def columns(self, moments: IndexArray) -> FloatArray:
        """Return some columns of A, dense."""
        if self.table is not None:
            return self._filled(methodcaller("columns", moments), len(moments))
        starts = np.concatenate([[0], np.cumsum([block.n_moments for block in self.blocks])])
        parts = []
        for block, start in zip(self.blocks, starts, strict=False):
            own = moments[(moments >= start) & (moments < start + block.n_moments)] - start
            if own.size:
                parts.append(block.columns(own))
        return np.hstack(parts)

    def absolute(self, y: FloatArray) -> FloatArray:
        """Return the size of what is added up in A y, one number per point."""
        if self.table is not None:
            return self._filled(methodcaller("absolute", y))
        parts = np.split(y, self._cuts)
        return np.asarray(np.sum([b.absolute(part) for b, part in zip(self.blocks, parts, strict=True)], axis=0))

    def each(self, method: str, *arguments: Any) -> FloatArray:
        """Return what a method of the blocks gives, one after the other: one number per moment."""
        if self.table is not None and method == "magnitude":
            return _total(self.scan(_magnitude, *arguments))
        return np.concatenate([getattr(block, method)(*arguments) for block in self.blocks])

    def part(self, points: slice) -> MomentMatrix:
        """Return the matrix of a stretch of the points, which are in memory; nothing is copied."""
        return MomentMatrix(tuple(replace(block, features=block.features[points]) for block in self.blocks))

    def _filled(self, work: Callable[..., FloatArray], *width: int) -> FloatArray:
        """Put together what each chunk of points gives, row by row."""
        result = np.empty((self.shape[0], *width))
        for span, part in zip(self.spans, self.scan(work), strict=True):
            result[span] = part
        return result

    def toarray(self) -> FloatArray:
        """Write the matrix out, dense."""
        return self.rows(slice(None))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.toarray(), dtype=dtype)


@dataclass(frozen=True)
class _Own:
    """Features that are in memory, cut to the chunks of those that are not."""

    features: tuple[Matrix, ...]
    spans: tuple[slice, ...]

    def __getitem__(self, place: int) -> tuple[Matrix, ...]:
        return tuple(features[self.spans[place]] for features in self.features)


def _on_parts(
    blocks: tuple[MomentBlock, ...],
    maps: tuple[Any, ...],
    most: int,
    work: Callable[..., Result],
    chunk: Matrix,
    own: tuple[Matrix, ...],
    *pieces: Any,
) -> list[Result]:
    """Do the work on one chunk, at most so many points at a time."""
    vectors = [unpack_vector(piece) for piece in pieces]
    return [
        work(_part(blocks, maps, chunk[rows], tuple(one[rows] for one in own)), *(vector[rows] for vector in vectors))
        for rows in split_rows(chunk.shape[0], most)
    ]


def _part(blocks: tuple[MomentBlock, ...], maps: tuple[Any, ...], chunk: Matrix, own: tuple[Matrix, ...]) -> MomentMatrix:
    """Give the blocks the features of some points."""
    rest = iter(own)
    features = [next(rest) if fitted is False else map_chunk(fitted, chunk) for fitted in maps]
    filled = tuple(replace(block, features=found) for block, found in zip(blocks, features, strict=True))
    return MomentMatrix(filled)


def _range_of(part: MomentMatrix) -> tuple[FloatArray, FloatArray]:
    return part.blocks[0]._range  # noqa: SLF001  this module's own


def _magnitude(part: MomentMatrix, h: FloatArray) -> FloatArray:
    return part.each("magnitude", h)


def _total(parts: Iterator[FloatArray]) -> FloatArray:
    total = next(parts).copy()
    for part in parts:
        total += part
    return total


class _Transposed:
    """A^T, as far as a product with it goes."""

    __array_ufunc__ = None

    def __init__(self, matrix: MomentMatrix) -> None:
        self.T = matrix
        self.shape = matrix.shape[::-1]

    def __matmul__(self, h: Any) -> FloatArray:
        return _by_columns(self.T.rmatvec, h)


def _vector(values: Any, length: int, product: str) -> FloatArray:
    vector = np.ravel(np.asarray(values, dtype=np.float64))
    if vector.size != length:
        raise DataError(f"{product} needs a vector of length {length}, not {vector.size}.")
    return vector


def _by_columns(product: Any, values: Any) -> FloatArray:
    values = np.asarray(values, dtype=np.float64)
    return product(values) if values.ndim < 2 else np.column_stack([product(column) for column in values.T])


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
