"""The rule for what rounding is forgiven: sizes of entries with a limit, and the problem with rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp
from momentlp.problem.rounding import ROUNDING, join_sides, limited_magnitude, limited_score_magnitude, relax_means

X = np.array([[1.0, -2.0], [3.0, 0.5], [1e12, 0.0], [-1.0, 4.0]])


def example(build: Any = np.asarray, **arguments: Any) -> mlp.Problem:
    spec = mlp.Spec(tolerance=mlp.Relative(0.25), constraints=[mlp.Share(high=0.9)])
    return spec.compile(build(X), mean=[0.5, 1.0], **arguments)


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_entries_count_up_to_their_limit(build: Any) -> None:
    problem = example(build)
    A, limits = np.abs(problem.A.toarray()), np.full(problem.n_moments, 5.0)
    h, y = np.array([0.5, 1.0, 0.25, 0.0]), np.array([1.0, -2.0, 0.0, 0.5, 3.0])
    # Sparse features are added up as they are stored, entries and centre apart: never less than the entries themselves.
    compare = np.allclose if build is np.asarray else lambda found, expected: (found >= expected - 1e-9).all()
    typical, means = 5.0 / 2**20, problem.A.per_moment("mean_size")
    assert compare(limited_magnitude(problem.A, h, limits), (np.minimum(A, 5.0) + typical).T @ h)
    expected = (np.minimum(A, 5.0) + typical) @ np.abs(y) + means @ np.abs(y)
    assert compare(limited_score_magnitude(problem.A, y, limits), expected)


def test_points_in_chunks_count_like_points_in_memory(tmp_path: Any) -> None:
    np.save(tmp_path / "X.npy", X)
    in_memory, in_chunks = example(), example(lambda _: np.load(tmp_path / "X.npy", mmap_mode="r"))
    h, limits = np.array([0.5, 1.0, 0.25, 0.0]), np.full(5, 7.0)
    assert np.allclose(limited_magnitude(in_chunks.A, h, limits), limited_magnitude(in_memory.A, h, limits))


def test_the_limit_is_set_by_typical_entries_not_by_an_outlier() -> None:
    limits = example().A.entry_limits
    assert (limits < 1e8).all()
    assert (limits > 1e5).all()


def test_only_means_are_known_up_to_rounding() -> None:
    problem = example()
    assert problem.A.per_moment("mean_size").tolist() == [0.75, 1.25, 0.75, 1.25, 0.0]  # the mean, plus the width


def test_relaxed_rows_allow_for_the_rounding_of_the_mean_on_each_side() -> None:
    problem = mlp.Spec(constraints=[mlp.Share(high=0.5)]).compile(X, mean=[0.5, 1.0])
    relaxed = relax_means(problem, factor=1.0)
    assert len(set(relaxed.names)) == 5
    rounding = ROUNDING * np.array([0.5, 1.0])
    assert np.array_equal(relaxed.blocks[0].shift, np.concatenate([-rounding, rounding]))
    assert relaxed.blocks[1] is problem.blocks[1]
    assert join_sides(problem, np.array([1.0, 0.0, 0.0, -2.0, 7.0])).tolist() == [1.0, -2.0, 7.0]
