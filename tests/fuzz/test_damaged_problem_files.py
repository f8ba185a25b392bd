"""A saved problem that was cut short or changed is refused, by accident or on purpose."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from helpers.same_problem import same_problem

import momentlp as mlp
from fuzz import valid_files
from fuzz.file_bytes import arrays_of, load, pack_zip, sign_arrays, small, with_header


def test_a_problem_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    whole = small()
    for length in range(len(whole)):
        with pytest.raises(mlp.FileFormatError):
            load(whole[:length], tmp_path)
    with pytest.raises(mlp.FileFormatError, match="added"):
        load(whole + b"\0", tmp_path)


@pytest.mark.parametrize("change", [0x01, 0xFF])
def test_a_problem_with_any_byte_changed_is_refused_or_the_same(tmp_path: Path, change: int) -> None:
    """Bytes that may change are dates and access rights in the directory of the zip file, which the problem does not use."""
    whole, taken = small(), 0
    original = load(whole, tmp_path)
    for place in range(len(whole)):
        try:
            loaded = load(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :], tmp_path)
        except mlp.FileFormatError:
            continue
        taken += 1
        assert same_problem(original, loaded), place
        assert np.array_equal(original.weights, loaded.weights)
    members = len(arrays_of(whole))
    assert taken <= 65 * members, "the bytes that nothing depends on are a few of each member's"


@pytest.mark.parametrize("key", sorted(arrays_of(small()).keys() - {"header", "digest"}))
def test_every_array_counts_in_the_digest(tmp_path: Path, key: str) -> None:
    arrays = arrays_of(small())
    for changed in (arrays[key] + 1, arrays[key].astype(np.float32), arrays[key][:1], arrays[key][None]):
        stream = io.BytesIO()
        np.savez(stream, **{**arrays, key: changed})
        if arrays[key].shape == changed.shape and arrays[key].dtype == changed.dtype and (arrays[key] == changed).all():
            continue
        with pytest.raises(mlp.FileFormatError, match="digest"):
            load(stream.getvalue(), tmp_path)


def test_content_is_checked_even_if_the_digest_is_right(tmp_path: Path) -> None:
    arrays = arrays_of(small())
    assert same_problem(load(sign_arrays(arrays), tmp_path), load(small(), tmp_path))
    wrong = [
        {"weights": np.array(1.0)},
        {"weights": np.ones((1, 2))},
        {"caps": np.array([1.0, -1.0])},
        {"caps": np.array(["1", "1"])},
        {"block0.origin": np.zeros((1, 1))},
        {"block0.origin": np.array([np.nan])},
        {"block0.lower": np.array([np.nan])},
        {"block0.upper": np.array([1 + 1j])},
        {"block0.features": np.ones((2, 1), dtype=np.int64)},
        {"block0.features": np.ones((2, 1)).astype(">f8")},
        {"block0.features": np.ones((0, 1))},
        {"header": np.frombuffer(b"[" * 100_000, dtype=np.uint8)},
        {"header": np.frombuffer(b"9" * 10_000, dtype=np.uint8)},
        {"header": np.frombuffer(b"\xff\xfe", dtype=np.uint8)},
    ]
    for change in wrong:
        with pytest.raises(mlp.FileFormatError):
            load(sign_arrays({**arrays, **change}), tmp_path)
    for changes in ({"population": 10**400}, {"population": -1}, {"blocks": []}, {"blocks": None}, {"labelled": True}):
        with pytest.raises(mlp.FileFormatError):
            load(with_header(**changes), tmp_path)


def test_a_map_whose_state_does_not_fit_is_refused(tmp_path: Path) -> None:
    for problem in valid_files.problems():
        arrays = arrays_of(valid_files.save_to_bytes(problem))
        assert same_problem(problem, load(sign_arrays(arrays), tmp_path))
        for key in (key for key in arrays if ".state." in key):
            for changed in (np.zeros((3, 3, 3)), np.full(arrays[key].shape, "x"), arrays[key].ravel()[:0]):
                with pytest.raises(mlp.FileFormatError):
                    load(sign_arrays({**arrays, key: changed}), tmp_path)


def test_foreign_or_compressed_members_of_a_file_are_refused(tmp_path: Path) -> None:
    """Compressed, repeated, overlapping and unknown members are refused."""
    with zipfile.ZipFile(io.BytesIO(small())) as archive:
        members = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    assert same_problem(load(pack_zip(members), tmp_path), load(small(), tmp_path))
    for packing in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(mlp.FileFormatError):
            load(pack_zip(members, packing), tmp_path)
    stream = io.BytesIO(pack_zip(members))
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("caps.npy", members["caps"])
    with pytest.raises(mlp.FileFormatError, match="same name"):
        load(stream.getvalue(), tmp_path)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
        archive.getinfo("caps.npy").header_offset = archive.getinfo("weights.npy").header_offset
    with pytest.raises(mlp.FileFormatError, match="next one begins"):
        load(stream.getvalue(), tmp_path)


@pytest.mark.parametrize("features", [mlp.Linear(standardise=True), mlp.Quadratic(standardise=True)])
def test_a_map_with_other_columns_than_its_spread_is_refused(features: mlp.FeatureMap, tmp_path: Path) -> None:
    mlp.Spec(features=features).compile([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0]], labelled=[0, 1]).save(tmp_path / "problem.npz")
    arrays = arrays_of((tmp_path / "problem.npz").read_bytes())
    header = json.loads(arrays["header"].tobytes())
    header["blocks"][0]["fitted"]["inputs"].append("another")
    with pytest.raises(mlp.FileFormatError, match="spread"):
        load(sign_arrays({**arrays, "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}), tmp_path)
