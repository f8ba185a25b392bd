"""All moments of a problem side by side: the matrix A as an operator.

A matrix is a tuple of blocks and delegates to them. If the features of some blocks are read in chunks,
:meth:`MomentMatrix.scan` is the one way to look at all points: it reads one chunk, gives every block its features of that
chunk, and calls a function with the small matrix that this makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import methodcaller
from typing import Any, TypeVar

import numpy as np

from momentlp.errors import DataError
from momentlp.features.chunked_features import ChunkedFeatures, map_chunk
from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_constant_vector, is_sparse
from momentlp.points.bit_packing import SlicedVector, unpack_vector
from momentlp.points.chunked import Chunked, rows_per_step, split_rows
from momentlp.problem.moment_block import MomentBlock
from momentlp.runtime.threads import map_in_threads, split_for_threads

__all__ = ["MomentMatrix"]

Result = TypeVar("Result")

MAX_ENTRY_RATIO = 2.0**20  # see momentlp.problem.rounding
ENTRIES_AT_ONCE = 2**21  # that are computed before they are copied into a dense array: 16 MB


class MomentMatrix:
    """All moments side by side: the N x m matrix A of a problem, as an operator.

    ``A @ y``, ``A.T @ h`` and ``h @ A`` cost one pass over the features and allocate nothing of size N x m. ``toarray()``
    (or ``numpy.asarray``) writes the matrix out. ``scipy.sparse.linalg.aslinearoperator`` accepts it.

    Parameters
    ----------
    blocks : tuple of MomentBlock
        All of the same points.

    Attributes
    ----------
    shape : (int, int)
        N and m.
    table : Chunked or None
        The table that the points are read from, if they are read in chunks.

    Raises
    ------
    DataError
        If blocks are read in chunks from different tables.

    Examples
    --------
    >>> import momentlp as mlp
    >>> A = mlp.Problem.from_arrays([[1.0, 0.0], [2.0, 3.0]], lower=0.0, upper=9.0).A
    >>> A.shape, A @ [1.0, 1.0], A.T @ [1.0, 1.0]
    ((2, 2), array([1., 5.]), array([3., 3.]))
    """

    dtype = np.dtype(np.float64)
    ndim = 2
    __array_ufunc__ = None  # numpy leaves products to the methods below

    def __init__(self, blocks: tuple[MomentBlock, ...]) -> None:
        self.blocks = blocks
        self.shape = (blocks[0].n_points, sum(block.n_moments for block in blocks))
        self._starts = np.cumsum([0, *(block.n_moments for block in blocks)])
        tables = [block.features.source for block in blocks if isinstance(block.features, Chunked)]
        if any(table is not tables[0] for table in tables):
            raise DataError(
                "blocks are read in chunks from different tables: compile them from one, or read the smaller one with "
                "numpy.asarray."
            )
        self.table: Chunked | None = tables[0] if tables else None

    def split(self, per_moment: FloatArray) -> list[FloatArray]:
        """Return ``per_moment``, an array with one entry per moment, cut into one piece per block."""
        return np.split(per_moment, self._starts[1:-1])

    def scan(self, work: Callable[..., Result], *vectors: Any) -> Iterator[Result]:
        """Yield ``work(part, *pieces)`` for the points of each of :attr:`spans`, in order: one pass over the points.

        The calls run in as many threads as there are cores (at most 8). If the features are in memory and sparse or small,
        this is one call, with the whole matrix and the vectors as they are.

        Parameters
        ----------
        work : callable
            Its arguments are a MomentMatrix of the points of one span, in memory, and the entries of each vector that
            belong to these points. It must be a function of a module, or a :func:`functools.partial` of one, so that it
            can be sent to the workers of a cluster.
        *vectors : arrays of length N, or objects that are sliced like one
            An array of :func:`~momentlp.points.arrays.constant_vector` costs almost nothing to send; so does one with
            only two values, 0 and another, at nearly all points.

        Yields
        ------
        object
            The result of ``work`` for each span.

        Examples
        --------
        >>> A = MomentMatrix(
        ...     (MomentBlock.near(np.eye(3), np.zeros(3), np.ones(3), labels=("a", "b", "c"), tolerance_on="sum"),)
        ... )
        >>> list(A.scan(MomentMatrix.rmatvec, np.array([1.0, 2.0, 3.0])))
        [array([1., 2., 3.])]
        """
        if not self._is_scanned:
            yield work(self, *vectors)
            return
        if self.table is None:
            yield from map_in_threads(work, [(self.part(span), *(each[span] for each in vectors)) for span in self.spans])
            return
        table, (blocks, maps) = self.table, self._blocks_without_features()
        in_memory = tuple(block.features for block in self.blocks if not isinstance(block.features, Chunked))
        pieces = [SlicedVector(vector, table.spans, table.remote) for vector in vectors]
        call = partial(_call_on_chunk, blocks, maps, self._max_rows, work)
        for results in table.scan(call, _SlicedFeatures(in_memory, table.spans), *pieces):
            yield from results

    @cached_property
    def spans(self) -> tuple[slice, ...]:
        """The rows that :meth:`scan` looks at together.

        A chunk as it is read, or part of one if it has many features. Dense features in memory are cut into spans for
        threads.
        """
        if self.table is None:
            is_dense = not any(is_sparse(block.features) and block.features.nnz for block in self.blocks)
            width = sum(int(block.features.shape[1]) for block in self.blocks)
            return split_for_threads(self.shape[0], width) if is_dense else (slice(0, self.shape[0]),)
        return tuple(
            slice(span.start + part.start, span.start + part.stop)
            for span in self.table.spans
            for part in split_rows(span.stop - span.start, self._max_rows)
        )

    @property
    def _is_scanned(self) -> bool:
        """Whether a product is computed span by span."""
        return self.table is not None or len(self.spans) > 1

    @property
    def _max_rows(self) -> int:
        """The maximum number of points whose features are computed at a time, which limits the memory they take."""
        return rows_per_step(
            sum(b.features.shape[1] for b in self.blocks if isinstance(b.features, ChunkedFeatures)), self.shape[0]
        )

    def _blocks_without_features(self) -> tuple[tuple[MomentBlock, ...], tuple[Any, ...]]:
        """Return the blocks without features, and for each block where its features come from.

        A fitted map: they are computed from the points of a chunk. None: they are those points. False: they are in memory.
        """
        maps = tuple(
            (block.features.fitted if isinstance(block.features, ChunkedFeatures) else None)
            if isinstance(block.features, Chunked)
            else False
            for block in self.blocks
        )
        return tuple(replace(block, features=None, fitted=None) for block in self.blocks), maps

    def matvec(self, y: Any) -> FloatArray:
        """Return A y, shape (N,), for multipliers ``y`` of shape (m,).

        Raises
        ------
        DataError
            If ``y`` has another length.

        Examples
        --------
        >>> import momentlp as mlp
        >>> mlp.Problem.from_arrays([[1.0, 0.0], [-2.0, 3.0]], lower=0.0, upper=9.0).A.matvec([1.0, 1.0])
        array([1., 1.])
        """
        if self._is_scanned:
            return self._stack_rows(methodcaller("matvec", _check_vector(y, self.shape[1], "A @ y")))
        parts = self.split(_check_vector(y, self.shape[1], "A @ y"))
        total, *others = (block.forward(part) for block, part in zip(self.blocks, parts, strict=True))
        for product in others:
            total += product
        return total

    def rmatvec(self, h: Any) -> FloatArray:
        """Return A^T h, shape (m,), for memberships ``h`` of shape (N,).

        Raises
        ------
        DataError
            If ``h`` has another length.

        Examples
        --------
        >>> import momentlp as mlp
        >>> mlp.Problem.from_arrays([[1.0, 0.0], [-2.0, 3.0]], lower=0.0, upper=9.0).A.rmatvec([1.0, 1.0])
        array([-1.,  3.])
        """
        vector = h if is_constant_vector(h) and h.size == self.shape[0] else _check_vector(h, self.shape[0], "A.T @ h")
        if self._is_scanned:
            return _sum_arrays(self.scan(MomentMatrix.rmatvec, vector))
        return np.concatenate([block.adjoint(vector) for block in self.blocks])

    @property
    def T(self) -> _Transposed:  # noqa: N802  as numpy calls it
        """The transpose, for ``A.T @ h``."""
        return _Transposed(self)

    def __matmul__(self, y: Any) -> FloatArray:
        return _multiply_by_columns(self.matvec, y)

    def __rmatmul__(self, h: Any) -> FloatArray:
        return _multiply_by_columns(self.rmatvec, np.asarray(h).T).T

    def rows(self, points: IndexArray | slice) -> FloatArray:
        """Return the rows of A that belong to ``points``, row indices or a slice; a dense array of shape (n, m)."""
        if self.table is not None:
            in_memory = tuple(block.features[points] for block in self.blocks if not isinstance(block.features, Chunked))
            return _build_part(*self._blocks_without_features(), self.table[points], in_memory).toarray()
        chosen = np.arange(self.shape[0])[points] if isinstance(points, slice) else np.asarray(points)
        result = np.empty((chosen.size, self.shape[1]))
        for part in split_rows(chosen.size, max(1, ENTRIES_AT_ONCE // max(1, self.shape[1]))):
            for block, first in zip(self.blocks, self._starts, strict=False):
                result[part, first : first + block.n_moments] = block.rows(chosen[part])
        return result

    def columns(self, moments: IndexArray) -> FloatArray:
        """Return the columns of A at the positions ``moments``, an array of int; a dense array of shape (N, n)."""
        if self.table is not None:
            return self._stack_rows(methodcaller("columns", moments), len(moments))
        parts = []
        for block, start in zip(self.blocks, self._starts, strict=False):
            own = moments[(moments >= start) & (moments < start + block.n_moments)] - start
            if own.size:
                parts.append(block.columns(own))
        return np.hstack(parts)

    def score_magnitude(self, y: FloatArray) -> FloatArray:
        """Return the size of the terms that are added up in A y, one number per point: at least ``|A| |y|``.

        Parameters
        ----------
        y : array, shape (m,)

        Returns
        -------
        array, shape (N,)
        """
        if self.table is not None:
            return self._stack_rows(methodcaller("score_magnitude", y))
        parts = self.split(y)
        return np.asarray(np.sum([b.score_magnitude(part) for b, part in zip(self.blocks, parts, strict=True)], axis=0))

    def per_moment(self, method: str, *arguments: Any) -> FloatArray:
        """Call a method of every block and join the results: one number per moment.

        Parameters
        ----------
        method : str
            The name of a method of :class:`MomentBlock` that returns an array of shape (m,): ``"max_abs"``,
            ``"median_abs"``, ``"typical_abs"``, ``"magnitude"``, ``"offset"``, ``"mean_size"`` or
            ``"noise"``.
        *arguments
            The arguments of that method.

        Returns
        -------
        array, shape (m,)

        Examples
        --------
        >>> import momentlp as mlp
        >>> mlp.Problem.from_arrays([[1.0, 0.0], [-2.0, 3.0]], lower=0.0, upper=9.0).A.per_moment("max_abs")
        array([2., 3.])
        """
        if self.table is not None and method == "magnitude":
            return _sum_arrays(self.scan(_magnitude_of_part, *arguments))
        return np.concatenate([getattr(block, method)(*arguments) for block in self.blocks])

    @cached_property
    def entry_limits(self) -> FloatArray:
        """Per moment, ``2^20`` times its typical entry: the rounding of larger entries is not forgiven, shape (m,)."""
        return MAX_ENTRY_RATIO * self.per_moment("typical_abs")

    def part(self, points: slice) -> MomentMatrix:
        """Return the matrix of consecutive points without copying their features, which must be in memory.

        Parameters
        ----------
        points : slice
            The rows.

        Returns
        -------
        MomentMatrix
        """
        part = MomentMatrix(tuple(block.part(points) for block in self.blocks))
        part.__dict__["spans"] = (slice(0, part.shape[0]),)  # it is not cut again
        return part

    def _stack_rows(self, work: Callable[..., FloatArray], *width: int) -> FloatArray:
        """Call ``work`` for every chunk of points, and stack the results by rows."""
        result = np.empty((self.shape[0], *width))
        for span, part in zip(self.spans, self.scan(work), strict=True):
            result[span] = part
        return result

    def toarray(self) -> FloatArray:
        """Return the matrix as a dense array, shape (N, m)."""
        return self.rows(slice(None))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.toarray(), dtype=dtype)


@dataclass(frozen=True)
class _SlicedFeatures:
    """Features that are in memory, sliced like the chunks of the features that are not."""

    features: tuple[Matrix, ...]
    spans: tuple[slice, ...]

    def __getitem__(self, chunk: int) -> tuple[Matrix, ...]:
        return tuple(features[self.spans[chunk]] for features in self.features)


def _call_on_chunk(
    blocks: tuple[MomentBlock, ...],
    maps: tuple[Any, ...],
    max_rows: int,
    work: Callable[..., Result],
    chunk: Matrix,
    in_memory: tuple[Matrix, ...],
    *pieces: Any,
) -> list[Result]:
    """Call ``work`` with the points of one chunk, at most ``max_rows`` of them at a time."""
    vectors = [unpack_vector(piece) for piece in pieces]
    return [
        work(
            _build_part(blocks, maps, chunk[rows], tuple(features[rows] for features in in_memory)),
            *(vector[rows] for vector in vectors),
        )
        for rows in split_rows(chunk.shape[0], max_rows)
    ]


def _build_part(
    blocks: tuple[MomentBlock, ...], maps: tuple[Any, ...], points: Matrix, in_memory: tuple[Matrix, ...]
) -> MomentMatrix:
    """Build the matrix of some points; see :meth:`MomentMatrix._blocks_without_features` for ``maps``."""
    remaining = iter(in_memory)
    features = [next(remaining) if fitted is False else map_chunk(fitted, points) for fitted in maps]
    return MomentMatrix(tuple(replace(block, features=found) for block, found in zip(blocks, features, strict=True)))


def _magnitude_of_part(part: MomentMatrix, h: FloatArray) -> FloatArray:
    return part.per_moment("magnitude", h)


def _sum_arrays(parts: Iterator[FloatArray]) -> FloatArray:
    total = next(parts).copy()
    for part in parts:
        total += part
    return total


class _Transposed:
    """A^T, for products with it."""

    __array_ufunc__ = None

    def __init__(self, matrix: MomentMatrix) -> None:
        self.T = matrix
        self.shape = matrix.shape[::-1]

    def __matmul__(self, h: Any) -> FloatArray:
        return _multiply_by_columns(self.T.rmatvec, h)


def _check_vector(values: Any, length: int, product: str) -> FloatArray:
    vector = np.ravel(np.asarray(values, dtype=np.float64))
    if vector.size != length:
        raise DataError(f"{product} needs a vector of length {length}, not {vector.size}.")
    return vector


def _multiply_by_columns(product: Any, values: Any) -> FloatArray:
    values = np.asarray(values, dtype=np.float64)
    return product(values) if values.ndim < 2 else np.column_stack([product(column) for column in values.T])
