"""Points in a dask array, in this process and on a cluster."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.chunked_points import (
    LABELLED,
    ROWS,
    SPECS,
    D,
    a_membership,
    assert_same,
    open_source,
    points,
)

import momentlp as mlp


def test_dask_arrays_of_unknown_size_and_frames_are_refused_with_advice() -> None:
    da = pytest.importorskip("dask.array")
    X = da.from_array(points(), chunks=(ROWS, D))
    with pytest.raises(mlp.DataError, match=r"compute_chunk_sizes"):
        mlp.Spec().compile(X[X[:, 0] > 0], labelled=[0])
    kept = X[X[:, 0] > 0].compute_chunk_sizes()
    assert mlp.Spec().compile(kept, labelled=[0]).n_points == int((points()[:, 0] > 0).sum())
    with pytest.raises(mlp.DataError, match="real numbers"):
        mlp.Spec().compile(X.astype(complex), labelled=[0])


def test_empty_chunks_of_a_dask_array_do_not_matter() -> None:
    da = pytest.importorskip("dask.array")
    X = da.concatenate([da.from_array(points()[:400], chunks=(150, D)), da.zeros((0, D)), da.from_array(points()[400:])])
    assert_same(SPECS["sum"].compile(points(), labelled=LABELLED), SPECS["sum"].compile(X, labelled=LABELLED))


@pytest.mark.parametrize("name", SPECS)
def test_a_cluster_gives_the_problem_of_the_array_in_memory(client: Any, name: str) -> None:
    table = open_source("dask", points(), Path())
    problem = SPECS[name].compile(table, labelled=LABELLED)
    assert problem.A.table.remote
    assert_same(SPECS[name].compile(points(), labelled=LABELLED), problem)


def test_a_cluster_names_a_row_that_is_not_finite(client: Any) -> None:
    X = points()
    X[777, 2] = np.nan
    with pytest.raises(mlp.DataError, match="row 777, column 2 is nan"):
        mlp.Spec().compile(open_source("dask", X, Path()), labelled=LABELLED)


def _die_once(marker: str, A: mlp.MomentMatrix, h: np.ndarray) -> np.ndarray:
    """Kill the worker in the first call; do the work in all others."""
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return A.T @ h
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("the worker is dead")


def test_a_worker_that_dies_does_not_change_the_result(client: Any, tmp_path: Path) -> None:
    X = np.tile(points(), (2, 1))
    da = pytest.importorskip("dask.array")
    table = da.from_array(X, chunks=(100, D)).persist()
    problem = SPECS["sum"].compile(table, labelled=LABELLED)
    h = np.tile(a_membership(SPECS["sum"].compile(points(), labelled=LABELLED)), 2)
    parts = list(problem.A.scan(partial(_die_once, str(tmp_path / "died")), h))
    assert (tmp_path / "died").exists()
    assert len(parts) == 20
    whole = SPECS["sum"].compile(X, labelled=LABELLED)
    assert np.allclose(np.sum(parts, axis=0), whole.A.T @ h, rtol=1e-12, atol=1e-9)
