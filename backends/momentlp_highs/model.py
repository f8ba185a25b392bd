"""Copying a linear program, and a start, into HiGHS."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.errors import SolverError
from momentlp.points.arrays import FloatArray
from momentlp.problem.linear_program import LinearProgram

__all__ = ["pass_program", "set_start"]

BOUND_TOLERANCE = 1e-9  # this close to a bound, relative to its cap, a membership starts at the bound


def pass_program(highs: Any, program: LinearProgram) -> None:
    """Copy a program into HiGHS, in one call."""
    import highspy

    rows, columns = program.matrix.shape
    status = highs.passModel(
        columns,
        rows,
        program.matrix.nnz,
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMaximize),
        0.0,
        program.cost,
        program.col_lower,
        program.col_upper,
        program.row_lower,
        program.row_upper,
        program.matrix.indptr,
        program.matrix.indices,
        program.matrix.data,
        # 0 for a continuous column, 1 for an integer; HiGHS would read past the end of an empty array.
        np.zeros(columns, dtype=np.int32) if program.integer is None else program.integer.astype(np.int32),
    )
    # A warning says that entries below small_matrix_value were dropped. The certificate shows whether that matters.
    if status == highspy.HighsStatus.kError:
        raise SolverError("highs refused the model. Save it with problem.save(path) and report it.")


def set_start(highs: Any, program: LinearProgram, h: FloatArray, y: FloatArray) -> None:
    """Start from the basis that (h, y) suggests: memberships between their bounds and moments with y = 0 are basic.

    HiGHS completes a basis that is too small and repairs a singular one, so a bad guess does no harm.

    Parameters
    ----------
    highs : highspy.Highs
        Holds the program.
    program : LinearProgram
    h : array of shape (N,)
    y : array of shape (m,)
    """
    import highspy

    status = highspy.HighsBasisStatus
    statuses = np.array([status.kLower, status.kBasic, status.kUpper], dtype=object)
    unit = 1.0 if program.unit is None else program.unit[: program.n_points]
    caps = program.col_upper[: program.n_points] * unit
    columns = np.where(h <= BOUND_TOLERANCE * caps, 0, np.where(h >= (1 - BOUND_TOLERANCE) * caps, 2, 1))
    rows = np.where(y == 0, 1, np.where(y > 0, 2, 0))
    # The program may have one more variable, the sum of h, and one more row that defines it.
    extra_columns, extra_rows = program.col_lower.size - h.size, program.row_lower.size - y.size
    basis = highspy.HighsBasis()
    basis.col_status = [*statuses[columns], *[status.kBasic] * extra_columns]
    basis.row_status = [*statuses[rows], *[status.kLower] * extra_rows]
    basis.valid = basis.alien = True
    if highs.setBasis(basis) == highspy.HighsStatus.kError:
        raise SolverError("highs refused the start. Save the problem with problem.save(path) and report it.")
