"""User-defined constraints: they work for every kind of X, and an error in one names the constraint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp

X = np.random.default_rng(0).normal(size=(60, 2))


def map_from_disk(folder: Path) -> np.memmap:
    np.save(folder / "points.npy", X)
    return np.load(folder / "points.npy", mmap_mode="r")


FORMS: dict[str, Callable[[Path], Any]] = {
    "dense": lambda _: X,
    "sparse": lambda _: sp.csr_array(X),
    "memory map": map_from_disk,
}


@pytest.fixture(params=FORMS)
def points(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return FORMS[request.param](tmp_path)


@mlp.constraint("test-ratio")
def ratio(problem: mlp.Problem, data: mlp.Data, column: int, times: float) -> mlp.Problem:
    row = np.where(data.column(column, "ratio") > 0, 1.0, -times)
    return problem.with_rows(row[:, None], 0.0, 0.0, ["ratio"])


@mlp.constraint("test-indexing-ratio")
def indexing_ratio(problem: mlp.Problem, data: mlp.Data, column: int, times: float) -> mlp.Problem:
    return problem.with_rows(np.where(data.points[:, [column]] > 0, 1.0, -times), 0.0, 0.0, ["ratio"])


@mlp.constraint("test-short-rows")
def short_rows(problem: mlp.Problem, data: mlp.Data) -> mlp.Problem:
    return problem.with_rows(np.ones((3, 1)), 0.0, 1.0, ["short"])


@mlp.constraint("test-raises")
def raises(problem: mlp.Problem, data: mlp.Data) -> mlp.Problem:
    return {}["missing"]


def compile_with(constraint: mlp.Constraint, points: Any) -> mlp.Problem:
    return mlp.Spec(tolerance=mlp.Absolute(20.0), constraints=[constraint]).compile(points, labelled=range(10))


def test_a_constraint_on_a_column_holds_for_every_kind_of_points(points: Any) -> None:
    h = mlp.solve(compile_with(ratio(column=0, times=2.0), points)).membership
    right = X[:, 0] > 0
    assert h.sum() > 1
    assert h[right].sum() == pytest.approx(2.0 * h[~right].sum())


def test_indexing_the_points_works_for_arrays() -> None:
    one, other = (compile_with(kind(column=0, times=2.0), X) for kind in (ratio, indexing_ratio))
    assert np.array_equal(one.A.toarray(), other.A.toarray())


@pytest.mark.parametrize("form", ["sparse", "memory map"])
def test_indexing_points_that_are_no_array_names_the_constraint_and_the_alternative(form: str, tmp_path: Path) -> None:
    with pytest.raises(
        mlp.CompileError, match=r"constraint indexing_ratio failed: .* data\.column\(name, 'indexing_ratio'\)"
    ):
        compile_with(indexing_ratio(column=0, times=2.0), FORMS[form](tmp_path))


def test_rows_of_a_wrong_shape_name_the_constraint(points: Any) -> None:
    with pytest.raises(mlp.DataError, match=r"constraint short_rows failed: .*has 3 points.* data\.column\("):
        compile_with(short_rows(), points)


def test_an_error_in_a_constraint_names_it_and_keeps_its_cause(points: Any) -> None:
    with pytest.raises(mlp.CompileError, match="constraint raises failed: KeyError: 'missing'") as caught:
        compile_with(raises(), points)
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_of_a_built_in_constraint_is_not_wrapped() -> None:
    with pytest.raises(mlp.DataError, match=r"^Known\.positives holds index 60"):
        compile_with(mlp.Known([60]), X)


class OwnError(Exception):
    """An error class of the user."""


@pytest.mark.parametrize(
    "error", [MemoryError("big"), ImportError("no such package"), OwnError("mine"), mlp.OptionError("an option.")]
)
def test_other_errors_of_a_constraint_keep_their_class(error: Exception) -> None:
    @mlp.constraint(f"test-raises-{type(error).__name__}")
    def fails(problem: mlp.Problem, data: mlp.Data) -> mlp.Problem:
        raise error

    with pytest.raises(type(error)) as caught:
        compile_with(fails(), X)
    assert caught.value is error
