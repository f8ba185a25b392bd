"""Arrays from ``.npy`` and ``.npz`` files that come from outside.

Headers are matched by a regular expression and never evaluated. Memory is allocated only after a check that the file holds
the bytes to fill it.
"""

from __future__ import annotations

import math
import os
import re
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import FileFormatError

__all__ = ["array_bytes", "array_layout", "npz_members", "read_npy"]

CHUNK_BYTES = 1 << 20  # read at a time, so that they are hashed while they are in the cache
PLAIN_KINDS = "biufcSUmM"  # kinds of dtype without objects and fields
NPY_HEADER = re.compile(
    rb"\s*\{\s*'descr'\s*:\s*'([<>|=]?[biufcSUmM][0-9]{1,9}(?:\[[0-9]{0,9}[a-zA-Z]{1,2}\])?)'\s*,"
    rb"\s*'fortran_order'\s*:\s*(True|False)\s*,\s*'shape'\s*:\s*\(([0-9L,\s]*)\)\s*,?\s*\}\s*"
)
MAX_HEADER_BYTES = 4096  # numpy writes 118 for a table
LOCAL_FIELDS, LOCAL_BYTES = "<4s3H4L2H", 30  # the header before the name of a zip member: its struct format and size
FREE_BYTES, MAX_EXPANSION = 1 << 28, 100  # a compressed array may unpack to 256 MiB, or to a hundred times its size


def npz_members(stream: IO[bytes], *, compressed: bool) -> Iterator[tuple[str, IO[bytes], int]]:
    """Yield the name of each array of a ``.npz``, a stream for :func:`read_npy`, and its size in bytes.

    Parameters
    ----------
    stream : binary file
    compressed : bool
        Whether members may be compressed. If not, their check sums are not looked at: the caller has a digest.

    Raises
    ------
    FileFormatError
        If two members share bytes or a name, one is compressed in another way than numpy does it, or one would unpack to
        far more than its size.
    """
    size = stream.seek(0, os.SEEK_END)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        for member in members:
            _check_member(member, compressed)
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(names)) < len(names):
            raise FileFormatError("two of its arrays have the same name")
        by_offset = sorted(members, key=lambda member: member.header_offset)
        ends = [member.header_offset for member in by_offset[1:]] + [min(archive.start_dir, size)]
        for member, end in zip(by_offset, ends, strict=True):
            if _data_offset(stream, member) + member.compress_size > end:
                raise FileFormatError(f"array {member.filename!r} does not end where the next one begins")
        for name, member in zip(names, members, strict=True):
            if not compressed:  # straight from the file
                stream.seek(_data_offset(stream, member))
                yield name, stream, member.file_size
            else:
                with archive.open(member) as content:
                    yield name, content, member.file_size
                    if content.read(1):  # zipfile compares the check sum here
                        raise FileFormatError(f"array {member.filename!r} is longer than it says")


def _data_offset(stream: IO[bytes], member: zipfile.ZipInfo) -> int:
    """Return the offset of the bytes of a member. They follow a local header, which must agree with the directory."""
    stream.seek(member.header_offset)
    header = stream.read(LOCAL_BYTES)
    signature, _, flags, compression, _, crc, _, _, name_length, extra_length = struct.unpack(LOCAL_FIELDS, header)
    agrees = (flags, compression, crc) == (member.flag_bits, member.compress_type, 0 if flags & 0x8 else member.CRC)
    if signature != b"PK\x03\x04" or not agrees or stream.read(name_length).decode() != member.orig_filename:
        raise FileFormatError(f"array {member.filename!r} is not where it should be")
    return member.header_offset + LOCAL_BYTES + int(name_length) + int(extra_length)


def _check_member(member: zipfile.ZipInfo, compressed: bool) -> None:
    name, packed, size = member.filename, member.compress_size, member.file_size
    allowed = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) if compressed else (zipfile.ZIP_STORED,)
    if not name.endswith(".npy") or member.compress_type not in allowed or member.flag_bits & 0x1:
        raise FileFormatError(f"{name!r} in it is not an array {'that numpy' if compressed else 'as momentlp'} writes it")
    if member.compress_type == zipfile.ZIP_STORED and packed != size:
        raise FileFormatError(f"array {name!r} has two sizes, {packed} and {size} bytes")
    if size > max(FREE_BYTES, MAX_EXPANSION * packed):
        raise FileFormatError(
            f"array {name!r} would unpack from {packed} to {size} bytes; if it is yours, save it uncompressed"
        )


def read_npy(stream: IO[bytes], size: int, update: Callable[[Any], object] | None = None) -> NDArray[Any]:
    """Read the array of plain values that fills the next ``size`` bytes.

    Parameters
    ----------
    stream : binary file
    size : int
        Bytes of the ``.npy`` with its header.
    update : callable, optional
        Called with the layout of the array and then with its bytes, such as ``hashlib.sha256().update``.
    """
    dtype, order, shape, start = _read_layout(stream, size)
    count = math.prod(shape)
    if dtype.itemsize == 0 or count * dtype.itemsize != size - start:
        raise FileFormatError(
            f"an array of shape {shape} and type {dtype} does not fill the {size - start} bytes that there are"
        )
    array: NDArray[Any] = np.empty(count, dtype)
    content = memoryview(array.view(np.uint8))  # type: ignore[arg-type]  # arrays are buffers
    if update is not None:
        update(_layout_text(dtype, order, shape))
    for offset in range(0, len(content), CHUNK_BYTES):
        part = content[offset : offset + CHUNK_BYTES]
        if stream.readinto(part) != len(part):  # type: ignore[attr-defined]  # all binary streams have it
            raise FileFormatError("it is cut short")
        if update is not None:
            update(part)
    _check_text(array)
    return array.reshape(shape, order="F" if order == "F" else "C")


def _check_text(array: NDArray[Any]) -> None:
    """Raise for text with characters that do not exist: numpy fails on them much later, with an error of its own."""
    if array.dtype.kind != "U" or not array.size:
        return
    codes = np.ascontiguousarray(array).view(array.dtype.byteorder.replace("|", "=") + "u4")
    if codes.max() > sys.maxunicode:
        raise FileFormatError("it holds text with characters that do not exist")


def _read_layout(stream: IO[bytes], size: int) -> tuple[np.dtype[Any], str, tuple[int, ...], int]:
    """Read the header of a ``.npy``, and return dtype, order, shape and the length of the header in bytes."""
    start = stream.read(8)
    if len(start) < 8 or start[:6] != b"\x93NUMPY" or start[6] not in (1, 2, 3):
        raise FileFormatError("it holds something that is not a numpy array")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if length > min(size, MAX_HEADER_BYTES):
        raise FileFormatError(f"an array has a header of {length} bytes")
    match = NPY_HEADER.fullmatch(stream.read(length))
    if match is None:
        raise FileFormatError("an array is cut short, or holds objects or records: only plain values are read, no pickles")
    entries = [entry.strip().rstrip(b"L") for entry in match[3].split(b",") if entry.strip()]
    if len(entries) > 32 or max(map(len, entries), default=0) > 18:
        raise FileFormatError("an array has an impossible shape")
    shape = tuple(int(entry) for entry in entries)
    return np.dtype(match[1].decode()), "F" if match[2] == b"True" else "C", shape, 8 + width + length


def array_layout(array: NDArray[Any]) -> bytes:
    """Return dtype, order and shape as :func:`read_npy` passes them to ``update``; raise for objects and records."""
    if array.dtype.kind not in PLAIN_KINDS or array.dtype.itemsize == 0:
        raise FileFormatError(f"it is of type {array.dtype}")
    return _layout_text(array.dtype, "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C", array.shape)


def array_bytes(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array of plain values in the order in which numpy writes them."""
    flat = array.reshape(-1, order="F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C")
    return memoryview(np.ascontiguousarray(flat).view(np.uint8))  # type: ignore[arg-type]  # arrays are buffers


def _layout_text(dtype: np.dtype[Any], order: str, shape: tuple[int, ...]) -> bytes:
    return f"{dtype.str} {order} {shape}\n".encode()
