"""Files as bytes: the smallest saved problem, and changed copies of it with a digest that fits."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import momentlp as mlp
from fuzz import valid_files
from momentlp.formats.container import compute_digest


def small() -> bytes:
    """Return the bytes of the smallest saved problem."""
    return valid_files.save_to_bytes(mlp.Problem.from_arrays([[-1.0], [2.0]], 0.0, 1.0))


def arrays_of(data: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a ``.npz``."""
    with np.load(io.BytesIO(data)) as archive:
        return dict(archive)


def sign_arrays(arrays: dict[str, np.ndarray]) -> bytes:
    """Return a saved problem of these arrays with a new digest, as somebody who changes a file on purpose writes it."""
    stream, rest = io.BytesIO(), {key: array for key, array in arrays.items() if key != "digest"}
    np.savez(stream, **rest, digest=compute_digest(rest))
    return stream.getvalue()


def with_header(**changes: Any) -> bytes:
    """Return the smallest saved problem with some fields of its header changed."""
    arrays = arrays_of(small())
    header = {**json.loads(arrays["header"].tobytes()), **changes}
    return sign_arrays({**arrays, "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)})


def load(data: bytes, folder: Path) -> mlp.Problem:
    """Write bytes to a file and load the problem in it."""
    (folder / "problem.npz").write_bytes(data)
    return mlp.Problem.load(folder / "problem.npz")


def claim_shape(shape: str, content: bytes = b"", descr: str = "<f8") -> bytes:
    """Return a ``.npy`` whose header claims a shape and a type that the content need not have."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


def pack_zip(members: dict[str, bytes], packing: int = zipfile.ZIP_STORED) -> bytes:
    """Return a ``.npz`` with these members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


def npy_bytes(array: np.ndarray) -> io.BytesIO:
    """Return an array as numpy saves it, with a pickle if it holds objects."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    stream.seek(0)
    return stream
