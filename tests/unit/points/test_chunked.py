"""Points that are read in chunks give the problem of the same points in memory, in few passes and little memory."""

from __future__ import annotations

import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.chunked_points import (
    LABELLED,
    SOURCES,
    SPECS,
    N,
    assert_same,
    close,
    open_source,
    points,
)

import momentlp as mlp
from momentlp.points import chunked as chunks
from momentlp.points.arrays import is_constant_vector
from momentlp.points.chunked import Chunked
from momentlp.runtime.threads import limit_threads


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[np.ndarray, Any]:
    X = points(np.float64 if request.param == "memmap64" else np.float32)
    return X, open_source(request.param, X, tmp_path)


@pytest.mark.parametrize("name", SPECS)
def test_every_source_gives_the_problem_of_the_array_in_memory(source: tuple[np.ndarray, Any], name: str) -> None:
    X, table = source
    assert_same(SPECS[name].compile(X, labelled=LABELLED), SPECS[name].compile(table, labelled=LABELLED))


def test_a_sample_a_mean_and_weights_give_the_problem_of_the_array_in_memory(source: tuple[np.ndarray, Any]) -> None:
    X, table = source
    weight = np.random.default_rng(3).integers(0, 3, N)
    for given in ({"sample": X[:20]}, {"mean": np.arange(6.0)}, {"labelled": LABELLED, "sample_weight": weight}):
        assert_same(SPECS["sum"].compile(X, **given), SPECS["sum"].compile(table, **given))


def test_a_problem_from_arrays_may_be_chunked(source: tuple[np.ndarray, Any]) -> None:
    X, table = source
    built = mlp.Problem.from_arrays(table, -1.0, 1.0, names=list("abcdef"))
    assert_same(mlp.Problem.from_arrays(X, -1.0, 1.0, names=list("abcdef")), built)
    assert is_constant_vector(built.caps)
    assert is_constant_vector(built.weights)


def test_small_tables_can_be_solved_saved_and_written_out(source: tuple[np.ndarray, Any], tmp_path: Path) -> None:
    X, table = source
    whole, chunked = (SPECS["sum"].compile(given, labelled=LABELLED) for given in (X, table))
    in_memory, in_chunks = mlp.solve(whole), mlp.solve(chunked)
    assert in_chunks.status is mlp.Status.OPTIMAL
    assert np.isclose(in_memory.objective, in_chunks.objective, rtol=1e-9)
    assert np.allclose(in_memory.scores, in_chunks.scores)
    assert str(in_memory.balance()).splitlines()[:2] == str(in_chunks.balance()).splitlines()[:2]
    assert close(in_chunks.separator.decision_function(table), in_chunks.separator.decision_function(X))
    assert np.array_equal(in_chunks.separator.predict(table), in_chunks.separator.predict(X))
    chunked.save(tmp_path / "problem.npz")
    assert_same(mlp.Problem.load(tmp_path / "problem.npz"), chunked)
    chunked.to_mps(tmp_path / "problem.mps")


def test_an_empty_answer_is_explained(tmp_path: Path) -> None:
    table = open_source("memmap32", points(), tmp_path)
    solution = mlp.solve(mlp.Spec().compile(table, mean=[1e4, 0, 0, 0, 0, 7.25]))
    assert solution.status is mlp.Status.EMPTY
    assert solution.explain().proved


def test_compile_scale_and_noise_take_one_pass_and_a_certificate_one_more(tmp_path: Path) -> None:
    table = open_source("memmap32", points(), tmp_path)
    problem = mlp.Spec(tolerance=mlp.Relative(0.3, standardised=True)).compile(table, labelled=LABELLED)
    assert problem.A.table is table
    assert problem.scale.size == problem.noise.size
    assert table.passes == 1
    mlp.Certificate.of(problem, np.zeros(N), np.zeros(problem.n_moments))
    assert table.passes == 2
    assert problem.scaled(1.0 / problem.scale).scale.max() == pytest.approx(1.0)
    assert table.passes == 2


def test_rounding_at_a_bound_takes_at_most_a_few_passes(tmp_path: Path) -> None:
    table = open_source("memmap32", points(), tmp_path)
    solution = mlp.solve(mlp.Spec().compile(np.asarray(table), labelled=LABELLED))
    problem = mlp.Spec().compile(table, labelled=LABELLED)
    before = table.passes
    certificate = mlp.Certificate.of(problem, solution.membership, solution.multipliers)
    over = np.abs(problem.A.T @ solution.membership).max()
    assert over > 0  # otherwise this test shows nothing
    assert certificate.primal_residual == solution.certificate.primal_residual
    assert table.passes - before - 1 <= (1 if certificate.primal_residual == 0 else 5)


def _peak_bytes(table: Chunked) -> int:
    """Return the peak number of bytes of a problem and its certificate, without the memberships."""
    h = np.zeros(len(table))
    h[::5] = 1.0
    tracemalloc.start()
    try:
        problem = mlp.Spec(tolerance=mlp.Absolute(1e9)).compile(table, mean=np.zeros(table.shape[1]))
        mlp.Certificate.of(problem, h, np.full(problem.n_moments, 1e-3))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("threads", [1, 3])
def test_memory_depends_on_the_chunk_and_not_on_the_number_of_points(tmp_path: Path, threads: int) -> None:
    sizes = []
    for n in (40_000, 160_000):
        path = tmp_path / f"{n}.npy"
        written = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 20))
        written[:] = np.random.default_rng(0).normal(size=(n, 20))
        written.flush()
        with limit_threads(threads):
            sizes.append(_peak_bytes(mlp.open_points(path, chunk_rows=5000)))
    # At most two bytes per additional point, where the file has 80. With threads, how many chunks are in memory at a time
    # depends on chance: one for each thread and two more, each 800 kB as double precision.
    assert sizes[1] < sizes[0] + 2 * 120_000 + (threads > 1) * (threads + 2) * 800_000
    assert sizes[1] < 8 << 20


def test_too_much_to_load_is_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MAX_LOADED", 100)
    problem = mlp.Spec().compile(open_source("memmap32", points(), tmp_path), labelled=LABELLED)
    for call in (
        problem.linear_program,
        partial(problem.save, tmp_path / "a.npz"),
        partial(problem.to_mps, tmp_path / "a.mps"),
    ):
        with pytest.raises(mlp.CompileError, match=r"needs all points in memory.*sifting.*numpy\.asarray"):
            call()


def test_blocks_of_two_different_tables_are_refused(tmp_path: Path) -> None:
    table = open_source("memmap32", points(), tmp_path)
    problem = mlp.Spec().compile(table, labelled=LABELLED)
    other = problem.with_rows(mlp.open_points(tmp_path / "points.npy"), -1.0, 1.0, list("abcdef"))
    with pytest.raises(mlp.DataError, match="different tables"):
        _ = other.A


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("features", [mlp.Linear(), mlp.Quadratic(), mlp.Kernel(landmarks=3)])
def test_an_entry_that_is_not_finite_is_named(bad: float, features: Any, tmp_path: Path) -> None:
    X = points()
    X[777, 2] = bad
    with pytest.raises(mlp.DataError, match=rf"X must be finite, but row 777, column 2 is {bad}"):
        mlp.Spec(features=features).compile(open_source("memmap32", X, tmp_path), labelled=LABELLED)
    with pytest.raises(mlp.DataError, match="row 777, column 'x2'"):
        mlp.Spec(features=features).compile(open_source("parquet", X, tmp_path), labelled=LABELLED)


def test_errors_in_new_points_in_chunks_name_the_row(tmp_path: Path) -> None:
    X = points()
    separator = mlp.solve(SPECS["sum"].compile(X, labelled=LABELLED)).separator
    X[900, 1] = np.nan
    with pytest.raises(mlp.DataError, match="row 900, column 1 is nan"):
        separator.decision_function(open_source("memmap32", X, tmp_path))
    np.save(tmp_path / "narrow.npy", points()[:, :3])
    with pytest.raises(mlp.DataError, match="fitted on 6"):
        separator.decision_function(np.load(tmp_path / "narrow.npy", mmap_mode="r"))
