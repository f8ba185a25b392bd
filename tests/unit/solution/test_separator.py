"""The separator: the hyperplane of the theorem, for points seen and unseen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import momentlp as mlp

TOLERANCES = [mlp.Absolute(0.0), mlp.Absolute(3.0), mlp.Relative(0.05), mlp.Relative([0.1, 0.0, 0.0, 0.2])]


def points(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 4))


@pytest.mark.parametrize("tolerance", TOLERANCES, ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_scores_new_points_like_those_of_the_problem(tolerance: mlp.Tolerance, sparse: bool, backend: str) -> None:
    X = points(150, 0)
    container = sp.csr_array if sparse else np.asarray
    solution = mlp.solve(mlp.Spec(tolerance=tolerance).compile(container(X), mean=[0.3, -0.2, 0.1, 0.4]), backend)
    assert np.allclose(solution.separator.decision_function(container(X)), solution.scores, atol=1e-9)
    clear = np.abs(solution.scores) > 1e-6
    assert np.array_equal(solution.separator.predict(X)[clear], solution.membership[clear] > 0.5)


@pytest.mark.parametrize("tolerance", TOLERANCES, ids=str)
def test_decision_function_is_the_hyperplane(tolerance: mlp.Tolerance) -> None:
    solution = mlp.solve(mlp.Spec(tolerance=tolerance).compile(points(150, 0), mean=[0.3, -0.2, 0.1, 0.4]))
    new = points(20, 1)
    separator = solution.separator
    assert np.allclose(separator.decision_function(new), separator.offset + new @ separator.normal)
    assert np.array_equal(separator.predict(new), separator.decision_function(new) > 0)
    assert separator.predict(new).dtype == bool
    assert separator.names == ("x0", "x1", "x2", "x3")


def test_a_class_cut_off_by_a_plane_is_found_in_new_points() -> None:
    normal = np.array([1.0, -2.0, 0.5, 0.0])
    X, new = points(2000, 2), points(2000, 3)
    inside = X @ normal > 1
    solution = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(0.0)).compile(X, mean=X[inside].mean(axis=0)))
    assert np.array_equal(solution.membership > 0.5, inside)
    assert (solution.separator.predict(new) == (new @ normal > 1)).mean() > 0.995


def test_new_points_must_have_the_same_columns() -> None:
    frame = pd.DataFrame(points(50, 0), columns=list("abcd"))
    separator = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(frame, labelled=range(9))).separator
    assert separator.names == ("a", "b", "c", "d")
    assert np.array_equal(separator.decision_function(frame), separator.decision_function(frame.to_numpy()))
    with pytest.raises(mlp.DataError, match="column 'd' where 'a' is expected"):
        separator.predict(frame[list("dcba")])
    with pytest.raises(mlp.DataError, match=r"X has 3 column\(s\)"):
        separator.predict(points(5, 1)[:, :3])
    with pytest.raises(mlp.DataError, match="X must be finite"):
        separator.predict(np.full((1, 4), np.nan))


def test_a_problem_from_arrays_scores_rows_of_features() -> None:
    A = points(40, 5)
    solution = mlp.solve(mlp.Problem.from_arrays(A, -1.0, 1.0))
    assert np.allclose(solution.separator.decision_function(A), solution.scores)
    with pytest.raises(mlp.DataError, match=r"the separator has 4 feature\(s\)"):
        solution.separator.predict(A[:, :2])
