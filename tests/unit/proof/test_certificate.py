"""The certificate: its bound is true for every pair (h, y), and it holds for optimal pairs only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import momentlp as mlp
from momentlp.proof.dual_bound import dual_bound, farkas_value
from momentlp.proof.polish import polish


@dataclass
class Case:
    problem: mlp.Problem
    A: np.ndarray


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw small problems in integers, where every product is exact."""
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    A = draw(hnp.arrays(np.float64, (n, m), elements=st.integers(-4, 4).map(float)))
    low = draw(hnp.arrays(np.float64, m, elements=st.integers(-3, 0).map(float)))
    high = draw(hnp.arrays(np.float64, m, elements=st.integers(0, 3).map(float)))
    low = np.where(draw(hnp.arrays(np.bool_, m)), low, -np.inf)
    weights = draw(hnp.arrays(np.float64, n, elements=st.integers(-1, 3).map(float)))
    return Case(mlp.Problem.from_arrays(A, low, high, weights=weights), A)


@given(cases(), st.data())
def test_no_feasible_set_weighs_more_than_the_bound_of_any_y(case: Case, data: st.DataObject) -> None:
    problem = case.problem
    y = data.draw(hnp.arrays(np.float64, problem.n_moments, elements=st.integers(-3, 3).map(float)))
    bound = dual_bound(problem, y)
    for corner in product((0.0, 0.5, 1.0), repeat=problem.n_points):
        h = np.array(corner)
        if ((case.A.T @ h >= problem.lower) & (case.A.T @ h <= problem.upper)).all():
            assert problem.weights @ h <= bound + 1e-12


@given(cases())
@settings(max_examples=60)
def test_a_certificate_that_holds_proves_the_optimum(case: Case) -> None:
    solution = mlp.solve(case.problem)
    assert solution.status in (mlp.Status.OPTIMAL, mlp.Status.EMPTY)
    assert solution.certificate.holds()
    best = max(
        case.problem.weights @ np.array(corner)
        for corner in product((0.0, 1.0), repeat=case.problem.n_points)
        if ((case.A.T @ corner >= case.problem.lower) & (case.A.T @ corner <= case.problem.upper)).all()
    )
    assert solution.objective >= best - 1e-7


def solve_example() -> tuple[mlp.Problem, mlp.Solution]:
    problem = mlp.Spec(tolerance=mlp.Absolute([2.0, 3.0, 2.5])).compile(
        np.random.default_rng(0).normal(size=(100, 3)), mean=[0.4, -0.5, 0.6]
    )
    return problem, mlp.solve(problem)


def test_a_smaller_set_shows_a_gap() -> None:
    problem, solution = solve_example()
    certificate = mlp.Certificate.of(problem, solution.membership * 0.9, solution.multipliers)
    assert certificate.primal_residual == 0
    assert certificate.gap == pytest.approx(0.1, rel=1e-6)
    assert not certificate.holds()


def test_a_larger_set_shows_a_residual() -> None:
    problem, solution = solve_example()
    certificate = mlp.Certificate.of(problem, np.ones(100), solution.multipliers)
    assert certificate.primal_residual > 0.5
    assert not certificate.holds()


def test_memberships_outside_their_bounds_show_a_residual() -> None:
    problem, solution = solve_example()
    for wrong in (-0.25, 1.25):
        h = solution.membership.copy()
        h[0] = wrong
        assert mlp.Certificate.of(problem, h, solution.multipliers).primal_residual >= 0.25


def test_multipliers_of_the_wrong_sign_show_a_residual() -> None:
    problem, solution = solve_example()
    assert not mlp.Certificate.of(problem, solution.membership, -solution.multipliers).holds()
    one_sided = mlp.Problem.from_arrays([[1.0], [2.0]], -np.inf, 1.0)
    certificate = mlp.Certificate.of(one_sided, [1.0, 0.0], [-0.5])
    assert certificate.dual_residual == 1.0  # 0.5, in units of the largest entry, 2
    assert certificate.bound == np.inf
    assert not certificate.holds(tol=1e6)


def test_residuals_do_not_depend_on_units() -> None:
    problem, solution = solve_example()
    h = np.minimum(solution.membership * 1.01, 1.0)
    factors = np.array([1e-9, 1.0, 1e9])
    original = mlp.Certificate.of(problem, h, solution.multipliers)
    scaled = mlp.Certificate.of(problem.scaled(factors), h, solution.multipliers / factors)
    assert scaled.primal_residual == pytest.approx(original.primal_residual, rel=1e-6)
    assert scaled.gap == pytest.approx(original.gap, rel=1e-6)


def test_the_gap_is_the_sum_of_its_terms() -> None:
    problem, solution = solve_example()
    h = solution.membership * 0.5
    certificate = mlp.Certificate.of(problem, h, solution.multipliers)
    points = problem.caps * np.maximum(solution.scores, 0) - solution.scores * h
    y = solution.multipliers
    rows = problem.upper * np.maximum(y, 0) + problem.lower * np.minimum(y, 0) - y * (problem.A.T @ h)
    assert certificate.gap * max(1, certificate.bound) == pytest.approx(points.sum() + rows.sum())
    assert certificate.complementarity * max(1, certificate.bound) == pytest.approx(max(points.max(), rows.max()))


def test_there_are_at_most_as_many_fractional_points_as_active_moments() -> None:
    _, solution = solve_example()
    assert 0 < solution.certificate.fractional <= solution.certificate.active


def test_far_from_the_origin_the_solution_is_as_accurate() -> None:
    X = np.random.default_rng(0).normal(size=(500, 2))
    near, far = (
        mlp.solve(mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(X + o, mean=[0.5 + o, 0.2 + o])) for o in (0.0, 1e9)
    )
    assert far.certificate.holds(1e-9)
    assert far.objective == pytest.approx(near.objective, rel=1e-5)


def test_polishing_brings_a_rough_answer_to_the_vertex() -> None:
    problem, solution = solve_example()
    random = np.random.default_rng(1)
    fractional = (solution.membership > 1e-9) & (solution.membership < 1 - 1e-9)
    h = solution.membership + np.where(fractional, random.normal(size=100) * 1e-4, 0.0)
    y = solution.multipliers * (1 + random.normal(size=3) * 1e-4)
    assert mlp.Certificate.of(problem, h, y).error > 1e-6
    assert mlp.Certificate.of(problem, *polish(problem, h, y)).holds(1e-12)


def test_farkas_value_is_below_zero_only_for_a_proof() -> None:
    problem = mlp.Problem.from_arrays([[1.0], [1.0]], 3.0, np.inf)  # two points cannot weigh three
    assert farkas_value(problem, np.array([-1.0])) == pytest.approx(-1.0)
    feasible = mlp.Problem.from_arrays([[1.0], [1.0]], 1.0, np.inf)
    assert farkas_value(feasible, np.array([-1.0])) >= 0


@pytest.mark.parametrize(("field", "value"), [("membership", [1.0]), ("multipliers", [np.nan] * 3)])
def test_arrays_that_do_not_fit_are_named(field: str, value: object) -> None:
    problem, solution = solve_example()
    pair = {"membership": solution.membership, "multipliers": solution.multipliers} | {field: value}
    with pytest.raises(mlp.DataError, match=field):
        mlp.Certificate.of(problem, **pair)


@pytest.mark.parametrize("field", ["primal_residual", "dual_residual", "gap", "objective", "bound"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_an_infinite_error(field: str, value: float) -> None:
    """A NaN must not reach a comparison: it would be neither better nor worse than any other answer."""
    problem = mlp.Problem.from_arrays([[-1.0], [1.0], [3.0]], lower=0.0, upper=0.0)
    certificate = mlp.Certificate.of(problem, [1.0, 1.0, 0.0], [0.5])
    assert certificate.holds()
    spoiled = replace(certificate, **{field: value})
    assert spoiled.error == float("inf")
    assert not spoiled.holds(1e9)


def test_memberships_beyond_their_caps_do_not_excuse_a_moment() -> None:
    """A cap that is exceeded by 9e-8 at a point with an entry of 1e8 moves the moment by nine points."""
    problem = mlp.Problem.from_arrays(np.append(-1e8, np.ones(13))[:, None], -np.inf, -1e8 + 5)
    assert not mlp.Certificate.of(problem, np.append(1 + 9e-8, np.ones(13)), [0.0]).holds()
    rows, caps = np.concatenate([[1.0], np.zeros(20), [-1 / 9.9e-8]]), np.append(np.ones(21), 0.0)
    outside = mlp.Problem.from_arrays(rows[:, None], 0.0, 0.0, caps=caps)
    assert not mlp.Certificate.of(outside, np.append(np.ones(21), 9.9e-8), [0.0]).holds()


def test_a_point_at_its_cap_may_change_if_that_is_less_than_a_fractional_one() -> None:
    problem = mlp.Problem.from_arrays([[1.0], [-1.0], [1e-8], [5.0]], 0.0, 0.0)
    assert mlp.Certificate.of(problem, [1.0, 1.0, 0.9, 0.0], [0.2]).primal_residual == pytest.approx(9e-9, rel=1e-3)
