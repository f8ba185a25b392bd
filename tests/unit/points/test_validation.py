"""Unusable input is refused with the name of the argument; unusual input is solved correctly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import momentlp as mlp

GOOD = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])


def compile_with(X: object = GOOD, **known: object) -> mlp.Problem:
    return mlp.Spec(tolerance=mlp.Absolute(0.1)).compile(X, **(known or {"labelled": [0]}))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[0.0, np.nan]]), "row 0, column 1 is nan"),
        (np.array([[0.0], [np.inf]]), "row 1, column 0 is inf"),
        (sp.csr_array([[0.0, -np.inf]]), "row 0, column 1 is -inf"),
        (pd.DataFrame({"a": [1.0], "b": [np.nan]}), "column 'b' is nan"),
        (np.zeros((0, 2)), "X is empty"),
        (np.zeros((2, 0)), "X is empty"),
        (np.zeros(3), r"1 dimension\(s\); use X.reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        ([[1.0, 2.0], [3.0]], "not a rectangular table"),
        ([["a", "b"]], "where numbers belong"),
        (np.array([["a", 1.0]], dtype=object), "where numbers belong"),
        (pd.DataFrame({"a": [1.0], "colour": ["red"]}), "column 'colour' that is not numeric"),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "more than one column named 'a'"),
        (np.array([[1j]]), "complex"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "datetime64"),
        (None, r"0 dimension\(s\)"),
        (np.ma.masked_equal(GOOD, 2.0), "masked entries"),
    ],
    ids=str,
)
def test_unusable_points_are_refused(X: object, message: str) -> None:
    with pytest.raises(mlp.DataError, match=message) as caught:
        compile_with(X)
    assert str(caught.value).startswith("X ")


@pytest.mark.parametrize(
    ("labelled", "message"),
    [
        ([], "selects no point"),
        ([False, False, False], "selects no point"),
        ([3], "index 3, but the points are numbered 0 to 2"),
        ([-1], "index -1"),
        ([1, 1], "index 1 more than once"),
        ([0.5], "integer indices"),
        (["a"], "integer indices"),
        ([True, False], "mask of shape"),
        ([[0, 1]], "flat list"),
    ],
    ids=str,
)
def test_unusable_labels_are_refused(labelled: object, message: str) -> None:
    with pytest.raises(mlp.DataError, match=message) as caught:
        compile_with(labelled=labelled)
    assert str(caught.value).startswith("labelled ")


@pytest.mark.parametrize(
    ("mean", "message"),
    [([0.0], r"2 number\(s\)"), ([0.0, np.nan], "entry 1 is nan"), (["a", "b"], "numbers belong"), ([[0.0, 0.0]], "shape")],
    ids=str,
)
def test_an_unusable_mean_is_refused(mean: object, message: str) -> None:
    with pytest.raises(mlp.DataError, match=message) as caught:
        compile_with(mean=mean)
    assert str(caught.value).startswith("mean ")


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (np.zeros((2, 3)), r"sample has 3 column\(s\), but X has 2"),
        (np.zeros((0, 2)), "sample is empty"),
        ([[np.nan, 0.0]], "sample must be finite"),
        ([0.0, 1.0], "sample must be a table"),
    ],
    ids=str,
)
def test_an_unusable_sample_is_refused(sample: object, message: str) -> None:
    with pytest.raises(mlp.DataError, match=message):
        compile_with(sample=sample)


def test_frames_must_have_the_same_columns() -> None:
    X, sample = pd.DataFrame(GOOD, columns=["a", "b"]), pd.DataFrame(GOOD, columns=["b", "a"])
    with pytest.raises(mlp.DataError, match="column 'b' where 'a' is expected"):
        compile_with(X, sample=sample)


def test_exactly_one_of_labelled_sample_and_mean_is_required() -> None:
    with pytest.raises(mlp.CompileError, match="got none of them"):
        mlp.Spec().compile(GOOD)
    with pytest.raises(mlp.CompileError, match="labelled and mean"):
        mlp.Spec().compile(GOOD, labelled=[0], mean=[0.0, 0.0])


@pytest.mark.parametrize(
    "eps", [-1.0, float("nan"), float("inf"), "30", None, True, [1.0, -2.0], [[1.0]], [1.0, "a"]], ids=str
)
@pytest.mark.parametrize("kind", [mlp.Absolute, mlp.Relative])
def test_tolerances_must_be_finite_and_not_negative(kind: type[mlp.Tolerance], eps: object) -> None:
    with pytest.raises(mlp.SpecError, match=r"(eps|delta): must be"):
        kind(eps)


def test_the_number_of_tolerances_must_be_one_or_the_number_of_moments() -> None:
    with pytest.raises(
        mlp.CompileError, match="Absolute holds 3 values, but the features give 2 moments: give one number, or 2"
    ):
        mlp.Spec(tolerance=mlp.Absolute([1.0, 2.0, 3.0])).compile(GOOD, labelled=[0])


@pytest.mark.parametrize(
    "X",
    [
        GOOD.astype(np.float32),
        GOOD.astype(int),
        GOOD.tolist(),
        np.asfortranarray(GOOD),
        GOOD[::-1][::-1],
        GOOD.astype(object),
        pd.DataFrame(GOOD),
        pd.DataFrame(GOOD.astype(int)).astype("Int64"),
        sp.csr_matrix(GOOD),
        sp.coo_array(GOOD),
        sp.csc_array(GOOD),
        np.ma.masked_array(GOOD),
    ],
    ids=lambda X: f"{type(X).__name__}-{getattr(X, 'dtype', '')}",
)
def test_every_common_container_gives_the_same_problem(X: object) -> None:
    problem = compile_with(X)
    assert np.allclose(problem.A.toarray(), GOOD - GOOD[0])
    assert mlp.solve(problem).objective == pytest.approx(mlp.solve(compile_with()).objective)


def test_float32_stays_float32() -> None:
    assert compile_with(GOOD.astype(np.float32)).blocks[0].features.dtype == np.float32


def test_a_dense_array_is_not_copied() -> None:
    assert np.shares_memory(compile_with(GOOD).blocks[0].features, GOOD)


def test_a_mask_and_indices_give_the_same_problem() -> None:
    by_index, by_mask = compile_with(labelled=[0, 2]), compile_with(labelled=[True, False, True])
    assert np.array_equal(by_index.A.toarray(), by_mask.A.toarray())


@pytest.mark.parametrize(
    ("X", "known", "objective"),
    [
        ([[3.0]], {"labelled": [0]}, 1.0),
        ([[3.0], [3.0]], {"labelled": [0]}, 2.0),
        ([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0]], {"labelled": [1]}, 3.0),
        ([[0.0], [0.0], [1.0], [1.0]], {"mean": [0.5]}, 4.0),
        ([[1e300], [-1e300]], {"mean": [0.0]}, 2.0),
        ([[1e-300], [-1e-300], [2e-300]], {"mean": [0.0]}, 2.0),
        ([[0.0], [0.0]], {"mean": [0.0]}, 2.0),
    ],
    ids=["one point", "twins", "a constant feature", "duplicates", "huge", "tiny", "all at the mean"],
)
def test_small_and_degenerate_data_is_solved_correctly(
    X: object, known: dict[str, object], objective: float, backend: str
) -> None:
    solution = mlp.solve(mlp.Spec().compile(X, **known), backend)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.objective == pytest.approx(objective)


def test_a_difference_that_overflows_is_refused() -> None:
    with pytest.raises(mlp.DataError, match="moment 'x0' overflows"):
        mlp.solve(mlp.Spec().compile([[1.7e308], [-1.7e308]], mean=[1.7e308]))
