"""Large arrays that are in memory once and are used by several processes.

The parent stores an array where other processes can map it (:class:`SharedArrays`) and sends a token, a small tuple. A
worker calls :func:`map_shared_array` with the token.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
import weakref
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SharedArrays", "map_shared_array", "memory_key"]

MIN_SHARED_BYTES = 1 << 20  # smaller arrays are sent: that is faster than mapping them
MAX_UNUSED_ARRAYS = 6  # arrays that stay stored although no problem uses them: the next problem may


class SharedArrays:
    """Arrays that other processes can map. Each is stored once, even if several problems use it.

    On Linux an array is stored in anonymous memory (``memfd_create``). The system frees it when this process ends, in
    whatever way, and ``/dev/shm`` (64 MB in many containers) does not limit its size. On other systems an array is stored in
    a temporary file. A memory map of a file is not stored again: other processes map the same file.

    Examples
    --------
    >>> shared, X, used = SharedArrays(), np.ones((1000, 200)), {}
    >>> token = shared.share(X, used)
    >>> int(map_shared_array(token).sum())
    200000
    >>> shared.release(used.values())
    >>> shared.close()
    """

    def __init__(self) -> None:
        self._stored: dict[Hashable, _StoredArray] = {}  # by memory key; the one released last is at the end
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def share(self, thing: object, used: dict[Any, NDArray[Any]]) -> Any:
        """Store an array if it is not stored yet, and count one more user of it.

        Parameters
        ----------
        thing : object
            Shared if it is a large array of numbers.
        used : dict
            The arrays that this user shares, by token. The array is added, so a user counts once per array. Give its values
            to :meth:`release` later.

        Returns
        -------
        tuple or None
            The token for :func:`map_shared_array`; None if ``thing`` is not shared.
        """
        if not isinstance(thing, np.ndarray) or not _can_be_shared(thing):
            return None
        key = memory_key(thing)
        if key not in self._stored:
            self._stored[key] = self._store(thing, key)
        stored = self._stored[key]
        if stored.token not in used:
            used[stored.token] = thing
            stored.n_users += 1
        return stored.token

    def release(self, arrays: Iterable[NDArray[Any]]) -> None:
        """Count one user less for each array, and free those that are not needed any more.

        An array without users is freed when the caller has deleted it, or when too many arrays have no users; the array that
        was released first is then freed first.
        """
        for key in map(memory_key, arrays):
            stored = self._stored[key] = self._stored.pop(key)  # moves it to the end
            stored.n_users -= 1
            self._free_if_deleted(key)
        unused = [key for key, stored in list(self._stored.items()) if not stored.n_users]
        for key in unused[: max(0, len(unused) - MAX_UNUSED_ARRAYS)]:
            self._free(key)

    def close(self) -> None:
        """Free all arrays. A process that has mapped an array can still use it."""
        for key in list(self._stored):
            self._free(key)
        if self._folder is not None:
            self._folder.cleanup()

    def _free_if_deleted(self, key: Hashable) -> None:
        stored = self._stored.get(key)
        if stored is not None and not stored.n_users and stored.reference() is None:
            self._free(key)

    def _free(self, key: Hashable) -> None:
        stored = self._stored.pop(key, None)  # the garbage collector may have freed it meanwhile
        if stored is not None:
            stored.free()

    def _store(self, array: NDArray[Any], key: Hashable) -> _StoredArray:
        free: Callable[[], Any] = _do_nothing
        location = _find_mapped_file(array)
        if location is None:
            path, free = self._write((array if array.flags.c_contiguous else array.T).data.cast("B"))
            location = path, 0
        token = (*location, array.dtype.str, array.shape, array.strides, isinstance(array, np.memmap))
        return _StoredArray(weakref.ref(array, lambda _: self._free_if_deleted(key)), token, free)

    def _write(self, content: memoryview) -> tuple[str, Callable[[], Any]]:
        """Write content where other processes can map it; return the path, and a function that frees it."""
        if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
            descriptor = os.memfd_create("momentlp")
            with open(descriptor, "wb", closefd=False) as stream:
                stream.write(content)
            return f"/proc/{os.getpid()}/fd/{descriptor}", partial(os.close, descriptor)
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="momentlp-", ignore_cleanup_errors=True)
        with tempfile.NamedTemporaryFile(dir=self._folder.name, delete=False) as file:
            file.write(content)
        return file.name, partial(_remove_file, file.name)


@dataclass
class _StoredArray:
    """An array that other processes can map."""

    reference: weakref.ref[NDArray[Any]]  # to the caller's array, which may be deleted
    token: Any
    free: Callable[[], Any]
    n_users: int = 0


def map_shared_array(token: Any) -> NDArray[Any]:
    """Return the shared array of a token, without a copy.

    Code that writes to the array changes only its own copy of that page. A memory map of a file stays one, read-only, so
    that it is read in chunks here too. Any other array is an ordinary array.
    """
    path, offset, dtype, shape, strides, is_memmap = token
    if not is_memmap:
        with Path(path).open("rb") as stream:
            memory = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
        return np.ndarray(shape, dtype, memory, offset, strides)
    kind = np.dtype(dtype)
    length = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) // kind.itemsize + 1
    flat = np.memmap(path, dtype=kind, mode="r", offset=offset, shape=(length,))
    return np.lib.stride_tricks.as_strided(flat, shape, strides, subok=True)


def memory_key(array: NDArray[Any]) -> Hashable:
    """Return a key that is the same for all views of the same numbers: address, shape, strides and type."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def _can_be_shared(array: NDArray[Any]) -> bool:
    """Whether to share an array: it is large, or a memory map, which would be an ordinary array if it were sent."""
    if type(array) not in (np.ndarray, np.memmap) or array.dtype.kind not in "biuf" or not array.nbytes:
        return False
    if array.nbytes < MIN_SHARED_BYTES and not isinstance(array, np.memmap):
        return False
    is_contiguous = array.flags.c_contiguous or array.flags.f_contiguous
    return is_contiguous or (min(array.strides) > 0 and _find_mapped_file(array) is not None)


def _find_mapped_file(array: NDArray[Any]) -> tuple[str, int] | None:
    """Return the file that an array maps and the offset of the array in it, in bytes; None if it maps no file."""
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.filename is None or root.mode == "c" or not Path(root.filename).is_file():
        return None
    return str(root.filename), int(root.offset + array.ctypes.data - root.ctypes.data)


def _do_nothing() -> None:
    """Free an array that this module did not store."""


def _remove_file(path: str) -> None:
    with contextlib.suppress(OSError):  # on Windows a worker may have it open: it is removed with the folder
        Path(path).unlink()
