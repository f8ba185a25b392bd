"""Arrays in files never crash compiled code, never take more memory than the file has bytes, and never run code."""

from __future__ import annotations

import io
import json
import pickle
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp
from fuzz import valid_files
from fuzz.file_bytes import arrays_of, claim_shape, load, npy_bytes, pack_zip, sign_arrays, small
from momentlp.formats import npz
from momentlp.formats.tabular import read_points
from momentlp.points.arrays import is_sparse


@pytest.mark.parametrize(
    "change",
    [
        {"indptr": [0, 10**9, 0]},
        {"indptr": [0, 2, 1]},
        {"indptr": [1, 2, 2]},
        {"indptr": [0, -1, 2]},
        {"indptr": [0, 1, 5]},
        {"indptr": [0, 2]},
        {"indices": [0, 7]},
        {"indices": [0, -1]},
        {"indices": [0]},
        {"indices": [0.0, 1.0]},
        {"indices": [[0, 1]]},
        {"shape": [2, 1]},
        {"shape": [10**12, 10**12]},
        {"shape": [-1, 2]},
    ],
    ids=str,
)
def test_sparse_indices_that_point_outside_never_reach_compiled_code(tmp_path: Path, change: dict[str, Any]) -> None:
    matrix = sp.csr_array(np.eye(2))
    sp.save_npz(tmp_path / "data.npz", matrix)
    assert is_sparse(read_points(tmp_path / "data.npz"))
    changed = {key: np.array(value) for key, value in change.items()}
    np.savez(tmp_path / "data.npz", **{**arrays_of((tmp_path / "data.npz").read_bytes()), **changed})
    with pytest.raises(mlp.DataError):
        read_points(tmp_path / "data.npz")
    arrays = arrays_of(valid_files.save_to_bytes(mlp.Problem.from_arrays(matrix, 0.0, 1.0)))
    header = json.loads(arrays["header"].tobytes())
    header["blocks"][0]["features"]["shape"] = change.get("shape", [2, 2])
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    arrays |= {f"block0.features.{key}": array for key, array in changed.items() if key != "shape"}
    with pytest.raises(mlp.FileFormatError):
        load(sign_arrays(arrays), tmp_path)


BOMBS = {
    "shape": claim_shape("(1000000000, 1000000000)", b"12345678"),
    "overflow": claim_shape("(4294967296, 4294967296)"),
    "digits": claim_shape(f"({'9' * 3000},)"),
    "empty columns": claim_shape("(0, 1000000000000)"),
    "no bytes each": claim_shape("(1000000000000, 1)", b"", "|S0"),
    "long header": claim_shape(f"(1,{' ' * 60_000})", b"12345678"),
    "deep header": claim_shape("(" * 4000),
}


@pytest.mark.parametrize("bomb", [*BOMBS, "zeros"])
@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_files_that_claim_more_than_they_hold_take_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bomb: str, ending: str
) -> None:
    if bomb == "zeros":
        monkeypatch.setattr(npz, "FREE_BYTES", 1 << 20)
        size = 8 << 20
        content = pack_zip({"x": claim_shape(f"({size // 8}, 1)", bytes(size))}, zipfile.ZIP_DEFLATED)
    else:
        content = BOMBS[bomb] if ending == ".npy" else pack_zip({"x": BOMBS[bomb]})
    path = tmp_path / f"data{ending}"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(mlp.DataError):
            read_points(path)
        with pytest.raises(mlp.FileFormatError):
            mlp.Problem.load(path)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_pickles_are_never_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    trap = np.array([Trap(marker)], dtype=object)
    np.load(npy_bytes(trap), allow_pickle=True)
    assert marker.exists(), "the trap works"
    marker.unlink()
    content = npy_bytes(trap).getvalue()
    (tmp_path / "x.npy").write_bytes(content)
    (tmp_path / "pickle.npy").write_bytes(pickle.dumps(Trap(marker)))
    (tmp_path / "x.npz").write_bytes(pack_zip({"x": content}))
    (tmp_path / "sparse.npz").write_bytes(pack_zip({"format": content, "shape": content, "data": content}))
    for name in ("x.npy", "pickle.npy", "x.npz", "sparse.npz"):
        with pytest.raises(mlp.DataError):
            read_points(tmp_path / name)
        with pytest.raises(mlp.FileFormatError):
            mlp.Problem.load(tmp_path / name)
    for name in arrays_of(small()):
        with zipfile.ZipFile(io.BytesIO(small())) as archive:
            members = {member.removesuffix(".npy"): archive.read(member) for member in archive.namelist()}
        with pytest.raises(mlp.FileFormatError, match="pickles"):
            load(pack_zip({**members, name: content}), tmp_path)
    assert not marker.exists()
