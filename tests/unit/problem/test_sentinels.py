"""A few entries far beyond the rest of their column are reported; heavy tails and other honest data are not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp
from momentlp.problem.sentinels import find_sentinels, sentinels_reported

N = 2000


def points(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(1.0, 0.3, size=(N, 3))


def compiled(X: Any, features: mlp.FeatureMap | None = None, labelled: Any = range(20)) -> mlp.Problem:
    return mlp.Spec(features=features or mlp.Linear(), tolerance=mlp.Absolute(5.0)).compile(X, labelled=labelled)


def found_in(X: Any, features: mlp.FeatureMap | None = None) -> dict[str, tuple[float, list[int]]]:
    return {found.name: (found.value, found.rows.tolist()) for found in find_sentinels(compiled(X, features))}


def mapped(X: np.ndarray, folder: Path) -> np.ndarray:
    """Return the points as a memory map, which is read in chunks."""
    np.save(folder / "points.npy", X)
    return np.load(folder / "points.npy", mmap_mode="r")


@pytest.mark.parametrize("kind", ["dense", "sparse", "chunked"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("code", [999999999.0, -999999999.0, 1e7, 99999.0, -9999.0, 999.0, 1e30])
def test_a_code_for_a_missing_value_is_found(code: float, dtype: Any, kind: str, tmp_path: Path) -> None:
    X = points()
    X[[5, 1700], 1] = code
    X = X.astype(dtype)
    given = {"dense": lambda: X, "sparse": lambda: sp.csr_array(X), "chunked": lambda: mapped(X, tmp_path)}[kind]()
    assert found_in(given) == {"x1": (float(dtype(code)), [5, 1700])}


def test_a_standardised_column_shows_its_sentinels() -> None:
    X = points()
    X[[5, 1700], 1] = 999999999.0
    assert found_in(X, mlp.Linear(standardise=True)).keys() == {"x1"}


def test_a_binary_column_shows_its_sentinels() -> None:
    X = points()
    X[:, 2] = X[:, 2] > 1.2
    X[77, 2] = 9999.0
    assert found_in(X) == {"x2": (9999.0, [77])}


def test_up_to_one_percent_of_the_rows_may_be_sentinels() -> None:
    X = points()
    X[:20, 0] = 999999999.0
    assert len(found_in(X)["x0"][1]) == 20
    X[:60, 0] = 999999999.0
    assert found_in(X) == {}


def test_a_moment_of_a_constraint_is_looked_at() -> None:
    A = points()
    A[3, 0] = 1e9
    problem = mlp.Problem.from_arrays(points(1), 0.0, 9.0).with_rows(A, 0.0, 1e9, ["first", "second", "third"])
    assert [(found.name, found.rows.tolist()) for found in find_sentinels(problem)] == [("first", [3])]


def _one_hot(random: np.random.Generator) -> np.ndarray:
    X = np.zeros((N, 3))
    X[np.arange(12), 0] = 1e6  # a rare group, in large units
    X[np.arange(0, N, 100), 1] = 1.0
    X[9, 2] = 1e9  # one entry, and nothing to compare it with
    return X


HONEST: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal": lambda random: random.normal(size=(N, 3)),
    "heavy tail": lambda random: random.lognormal(sigma=3.0, size=(100_000, 3)),
    "signed heavy tail": lambda random: random.standard_t(1.5, size=(100_000, 3)),
    "one-hot": _one_hot,
    "binary": lambda random: (random.random((N, 3)) < 0.01) * 1.0,
    "binary in large units": lambda random: (random.random((N, 3)) < 0.005) * 1e9,
    "counts": lambda random: random.poisson([0.01, 3.0, 1e5], size=(N, 3)) * 1.0,
    "constants": lambda random: np.broadcast_to([0.0, 0.1, 1e12], (N, 3)).copy(),
    "constants with rounding": lambda random: np.where(
        random.random((N, 3)) < 0.001, 2e6, 1e6 * (1 + 2e-16 * random.integers(0, 3, (N, 3)))
    ),
    "twelve decades": lambda random: random.normal(size=(N, 3)) * [1e-6, 1.0, 1e6],
    "timestamps": lambda random: 1.7e9 + random.random((N, 3)) * [1.0, 1e4, 3e7],
    "two clusters": lambda random: random.normal(size=(N, 3)) + np.where(np.arange(N) < 15, 1e5, 0.0)[:, None],
    "few rows": lambda random: np.array([[1.0, 2.0, 3.0]] * 10 + [[1e9, 2.0, 3.0]] * 12),
}


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", HONEST)
def test_honest_columns_are_not_reported(name: str, build: Any) -> None:
    X = HONEST[name](np.random.default_rng(0))
    assert found_in(build(X)) == {}


@pytest.mark.parametrize("features", [mlp.Kernel(landmarks=10), mlp.Quadratic(), mlp.Spectral(5, 5)])
def test_features_of_honest_columns_are_not_reported(features: mlp.FeatureMap) -> None:
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(300, 3)), random.normal(size=(4, 3)) + 30.0])
    assert found_in(X, features) == {}


def test_a_warning_names_column_rows_value_and_what_to_do() -> None:
    X = points()
    X[[5, 8, 13, 21, 34, 55], 1] = 999999999.0
    with pytest.warns(mlp.SentinelWarning) as caught:
        mlp.solve(compiled(X))
    (text,) = (str(warning.message) for warning in caught)
    assert text.startswith("column 'x1' holds 999999999 (rows 5, 8, 13, 21, 34, ...). That is many orders of magnitude")
    assert "Treat it as missing and impute it, drop the rows, or clip the column." in text
    assert caught[0].filename == __file__


def test_a_warning_names_the_first_of_many_columns() -> None:
    X = np.random.default_rng(0).normal(size=(N, 6))
    X[4] = 999999999.0
    with pytest.warns(mlp.SentinelWarning, match=r"'x0' .*'x1' .*'x2' .*\(row 4\); and so do 3 more columns\. That"):
        mlp.solve(compiled(X))


def test_the_warning_comes_before_the_solver_runs() -> None:
    X = points()
    X[5, 1] = 999999999.0
    lines: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(mlp.SentinelWarning):
            mlp.solve(compiled(X), "highs", log=lines.append)
    assert lines == []


def suspicious_problem() -> mlp.Problem:
    X = points()
    X[5, 1] = 999999999.0
    return compiled(X)


def count_warnings(work: Callable[[], Any]) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return sum(issubclass(warning.category, mlp.SentinelWarning) for warning in caught)


def test_a_path_and_a_comparison_warn_once() -> None:
    problem = suspicious_problem()
    assert count_warnings(lambda: mlp.path(problem, [8.0, 6.0, 4.0])) == 1
    assert count_warnings(lambda: mlp.compare(problem, ["highs", "scipy"], repeat=2)) == 1


def test_an_estimator_does_not_warn_for_every_bootstrap_sample() -> None:
    X, y = points(), np.r_[np.ones(40), np.zeros(N - 40)]
    X[500, 1] = 999999999.0
    model = mlp.MomentClassifier(features="linear", smoothing=None, probability=True)
    assert count_warnings(lambda: model.fit(X, y)) == 1


def test_an_explanation_does_not_warn_again() -> None:
    X = points()
    X[5, 1] = 999999999.0
    problem = mlp.Spec(tolerance=mlp.Relative(0.1)).compile(X, mean=[-5.0, 1.0, 1.0])
    with pytest.warns(mlp.SentinelWarning):
        solution = mlp.solve(problem)
    assert count_warnings(solution.explain) == 0


def test_the_warning_can_be_turned_off_for_more_solves_of_the_same_points() -> None:
    problem = suspicious_problem()
    with sentinels_reported():
        assert count_warnings(lambda: mlp.solve(problem)) == 0
    assert count_warnings(lambda: mlp.solve(problem)) == 1


def test_points_in_chunks_are_not_read_again_unless_a_column_looks_suspicious(tmp_path: Path) -> None:
    problem = compiled(mapped(points(), tmp_path))
    table = problem.blocks[0].features
    before = table.reads
    find_sentinels(problem)
    assert table.reads == before
