"""The linear program of a problem: its rows, its sparsity, and units for outliers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp
from momentlp.points.arrays import is_sparse


def test_the_linear_program_is_the_problem(problem: mlp.Problem) -> None:
    """With the size column substituted, every row of the program is a column of A."""
    program = problem.linear_program()
    M = program.matrix.toarray()
    N, m = problem.n_points, problem.n_moments
    rows = M[:m, :N] + (M[:m, N:] if program.has_size_column else 0)
    assert np.allclose(rows, problem.A.toarray().T)
    assert np.array_equal(program.row_lower[:m], problem.lower)
    assert np.array_equal(program.row_upper[:m], problem.upper)
    assert program.matrix.nnz == np.count_nonzero(program.matrix.data)


def test_the_linear_program_of_sparse_points_is_sparse() -> None:
    X = sp.random_array((4000, 500), density=0.004, rng=np.random.default_rng(0), format="csr")
    problem = mlp.Spec(tolerance=mlp.Absolute(0.5)).compile(X, labelled=range(50))
    assert is_sparse(problem.blocks[0].features)
    assert problem.linear_program().matrix.nnz < X.nnz + 4000 + 500 + 2


def test_outliers_in_other_units_do_not_change_the_program() -> None:
    program = mlp.Problem.from_arrays(
        [[1.0], [1e6], [-2.0]], -1.0, 3.0, weights=[1.0, 2.0, 3.0], caps=[1.0, 3.0, 2.0]
    ).linear_program()
    scaled = program.with_scaled_outliers()
    assert scaled.unit is not None
    assert scaled.unit[1] < 1e-5
    assert np.abs(scaled.matrix.data).max() <= 2
    h = np.array([0.5, 2.0, 1.0])
    x = h / scaled.unit
    assert np.array_equal(scaled.memberships(x), h)
    assert np.array_equal(scaled.col_upper * scaled.unit, program.col_upper)
    assert scaled.matrix @ x == pytest.approx(program.matrix @ h)
    assert scaled.cost @ x == pytest.approx(program.cost @ h)
