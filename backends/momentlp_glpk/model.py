"""Copying a linear program into GLPK."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from momentlp.problem.linear_program import LinearProgram

__all__ = ["load_program"]


@contextmanager
def load_program(program: LinearProgram) -> Iterator[Any]:
    """Copy a program into a new GLPK problem, column by column, and free it at the end.

    GLPK has one call that takes a whole matrix, but it is slower and blocks Ctrl-C for seconds.
    """
    import swiglpk as glpk

    rows, columns = program.matrix.shape
    handle = glpk.glp_create_prob()
    try:
        glpk.glp_set_obj_dir(handle, glpk.GLP_MAX)
        glpk.glp_add_rows(handle, rows)
        glpk.glp_add_cols(handle, columns)
        for row, (low, high) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True), 1):
            glpk.glp_set_row_bnds(handle, row, _bound_type(low, high), low, high)
        bounds = zip(program.col_lower.tolist(), program.col_upper.tolist(), program.cost.tolist(), strict=True)
        for column, (low, high, cost) in enumerate(bounds, 1):
            glpk.glp_set_col_bnds(handle, column, _bound_type(low, high), low, high)
            glpk.glp_set_obj_coef(handle, column, cost)
        for column in [] if program.integer is None else np.flatnonzero(program.integer).tolist():
            glpk.glp_set_col_kind(handle, column + 1, glpk.GLP_IV)
        _load_matrix(handle, program.matrix)
        yield handle
    finally:
        glpk.glp_delete_prob(handle)


def _load_matrix(handle: Any, matrix: Any) -> None:
    """Copy a CSC matrix through two short arrays of GLPK. GLPK counts from 1: the first element of each is not used."""
    import swiglpk as glpk

    rows = glpk.intArray(matrix.shape[0] + 1)
    values = glpk.doubleArray(matrix.shape[0] + 1)
    indices, data = np.asarray(matrix.indices + 1, dtype=np.int32), np.asarray(matrix.data, dtype=np.float64)
    to_rows, to_values = int(rows.this) + 4, int(values.this) + 8
    from_rows, from_values = indices.ctypes.data, data.ctypes.data
    copy, set_column, start = ctypes.memmove, glpk.glp_set_mat_col, 0
    for column, end in enumerate(matrix.indptr[1:].tolist(), 1):
        length = end - start
        copy(to_rows, from_rows + 4 * start, 4 * length)
        copy(to_values, from_values + 8 * start, 8 * length)
        set_column(handle, column, length, rows, values)
        start = end


def _bound_type(low: float, high: float) -> int:
    import swiglpk as glpk

    if low == high:
        return int(glpk.GLP_FX)
    if np.isinf(low):
        return int(glpk.GLP_FR if np.isinf(high) else glpk.GLP_UP)
    return int(glpk.GLP_LO if np.isinf(high) else glpk.GLP_DB)
