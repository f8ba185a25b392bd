"""Proofs in exact arithmetic, compared with known fractions and with GLPK's exact simplex, also from wrong answers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.available_backends import BACKENDS

import momentlp as mlp
from momentlp.proof.dual_bound import farkas_value
from momentlp.proof.exact.integers import IntegerProgram, format_fraction, to_integers
from momentlp.proof.exact.proof import prove


def integer_problem(random: np.random.Generator, max_points: int = 40) -> mlp.Problem:
    """Return a problem in small integers: ties, equations, infinite bounds, minimum sizes, weights and caps."""
    n, m = int(random.integers(1, max_points)), int(random.integers(1, 8))
    lower, upper = -random.integers(0, 6, m).astype(float), random.integers(0, 6, m).astype(float)
    if random.random() < 0.5:
        lower, upper = np.zeros(m), np.zeros(m)
    lower[random.random(m) < 0.15] = -np.inf
    upper[random.random(m) < 0.15] = np.inf
    if random.random() < 0.2:
        lower[0] = random.integers(0, 4)
        upper[0] = lower[0] + random.integers(0, 4)
    A = random.integers(-5, 6, (n, m)).astype(float)
    return mlp.Problem.from_arrays(A, lower, upper, weights=random.integers(1, 4, n), caps=random.integers(1, 3, n))


def test_the_exact_simplex_ends_after_few_steps() -> None:
    """First of all, because the other tests would wait for ever for a simplex that takes wrong steps."""
    random = np.random.default_rng(3)
    for _ in range(40):
        problem = integer_problem(random, max_points=16)
        start = random.random(problem.n_points) * problem.caps, random.normal(size=problem.n_moments)
        assert prove(problem, *start, pivot_limit=200).status is not mlp.Status.LIMIT


@pytest.mark.parametrize("block", range(10))
def test_exact_and_float_optimum_agree_on_integers(block: int) -> None:
    """On a thousand random problems, every solution in floats is at the exact optimal vertex."""
    random = np.random.default_rng([4, block])
    for number in range(100):
        problem = integer_problem(random)
        solution = mlp.solve(problem, BACKENDS[number % len(BACKENDS)])
        proof = solution.certificate.exact()
        assert proof.confirmed, proof
        if proof.status is mlp.Status.INFEASIBLE:
            assert solution.status is mlp.Status.INFEASIBLE
            continue
        assert solution.status in (mlp.Status.OPTIMAL, mlp.Status.EMPTY)
        assert abs(proof.off) <= 1e-9 * max(1, proof.optimum)
        assert proof.bound >= proof.optimum


def test_any_start_ends_at_the_same_optimum_and_glpk_agrees() -> None:
    random = np.random.default_rng(5)
    pivots = 0
    for _ in range(60):
        problem = integer_problem(random, max_points=16)
        from_random_start = prove(
            problem, random.random(problem.n_points) * problem.caps, random.normal(size=problem.n_moments)
        )
        proof = mlp.solve(problem).certificate.exact(second_opinion=True)
        assert (from_random_start.status, from_random_start.optimum) == (proof.status, proof.optimum)
        if proof.optimum is not None:
            assert proof.second_opinion == pytest.approx(float(proof.optimum), rel=1e-9, abs=1e-9)
        pivots += from_random_start.pivots
    assert pivots > 60  # otherwise the exact simplex was not tested


def test_the_optimum_is_a_fraction() -> None:
    problem = mlp.Problem.from_arrays([[-1.0], [3.0], [7.0]], 0.0, 0.0)
    proof = mlp.solve(problem).certificate.exact()
    assert proof.optimum == Fraction(4, 3)
    assert proof.membership == (1, Fraction(1, 3), 0)
    assert proof.multipliers == (Fraction(1, 3),)
    assert repr(proof).startswith("ExactProof(OPTIMAL, 4/3, off=")
    assert proof.pivots == 0


@pytest.mark.parametrize(
    ("h", "y", "reason"),
    [
        ([1.0, 0.0, 1 / 7], [1 / 7], "another set is heavier by 4/21"),
        ([1.0, 1.0, 0.0], [1 / 3], "point 1 has membership 1/3 at the vertex, not 1"),
        ([0.0, 0.0, 0.0], [1 / 3], "another set is heavier by 4/3"),
        ([1.0, 1.0, 0.0], [0.0], "point 0 would need a membership of 3"),
    ],
)
def test_the_proof_says_why_an_answer_is_not_optimal(h: list[float], y: list[float], reason: str) -> None:
    problem = mlp.Problem.from_arrays([[-1.0], [3.0], [7.0]], 0.0, 0.0)
    proof = mlp.Certificate.of(problem, h, y).exact()
    assert proof.optimum == Fraction(4, 3)
    assert proof.objective == sum(map(Fraction, h))
    assert proof.off == proof.objective - proof.optimum
    assert proof.reason == reason


def test_a_vertex_outside_its_bounds_is_named() -> None:
    """Both points look fractional, but the sum is zero only if the second has a membership of 2."""
    problem = mlp.Problem.from_arrays([[-1.0], [0.5]], 0.0, 0.0)
    proof = mlp.Certificate.of(problem, [1.0, 0.9], [2.0]).exact()
    assert not proof.confirmed
    assert proof.reason == "point 1 would need a membership of 2"
    assert proof.optimum == Fraction(3, 2)


def test_floats_are_converted_without_rounding() -> None:
    """The mean of 0, 0.1 and 0.3 is no float. Exact arithmetic sees the rounding error of the nearest float."""
    X = np.array([[0.0, 0.0], [0.1, 0.4], [0.3, 0.7]])
    solution = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(0.0)).compile(X, labelled=[0, 1, 2]))
    proof = solution.certificate.exact()
    assert solution.objective == pytest.approx(3.0)
    assert 0 < proof.violation < Fraction(1, 10**15)
    assert not proof.confirmed
    assert proof.optimum < 3
    wider = mlp.Spec(tolerance=mlp.Absolute(1e-12)).compile(X, labelled=[0, 1, 2])
    assert mlp.solve(wider).certificate.exact().optimum == 3


def test_infeasibility_is_proved_with_fractions() -> None:
    problem = mlp.Problem.from_arrays([[1.0, 1.0], [2.0, 1.0]], [0.0, 0.1], [0.0, np.inf])
    proof = mlp.solve(problem).certificate.exact()
    assert proof.status is mlp.Status.INFEASIBLE
    assert proof.confirmed
    assert proof.optimum is proof.off is None
    unproved = mlp.Certificate.of(problem, [0.0, 0.0], [0.0, 0.0]).exact()
    assert unproved.status is mlp.Status.INFEASIBLE
    assert "do not prove" in unproved.reason


def test_a_time_limit_stops_the_exact_proof() -> None:
    problem = mlp.Spec().compile(np.random.default_rng(0).normal(size=(200, 20)), labelled=range(40))
    proof = mlp.solve(problem).certificate.exact(time_limit=1e-6)
    assert proof.status is mlp.Status.LIMIT
    assert "time_limit=1e-06" in proof.reason
    assert proof.optimum is None
    with pytest.raises(mlp.OptionError, match="time_limit"):
        mlp.solve(problem).certificate.exact(time_limit=-1)


def test_integers_times_units_are_the_entries_of_every_kind_of_block() -> None:
    """Doubled rows, transforms, sparse features, shifts: integers times their units are the entries of A."""
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 3))
    problems = [
        mlp.Spec(tolerance=mlp.Relative(0.1)).compile(X, labelled=range(5)),
        mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.StandardError(0.5)).compile(X, labelled=range(5)),
        mlp.Spec(tolerance=mlp.Relative(0.2)).compile(
            sp.random_array((30, 3), density=0.4, rng=1, format="csr"), labelled=[0]
        ),
        mlp.Spec(constraints=[mlp.Share(low=0.1, high=0.6)]).compile(X, labelled=range(5)),
    ]
    for problem in problems:
        program = IntegerProgram.of(problem)
        units = np.array([float(unit / program.cap_unit) for unit in program.row_units])
        assert np.allclose(program.M.T.astype(float) * units, problem.A.toarray(), rtol=1e-14, atol=1e-15)
        proof = mlp.solve(problem).certificate.exact()
        assert abs(proof.off) <= 1e-9 * proof.optimum


@pytest.mark.parametrize("size", [2.0**-1000, 2.0**-30, 1.0, 2.0**30, 2.0**1000])
def test_the_exact_optimum_does_not_depend_on_the_scale(size: float) -> None:
    problem = mlp.Problem.from_arrays(np.array([[-1.0], [3.0], [7.0]]) * size, -size, size)
    assert mlp.solve(problem).certificate.exact().optimum == Fraction(5, 3)


def test_integers_times_a_power_of_two_are_the_floats() -> None:
    values = np.array([0.0, 1.0, -0.1, 3e-310, 1e308, -7.0, np.pi])
    integers, exponent = to_integers(values)
    assert [Fraction(v) * Fraction(2) ** exponent for v in integers.tolist()] == [Fraction(v) for v in values.tolist()]
    assert to_integers(np.zeros(2)) == (pytest.approx([0, 0]), 0)


def test_a_problem_without_fractional_points_is_proved() -> None:
    problem = mlp.Problem.from_arrays([[1.0], [-1.0], [1.0]], 0.0, 0.0, caps=[0.0, 1.0, 1.0])
    assert mlp.solve(problem).certificate.exact().optimum == 2


def test_a_proof_of_infeasibility_uses_finite_bounds_only() -> None:
    """The finite numbers that replace infinite bounds must not be part of the proof."""
    problem = mlp.Problem.from_arrays([[1.0, -3.0]], [-np.inf, -1.0], [-3.0, np.inf])
    proof = prove(problem, np.array([0.5]), np.zeros(2))
    assert proof.status is mlp.Status.INFEASIBLE
    assert farkas_value(problem, np.array([float(value) for value in proof.multipliers])) < 0


def test_fractions_too_large_for_floats_can_be_printed() -> None:
    problem = mlp.Problem.from_arrays([[-1.0], [1.0], [3.0]], 0.0, 0.0, weights=1e299)
    proof = mlp.Certificate.of(problem, [0.0, 0.0, 0.0], [0.0]).exact()
    assert "another set is heavier by" in repr(proof)
    assert format_fraction(Fraction(1, 10**5000)) == "1e-5000"
    assert format_fraction(Fraction(10**5000)) == "1e+5000"


def test_the_second_opinion_on_an_infeasible_problem_is_nan() -> None:
    problem = mlp.Problem.from_arrays([[1.0], [2.0]], lower=5.0, upper=6.0)
    solution = mlp.solve(problem, "highs")
    assert solution.status is mlp.Status.INFEASIBLE
    assert np.isnan(solution.certificate.exact(second_opinion=True).second_opinion)
