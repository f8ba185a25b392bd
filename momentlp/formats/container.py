"""Files that momentlp writes: a ``.npz`` of plain arrays with a header in JSON and a digest. Reading never runs code.

The digest is the SHA-256 of every array and the header. It finds files that were cut short or changed by accident. It is not
a signature: somebody who changes a file on purpose can write a new digest, so the contents are checked as well.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import FileFormatError, MomentLPError
from momentlp.formats.npz import array_bytes, array_layout, npz_members, read_npy
from momentlp.formats.read_errors import READ_ERRORS, short_reason
from momentlp.formats.untrusted_text import parse_json
from momentlp.runtime.atomic_files import write_atomically

__all__ = ["Arrays", "compute_digest", "read_container", "write_container"]

MAX_HEADER_BYTES = 1 << 28  # the names of a few million moments fit
END_OF_ZIP, END_BYTES = b"PK\x05\x06", 22  # the last record of a zip file without a comment, and its size

Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")


def write_container(path: Path, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a header and arrays to ``path``; no ending is added to the name."""
    arrays = {**arrays, "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    arrays["digest"] = compute_digest(arrays)
    plain: dict[str, Any] = dict(arrays)
    write_atomically(path, lambda stream: np.savez(stream, **plain))


def read_container(path: Path, format_: str, version: int, what: str, build: Callable[[Mapping[str, Any], Arrays], T]) -> T:
    """Read a file that :func:`write_container` wrote, and build the object it holds.

    Parameters
    ----------
    path : Path
    format_, version : str, int
        The format that the header must have, and the last version of it that can be read.
    what : str
        The object in messages, such as "saved problem".
    build : callable
        Makes the object from the header and the arrays.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, or of another format. The message gives the reason.
    """
    try:
        with path.open("rb") as stream:
            arrays, digest = _read_arrays(stream, what)
        return build(_check_header(arrays, digest, format_, version, what), arrays)
    except FileNotFoundError:
        raise FileFormatError(f"there is no file {str(path)!r}.") from None
    except (MomentLPError, *READ_ERRORS) as error:
        raise FileFormatError(f"{str(path)!r} is not a complete {what} of momentlp: {short_reason(error)}.") from error


def _check_header(arrays: Arrays, digest: bytes, format_: str, version: int, what: str) -> Mapping[str, Any]:
    """Check the header. The version comes before the digest, so that a file of a later momentlp is named as such."""
    if "header" not in arrays:
        raise FileFormatError(f"it is a .npz, but not a {what}")
    header = parse_json(arrays["header"].tobytes(), names_only=True)
    if not isinstance(header, dict) or header.get("format") != format_:
        raise FileFormatError(f"it is a .npz, but not a {what}")
    if header.get("version") not in range(1, version + 1):
        raise FileFormatError(f"it has format version {header.get('version')!r}; this momentlp reads {version}. Upgrade it")
    if "digest" not in arrays or arrays["digest"].tobytes() != digest:
        raise FileFormatError("it was changed since it was saved: its digest differs")
    return header


def compute_digest(arrays: Arrays) -> NDArray[np.uint8]:
    """Return the SHA-256 of the names, types, shapes and bytes of arrays, in their order in the file."""
    digest = hashlib.sha256()
    for key, array in arrays.items():
        try:
            layout = array_layout(array)
        except FileFormatError as error:
            raise FileFormatError(
                f"{key} cannot be saved without a pickle, since {error}: keep plain arrays in state."
            ) from None
        digest.update(_encode_name(key))
        digest.update(layout)
        digest.update(array_bytes(array))
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def _encode_name(key: str) -> bytes:
    return json.dumps(key).encode()  # quoted, so that a name can never look like a name and a layout


def _read_arrays(stream: IO[bytes], what: str) -> tuple[Arrays, bytes]:
    """Read every array once, and compute the digest of all arrays but the digest itself."""
    if stream.read(2) != b"PK":
        raise FileFormatError(f"it is not a {what}")
    stream.seek(-min(END_BYTES, stream.seek(0, os.SEEK_END)), os.SEEK_END)
    end = stream.read()
    if not end.startswith(END_OF_ZIP) or end[-2:] != bytes(2):
        raise FileFormatError("it is cut short, or something was added to it")
    arrays: Arrays = {}
    digest = hashlib.sha256()
    for key, content, size in npz_members(stream, compressed=False):
        if key == "header" and size > MAX_HEADER_BYTES:
            raise FileFormatError(f"its header takes {size} bytes")
        if key == "digest":
            arrays[key] = read_npy(content, size)
        else:
            digest.update(_encode_name(key))
            arrays[key] = read_npy(content, size, digest.update)
    return arrays, digest.digest()
