"""Both kinds of matching find as many rows as an enumeration of all subsets does, and never break a tolerance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.matching import Match, cardinality_match, profile_match

Rows = NDArray[np.bool_]
SLACK = 1e-9
SEEDS = range(6)


def all_subsets(n: int) -> Iterator[Rows]:
    return (np.array(chosen, dtype=bool) for chosen in product((False, True), repeat=n) if any(chosen))


def largest(n: int, is_allowed: Callable[[Rows], bool]) -> int:
    return max((int(chosen.sum()) for chosen in all_subsets(n) if is_allowed(chosen)), default=0)


def assert_largest(match: Match, best: int, is_allowed: Callable[[Rows], bool]) -> None:
    assert match.size == best
    assert match.bound >= best
    assert best == 0 or is_allowed(match.weights > 0)


def integers(seed: int, n: int, d: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).integers(0, 6, (n, d)).astype(float)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("tolerance", "unit"), [(0.1, "target"), (0.3, "pool"), (0.2, "pooled"), (0.0, "target")])
def test_a_profile_match_is_the_largest(seed: int, tolerance: float, unit: str) -> None:
    pool, target = integers(seed, 10, 2), integers(seed + 100, 7, 2)
    spreads = {"target": target.std(axis=0), "pool": pool.std(axis=0)}
    spreads["pooled"] = np.sqrt((spreads["target"] ** 2 + spreads["pool"] ** 2) / 2)

    def is_allowed(chosen: Rows) -> bool:
        difference = np.abs(pool[chosen].mean(axis=0) - target.mean(axis=0))
        return bool((difference <= tolerance * spreads[unit] + SLACK).all())

    match = profile_match(pool, target, tolerance=tolerance, unit=unit, backend="highs")
    assert_largest(match, largest(10, is_allowed), is_allowed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("features", ["variances", "products"])
def test_squares_and_products_are_about_the_mean_of_the_target(seed: int, features: str) -> None:
    pool, target = integers(seed, 10, 2), integers(seed + 100, 9, 2)

    def moments(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        deviation = rows - target.mean(axis=0)
        parts = [rows, deviation**2, deviation[:, [0]] * deviation[:, [1]]]
        return np.hstack(parts if features == "products" else parts[:2])

    limit = 0.5 * moments(target).std(axis=0) + SLACK

    def is_allowed(chosen: Rows) -> bool:
        return bool((np.abs(moments(pool[chosen]).mean(axis=0) - moments(target).mean(axis=0)) <= limit).all())

    match = profile_match(pool, target, tolerance=0.5, features=features, backend="highs")
    assert_largest(match, largest(10, is_allowed), is_allowed)


def pairwise_allowed(
    X: NDArray[np.float64], codes: NDArray[np.int_], ratio: list[int], tolerance: float
) -> Callable[[Rows], bool]:
    n_groups = len(ratio)
    spread = np.sqrt(np.mean([X[codes == g].var(axis=0) for g in range(n_groups)], axis=0))

    def is_allowed(chosen: Rows) -> bool:
        sizes = [int((chosen & (codes == g)).sum()) for g in range(n_groups)]
        if min(sizes) == 0 or len({size / k for size, k in zip(sizes, ratio, strict=True)}) > 1:
            return False
        means = [X[chosen & (codes == g)].mean(axis=0) for g in range(n_groups)]
        return all((np.abs(a - b) <= tolerance * spread + SLACK).all() for a in means for b in means)

    return is_allowed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ratio", [[1, 1], [2, 1], [1, 1, 1], [2, 1, 1]], ids=str)
def test_a_cardinality_match_is_the_largest(seed: int, ratio: list[int]) -> None:
    X, codes = integers(seed, 11, 2), np.arange(11) % len(ratio)
    is_allowed = pairwise_allowed(X, codes, ratio, 0.25)
    names = {"abc"[g]: k for g, k in enumerate(ratio)}
    match = cardinality_match(X, np.array(list("abc"))[codes], tolerance=0.25, ratio=names, backend="highs")
    assert_largest(match, largest(11, is_allowed), is_allowed)
    assert match.bound % sum(ratio) == 0


@pytest.mark.filterwarnings("ignore::momentlp.UnmatchedLevelWarning")
@pytest.mark.parametrize("seed", SEEDS)
def test_exact_and_fine_balance_give_equal_counts(seed: int) -> None:
    random = np.random.default_rng(seed)
    X, codes = integers(seed, 12, 1), np.arange(12) % 2
    town, sex = random.integers(0, 3, 12), random.integers(0, 2, 12)
    mean_is_near = pairwise_allowed(X, codes, [1, 1], 0.3)
    joint = 2 * town + sex

    def counts(levels: NDArray[np.int_], rows: Rows) -> list[int]:
        return np.bincount(levels[rows], minlength=6).tolist()

    def is_fine(chosen: Rows) -> bool:
        first, second = chosen & (codes == 0), chosen & (codes == 1)
        return mean_is_near(chosen) and all(counts(one, first) == counts(one, second) for one in (town, sex))

    def is_exact(chosen: Rows) -> bool:
        return mean_is_near(chosen) and counts(joint, chosen & (codes == 0)) == counts(joint, chosen & (codes == 1))

    table = {"x": X[:, 0], "town": np.array(list("uvw"))[town], "sex": np.array(list("fm"))[sex], "group": codes}
    options = {"tolerance": 0.3, "columns": ["x"], "backend": "highs"}
    for name, is_allowed in (("fine", is_fine), ("exact", is_exact)):
        best = largest(12, is_allowed)
        try:
            match = cardinality_match(table, "group", **{name: ["town", "sex"]}, **options)  # type: ignore[arg-type]
        except DataError:
            assert best == 0
            continue
        assert_largest(match, best, is_allowed)


@pytest.mark.parametrize("seed", SEEDS)
def test_exact_balance_with_a_target_gives_equal_shares(seed: int) -> None:
    pool = integers(seed, 12, 1)
    sex = np.random.default_rng(seed).permutation(np.arange(12) % 3 == 0)
    target, target_sex = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, False])

    def is_allowed(chosen: Rows) -> bool:
        near = abs(pool[chosen, 0].mean() - 2.5) <= 0.4 * target.std() + SLACK
        return bool(near and 2 * sex[chosen].sum() == chosen.sum())

    match = profile_match(
        {"x": pool[:, 0], "sex": sex}, {"x": target, "sex": target_sex}, tolerance=0.4, exact="sex", backend="highs"
    )
    assert_largest(match, largest(12, is_allowed), is_allowed)
    assert match.bound % 2 == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_is_kept_in_full(seed: int) -> None:
    X, codes = integers(seed, 11, 1), (np.arange(11) < 3).astype(int)
    allowed = pairwise_allowed(X, codes, [2, 1], 0.5)

    def is_allowed(chosen: Rows) -> bool:
        return bool(chosen[:3].all()) and allowed(chosen)

    match = cardinality_match(X, codes, tolerance=0.5, ratio={0: 2}, keep=1, backend="highs")
    assert_largest(match, largest(11, is_allowed), is_allowed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_of_weight_two_is_two_rows(seed: int) -> None:
    pool, target = integers(seed, 5, 1), integers(seed + 50, 4, 1)
    weighted = profile_match(pool, target, tolerance=0.3, unit="target", sample_weight=[2, 1, 2, 1, 1], backend="highs")
    repeated = profile_match(pool[[0, 0, 1, 2, 2, 3, 4]], target, tolerance=0.3, unit="target", backend="highs")
    assert weighted.size == repeated.size
    assert weighted.weights.max() <= 2
