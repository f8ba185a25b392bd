"""All moments of a problem side by side: the matrix A as an operator.

Where the points are read in chunks, everything that needs all of them is one pass, :meth:`MomentMatrix.scan`.
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
from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_constant_vector
from momentlp.points.bit_packing import SlicedVector, unpack_vector
from momentlp.points.chunked import Chunked, rows_per_step, split_rows
from momentlp.problem.moment_block import MomentBlock

__all__ = ["MomentMatrix"]

Result = TypeVar("Result")


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
        self._starts = np.cumsum([0, *(block.n_moments for block in blocks)])
        tables = [block.features.source for block in blocks if isinstance(block.features, Chunked)]
        if any(table is not tables[0] for table in tables):
            raise DataError(
                "blocks are read in chunks from different tables: compile them from one, or read the smaller one with "
                "numpy.asarray."
            )
        self.table: Chunked | None = tables[0] if tables else None
        """Where the points are read from in chunks, if they are."""

    def split(self, per_moment: FloatArray) -> list[FloatArray]:
        """Cut a vector with one entry per moment into one piece per block."""
        return np.split(per_moment, self._starts[1:-1])

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
        >>> A = MomentMatrix(
        ...     (MomentBlock.near(np.eye(3), np.zeros(3), np.ones(3), labels=("a", "b", "c"), tolerance_on="sum"),)
        ... )
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
        parts = self.split(_vector(y, self.shape[1], "A @ y"))
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
        parts = []
        for block, start in zip(self.blocks, self._starts, strict=False):
            own = moments[(moments >= start) & (moments < start + block.n_moments)] - start
            if own.size:
                parts.append(block.columns(own))
        return np.hstack(parts)

    def absolute(self, y: FloatArray) -> FloatArray:
        """Return the size of what is added up in A y, one number per point."""
        if self.table is not None:
            return self._filled(methodcaller("absolute", y))
        parts = self.split(y)
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
