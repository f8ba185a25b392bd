"""Points that are read in chunks or from a cluster have the same solution as in memory."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.gaussian import gaussians

import momentlp as mlp
from momentlp.points import chunked as chunks
from momentlp_sifting import sifting

N, M = 6000, 5
SPECS = {
    "sum": mlp.Spec(tolerance=mlp.Absolute(0.02 * N)),
    "mean": mlp.Spec(tolerance=mlp.StandardError(1.0)),
    "map": mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.Relative(0.1)),
    "share": mlp.Spec(tolerance=mlp.Absolute(0.02 * N), constraints=[mlp.Share(0.05, 0.2)]),
}


@pytest.fixture(autouse=True)
def _small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits, so that a few thousand points are treated like millions."""
    monkeypatch.setattr(sifting, "AT_ONCE", (200, 2))
    monkeypatch.setattr(sifting, "MIN_SAMPLE", 300)


def points() -> tuple[np.ndarray, np.ndarray]:
    X, sample = gaussians(N, M)
    return X.astype(np.float32), sample


def as_memmap(X: np.ndarray, folder: Path) -> Any:
    np.save(folder / "points.npy", X)
    return mlp.open_points(folder / "points.npy", chunk_rows=700)


def as_zarr(X: np.ndarray, folder: Path) -> Any:
    zarr = pytest.importorskip("zarr")
    stored = zarr.open(str(folder / "points.zarr"), mode="w", shape=X.shape, chunks=(500, M), dtype=X.dtype)
    stored[:] = X
    return stored


def as_parquet(X: np.ndarray, folder: Path) -> Any:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({f"x{column}": X[:, column] for column in range(M)})
    pq.write_table(table, folder / "points.parquet", row_group_size=900)
    return mlp.open_points(folder / "points.parquet", chunk_rows=800)


def as_dask(X: np.ndarray, folder: Path) -> Any:
    return pytest.importorskip("dask.array").from_array(X, chunks=(600, M))


@pytest.mark.parametrize("stored", [as_memmap, as_zarr, as_parquet, as_dask])
@pytest.mark.parametrize("name", SPECS)
def test_every_source_has_the_solution_of_the_array(stored: Any, name: str, tmp_path: Path) -> None:
    X, sample = points()
    chunked = mlp.solve(SPECS[name].compile(stored(X, tmp_path), sample=sample))
    in_memory = mlp.solve(SPECS[name].compile(X, sample=sample), "highs")
    assert chunked.backend == "sifting"
    assert chunked.status is in_memory.status is mlp.Status.OPTIMAL
    assert chunked.objective == pytest.approx(in_memory.objective, rel=1e-9)
    assert chunked.certificate.holds(1e-9)


def test_a_solve_takes_few_passes(tmp_path: Path) -> None:
    X, sample = points()
    problem = SPECS["sum"].compile(as_memmap(X, tmp_path), sample=sample)
    mlp.solve(problem)
    assert problem.A.table.passes <= 12


def test_an_empty_class_and_a_time_limit_are_reported(tmp_path: Path) -> None:
    X, sample = points()
    table = as_memmap(X, tmp_path)
    assert mlp.solve(mlp.Spec().compile(table, mean=np.full(M, 50.0))).status is mlp.Status.EMPTY
    stopped = mlp.solve(SPECS["sum"].compile(table, sample=sample), time_limit=1e-4)
    assert stopped.status is mlp.Status.LIMIT
    assert stopped.bound >= stopped.objective


def test_a_path_over_chunks_is_that_of_the_array(tmp_path: Path) -> None:
    X, sample = points()
    problem = SPECS["sum"].compile(as_memmap(X, tmp_path), sample=sample)
    along = mlp.path(problem, [200.0, 120.0, 60.0])
    direct = mlp.path(SPECS["sum"].compile(X, sample=sample), [200.0, 120.0, 60.0])
    np.testing.assert_allclose(along.objectives, direct.objectives, rtol=1e-9)


def test_chunks_with_many_features_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, sample = points()
    monkeypatch.setattr(chunks, "MAPPED_BYTES", 8 * 21 * 90)
    chunked = mlp.solve(SPECS["map"].compile(as_memmap(X, tmp_path), sample=sample))
    assert chunked.objective == pytest.approx(mlp.solve(SPECS["map"].compile(X, sample=sample), "highs").objective, rel=1e-9)


def test_a_random_start_does_not_change_the_optimum_over_chunks(tmp_path: Path) -> None:
    X, sample = points()
    random = np.random.default_rng(0)
    start = random.random(N), 100 * random.normal(size=M)
    chunked = mlp.solve(SPECS["sum"].compile(as_memmap(X, tmp_path), sample=sample), start=start)
    assert chunked.objective == pytest.approx(mlp.solve(SPECS["sum"].compile(X, sample=sample)).objective, rel=1e-9)


def test_new_points_in_chunks_must_have_the_same_columns(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    X, sample = points()
    names = list("abcde")
    known = pd.DataFrame(X, columns=names)
    separator = mlp.solve(SPECS["sum"].compile(known, sample=pd.DataFrame(sample, columns=names))).separator
    known[names[::-1]].to_parquet(tmp_path / "other.parquet")
    with pytest.raises(mlp.DataError, match="column 'e' where 'a'"):
        separator.decision_function(mlp.open_points(tmp_path / "other.parquet"))


@pytest.mark.parametrize("name", SPECS)
def test_a_cluster_has_the_same_solution(client: Any, name: str, tmp_path: Path) -> None:
    X, sample = points()
    chunked = mlp.solve(SPECS[name].compile(as_dask(X, tmp_path), sample=sample))
    in_memory = mlp.solve(SPECS[name].compile(X, sample=sample))
    assert chunked.objective == pytest.approx(in_memory.objective, rel=1e-9)


def die_if_armed(chunk: np.ndarray, armed: Path) -> np.ndarray:
    """Kill the process that reads this chunk if the file is chunked. Only one process can remove it, so only one dies."""
    try:
        armed.unlink()
    except FileNotFoundError:
        return chunk
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_a_worker_that_dies_during_a_solve_does_not_change_the_solution(client: Any, tmp_path: Path) -> None:
    X, sample = points()
    armed, arming = tmp_path / "armed", []
    table = as_dask(X, tmp_path).map_blocks(die_if_armed, armed=armed, dtype=X.dtype)
    problem = SPECS["sum"].compile(table, sample=sample)

    def arm_after_the_first_pass(line: str) -> None:
        if "changed sides" in line and f"{N:,}" in line and not arming:
            arming.append(line)
            armed.touch()

    found = mlp.solve(problem, log=arm_after_the_first_pass)
    assert arming
    assert not armed.exists()  # a worker removed it, and died
    assert found.certificate.holds(1e-9)
    assert found.objective == pytest.approx(mlp.solve(SPECS["sum"].compile(X, sample=sample)).objective, rel=1e-9)
