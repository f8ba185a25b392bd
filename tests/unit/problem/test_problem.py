"""Problems: the matrix of moments, scaling, and arguments that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import momentlp as mlp
from momentlp.points.arrays import is_sparse


def test_products_with_the_operator_are_those_of_its_array(problem: mlp.Problem) -> None:
    random = np.random.default_rng(3)
    A = np.asarray(problem.A)
    y, h = random.normal(size=problem.n_moments), random.uniform(size=problem.n_points)
    assert A.shape == problem.A.shape == (problem.n_points, problem.n_moments)
    assert np.allclose(problem.A @ y, A @ y)
    assert np.allclose(problem.A.T @ h, A.T @ h)
    assert np.allclose(h @ problem.A, A.T @ h)
    assert np.allclose(problem.A @ np.column_stack([y, -y]), A @ np.column_stack([y, -y]))
    assert np.allclose(aslinearoperator(problem.A).rmatvec(h), A.T @ h)
    with pytest.raises(mlp.DataError, match=r"A\.T @ h needs a vector of length"):
        problem.A.T @ h[:-1]
    assert np.allclose(problem.A.rows(np.array([3, 1])), A[[3, 1]])
    assert np.allclose(problem.A.per_moment("magnitude", h), np.abs(A).T @ h) or any(
        is_sparse(b.features) for b in problem.blocks
    )


def test_scaling_does_not_change_the_optimum(problem: mlp.Problem) -> None:
    factors = 2.0 ** np.arange(problem.n_moments)
    scaled = problem.scaled(factors)
    assert np.allclose(scaled.A.toarray(), problem.A.toarray() * factors)
    assert mlp.solve(scaled).objective == pytest.approx(mlp.solve(problem).objective, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower": 1.0, "upper": 0.0}, "lower must not exceed upper"),
        ({"lower": np.nan}, "neither may be NaN"),
        ({"lower": np.inf, "upper": np.inf}, "lower and upper of moment 'a0'"),
        ({"lower": [0.0]}, r"lower must hold 2 number\(s\)"),
        ({"upper": "x"}, "upper must hold numbers"),
        ({"weights": [1.0]}, r"weights must hold 3 number\(s\)"),
        ({"weights": np.inf}, "weights must be finite"),
        ({"caps": -1.0}, "caps must not be negative"),
        ({"names": ["only one"]}, r"names holds 1 name\(s\)"),
        ({"names": ["same", "same"]}, "two moments are named 'same'"),
    ],
    ids=str,
)
def test_unusable_arguments_of_from_arrays_are_named(change: dict[str, object], message: str) -> None:
    arguments = {"A": np.ones((3, 2)), "lower": 0.0, "upper": 0.0} | change
    with pytest.raises(mlp.DataError, match=message):
        mlp.Problem.from_arrays(**arguments)
