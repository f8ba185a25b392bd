"""Equal rows are found, dense and sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from momentlp.points.distinct_rows import distinct_rows

X = np.array([[0.0, 1.0], [2.0, 0.0], [-0.0, 1.0], [2.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize("build", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
def test_the_first_of_equal_rows_and_the_group_of_each_are_returned(build: Any) -> None:
    first, group = distinct_rows(build(X))
    assert first.tolist() == [0, 1, 4]
    assert group.tolist() == [0, 1, 0, 1, 2]
    assert np.array_equal(X[first][group], X)


def test_stored_zeros_do_not_make_sparse_rows_different() -> None:
    stored = sp.csr_array((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    first, group = distinct_rows(stored)
    assert (first.tolist(), group.tolist()) == ([0], [0, 0])


def test_the_same_values_in_other_columns_are_different_rows() -> None:
    assert distinct_rows(sp.csr_array(np.eye(3)))[0].size == 3
