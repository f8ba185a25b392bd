"""Points in every source that is read in chunks, specs for them, and the comparison of two problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import momentlp as mlp
from momentlp.points.sources import MemoryMapped
from momentlp.proof.polish import admissible_multipliers

N, D, ROWS = 1000, 6, 170


LABELLED = np.arange(3, 200, 7)


SOURCES = ("memmap32", "memmap64", "memmap view", "zarr", "parquet", "parquet folder", "dask", "dask columns")


def points(dtype: Any = np.float32) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) + 3.0 * (rng.random((N, 1)) < 0.4)
    X[:, 3] *= 100.0
    X[:, 5] = 7.25  # a constant feature: its moment is rounding
    return X.astype(dtype)


def write_parquet(X: np.ndarray, path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({f"x{column}": X[:, column] for column in range(X.shape[1])}), path, row_group_size=390)


def open_source(name: str, X: np.ndarray, folder: Path) -> Any:
    if name.startswith("memmap"):
        np.save(folder / "points.npy", np.vstack([X, X]) if name == "memmap view" else X)
        if name == "memmap view":
            return MemoryMapped(np.load(folder / "points.npy", mmap_mode="r")[N:], ROWS)
        return mlp.open_points(folder / "points.npy", chunk_rows=ROWS)
    if name == "zarr":
        zarr = pytest.importorskip("zarr")
        stored = zarr.open(str(folder / "points.zarr"), mode="w", shape=X.shape, chunks=(80, 4), dtype=X.dtype)
        stored[:] = X
        return mlp.open_points(folder / "points.zarr", chunk_rows=ROWS)
    if name == "parquet":
        write_parquet(X, folder / "points.parquet")
        return mlp.open_points(folder / "points.parquet", chunk_rows=ROWS)
    if name == "parquet folder":
        for number, part in enumerate(np.array_split(X, 3)):
            write_parquet(part, folder / f"part{number}.parquet")
        return mlp.open_points(folder, chunk_rows=ROWS)
    da = pytest.importorskip("dask.array")
    return da.from_array(X, chunks=(ROWS, 4) if name == "dask columns" else (ROWS, D))


SPECS = {
    "sum": mlp.Spec(tolerance=mlp.Absolute(5.0)),
    "mean": mlp.Spec(features=mlp.Quadratic(standardise=True), tolerance=mlp.Relative(0.2, standardised=True)),
    "kernel": mlp.Spec(features=mlp.Kernel(landmarks=4), tolerance=mlp.StandardError(2.0)),
    "all": mlp.Spec(
        features=mlp.Concat([mlp.Linear(standardise=True), mlp.Quadratic()]),
        tolerance=mlp.StandardError(2.0),
        constraints=[
            mlp.Share(0.05, 0.9),
            mlp.Known(positives=[3, 500], negatives=[4]),
            mlp.GroupShare(5, high={"7.25": 1.0}),
            mlp.Moment(mlp.Linear(), points().mean(axis=0).tolist(), mlp.Relative(3.0)),
        ],
    ),
}


def close(one: Any, other: Any, unit: float = 1.0) -> bool:
    return np.allclose(one, other, rtol=1e-12, atol=1e-12 * unit, equal_nan=True)


def a_membership(problem: mlp.Problem) -> np.ndarray:
    h = np.where(np.random.default_rng(1).random(N) < 0.3, problem.caps, 0.0)
    h[17] = 0.25 * problem.caps[17]
    return h


def assert_same(problem: mlp.Problem, other: mlp.Problem) -> None:
    """Compare everything that a solver or a certificate may ask of two problems."""
    assert (problem.n_points, problem.names) == (other.n_points, other.names)
    h, y = a_membership(problem), np.random.default_rng(2).normal(size=problem.n_moments) / problem.scale
    y = admissible_multipliers(problem, y)
    some = np.array([999, 3, 170, 169])
    for field in ("lower", "upper", "weights", "caps", "scale", "noise"):
        assert close(getattr(problem, field), getattr(other, field)), field
    size = problem.A.score_magnitude(y).max()
    assert close(problem.A @ y, other.A @ y, size)
    assert close(problem.A.score_magnitude(y), other.A.score_magnitude(y), size)
    magnitude = problem.A.per_moment("magnitude", h)
    assert close((problem.A.T @ h) / magnitude.clip(1e-9), (other.A.T @ h) / magnitude.clip(1e-9))
    assert close(magnitude, other.A.per_moment("magnitude", h), magnitude.max())
    assert close(problem.A.rows(some), other.A.rows(some), problem.scale.max())
    assert close(problem.A.columns(np.array([0, 2])), other.A.columns(np.array([0, 2])), problem.scale.max())
    assert close(problem.A.per_moment("median_abs"), other.A.per_moment("median_abs"))
    assert problem.A.toarray().shape == other.A.toarray().shape
    expected, found = (mlp.Certificate.of(p, h, y).figures() for p in (problem, other))
    residual = expected.pop("primal_residual"), found.pop("primal_residual")
    assert expected.keys() == found.keys()
    assert all(close(expected[name], found[name]) for name in expected), (expected, found)
    assert np.isclose(*residual, rtol=0.01)
