"""Units: the solver sees entries of size one, and nothing is rounded there and back."""

from __future__ import annotations

import numpy as np
import pytest

import momentlp as mlp
from momentlp.solving.units import Units

RANDOM = np.random.default_rng(0)
SIZES = 10.0 ** np.array([-30.0, -7.0, 0.0, 5.0, 30.0])
A = RANDOM.normal(size=(40, 5)) * SIZES
CAPS = RANDOM.uniform(300.0, 700.0, size=40)
PROBLEM = mlp.Problem.from_arrays(A, -SIZES, 2 * SIZES, weights=1e-4 * (1 + RANDOM.random(40)), caps=CAPS)
UNITS = Units.of(PROBLEM, PROBLEM.scale)


def answer(h: np.ndarray | None, y: np.ndarray | None) -> mlp.Answer:
    return mlp.Answer(mlp.Outcome.OPTIMAL, h, y, "")


def test_units_are_powers_of_two() -> None:
    mantissas, _ = np.frexp([*UNITS.factors, UNITS.weight, UNITS.cap])
    assert (mantissas == 0.5).all()


def test_scaled_sizes_are_between_one_and_two() -> None:
    scaled = UNITS.scale_problem(PROBLEM)
    largest = np.abs(scaled.A.toarray()).max(axis=0)
    assert ((largest >= 1) & (largest < 2)).all()
    assert 1 <= scaled.weights.max() < 2
    assert 1 <= np.median(scaled.caps) < 2


def test_scaling_rounds_no_number() -> None:
    scaled = UNITS.scale_problem(PROBLEM)
    assert (scaled.A.toarray() / UNITS.factors == A).all()
    assert (scaled.weights * UNITS.weight == PROBLEM.weights).all()
    assert (scaled.caps * UNITS.cap == CAPS).all()
    assert (scaled.lower / UNITS.factors * UNITS.cap == PROBLEM.lower).all()
    assert (scaled.upper / UNITS.factors * UNITS.cap == PROBLEM.upper).all()


def test_a_pair_is_the_same_after_scaling_there_and_back() -> None:
    h, y = CAPS * RANDOM.random(40), RANDOM.normal(size=5) / SIZES
    scaled = UNITS.scale_start(mlp.Options(start=(h, y))).start
    assert scaled is not None
    assert not np.array_equal(scaled[0], h)
    again = UNITS.unscale_answer(PROBLEM, answer(*scaled))
    assert (again[0] == h).all()
    assert (again[1] == y).all()


def test_a_pair_weighs_the_same_in_both_units() -> None:
    h, y = CAPS * RANDOM.random(40), RANDOM.normal(size=5) / SIZES
    scaled = UNITS.scale_problem(PROBLEM)
    start = UNITS.scale_start(mlp.Options(start=(h, y))).start
    assert start is not None
    original, rescaled = mlp.Certificate.of(PROBLEM, h, y), mlp.Certificate.of(scaled, *start)
    assert rescaled.objective * UNITS.weight * UNITS.cap == pytest.approx(original.objective, rel=1e-12)
    assert rescaled.bound * UNITS.weight * UNITS.cap == pytest.approx(original.bound, rel=1e-12)


def test_options_without_a_start_stay_as_they_are() -> None:
    options = mlp.Options(time_limit=3.0)
    assert UNITS.scale_start(options) is options


def test_a_problem_of_size_one_is_handed_over_as_it_is() -> None:
    problem = mlp.Problem.from_arrays([[-1.0], [1.5]], 0.0, 0.0)
    assert Units.of(problem, problem.scale).scale_problem(problem) is problem


def test_an_answer_is_projected_onto_its_bounds() -> None:
    problem = mlp.Problem.from_arrays(np.eye(3), [-np.inf, -1.0, -1.0], [1.0, np.inf, 1.0])
    units = Units.of(problem, problem.scale)
    h, y = units.unscale_answer(problem, answer(np.array([-1e-9, 0.5, 1.0 + 1e-9]), np.array([-1e-9, 1e-9, -2.0])))
    assert h.tolist() == [0.0, 0.5, 1.0]
    assert y.tolist() == [0.0, 0.0, -2.0]  # no multiplier on a side that has no bound


@pytest.mark.parametrize("bad", [None, np.full(3, np.nan)], ids=["missing", "NaN"])
def test_values_that_are_no_numbers_become_zero(bad: np.ndarray | None) -> None:
    problem = mlp.Problem.from_arrays(np.eye(3), -1.0, 1.0)
    h, y = Units.of(problem, problem.scale).unscale_answer(problem, answer(bad, bad))
    assert h.tolist() == y.tolist() == [0.0, 0.0, 0.0]


def test_the_answer_of_the_backend_is_not_changed() -> None:
    h = np.array([-1.0, 0.5, 2.0])
    problem = mlp.Problem.from_arrays(np.eye(3), -1.0, 1.0)
    Units.of(problem, problem.scale).unscale_answer(problem, answer(h, np.zeros(3)))
    assert h.tolist() == [-1.0, 0.5, 2.0]


def test_a_moment_that_is_only_rounding_vanishes_and_gets_no_multiplier() -> None:
    X = np.column_stack([np.full(30, 0.1), RANDOM.normal(size=30)])
    problem = mlp.Spec(tolerance=mlp.Absolute(0.0)).compile(X, mean=[np.nextafter(0.1, 1.0), 0.0])
    assert problem.noise.tolist() == [True, False]
    units = Units.of(problem, problem.scale)
    assert np.abs(units.scale_problem(problem).A.toarray()[:, 0]).max() < 1e-12
    _, y = units.unscale_answer(problem, answer(np.zeros(30), np.ones(2)))
    assert y[0] == 0.0
    assert y[1] != 0.0


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200])
def test_extreme_sizes_have_finite_units(size: float) -> None:
    problem = mlp.Problem.from_arrays([[-size], [size]], -1.0, 1.0)
    units = Units.of(problem, problem.scale)
    assert np.isfinite(units.factors).all()
    assert (units.factors > 0).all()
