"""Data files that hold no table of numbers are refused with a DataError."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

import momentlp as mlp
from fuzz import valid_files
from momentlp.formats.tabular import read_points


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("quote.csv", b'a,b\n"1,2\n3,4\n'),
        ("ragged.csv", b"a,b\n1,2\n3\n"),
        ("field.csv", b"a\n" + b"1" * 200_000 + b"\n"),
        ("utf16.csv", "a,b\n1,2\n".encode("utf-16")),
        ("latin.csv", b"\xe9,b\n1,2\n"),
        ("blank.csv", b"\n\n\n"),
        ("structured.npy", b""),
        ("dates.npy", b""),
        ("text.npy", b""),
        ("version.npy", b"\x93NUMPY\x09\x00" + bytes(100)),
        ("folder.npz", b""),
        ("other.npz", b""),
        ("short.parquet", b""),
        ("not.parquet", b"PAR1" * 10),
    ],
)
def test_files_that_hold_no_table_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    if name == "structured.npy":
        np.save(path, np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]))
    elif name == "dates.npy":
        np.save(path, np.zeros((3, 1), dtype="M8[s]"))
    elif name == "text.npy":
        np.save(path, np.array([["1"], ["x"]]))
    elif name == "folder.npz":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("folder/", b"")
    elif name == "other.npz":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("readme.txt", b"hello")
    elif name == "short.parquet":
        path.write_bytes(valid_files.data_parquet()[0][:-20])
    with pytest.raises(mlp.DataError):
        mlp.Spec().compile(read_points(path), labelled=[0])


def test_a_parquet_file_that_claims_too_many_rows_is_not_read(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"a": np.zeros(40_000_000, dtype=np.int8)}).to_parquet(tmp_path / "zeros.parquet", compression="zstd")
    assert (tmp_path / "zeros.parquet").stat().st_size < 200_000
    with pytest.raises(mlp.DataError, match="far more than it has bytes"):
        read_points(tmp_path / "zeros.parquet")


def test_two_columns_of_one_name_among_many_are_refused_quickly() -> None:
    """The check must not compare every pair of names: that would take minutes."""
    frame = pytest.importorskip("pandas").DataFrame(np.zeros((1, 100_000)), columns=[*map(str, range(99_999)), "99998"])
    with pytest.raises(mlp.DataError, match="'99998'"):
        mlp.Spec().compile(frame, labelled=[0])


@pytest.mark.parametrize("order", ["<", ">"])
def test_text_with_characters_that_do_not_exist_is_refused(order: str, tmp_path: Path) -> None:
    """numpy reads such text without a word, and fails much later with a SystemError."""
    text = np.array([["a", "1"], ["b", "2"]], dtype=f"{order}U1")
    np.save(tmp_path / "text.npy", text)
    assert read_points(tmp_path / "text.npy").values.tolist() == text.tolist()
    text.view(f"{order}u4")[0, 0] = 0x110000
    np.save(tmp_path / "text.npy", text)
    with pytest.raises(mlp.DataError, match="characters that do not exist"):
        read_points(tmp_path / "text.npy")
