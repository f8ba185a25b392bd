"""Tolerances: their rows and their units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import momentlp as mlp

X = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 10.0, 0.1]
KNOWN = np.arange(25)


@pytest.mark.parametrize("sparse", [False, True])
def test_standard_error_is_relative_with_the_error_of_the_mean(sparse: bool) -> None:
    points = sp.csr_array(X) if sparse else X
    error = X[KNOWN].std(axis=0, ddof=1) / 5
    one = mlp.Spec(tolerance=mlp.StandardError(0.7)).compile(points, labelled=KNOWN)
    other = mlp.Spec(tolerance=mlp.Relative(0.7 * error)).compile(points, labelled=KNOWN)
    assert np.allclose(one.A.toarray(), other.A.toarray())
    assert one.names == other.names
    sample = mlp.Spec(tolerance=mlp.StandardError([0.7, 0.7, 0.7])).compile(points, sample=X[KNOWN])
    assert np.allclose(one.A.toarray(), sample.A.toarray())


def test_a_feature_that_is_constant_on_the_labelled_points_still_has_a_tolerance() -> None:
    points = X.copy()
    points[KNOWN, 0] = 2.0
    block = mlp.Spec(tolerance=mlp.StandardError(2.0)).compile(points, labelled=KNOWN).blocks[0]
    assert block.width is not None
    assert block.width[0] == pytest.approx(2.0 * points[:, 0].std() / 25)


def test_a_constant_feature_is_recognised_in_spite_of_rounding() -> None:
    points = X.copy()
    points[:3, 0] = 0.1  # the mean of three times 0.1 is not 0.1 in floating point
    block = mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(points, labelled=[0, 1, 2]).blocks[0]
    assert block.width is not None
    assert block.width[0] == pytest.approx(points[:, 0].std() / 3)


def test_the_spread_of_sparse_columns_is_accurate() -> None:
    columns = np.column_stack([np.full(10, 1.0), np.arange(10.0) * 1e-3, 1e8 + np.arange(10.0), np.arange(10.0) * 1e14])
    dense, sparse = (mlp.Linear(standardise=True).fit(c).state["spread"] for c in (columns, sp.csr_array(columns)))
    assert np.allclose(dense, sparse, rtol=1e-6)
    assert dense[0] == sparse[0] == 1.0


def test_standard_error_needs_a_sample() -> None:
    with pytest.raises(mlp.CompileError, match="only the mean was given"):
        mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(X, mean=[0.0, 0.0, 0.0])
    with pytest.raises(mlp.CompileError, match="those given count as 1"):
        mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(X, labelled=[3])


@pytest.mark.parametrize("kind", [mlp.Absolute, mlp.Relative])
def test_standardised_units_are_standard_deviations(kind: type[mlp.Absolute]) -> None:
    one = mlp.Spec(tolerance=kind(0.5, standardised=True)).compile(X, labelled=KNOWN)
    other = mlp.Spec(tolerance=kind(0.5 * X.std(axis=0))).compile(X, labelled=KNOWN)
    assert np.allclose(one.A.toarray(), other.A.toarray())
    assert np.allclose(one.upper, other.upper)
    scaled = mlp.Spec(features=mlp.Linear(standardise=True), tolerance=kind(0.5)).compile(X, labelled=KNOWN)
    assert mlp.solve(one).objective == pytest.approx(mlp.solve(scaled).objective, rel=1e-6)


def test_a_pandas_series_holds_one_tolerance_per_moment() -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    error = frame.iloc[:25].std()
    assert mlp.Relative(error) == mlp.Relative(error.to_numpy())


class NotNegative(mlp.Tolerance):
    """A user-defined tolerance: every moment must be at least 0, and is not bounded above."""

    kind: str = "test-sign"

    def block(self, target: mlp.Target) -> mlp.MomentBlock:
        block = target.near(np.zeros(len(target.names)), "sum")
        return mlp.MomentBlock(
            block.features,
            block.origin,
            None,
            block.shift,
            np.zeros(block.n_moments),
            np.full(block.n_moments, np.inf),
            block.names,
        )


def test_a_user_defined_tolerance_is_solved(backend: str) -> None:
    spec = mlp.Spec(tolerance=NotNegative())
    assert mlp.Spec.from_json(spec.to_json()) == spec
    solution = mlp.solve(spec.compile(X, labelled=KNOWN), backend)
    assert solution.status is mlp.Status.OPTIMAL
    assert ((X - X[KNOWN].mean(axis=0)).T @ solution.membership >= -1e-6).all()


def test_one_huge_entry_does_not_make_labelled_points_agree() -> None:
    """The standard error is that of the labelled points, whatever the others hold."""
    X = np.array([[0.0], [1.0], [2.0], [3.0], [1e12]])
    block = mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(X, labelled=[0, 1, 2]).blocks[0]
    assert block.width == pytest.approx([1 / np.sqrt(3)])
