"""``backend="auto"`` chooses by the shape of the problem, and by nothing else."""

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.gaussian import gaussian_problem

import momentlp as mlp
from momentlp.backend.auto import choose_backend, resolve_backend


@pytest.mark.parametrize(
    ("n", "m", "name"),
    [
        (100, 3, "highs"),
        (5000, 20, "sifting"),
        (5000, 2000, "sifting"),
        (50_000, 256, "sifting"),
        (300, 4000, "sifting"),
    ],
)
def test_auto_chooses_by_shape(n: int, m: int, name: str) -> None:
    assert choose_backend(mlp.Problem.from_arrays(np.zeros((n, m)), -1.0, 1.0)) == name


def test_a_tolerance_on_the_mean_counts_each_feature_once() -> None:
    problem = mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(
        np.random.default_rng(0).normal(size=(2000, 12)), labelled=[0, 1]
    )
    assert problem.n_moments == 24
    assert choose_backend(problem) == "highs"


@pytest.mark.parametrize(("n", "d", "name"), [(20_000, 5000, "sifting"), (2000, 5000, "highs"), (3000, 200, "sifting")])
def test_auto_chooses_sifting_for_many_sparse_points_per_feature(n: int, d: int, name: str) -> None:
    X = sp.random_array((n, d), density=0.002, rng=0, format="csr")
    assert choose_backend(mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(X, labelled=[0, 1, 2])) == name


def test_auto_leaves_few_sparse_features_to_highs() -> None:
    X = sp.random_array((3000, 40), density=0.02, rng=0)
    assert choose_backend(mlp.Problem.from_arrays(X, -1.0, 1.0)) == "highs"
    assert mlp.solve(mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(X, labelled=[0, 1, 2])).backend == "highs"


def test_native_options_under_auto_are_those_of_highs() -> None:
    assert mlp.solve(gaussian_problem(8000), options={"presolve": "on"}).backend == "highs"


def test_a_backend_that_was_chosen_by_name_or_instance_stays() -> None:
    problem = gaussian_problem(8000)
    glpk = resolve_backend("glpk", problem)
    assert glpk.name == "glpk"
    assert resolve_backend(glpk, problem) is glpk
