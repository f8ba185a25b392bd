"""The minimum change of memberships that brings a violated moment back, against enumeration."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import momentlp as mlp
from momentlp.proof.least_change import compute_least_change


def best_of_all_orders(column: np.ndarray, h: np.ndarray, caps: np.ndarray, excess: float) -> float:
    """Use up the room of the points in every order there is, and return the smallest total change, in points."""
    used_caps = zip(column, h, caps, strict=True)
    moves = [(abs(a) * cap, (h_i if a > 0 else cap - h_i) / cap) for a, h_i, cap in used_caps if cap > 0]
    best = np.inf
    for order in permutations(moves):
        left, change = excess, 0.0
        for entry, room in order:
            used = min(room, left / entry) if entry > 0 else 0.0
            left, change = left - entry * used, change + used
        if left <= 1e-12:
            best = min(best, change)
    return best


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 6))
    caps = random.integers(0, 3, n).astype(float)
    return random.integers(-4, 5, (n, 1)).astype(float), caps, caps * random.random(n)


def change(A: object, h: np.ndarray, caps: np.ndarray, sign: float, excess: float) -> float:
    problem = mlp.Problem.from_arrays(A, 0.0, 0.0, caps=caps)
    return compute_least_change(problem, h, np.array([0]), np.array([sign]), np.array([excess]))


def best_single_point(column: np.ndarray, h: np.ndarray, caps: np.ndarray, excess: float) -> float:
    """Return the smallest change, in points, by which one point alone does it; infinity if none can."""
    room = np.where(column > 0, h, caps - h)
    able = [abs(a) * cap for a, cap, r in zip(column, caps, room, strict=True) if abs(a) * r >= excess]
    return min((excess / size for size in able), default=np.inf)


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_change_of_the_best_single_point_or_of_the_best_order(seed: int) -> None:
    A, caps, h = random_case(seed)
    for sign, excess in ((1.0, 0.3), (-1.0, 0.3), (1.0, 2.5), (-1.0, 2.5)):
        single = best_single_point(sign * A[:, 0], h, caps, excess)
        minimum = best_of_all_orders(sign * A[:, 0], h, caps, excess)
        found = change(A, h, caps, sign, excess)
        assert found == pytest.approx(single if np.isfinite(single) else minimum)
        assert found >= minimum - 1e-12  # the change is never underestimated


def test_points_in_chunks_agree_to_one_per_cent(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    A, h = random.normal(size=(500, 1)), random.random(500)
    np.save(tmp_path / "A.npy", A)
    mapped = np.load(tmp_path / "A.npy", mmap_mode="r")
    for sign, excess in ((1.0, 0.1), (-1.0, 0.1), (1.0, 40.0), (-1.0, 40.0), (1.0, 1e6)):
        in_memory, in_chunks = (change(points, h, np.ones(500), sign, excess) for points in (A, mapped))
        assert in_chunks == pytest.approx(in_memory, rel=0.01)


def test_the_maximum_over_the_moments_counts() -> None:
    problem = mlp.Problem.from_arrays([[1.0, 10.0], [1.0, 10.0]], 0.0, 0.0)
    h, both = np.ones(2), np.array([0, 1])
    assert compute_least_change(problem, h, both, np.ones(2), np.array([0.5, 1.0])) == pytest.approx(0.5)
