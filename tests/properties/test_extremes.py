"""Data on which solvers go wrong: outliers, wide ranges, unusual units. No wrong answer may be called optimal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.oracle import one_moment_optimum

import momentlp as mlp
from momentlp.proof.infeasibility import proves_infeasible
from momentlp.testing.faults import Faulty

pytestmark = pytest.mark.filterwarnings("ignore::momentlp.SentinelWarning")  # outliers are what these tests are about

PROVED = (mlp.Status.OPTIMAL, mlp.Status.EMPTY)


def test_an_outlier_does_not_hide_the_others(backend: str) -> None:
    """One entry of -1e10 in a column: scaled by its largest entry, all others would look like zero."""
    X = np.random.default_rng(0).normal(size=(300, 1))
    X[0] = -1e10
    solution = mlp.solve(mlp.Spec().compile(X, labelled=np.argsort(-X[:, 0])[:30]), backend)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.objective == pytest.approx(30.0)


@pytest.mark.parametrize("outlier", [1e8, 1e12])
def test_an_outlier_that_no_set_needs_changes_nothing(backend: str, outlier: float) -> None:
    a = np.concatenate([np.ones(1000), -np.ones(10), [outlier]])
    solution = mlp.solve(mlp.Problem.from_arrays(a[:, None], 0.0, 0.0), backend)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.objective == pytest.approx(20.0, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-20, 1e-8, 1e8, 1e20])
@pytest.mark.parametrize("what", ["weights", "caps"])
def test_units_of_weights_and_caps_do_not_matter(backend: str, what: str, unit: float) -> None:
    problem = mlp.Problem.from_arrays([[-1.0], [1.0], [3.0]], 0.0, 0.0, **{what: unit})
    solution = mlp.solve(problem, backend)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.objective == pytest.approx(2 * unit, rel=1e-9)
    assert solution.certificate.holds()


@pytest.mark.parametrize(
    ("weights", "rows"),
    [(-1.0, ([[-1.0], [1.0]], -1.0, 1.0)), (0.0, ([[-1.0], [1.0]], -1.0, 1.0)), (1.0, ([[1.0], [1.0]], -np.inf, 0.5))],
    ids=["negative weights", "no weights", "a bound on the size"],
)
def test_a_small_optimum_is_not_an_empty_class(backend: str, weights: float, rows: tuple[object, float, float]) -> None:
    assert mlp.solve(mlp.Problem.from_arrays(*rows, weights=weights), backend).status is mlp.Status.OPTIMAL


def test_a_class_of_half_a_point_by_share_is_not_empty(backend: str) -> None:
    X = np.linspace(-1, 1, 10)[:, None]
    spec = mlp.Spec(tolerance=mlp.Absolute(0.1), constraints=[mlp.Share(high=0.05)])
    solution = mlp.solve(spec.compile(X, mean=[0.0]), backend)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.objective == pytest.approx(0.5)


def test_a_mean_just_outside_the_hull_has_no_set(backend: str) -> None:
    solution = mlp.solve(mlp.Spec().compile([[1.0], [2.0], [3.0]], mean=[1 - 1e-8]), backend)
    assert solution.status is mlp.Status.EMPTY


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("how", ["labelled", "sample", "mean", "sample_weight"])
@pytest.mark.parametrize("value", [0.1, 1e-9, 1 / 3, 1e9 / 7])
def test_a_constant_feature_does_not_change_the_optimum(backend: str, value: float, how: str, sparse: bool) -> None:
    """The mean of three times 0.1 is not 0.1 in floats; scaled up, the difference would be an infeasible equation."""
    X = np.column_stack([np.full(9, value), np.arange(9.0), 3 * value * np.ones(9)])
    data = sp.csr_array(X) if sparse else X
    known = {
        "labelled": {"labelled": [0, 1, 2]},
        "sample": {"sample": data[:3]},
        "mean": {"mean": (X[0] + X[1] + X[2]) / 3},
        "sample_weight": {"labelled": [0, 1, 2], "sample_weight": np.full(9, 0.7)},
    }[how]
    solution = mlp.solve(mlp.Spec().compile(data, **known), backend)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.objective == pytest.approx(3.0 * (0.7 if how == "sample_weight" else 1.0))


@pytest.mark.parametrize("decades", [0, 3, 6, 8, 10, 12, 15])
def test_a_proved_optimum_is_the_exact_optimum(backend: str, decades: int) -> None:
    """One moment whose entries, weights and caps span many decades, against exact arithmetic."""
    random = np.random.default_rng(decades)
    unproved = 0
    for _ in range(25):
        n = int(random.integers(2, 200))
        a = random.normal(size=n) * 10.0 ** random.integers(-9, 10)
        some = random.uniform(size=n) < random.choice([0.02, 0.3])
        a[some] *= 10.0 ** random.uniform(-decades, decades, int(some.sum()))
        a[random.integers(n)] *= 10.0 ** (decades * random.integers(0, 2))
        eps = float(random.choice([0.0, 1e-3, 1.0]) * np.median(np.abs(a)))
        weights, caps = (
            10.0 ** (random.uniform(-1, 1, n) * random.integers(0, 2) + random.integers(-8, 9)) for _ in range(2)
        )
        problem = mlp.Problem.from_arrays(a[:, None], -eps, eps, weights=weights, caps=caps)
        solution = mlp.solve(problem, backend)
        if solution.status not in PROVED:
            unproved += 1
            continue
        optimum = float(one_moment_optimum(a, -eps, eps, weights, caps))
        assert abs(solution.objective - optimum) <= 1e-5 * max(optimum, problem.point_weight)
    assert unproved <= (0 if decades <= 6 else 3)


def test_too_many_threads_are_refused() -> None:
    with pytest.raises(mlp.OptionError, match="threads is 1000000"):
        mlp.solve(mlp.Problem.from_arrays([[1.0]], 0.0, 1.0), threads=10**6)


def test_small_differences_of_large_numbers_are_not_rounding_errors(backend: str) -> None:
    """Time stamps and ids are far from zero and close together, but not equal."""
    X = 1e15 + np.array([[0.0], [1.0], [2.0], [9.0]])
    assert mlp.solve(mlp.Spec().compile(X, mean=[1e15 + 1]), backend).objective == pytest.approx(3.0)
    assert mlp.solve(mlp.Spec().compile(X, mean=[1e15 - 3]), backend).status is mlp.Status.EMPTY
    few_units_apart = 1e15 + np.array([[0.0], [0.5], [1.0], [1.5]])  # in the last place
    assert mlp.solve(mlp.Spec().compile(few_units_apart, mean=[1e15 + 0.5]), backend).objective == pytest.approx(3.0)
    burst = 1.7e9 + np.arange(0, 2e-5, 2.4e-7)[:, None]
    assert mlp.solve(mlp.Spec().compile(burst, labelled=range(5)), backend).objective == pytest.approx(5.0)


def test_rows_of_a_constraint_are_never_rounding_errors() -> None:
    rows = (1 + np.arange(10.0) * 2.0**-50)[:, None]
    problem = mlp.Problem.from_arrays(np.ones((10, 1)), 0.0, np.inf).with_rows(rows, -np.inf, 2.0**-50, ["c"], shift=-1.0)
    assert not problem.noise.any()
    assert mlp.solve(problem).objective == pytest.approx(2.0)


def test_numbers_in_single_precision_are_the_numbers_they_are() -> None:
    """The float32 nearest to 0.1 is not the float64 nearest to 0.1; what is equal in one form of the data is so in all."""
    X = np.full((6, 1), 0.1, dtype=np.float32)
    for points in (X, X.astype(np.float64), sp.csr_array(X), sp.csr_array(X, dtype=np.float64)):
        assert mlp.solve(mlp.Spec().compile(points, mean=[0.1])).status is mlp.Status.EMPTY
        assert mlp.solve(mlp.Spec().compile(points, mean=[float(X[0, 0])])).objective == pytest.approx(6.0)
        assert mlp.solve(mlp.Spec().compile(points, labelled=range(6))).objective == pytest.approx(6.0)


@pytest.mark.parametrize("fault", ["nothing at all", "memberships are noise", "everything out", "multipliers are huge"])
@pytest.mark.parametrize(
    ("X", "mean", "size"),
    [
        (np.column_stack([np.arange(6.0) - 2, np.full(6, 0.1)]), [0.0, np.nextafter(0.1, 1)], 5.0),
        (np.array([[0.0, 0.0], [0.1, 0.3], [0.2, 0.6]]), np.array([[0.0, 0.0], [0.1, 0.3], [0.2, 0.6]]).mean(axis=0), 3.0),
    ],
    ids=["a constant feature", "points on a line"],
)
def test_a_repaired_answer_does_not_depend_on_rounding(X: np.ndarray, mean: np.ndarray, size: float, fault: str) -> None:
    """The exact repair ignores the same rounding errors as the solver in floats."""
    problem = mlp.Spec().compile(X, mean=mean)
    for backend in ("highs", Faulty(fault)):
        solution = mlp.solve(problem, backend)
        assert solution.status is mlp.Status.OPTIMAL, solution.message
        assert solution.objective == pytest.approx(size)


@pytest.mark.parametrize("unit", [1e308, 1e200, 1e-200])
def test_weights_and_caps_beyond_floats_are_refused(unit: float) -> None:
    with pytest.raises(mlp.DataError, match="weights times caps"):
        mlp.Problem.from_arrays(np.ones((40, 3)), -1.0, 1.0, weights=unit, caps=1.0 if unit == 1e308 else unit)


def test_nan_proves_nothing() -> None:
    problem = mlp.Problem.from_arrays([[-1.0], [1.0], [-1.9]], 0.0, 0.0, caps=[1.0, 1.0, 0.0])
    solution = mlp.solve(problem, Faulty("multipliers are huge"), repair=False)
    assert solution.status is mlp.Status.FAILED
    assert mlp.Certificate.of(problem, [0.0, 0.0, 0.0], [1.7e308]).error >= 1


def test_points_of_small_weight_count() -> None:
    """Weights span ten decades; a set of the lightest points is not empty."""
    problem = mlp.Spec().compile([[-1.0], [1.0], [2.0]], mean=[0.0], sample_weight=[1e-10, 1.0, 1.0])
    solution = mlp.solve(problem)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.objective == pytest.approx(2e-10)


@pytest.mark.parametrize("weight", [1e-13, 1.0, 1e13])
def test_a_small_share_is_not_empty_in_any_unit_of_weight(weight: float) -> None:
    spec = mlp.Spec(tolerance=mlp.Absolute(1.0), constraints=[mlp.Share(high=1e-3)])
    problem = spec.compile([[-1.0], [1.0], [2.0]], mean=[0.0])
    assert mlp.solve(replace(problem, weights=np.full(3, weight))).status is mlp.Status.OPTIMAL


def test_scores_that_are_rounding_errors_prove_nothing() -> None:
    """Dependent moments with huge multipliers that cancel: what is left of ``A y`` is rounding, not a hyperplane."""
    random = np.random.default_rng(0)
    columns = random.integers(-(10**6), 10**6, size=(4000, 2)).astype(float)
    A = np.column_stack([columns, columns.sum(axis=1)])
    y = np.array([1.0, 1.0, -1.0]) * 1e14 / 3
    A = A[A @ y > 1.5][:60]
    problem = mlp.Problem.from_arrays(A, 0.0, 0.0)
    assert len(A) == 60
    assert mlp.solve(problem).objective > 1
    assert mlp.Certificate.of(problem, np.zeros(60), y).bound > 1
    sized = problem.with_rows(np.ones((60, 1)), 1.0, np.inf, ["size"])
    assert not proves_infeasible(sized, np.append(y, -1.0), 1e-9)
