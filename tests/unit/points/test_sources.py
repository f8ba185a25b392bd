"""Memory maps and files of points: reading, releasing memory, and files that are refused."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.chunked_points import (
    ROWS,
    points,
)

import momentlp as mlp
from momentlp.points.chunked import Chunked
from momentlp.points.sources import MemoryMapped, as_table


def test_pages_of_a_memory_map_are_released_after_reading(tmp_path: Path) -> None:
    status = Path("/proc/self/smaps")
    if not status.exists():
        pytest.skip("only Linux shows which pages are resident")
    np.save(tmp_path / "a.npy", np.ones((200_000, 20), np.float32))
    table = mlp.open_points(tmp_path / "a.npy", chunk_rows=10_000)
    assert table.summary.count == 200_000

    def resident() -> int:
        text = status.read_text()
        return int(text[text.index("a.npy") :].split("Rss:")[1].split()[0])

    assert resident() < 2000  # of 16,000 kB


def test_changes_to_a_copy_on_write_map_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", points())
    private = np.load(tmp_path / "a.npy", mmap_mode="c")
    private[0, 0] = 55.0
    table, _ = as_table(private)
    assert table.summary.high[0] == 55.0
    assert private[0, 0] == 55.0


def test_an_array_computed_from_a_memory_map_is_not_read_in_chunks(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", points())
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert isinstance(as_table(mapped)[0], MemoryMapped)
    assert not isinstance(as_table(mapped * 2)[0], Chunked)
    assert not isinstance(as_table(np.asarray(mapped))[0], Chunked)


def test_integers_in_column_order_are_read_correctly(tmp_path: Path) -> None:
    X = (points() * 10).astype(np.int16)
    np.save(tmp_path / "a.npy", np.asfortranarray(X))
    table = mlp.open_points(tmp_path / "a.npy", chunk_rows=ROWS)
    assert table.dtype == np.float64
    assert np.array_equal(np.asarray(table), X)
    assert np.array_equal(table[np.array([5, 3])], X[[5, 3]])


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
        ("cut.npy", mlp.FileFormatError, "not a complete .npy"),
        ("cut.parquet", mlp.FileFormatError, "not a complete parquet file"),
        ("points.csv", mlp.FileFormatError, "does not end in"),
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
