"""Problems from MPS files: any linear program with bounded columns, brought into the form of a :class:`Problem`.

A file holds ``minimise c . x, L <= M x <= U, l <= x <= u``, or a maximisation. It becomes a problem in three steps:

1. A column ``n`` without bounds, which one row ``sum(x) - n = 0`` defines, is substituted: every row gets its coefficient of
   ``n`` as a shift, so that sparse features stay sparse. :meth:`Problem.to_mps` writes such a column.
2. Columns begin at their lower bounds: with ``x = l + h`` the bounds of rows become ``L - M l`` and ``U - M l``, and the cap
   of ``h`` is ``u - l``. The constant ``c . l`` of the objective is left out.
3. The weights are ``-c`` of a minimisation, ``c`` of a maximisation.

A file is read in free format; if that fails, in fixed format. If both fail, the error is that of the attempt that came
further.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import FileFormatError, MomentLPError
from momentlp.formats.read_errors import READ_ERRORS, short_reason
from momentlp.points.arrays import FloatArray
from momentlp.problem.array_input import build_block_from_matrix
from momentlp.problem.linear_program import MAX_SPARSE_DENSITY
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.mps_fields import LineError, Splitter, read_lines, show, split_fixed, split_free
from momentlp.problem.mps_model import MpsModel
from momentlp.problem.mps_sections import SectionReader
from momentlp.problem.problem import Problem

__all__ = ["read_mps"]

Mask = NDArray[np.bool_]


def read_mps(path: Path) -> Problem:
    """Read a problem from an MPS file, or raise FileFormatError with the line and the reason."""
    try:
        return _build_problem(_read_model(path))
    except FileNotFoundError:
        raise FileFormatError(f"there is no file {str(path)!r}.") from None
    except LineError as error:
        raise FileFormatError(f"line {error.line} of {str(path)!r}: {error.reason}.") from None
    except (MomentLPError, *READ_ERRORS) as error:
        raise FileFormatError(f"{str(path)!r} cannot be read as a problem: {short_reason(error)}.") from error


def _read_model(path: Path) -> MpsModel:
    try:
        return _read_with(path, split_free)
    except LineError as free_error:
        try:
            return _read_with(path, split_fixed)
        except LineError as fixed_error:
            raise fixed_error if fixed_error.line > free_error.line else free_error from None


def _read_with(path: Path, split: Splitter) -> MpsModel:
    with path.open("rb") as stream:
        return SectionReader(split).read(read_lines(stream))


def _build_problem(model: MpsModel) -> Problem:
    if not model.has_objective or not model.columns:
        what = "section ROWS has no objective, which is a row of type N" if model.columns else "section COLUMNS is empty"
        raise FileFormatError(what)
    shape = (len(model.row_types), len(model.columns))
    matrix = sp.csc_array((np.array(model.values), np.array(model.indices), np.array(model.indptr)), shape=shape)
    matrix.eliminate_zeros()
    weights = np.array(model.cost) * (1.0 if model.maximise else -1.0) + 0.0  # no negative zeros
    integer = np.frombuffer(model.integer, dtype=np.uint8) > 0
    row_lower, row_upper = model.row_bounds()
    col_lower, col_upper = _column_bounds(model, integer)
    names = [name for name, row in model.rows.items() if row >= 0]
    shift = np.zeros(len(names))
    size = _find_size_column(matrix, np.isneginf(col_lower) & np.isposinf(col_upper) & ~integer, row_lower, row_upper)
    if size is not None:
        column, row = size
        weights = np.delete(weights + weights[column], column)
        shift = np.delete(matrix[:, [column]].toarray().ravel(), row)
        rows, columns = np.delete(np.arange(shape[0]), row), np.delete(np.arange(shape[1]), column)
        matrix = sp.csc_array(matrix[rows][:, columns])
        row_lower, row_upper, names = row_lower[rows], row_upper[rows], [names[kept] for kept in rows]
        col_lower, col_upper, integer = col_lower[columns], col_upper[columns], integer[columns]
    _check_column_bounds(model, col_lower, col_upper, None if size is None else size[0])
    if not names:
        raise FileFormatError("it has no row but the objective: add a row that bounds the memberships")
    row_lower, row_upper = _move_bounds(matrix, shift, col_lower, row_lower, row_upper)
    blocks = _build_blocks(sp.csr_array(matrix.T), shift, row_lower, row_upper, names)
    with np.errstate(over="ignore"):
        caps = col_upper - col_lower
    return Problem(tuple(blocks), weights, caps, whole=integer if integer.any() else False)


def _column_bounds(model: MpsModel, integer: Mask) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of every column.

    Without bounds in the file a column lies between 0 and infinity, an integer between 0 and 1. If there is only an upper
    bound and it is negative, the lower one is minus infinity. Bounds of integers are rounded inwards.
    """
    lower, upper = np.zeros(integer.size), np.full(integer.size, np.inf)
    has_bound = np.zeros(integer.size, dtype=bool)
    for values, given in ((lower, model.lower), (upper, model.upper)):
        columns = np.fromiter(given.keys(), dtype=np.int64, count=len(given))
        values[columns] = np.fromiter(given.values(), dtype=np.float64, count=len(given))
        has_bound[columns] = True
    has_lower = np.zeros(integer.size, dtype=bool)
    has_lower[np.fromiter(model.lower.keys(), dtype=np.int64, count=len(model.lower))] = True
    lower[(upper < 0) & ~has_lower] = -np.inf
    upper[integer & ~has_bound] = 1.0
    return np.where(integer, np.ceil(lower), lower), np.where(integer, np.floor(upper), upper)


def _find_size_column(matrix: Any, is_free: Mask, row_lower: FloatArray, row_upper: FloatArray) -> tuple[int, int] | None:
    """Return the only free column n and the last row that says ``sum(x) - n = 0`` or its negative, or None."""
    if np.count_nonzero(is_free) != 1 or matrix.shape[1] < 2:
        return None
    column = int(np.argmax(is_free))
    by_row = sp.csr_array(matrix)
    entries_of = np.diff(by_row.indptr)
    for row in np.flatnonzero((entries_of == matrix.shape[1]) & (row_lower == 0) & (row_upper == 0))[::-1]:
        entries = by_row[[row], :].toarray().ravel()
        own = entries[column]
        if abs(own) == 1 and (np.delete(entries, column) == -own).all():
            return column, int(row)
    return None


def _check_column_bounds(model: MpsModel, lower: FloatArray, upper: FloatArray, left_out: int | None) -> None:
    """Raise for the first column without finite bounds, or with crossed ones."""
    wrong = ~(np.isfinite(lower) & np.isfinite(upper) & (lower <= upper))
    if not wrong.any():
        return
    position = int(np.argmax(wrong))
    column = position + (left_out is not None and position >= left_out)
    name = show(list(model.columns)[column])
    line = model.bound_lines.get(column, model.column_lines[column])
    low, high = float(lower[position]), float(upper[position])
    if low > high:
        integers = "integers between " if model.integer[column] else ""
        raise LineError(line, f"column {name} has crossed bounds: no {integers or 'value between '}{low!r} and {high!r}")
    side = "lower" if np.isfinite(high) else "upper"
    kind = "LO" if side == "lower" else "UP"
    raise LineError(
        line,
        f"column {name} has no finite {side} bound, but every membership has bounds: add one to section BOUNDS, as in "
        f"' {kind} BND {name[1:-1]} 100'",
    )


def _move_bounds(
    matrix: Any, shift: FloatArray, start: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of rows for columns that begin at 0 instead of ``start``."""
    if not start.any():
        return lower, upper
    with np.errstate(over="ignore", invalid="ignore"):
        moved = matrix @ start + shift * start.sum()
        low, high = lower - moved, upper - moved
    is_lost = (np.isinf(low) & np.isfinite(lower)) | (np.isinf(high) & np.isfinite(upper)) | ~np.isfinite(moved)
    if is_lost.any():
        raise FileFormatError("rows overflow when columns begin at their lower bounds: choose smaller bounds")
    return low, high


def _build_blocks(A: Any, shift: FloatArray, lower: FloatArray, upper: FloatArray, names: list[str]) -> list[MomentBlock]:
    """Return blocks of moments whose columns are those of A plus ``shift``.

    One block is enough if all entries are stored in the same way. If a part is sparse and another dense, consecutive moments
    of the same kind become a block, so that the shift does not make the sparse part dense.
    """
    n_points, n_moments = A.shape
    if A.nnz <= MAX_SPARSE_DENSITY * n_points * n_moments or not shift.any():
        is_sparse = np.full(n_moments, A.nnz <= MAX_SPARSE_DENSITY * n_points * n_moments)
    else:
        is_sparse = (np.bincount(A.indices, minlength=n_moments) <= MAX_SPARSE_DENSITY * n_points) | (shift != 0)
    blocks = []
    by_moment = A.tocsc()
    for sparse, group in groupby(range(n_moments), key=is_sparse.__getitem__):
        moments = list(group)
        part = slice(moments[0], moments[-1] + 1)
        features = by_moment[:, part]
        features = sp.csr_array(features) if sparse else features.toarray()
        block = build_block_from_matrix(features, lower[part], upper[part], names[part])
        blocks.append(replace(block, shift=shift[part]))
    return blocks
