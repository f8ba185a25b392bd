"""The columns of some points, as the interior-point method needs them: products, squares, and matrices of products.

Dense columns are an array. Sparse columns are a sparse matrix plus one number per column that is the same for all points:
what centring subtracts. They stay sparse in every product.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, IndexArray, is_sparse
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp_sifting.sparse_product import SparseProduct

__all__ = ["Columns", "DenseColumns", "SparseColumns", "is_mostly_sparse"]

MIN_CHUNK_POINTS, MAX_CHUNK_ENTRIES = 2048, 1 << 21  # rows that are multiplied at once
MIN_WORK_FOR_THREADS = 3e7  # n q^2 from which threads save more time than they cost
MAX_KEPT_SQUARES = 1 << 22  # entries up to which the squares are kept
MAX_DENSITY = 0.2  # share of entries that are not zero, up to which sparse products are faster


class Columns(Protocol):
    """The columns Z of n points, n x q."""

    shape: tuple[int, int]
    threads: int

    def multiply(self, y: FloatArray, single: bool = False) -> FloatArray:
        """Return Z y; in single precision if ``single``."""

    def multiply_transposed(self, h: FloatArray, single: bool = False) -> FloatArray:
        """Return Z^T h; in single precision if ``single``."""

    def squares(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of ``Z^T diag(weights) Z``, to single precision."""

    def gram(self, weights: FloatArray, points: IndexArray | None, columns: IndexArray | None, single: bool) -> FloatArray:
        """Return ``Z^T diag(weights) Z`` of some points and columns; None stands for all."""

    def outer(self, weights: FloatArray, points: IndexArray | None, columns: IndexArray | None, single: bool) -> FloatArray:
        """Return ``Z diag(weights) Z^T`` of some points and columns; None stands for all."""

    def dense(self, points: IndexArray, columns: IndexArray | None = None) -> FloatArray:
        """Return some columns of some points as a new array; None stands for all columns."""

    def select(self, points: IndexArray, columns: IndexArray, factor: FloatArray, shift: FloatArray) -> Columns:
        """Return ``factor_j`` times each of the given columns, plus ``shift_j``, of some points."""

    def with_point(self, row: FloatArray) -> Columns:
        """Return the columns with those of one more point."""

    def block(self, lower: FloatArray, upper: FloatArray) -> MomentBlock:
        """Return the columns as moments with bounds."""


class DenseColumns:
    """Columns that are an array.

    Parameters
    ----------
    Z : array, shape (n, q)
    threads : int
        The maximum number of threads for the matrices of products.
    """

    def __init__(self, Z: FloatArray, threads: int = 1) -> None:
        self.Z, self.threads, self.shape = Z, threads, (Z.shape[0], Z.shape[1])

    @cached_property
    def single(self) -> NDArray[np.float32]:
        """The columns in single precision."""
        return self.Z.astype(np.float32)

    @cached_property
    def _squares(self) -> NDArray[np.float32]:
        return np.square(self.single)

    def multiply(self, y: FloatArray, single: bool = False) -> FloatArray:
        """Return Z y."""
        Z: Any = self.single if single else self.Z
        return np.asarray(Z @ y.astype(Z.dtype, copy=False), dtype=np.float64)

    def multiply_transposed(self, h: FloatArray, single: bool = False) -> FloatArray:
        """Return Z^T h."""
        Z: Any = self.single if single else self.Z
        return np.asarray(h.astype(Z.dtype, copy=False) @ Z, dtype=np.float64)

    def squares(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of ``Z^T diag(weights) Z``."""
        short = weights.astype(np.float32)
        if self.Z.size <= MAX_KEPT_SQUARES:
            return np.asarray(short @ self._squares, dtype=np.float64)
        total = np.zeros(self.shape[1])
        for rows in self._chunks(self.shape[0]):
            total += short[rows] @ np.square(self.single[rows])
        return total

    def gram(self, weights: FloatArray, points: IndexArray | None, columns: IndexArray | None, single: bool) -> FloatArray:
        """Return ``Z^T diag(weights) Z``, summed over chunks of points; threads share the chunks if the matrix is large."""
        Z: Any = self.single if single else self.Z
        root = np.sqrt(weights).astype(Z.dtype)
        n = self.shape[0] if points is None else points.size
        m = self.shape[1] if columns is None else columns.size

        def part(rows: slice) -> Any:
            chosen = Z[rows] if points is None else Z[points[rows]]
            if columns is not None:
                chosen = np.take(chosen, columns, axis=1)
            chosen = chosen * (root[rows] if points is None else root[points[rows]])[:, None]
            return chosen.T @ chosen

        return self._sum(part, self._chunks(n, m), n * m * m)

    def outer(self, weights: FloatArray, points: IndexArray | None, columns: IndexArray | None, single: bool) -> FloatArray:
        """Return ``Z diag(weights) Z^T``, summed over chunks of columns."""
        Z: Any = self.single if single else self.Z
        root = np.sqrt(weights).astype(Z.dtype)
        chosen_columns = np.arange(self.shape[1]) if columns is None else columns
        n = self.shape[0] if points is None else points.size

        def part(span: slice) -> Any:
            at = chosen_columns[span]
            chosen = np.take(Z, at, axis=1) if points is None else Z[np.ix_(points, at)]
            chosen *= root[at]
            return chosen @ chosen.T

        return self._sum(part, self._chunks(chosen_columns.size, n), chosen_columns.size * n * n)

    def dense(self, points: IndexArray, columns: IndexArray | None = None) -> FloatArray:
        """Return some columns of some points."""
        return self.Z[points] if columns is None else self.Z[np.ix_(points, columns)]

    def select(self, points: IndexArray, columns: IndexArray, factor: FloatArray, shift: FloatArray) -> DenseColumns:
        """Return ``factor_j`` times each of the given columns, plus ``shift_j``, of some points."""
        chosen, changed = self.dense(points, columns), np.flatnonzero((factor != 1) | (shift != 0))
        chosen[:, changed] = chosen[:, changed] * factor[changed] + shift[changed]
        return DenseColumns(chosen, self.threads)

    def with_point(self, row: FloatArray) -> DenseColumns:
        """Return the columns with those of one more point."""
        return DenseColumns(np.vstack([self.Z, row]), self.threads)

    def block(self, lower: FloatArray, upper: FloatArray) -> MomentBlock:
        """Return the columns as moments with bounds."""
        return _build_block(self.Z, np.zeros(self.shape[1]), lower, upper)

    def _chunks(self, n: int, m: int | None = None) -> list[slice]:
        m = self.shape[1] if m is None else m
        step = max(MIN_CHUNK_POINTS, -(-n // max(1, self.threads)) if n * m * m > MIN_WORK_FOR_THREADS else 0)
        step = min(step, max(MIN_CHUNK_POINTS, MAX_CHUNK_ENTRIES // max(1, m)))
        return [slice(start, start + step) for start in range(0, n, step)]

    def _sum(self, part: Any, spans: list[slice], work: float) -> FloatArray:
        def run(span: slice) -> Any:
            with np.errstate(invalid="ignore", over="ignore"):  # each thread has a state of its own; steps check the result
                return part(span)

        if self.threads < 2 or work <= MIN_WORK_FOR_THREADS or len(spans) < 2:
            return _add_up(map(run, spans))
        with ThreadPoolExecutor(self.threads) as pool:
            return _add_up(pool.map(run, spans))


def _add_up(parts: Any) -> FloatArray:
    total = None
    for part in parts:
        total = part if total is None else np.add(total, part, out=total)
    return np.asarray(total, dtype=np.float64)


class SparseColumns:
    """Columns that are a sparse matrix and a constant: ``Z = P + 1 constant^T``.

    Parameters
    ----------
    P : csr_array, shape (n, q)
    constant : array, shape (q,)
    threads : int
        The maximum number of threads for products.
    """

    def __init__(self, P: Any, constant: FloatArray, threads: int = 1) -> None:
        self.P, self.constant, self.threads, self.shape = P, constant, threads, (P.shape[0], P.shape[1])
        self._product = SparseProduct(P, threads)

    @classmethod
    def of(cls, matrix: MomentMatrix, points: Any, threads: int) -> SparseColumns:
        """Return the columns of some points of a matrix: row indices, or a slice."""
        parts = [sp.csr_array(block.linear_part())[points] for block in matrix.blocks]
        constant = np.concatenate([block.constant for block in matrix.blocks])
        return cls(sp.csr_array(sp.hstack(parts, format="csr")), constant, threads)

    @cached_property
    def _transposed(self) -> Any:
        return SparseProduct(sp.csr_array(self.P.T), self.threads)

    @cached_property
    def _squares(self) -> Any:
        return SparseProduct(sp.csr_array(self.P.power(2).T), self.threads)

    def multiply(self, y: FloatArray, single: bool = False) -> FloatArray:
        """Return Z y."""
        return np.asarray(self._product @ y + float(self.constant @ y), dtype=np.float64)

    def multiply_transposed(self, h: FloatArray, single: bool = False) -> FloatArray:
        """Return Z^T h."""
        return np.asarray(self._transposed @ h + self.constant * float(h.sum()), dtype=np.float64)

    def squares(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of ``Z^T diag(weights) Z``."""
        mixed = 2 * self.constant * (self._transposed @ weights) + self.constant**2 * float(weights.sum())
        return np.asarray(np.maximum(self._squares @ weights + mixed, 0.0), dtype=np.float64)

    def gram(self, weights: FloatArray, points: IndexArray | None, columns: IndexArray | None, single: bool) -> FloatArray:
        """Return ``Z^T diag(weights) Z``."""
        P, d = (self.P, weights) if points is None else (self.P[points], weights[points])
        constant = self.constant
        if columns is not None:
            P, constant = P[:, columns], constant[columns]
        weighted = sp.csr_array(P.multiply(d[:, None]))
        result = np.asarray((sp.csr_array(P.T) @ weighted).toarray(), dtype=np.float64)
        sums = np.asarray(weighted.sum(axis=0)).ravel()
        result += np.outer(sums + 0.5 * float(d.sum()) * constant, constant)
        result += np.outer(constant, sums + 0.5 * float(d.sum()) * constant)
        return result

    def outer(self, weights: FloatArray, points: IndexArray | None, columns: IndexArray | None, single: bool) -> FloatArray:
        """Return ``Z diag(weights) Z^T``."""
        P = self.P if points is None else self.P[points]
        constant, w = self.constant, weights
        if columns is not None:
            P, constant, w = P[:, columns], constant[columns], weights[columns]
        result = np.asarray((sp.csr_array(P.multiply(w)) @ sp.csr_array(P.T)).toarray(), dtype=np.float64)
        level = np.asarray(P @ (w * constant)) + 0.5 * float(w @ constant**2)
        result += level[:, None]
        result += level
        return result

    def dense(self, points: IndexArray, columns: IndexArray | None = None) -> FloatArray:
        """Return some columns of some points as an array."""
        if columns is None:
            return np.asarray(self.P[points].toarray() + self.constant, dtype=np.float64)
        return np.asarray(self.P[points][:, columns].toarray() + self.constant[columns], dtype=np.float64)

    def select(self, points: IndexArray, columns: IndexArray, factor: FloatArray, shift: FloatArray) -> SparseColumns:
        """Return ``factor_j`` times each of the given columns, plus ``shift_j``, of some points."""
        P = sp.csr_array(self.P[points][:, columns].multiply(factor))
        return SparseColumns(P, self.constant[columns] * factor + shift, self.threads)

    def with_point(self, row: FloatArray) -> SparseColumns:
        """Return the columns with those of one more point."""
        last = sp.csr_array((row - self.constant)[None, :])
        return SparseColumns(sp.csr_array(sp.vstack([self.P, last])), self.constant, self.threads)

    def block(self, lower: FloatArray, upper: FloatArray) -> MomentBlock:
        """Return the columns as moments with bounds; what centring subtracts becomes their shift."""
        return _build_block(self.P, self.constant, lower, upper)


def _build_block(features: Any, shift: FloatArray, lower: FloatArray, upper: FloatArray) -> MomentBlock:
    names = tuple(f"a{moment}" for moment in range(shift.size))
    return MomentBlock(features, np.zeros(shift.size), None, shift, lower, upper, names)


def is_mostly_sparse(matrix: MomentMatrix) -> bool:
    """Return whether sparse products with a matrix are faster than dense ones."""
    if matrix.table is not None:
        return False
    entries = sum(
        block.features.nnz * (block.n_moments / max(1, block.features.shape[1]))
        if is_sparse(block.features)
        else block.n_points * block.n_moments
        for block in matrix.blocks
    )
    return bool(entries < MAX_DENSITY * matrix.shape[0] * matrix.shape[1])
