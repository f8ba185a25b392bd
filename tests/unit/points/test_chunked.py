"""Points that are read in chunks give what the same points in memory give, wherever they come from."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import momentlp as mlp
from momentlp.features.chunked_features import ChunkedFeatures
from momentlp.points import chunked as chunks
from momentlp.points.arrays import constant_vector, is_constant_vector
from momentlp.points.bit_packing import BitPacked, unpack_vector
from momentlp.points.chunked import Chunked, evenly_spaced_rows
from momentlp.points.sources import MemoryMapped, as_table
from momentlp.points.statistics import ColumnStatistics
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


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[np.ndarray, Any]:
    X = points(np.float64 if request.param == "memmap64" else np.float32)
    return X, open_source(request.param, X, tmp_path)


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
    one, two = (mlp.Certificate.of(p, h, y).figures() for p in (problem, other))
    residual = one.pop("primal_residual"), two.pop("primal_residual")
    assert one.keys() == two.keys()
    assert all(close(one[name], two[name]) for name in one), (one, two)
    assert np.isclose(*residual, rtol=0.01)


@pytest.mark.parametrize("name", SPECS)
def test_every_source_gives_the_problem_of_the_array_in_memory(source: tuple[np.ndarray, Any], name: str) -> None:
    X, table = source
    assert_same(SPECS[name].compile(X, labelled=LABELLED), SPECS[name].compile(table, labelled=LABELLED))


def test_a_sample_or_a_mean_is_as_good_and_so_are_weights(source: tuple[np.ndarray, Any]) -> None:
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
    one, two = mlp.solve(whole), mlp.solve(chunked)
    assert two.status is mlp.Status.OPTIMAL
    assert np.isclose(one.objective, two.objective, rtol=1e-9)
    assert np.allclose(one.scores, two.scores)
    assert str(one.balance()).splitlines()[:2] == str(two.balance()).splitlines()[:2]
    assert close(two.separator.decision_function(table), two.separator.decision_function(X))
    assert np.array_equal(two.separator.predict(table), two.separator.predict(X))
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


def test_rounding_on_a_bound_takes_no_second_look(tmp_path: Path) -> None:
    table = open_source("memmap32", points(), tmp_path)
    solution = mlp.solve(mlp.Spec().compile(np.asarray(table), labelled=LABELLED))
    problem = mlp.Spec().compile(table, labelled=LABELLED)
    before = table.passes
    certificate = mlp.Certificate.of(problem, solution.membership, solution.multipliers)
    over = np.abs(problem.A.T @ solution.membership).max()
    assert over > 0  # so there was something to be told from a violation
    assert certificate.primal_residual == solution.certificate.primal_residual
    assert table.passes - before - 1 <= (1 if certificate.primal_residual == 0 else 5)


def test_features_are_computed_in_the_pass_that_needs_them(tmp_path: Path) -> None:
    table = open_source("memmap32", points(), tmp_path)
    problem = mlp.Spec(features=mlp.Concat([mlp.Linear(), mlp.Quadratic()])).compile(table, mean=np.zeros(33))
    assert [type(block.features) for block in problem.blocks] == [MemoryMapped, ChunkedFeatures]
    assert problem.scale.size == 33
    assert table.passes == 1


def test_many_features_are_computed_a_few_points_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MAPPED_BYTES", 8 * 27 * 50)
    problem = SPECS["mean"].compile(open_source("memmap32", points(), tmp_path), labelled=LABELLED)
    assert max(span.stop - span.start for span in problem.A.spans) == 50
    assert list(problem.A.scan(_rows)) == [span.stop - span.start for span in problem.A.spans]
    assert_same(SPECS["mean"].compile(points(), labelled=LABELLED), problem)
    X = np.abs(points()) + 1.0
    X[800, 1] = 3e38
    with pytest.raises(mlp.CompileError, match="row 800"):
        mlp.Spec(features=mlp.Quadratic()).compile(open_source("memmap32", X, tmp_path), labelled=LABELLED)


def _rows(A: mlp.MomentMatrix) -> int:
    return A.shape[0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("features", [mlp.Linear(), mlp.Quadratic(), mlp.Kernel(landmarks=3)])
def test_what_is_not_finite_is_named(bad: float, features: Any, tmp_path: Path) -> None:
    X = points()
    X[777, 2] = bad
    with pytest.raises(mlp.DataError, match=rf"X must be finite, but row 777, column 2 is {bad}"):
        mlp.Spec(features=features).compile(open_source("memmap32", X, tmp_path), labelled=LABELLED)
    with pytest.raises(mlp.DataError, match="row 777, column 'x2'"):
        mlp.Spec(features=features).compile(open_source("parquet", X, tmp_path), labelled=LABELLED)


def test_features_that_are_not_finite_are_the_maps_fault(tmp_path: Path) -> None:
    X = np.abs(points()) + 1.0
    X[800, 1] = 3e38
    with pytest.raises(mlp.CompileError, match=r"what Quadratic.transform returned must be finite, but row 800"):
        mlp.Spec(features=mlp.Quadratic()).compile(open_source("memmap32", X, tmp_path), labelled=LABELLED)


def test_new_points_may_be_chunked_and_their_faults_are_named(tmp_path: Path) -> None:
    X = points()
    separator = mlp.solve(SPECS["sum"].compile(X, labelled=LABELLED)).separator
    X[900, 1] = np.nan
    with pytest.raises(mlp.DataError, match="row 900, column 1 is nan"):
        separator.decision_function(open_source("memmap32", X, tmp_path))
    np.save(tmp_path / "narrow.npy", points()[:, :3])
    with pytest.raises(mlp.DataError, match="fitted on 6"):
        separator.decision_function(np.load(tmp_path / "narrow.npy", mmap_mode="r"))


@pytest.mark.parametrize("features", [mlp.Spectral(), mlp.Kernel()])
def test_maps_that_need_all_points_say_what_to_use_instead(features: Any, tmp_path: Path) -> None:
    with pytest.raises(mlp.CompileError, match=r"needs all points at once.*Kernel\(landmarks"):
        mlp.Spec(features=features).compile(open_source("memmap32", points(), tmp_path), labelled=LABELLED)


def test_maps_learn_from_a_bounded_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = open_source("memmap32", points(), tmp_path)
    sample = evenly_spaced_rows(table, 100)
    assert np.array_equal(sample, points()[::10])
    monkeypatch.setattr(mlp.Linear, "rows_to_learn", lambda self: 100)
    problem = mlp.Spec(features=mlp.Linear(standardise=True)).compile(table, mean=np.zeros(D))
    spread = problem.blocks[0].fitted.state["spread"]
    assert close(spread[:5], points()[::10].std(axis=0, dtype=float)[:5])


def test_a_transformer_and_a_function_work_in_chunks(tmp_path: Path) -> None:
    from sklearn.decomposition import PCA

    @mlp.feature_map("cubed")
    def cubed(X: np.ndarray) -> np.ndarray:
        return X**3

    table = open_source("memmap64", points(np.float64), tmp_path)
    for features in (mlp.Transformer(PCA(2)), cubed()):
        spec = mlp.Spec(features=features, tolerance=mlp.Absolute(1.0))
        assert_same(spec.compile(points(np.float64), labelled=LABELLED), spec.compile(table, labelled=LABELLED))


def _allocated(table: Chunked) -> int:
    """Return how many bytes a problem and its certificate take at their peak, the memberships not counted."""
    h = np.zeros(len(table))
    h[::5] = 1.0
    tracemalloc.start()
    try:
        problem = mlp.Spec(tolerance=mlp.Absolute(1e9)).compile(table, mean=np.zeros(table.shape[1]))
        mlp.Certificate.of(problem, h, np.full(problem.n_moments, 1e-3))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_set_by_the_chunk_and_not_by_the_number_of_points(tmp_path: Path) -> None:
    sizes = []
    for n in (40_000, 160_000):
        path = tmp_path / f"{n}.npy"
        written = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 20))
        written[:] = np.random.default_rng(0).normal(size=(n, 20))
        written.flush()
        sizes.append(_allocated(mlp.open_points(path, chunk_rows=5000)))
    assert sizes[1] < sizes[0] + 2 * 120_000  # a byte or two for each further point, against 80 in the file
    assert sizes[1] < 8 << 20


def test_the_pages_of_a_map_are_given_back(tmp_path: Path) -> None:
    status = Path("/proc/self/smaps")
    if not status.exists():
        pytest.skip("only Linux tells which pages are resident")
    np.save(tmp_path / "a.npy", np.ones((200_000, 20), np.float32))
    table = mlp.open_points(tmp_path / "a.npy", chunk_rows=10_000)
    assert table.summary.count == 200_000

    def resident() -> int:
        text = status.read_text()
        return int(text[text.index("a.npy") :].split("Rss:")[1].split()[0])

    assert resident() < 2000  # of 16,000 kB


def test_changes_of_a_private_map_are_kept(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", points())
    private = np.load(tmp_path / "a.npy", mmap_mode="c")
    private[0, 0] = 55.0
    table, _ = as_table(private)
    assert table.summary.high[0] == 55.0
    assert private[0, 0] == 55.0


def test_what_is_computed_from_a_map_is_an_array(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", points())
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert isinstance(as_table(mapped)[0], MemoryMapped)
    assert not isinstance(as_table(mapped * 2)[0], Chunked)
    assert not isinstance(as_table(np.asarray(mapped))[0], Chunked)


def test_whole_numbers_and_other_orders_are_read_as_they_mean(tmp_path: Path) -> None:
    X = (points() * 10).astype(np.int16)
    np.save(tmp_path / "a.npy", np.asfortranarray(X))
    table = mlp.open_points(tmp_path / "a.npy", chunk_rows=ROWS)
    assert table.dtype == np.float64
    assert np.array_equal(np.asarray(table), X)
    assert np.array_equal(table[np.array([5, 3])], X[[5, 3]])


def test_summaries_of_parts_add_up() -> None:
    X = points(np.float64) + 1e6
    whole = ColumnStatistics.of(X[:100]) + ColumnStatistics.of(X[100:])
    assert close(whole.mean, X.mean(axis=0))
    assert np.allclose(whole.square, ((X - X.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize(
    "vector",
    [
        constant_vector(0.5, 1000),
        np.zeros(1000),
        np.ones(7),
        np.r_[np.zeros(500), np.ones(499), 0.3],
        np.random.default_rng(0).normal(size=100),
        np.array([np.nan, 0.0] * 20 + [1.0] * 700),
    ],
)
def test_packing_loses_nothing(vector: np.ndarray) -> None:
    packed = BitPacked.of(vector)
    assert np.array_equal(unpack_vector(packed), vector, equal_nan=True)
    assert is_constant_vector(unpack_vector(packed)) == is_constant_vector(vector)


def test_too_much_to_load_is_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MOST_LOADED", 100)
    problem = mlp.Spec().compile(open_source("memmap32", points(), tmp_path), labelled=LABELLED)
    for call in (
        problem.linear_program,
        partial(problem.save, tmp_path / "a.npz"),
        partial(problem.to_mps, tmp_path / "a.mps"),
    ):
        with pytest.raises(mlp.CompileError, match=r"needs all points in memory.*sifting.*numpy\.asarray"):
            call()


def test_two_different_tables_do_not_mix(tmp_path: Path) -> None:
    table = open_source("memmap32", points(), tmp_path)
    problem = mlp.Spec().compile(table, labelled=LABELLED)
    other = problem.with_rows(mlp.open_points(tmp_path / "points.npy"), -1.0, 1.0, list("abcdef"))
    with pytest.raises(mlp.DataError, match="different tables"):
        _ = other.A


def test_files_that_cannot_be_points_are_refused(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "empty").mkdir()
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1")
    (tmp_path / "points.csv").write_text("1,2")
    np.save(tmp_path / "flat.npy", np.zeros(5))
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    pq.write_table(pa.table({"a": [1.0], "name": ["x"]}), tmp_path / "text.parquet")
    for name, error, words in [
        ("none.npy", mlp.FileFormatError, "there is no file"),
        ("empty", mlp.FileFormatError, "no .parquet file in the folder"),
        ("cut.npy", mlp.FileFormatError, "not a whole .npy"),
        ("cut.parquet", mlp.FileFormatError, "not a whole parquet file"),
        ("points.csv", mlp.FileFormatError, "ends in none of"),
        ("flat.npy", mlp.DataError, "1 dimension"),
        ("text.npy", mlp.DataError, "real numbers"),
        ("text.parquet", mlp.DataError, "column 'name'.*columns="),
    ]:
        with pytest.raises(error, match=words):
            mlp.open_points(tmp_path / name)
    assert mlp.open_points(tmp_path / "text.parquet", columns=["a"]).shape == (1, 1)
    with pytest.raises(mlp.DataError, match="columns names 'b'"):
        mlp.open_points(tmp_path / "text.parquet", columns=["b"])
    with pytest.raises(mlp.OptionError, match="columns chooses"):
        mlp.open_points(tmp_path / "flat.npy", columns=["a"])
    for rows in (0, -1, 1.5, True):
        with pytest.raises(mlp.OptionError, match="chunk_rows"):
            mlp.open_points(tmp_path / "flat.npy", chunk_rows=rows)


@pytest.mark.parametrize(("ending", "package"), [("zarr", "zarr"), ("parquet", "pyarrow")])
def test_a_missing_package_is_named_with_its_extra(
    ending: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"points.{ending}").mkdir()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(mlp.ExtraMissingError, match=rf"momentlp\[{ending}\]"):
        mlp.open_points(tmp_path / f"points.{ending}")


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


# On a cluster


@pytest.mark.parametrize("name", SPECS)
def test_a_cluster_gives_the_same(client: Any, name: str) -> None:
    table = open_source("dask", points(), Path())
    problem = SPECS[name].compile(table, labelled=LABELLED)
    assert problem.A.table.remote
    assert_same(SPECS[name].compile(points(), labelled=LABELLED), problem)


def test_a_row_that_is_not_finite_is_named_by_a_cluster_too(client: Any) -> None:
    X = points()
    X[777, 2] = np.nan
    with pytest.raises(mlp.DataError, match="row 777, column 2 is nan"):
        mlp.Spec().compile(open_source("dask", X, Path()), labelled=LABELLED)


def _slowly(marks: str, A: mlp.MomentMatrix, h: np.ndarray) -> np.ndarray:
    (Path(marks) / f"{os.getpid()}").touch()
    time.sleep(0.1)
    return A.T @ h


def test_a_worker_that_dies_changes_nothing(client: Any, tmp_path: Path) -> None:
    X = np.tile(points(), (2, 1))
    da = pytest.importorskip("dask.array")
    table = da.from_array(X, chunks=(100, D)).persist()
    problem = SPECS["sum"].compile(table, labelled=LABELLED)
    h = np.tile(a_membership(SPECS["sum"].compile(points(), labelled=LABELLED)), 2)

    def kill() -> None:
        while not (ran := list(tmp_path.iterdir())):
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(int(ran[0].name), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    parts = list(problem.A.scan(partial(_slowly, str(tmp_path)), h))
    killer.join()
    assert len(parts) == 20
    assert len(list(tmp_path.iterdir())) > 1
    whole = SPECS["sum"].compile(X, labelled=LABELLED)
    assert np.allclose(np.sum(parts, axis=0), whole.A.T @ h, rtol=1e-12, atol=1e-9)
