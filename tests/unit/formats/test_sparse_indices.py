"""Indices of sparse matrices from files are checked before scipy's compiled code uses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp
from momentlp.formats.sparse_indices import SPARSE_PARTS, build_sparse, check_sparse_indices

WIDE = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sparse_matrix_is_built_as_it_was(layout: str, dtype: Any) -> None:
    matrix = sp.csr_array(WIDE.astype(dtype)).asformat(layout)
    built = build_sparse(layout, [getattr(matrix, part) for part in SPARSE_PARTS], [2, 3], "A")
    assert built.format == layout
    assert built.dtype == dtype
    assert np.array_equal(built.toarray(), WIDE)


def test_entries_must_be_finite_floats() -> None:
    matrix = sp.csr_array(WIDE)
    for data in (matrix.data.astype(int), matrix.data[:, None], np.array([1.0, np.nan, 3.0])):
        with pytest.raises(mlp.FileFormatError, match="A is not a finite matrix of floats"):
            build_sparse("csr", [data, matrix.indices, matrix.indptr], (2, 3), "A")


@pytest.mark.parametrize(
    ("indices", "indptr", "message"),
    [
        ([0.0, 1.0], [0, 1, 2], "arrays of integers"),
        ([[0, 1]], [0, 1, 2], "arrays of integers"),
        ([0, 1], [0, 2], r"2 row or column limits, but 2 and 3 are needed"),
        ([0], [0, 1, 2], r"has 1 indices"),
        ([0, 1], [1, 1, 2], "do not increase from 0"),
        ([0, 1], [0, 2, 1], "do not increase from 0"),
        ([0, 1], [0, 1, 3], "do not increase from 0"),
        ([0, 3], [0, 1, 2], "outside its shape"),
        ([0, -1], [0, 1, 2], "outside its shape"),
        ([0, 9], [0, 0, 0], "outside its shape"),  # which scipy's own check does not see
    ],
)
def test_indices_that_do_not_fit_are_refused(indices: Any, indptr: Any, message: str) -> None:
    with pytest.raises(mlp.DataError, match=message):
        check_sparse_indices("csr", np.array(indices), np.array(indptr), (2, 3), 2)


def test_columns_are_the_compressed_dimension_of_csc() -> None:
    check_sparse_indices("csc", np.array([0, 1]), np.array([0, 1, 1, 2]), (2, 3), 2)
    with pytest.raises(mlp.DataError):
        check_sparse_indices("csr", np.array([0, 1]), np.array([0, 1, 1, 2]), (2, 3), 2)
