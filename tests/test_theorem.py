"""The theorem on random data: a set is the largest with its mean exactly when a hyperplane cuts it off."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import BACKENDS
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import momentlp as mlp

pytestmark = pytest.mark.filterwarnings("ignore::momentlp.OnlyLabelledWarning")  # few points, many dimensions
FAST = tuple(name for name in BACKENDS if name != "pyomo")  # the same engine, at a hundredth of the speed


@st.composite
def clouds(draw: st.DrawFn) -> np.ndarray:
    """Points in general position, or on a grid where everything ties, in 1 to 4 dimensions, at any scale."""
    n, d = draw(st.integers(2, 25)), draw(st.integers(1, 4))
    if draw(st.booleans()):
        X = draw(hnp.arrays(np.float64, (n, d), elements=st.integers(-3, 3).map(float)))
    else:
        X = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).normal(size=(n, d))
    return X * 10.0 ** draw(st.integers(-9, 9))


@given(clouds(), st.data(), st.sampled_from(FAST))
@settings(max_examples=150)
def test_a_half_space_is_the_largest_set_with_its_mean(X: np.ndarray, data: st.DataObject, backend: str) -> None:
    """Whatever the membership on the hyperplane itself, as long as some point lies beyond it.

    (A set that lies on the hyperplane altogether is cut off by it too, but all its multiples have the same mean.)
    """
    normal = data.draw(hnp.arrays(np.float64, X.shape[1], elements=st.integers(-3, 3).map(float)).filter(np.any))
    score = X @ normal
    assume(score.min() < score.max())
    level = data.draw(st.sampled_from(list(score[score < score.max()])))
    fuzzy = data.draw(st.floats(0.0, 1.0))
    h = np.where(score > level, 1.0, np.where(score == level, fuzzy, 0.0))
    solution = mlp.solve(mlp.Spec().compile(X, mean=h @ X / h.sum()), backend)
    assert solution.status in (mlp.Status.OPTIMAL, mlp.Status.EMPTY), solution.message
    assert solution.objective <= h.sum() * (1 + 1e-6) + 1e-6


@given(clouds(), st.data(), st.sampled_from(FAST))
@settings(max_examples=150)
def test_the_largest_set_with_a_mean_is_cut_off_by_its_multipliers(X: np.ndarray, data: st.DataObject, backend: str) -> None:
    labelled = data.draw(st.sets(st.integers(0, len(X) - 1), min_size=1, max_size=6))
    solution = mlp.solve(mlp.Spec().compile(X, labelled=sorted(labelled)), backend)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    assert solution.objective >= len(labelled) - 1e-6  # the labelled points themselves have this mean
    s, h = solution.scores, solution.membership
    assert (h[s > 1e-6] > 1 - 1e-5).all()
    assert (h[s < -1e-6] < 1e-5).all()


@given(clouds(), st.floats(0, 10), st.floats(0, 10))
@settings(max_examples=60)
def test_a_wider_tolerance_never_finds_less(X: np.ndarray, one: float, other: float) -> None:
    spread = np.abs(X).max() or 1.0
    sizes = [
        mlp.solve(mlp.Spec(tolerance=mlp.Absolute(eps * spread)).compile(X, labelled=[0])).objective
        for eps in sorted((one, other))
    ]
    assert sizes[0] <= sizes[1] * (1 + 1e-6) + 1e-6


@given(clouds(), st.integers(-6, 6))
@settings(max_examples=60)
def test_units_do_not_matter(X: np.ndarray, power: int) -> None:
    sizes = [mlp.solve(mlp.Spec().compile(X * factor, labelled=[0])).objective for factor in (1.0, 10.0**power)]
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-6)


@given(clouds())
@settings(max_examples=60)
def test_a_point_of_cap_two_is_two_points(X: np.ndarray) -> None:
    mean = X.mean(axis=0)
    twice = mlp.Spec().compile(np.vstack([X, X[:1]]), mean=mean)
    A = X - mean
    capped = mlp.Problem.from_arrays(A, 0.0, 0.0, caps=np.where(np.arange(len(X)) == 0, 2.0, 1.0))
    assert mlp.solve(twice).objective == pytest.approx(mlp.solve(capped).objective, rel=1e-6)
