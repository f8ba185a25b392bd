"""Products with many features: in threads, and centred after multiplying where no digits are lost by that."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import momentlp as mlp
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp.runtime.threads import limit_threads

N = 120_000


@pytest.fixture(scope="module")
def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, 12)) + np.linspace(-3, 3, 12)


def _block(features: np.ndarray, tolerance_on: str = "mean") -> MomentBlock:
    labels = tuple(f"x{j}" for j in range(features.shape[1]))
    mean = np.asarray(features.mean(axis=0), dtype=np.float64)
    return MomentBlock.near(features, mean, np.full(len(mean), 0.1), labels=labels, tolerance_on=tolerance_on)


def _exact_scores(block: MomentBlock, y: np.ndarray, rows: np.ndarray) -> list[float]:
    dense = block.transform.toarray()
    result = []
    for row in rows:
        entries = [
            Fraction(float(value)) - Fraction(float(a)) for value, a in zip(block.features[row], block.origin, strict=True)
        ]
        total = Fraction(0)
        for j in range(block.n_moments):
            entry = sum(e * Fraction(float(t)) for e, t in zip(entries, dense[:, j], strict=True)) + Fraction(
                float(block.shift[j])
            )
            total += entry * Fraction(float(y[j]))
        result.append(float(total))
    return result


def test_products_do_not_depend_on_the_number_of_threads(features: np.ndarray) -> None:
    A, random = MomentMatrix((_block(features),)), np.random.default_rng(1)
    y, h = random.normal(size=A.shape[1]), random.random(N)
    assert len(A.spans) > 1
    with limit_threads(1):
        alone = A @ y, A.T @ h
    with limit_threads(4):
        together = A @ y, A.T @ h
    assert np.array_equal(alone[0], together[0])
    assert np.array_equal(alone[1], together[1])


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e3, 1.7e9])
def test_scores_are_exact_wherever_the_origin_lies(features: np.ndarray, offset: float) -> None:
    block = _block(features + np.where(np.arange(12) == 5, offset, 0.0))
    y = np.random.default_rng(2).normal(size=block.n_moments)
    rows = np.arange(0, N, 5000)
    scores = MomentMatrix((block,)) @ y
    assert scores[rows] == pytest.approx(_exact_scores(block, y, rows), rel=1e-12, abs=2e-13)
    assert block._is_centred_late == (offset < 100)


def test_sums_lose_no_digits_to_a_time_stamp(features: np.ndarray) -> None:
    stamped = features.copy()
    stamped[:, 3] += 1.7e9
    block, plain = _block(stamped, "sum"), _block(features, "sum")
    h = np.random.default_rng(3).random(N)
    found = MomentMatrix((block,)).T @ h
    expected = MomentMatrix((plain,)).T @ h
    assert np.delete(found, 3) == pytest.approx(np.delete(expected, 3), abs=1e-8)
    exact = sum(
        Fraction(float(v)) * (Fraction(float(x)) - Fraction(float(block.origin[3])))
        for v, x in zip(h, stamped[:, 3], strict=True)
    )
    assert found[3] == pytest.approx(float(exact), abs=1e-9 * np.abs(h * (stamped[:, 3] - block.origin[3])).sum())


def test_single_precision_is_centred_in_double(features: np.ndarray) -> None:
    block = _block(features.astype(np.float32))
    y = np.random.default_rng(4).normal(size=block.n_moments)
    rows = np.arange(0, N, 10_000)
    assert not block._is_centred_late
    assert (MomentMatrix((block,)) @ y)[rows] == pytest.approx(_exact_scores(block, y, rows), rel=1e-12, abs=1e-13)


def test_rows_of_several_blocks_stand_side_by_side(features: np.ndarray) -> None:
    problem = mlp.Spec(tolerance=mlp.Relative(0.1), constraints=(mlp.Share(0.01, 0.5),)).compile(features, mean=np.zeros(12))
    blocks = problem.blocks
    assert len(blocks) == 2
    for points in (slice(None), slice(10, 90_000, 7), np.array([5, 3, 3, N - 1]), np.arange(0, N, 2)):
        assert np.array_equal(problem.A.rows(points), np.hstack([block.rows(points) for block in blocks]))
