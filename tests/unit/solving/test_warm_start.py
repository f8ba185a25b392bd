"""A start keeps what two problems have in common: multipliers by name, points by their memberships or their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.gaussian import gaussian_problem

import momentlp as mlp
from momentlp.solving.warm_start import adapt_start

RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(60, 3)) + 0.3
PROBLEM = mlp.Problem.from_arrays(A, -1.0, 1.0, names=["a", "b", "c"])
SOLUTION = mlp.solve(PROBLEM)


def test_the_same_problem_starts_from_its_own_solution() -> None:
    h, y = adapt_start(PROBLEM, SOLUTION)
    assert np.array_equal(h, SOLUTION.membership)
    assert np.array_equal(y, SOLUTION.multipliers)


def test_the_solution_is_not_changed_through_its_start() -> None:
    _, y = adapt_start(PROBLEM, SOLUTION)
    before = SOLUTION.multipliers.copy()
    y += 1.0
    assert np.array_equal(SOLUTION.multipliers, before)


def test_multipliers_are_kept_by_name() -> None:
    other = mlp.Problem.from_arrays(np.column_stack([A[:, 2], np.ones(60), A[:, 0]]), -1.0, 60.0, names=["c", "new", "a"])
    _, y = adapt_start(other, SOLUTION)
    a, _, c = SOLUTION.multipliers
    assert y.tolist() == [c, 0.0, a]


def test_memberships_are_kept_within_the_new_caps() -> None:
    lower_caps = mlp.Problem.from_arrays(A, -1.0, 1.0, caps=0.25, names=["a", "b", "c"])
    h, _ = adapt_start(lower_caps, SOLUTION)
    assert np.array_equal(h, np.minimum(SOLUTION.membership, 0.25))


def test_other_points_are_placed_by_their_scores() -> None:
    caps = RANDOM.uniform(1.0, 2.0, size=90)
    other = mlp.Problem.from_arrays(RANDOM.normal(size=(90, 3)), -1.0, 1.0, caps=caps, names=["a", "b", "c"])
    h, y = adapt_start(other, SOLUTION)
    scores = 1.0 - other.A.toarray() @ SOLUTION.multipliers
    nearest = np.argsort(np.abs(scores))[: np.count_nonzero(y)]
    expected = np.where(scores > 0, caps, 0.0)
    expected[nearest] = caps[nearest] / 2
    assert 0 < nearest.size < 90
    assert np.array_equal(h, expected)


def test_without_a_common_moment_all_points_are_in() -> None:
    other = mlp.Problem.from_arrays(np.ones((5, 1)), 0.0, 5.0, names=["other"])
    h, y = adapt_start(other, SOLUTION)
    assert y.tolist() == [0.0]
    assert h.tolist() == [1.0] * 5


def test_fewer_points_than_moments_with_a_multiplier_are_all_fractional() -> None:
    other = mlp.Problem.from_arrays(RANDOM.normal(size=(1, 3)), -1.0, 1.0, names=["a", "b", "c"])
    assert np.count_nonzero(SOLUTION.multipliers) > 1
    assert adapt_start(other, SOLUTION)[0].tolist() == [0.5]


def test_a_pair_is_used_as_it_is_within_the_caps() -> None:
    h, y = adapt_start(PROBLEM, (np.linspace(-1, 2, 60), [1.0, 2.0, 3.0]))
    assert np.array_equal(h, np.clip(np.linspace(-1, 2, 60), 0, 1))
    assert y.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("start", ["warm", 3, (np.zeros(60),), {"h": 1}, np.zeros((2, 60))], ids=type)
def test_a_start_of_another_type_is_refused(start: Any) -> None:
    with pytest.raises(mlp.OptionError, match=r"start must be a Solution or a pair \(h, y\)"):
        mlp.solve(PROBLEM, start=start)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ((np.zeros(59), np.zeros(3)), "start: h must hold 60"),
        ((np.zeros(60), np.zeros(2)), "start: y must hold 3"),
        ((np.full(60, np.nan), np.zeros(3)), "start: h must be finite"),
    ],
)
def test_a_pair_that_does_not_fit_is_refused(start: Any, message: str) -> None:
    with pytest.raises(mlp.DataError, match=message):
        mlp.solve(PROBLEM, start=start)


@pytest.mark.parametrize("backend", ["highs", "sifting"])
def test_a_start_from_more_points_does_not_change_the_optimum(backend: str) -> None:
    start = mlp.solve(gaussian_problem(400))
    problem = gaussian_problem(300, seed=1)
    warm, cold = mlp.solve(problem, backend, start=start), mlp.solve(problem, "glpk")
    assert warm.status is mlp.Status.OPTIMAL
    assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
