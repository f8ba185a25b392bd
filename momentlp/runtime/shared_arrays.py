"""Large arrays that lie in memory once and are mapped by several processes."""

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

LARGE = 1 << 20  # bytes from which an array is shared and not sent
IDLE = 6  # arrays that stay shared although nobody needs them: the next problem may


class SharedArrays:
    """Arrays that other processes can map: each is there once, however many problems hold it.

    On Linux they lie in memory without a name, which the system takes back whatever becomes of this process, and which is
    not bound to the size of ``/dev/shm`` (64 MB in many containers). Elsewhere they lie in temporary files. An array that is
    itself a map of a file is mapped from there.

    Examples
    --------
    >>> shared, X, held = SharedArrays(), np.ones((1000, 200)), {}
    >>> token = shared.token(X, held)
    >>> int(map_shared_array(token).sum())
    200000
    >>> shared.release(held.values())
    >>> shared.close()
    """

    def __init__(self) -> None:
        self._stored: dict[Hashable, _Stored] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def token(self, thing: object, held: dict[Any, NDArray[Any]]) -> Any:
        """Return what :func:`map_shared_array` finds a shared array by, noted in ``held``; None for all that is not shared."""
        if not isinstance(thing, np.ndarray) or not _can_be_shared(thing):
            return None
        key = memory_key(thing)
        if key not in self._stored:
            self._stored[key] = self._store(thing, key)
        stored = self._stored[key]
        if stored.token not in held:
            held[stored.token] = thing
            stored.users += 1
        return stored.token

    def release(self, arrays: Iterable[NDArray[Any]]) -> None:
        """Note that one user is done; let go of arrays that are gone, or have been of no use for the longest."""
        for key in map(memory_key, arrays):
            stored = self._stored[key] = self._stored.pop(key)  # at the end, as the last one used
            stored.users -= 1
            self._forget_if_gone(key)
        idle = [key for key, stored in list(self._stored.items()) if not stored.users]
        for key in idle[: max(0, len(idle) - IDLE)]:
            self._forget(key)

    def close(self) -> None:
        """Let go of everything. A process that has mapped an array keeps it."""
        for key in list(self._stored):
            self._forget(key)
        if self._folder is not None:
            self._folder.cleanup()

    def _forget_if_gone(self, key: Hashable) -> None:
        stored = self._stored.get(key)
        if stored is not None and not stored.users and stored.reference() is None:
            self._forget(key)

    def _forget(self, key: Hashable) -> None:
        stored = self._stored.pop(key, None)  # a collection of garbage may have come first
        if stored is not None:
            stored.free()

    def _store(self, array: NDArray[Any], key: Hashable) -> _Stored:
        free: Callable[[], Any] = _nothing
        file = _file_behind(array)
        if file is None:
            path, free = self._written((array if array.flags.c_contiguous else array.T).data.cast("B"))
            file = path, 0
        token = (*file, array.dtype.str, array.shape, array.strides, isinstance(array, np.memmap))
        return _Stored(weakref.ref(array, lambda _: self._forget_if_gone(key)), token, free)

    def _written(self, content: memoryview) -> tuple[str, Callable[[], Any]]:
        if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
            descriptor = os.memfd_create("momentlp")
            with open(descriptor, "wb", closefd=False) as stream:
                stream.write(content)
            return f"/proc/{os.getpid()}/fd/{descriptor}", partial(os.close, descriptor)
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="momentlp-", ignore_cleanup_errors=True)
        with tempfile.NamedTemporaryFile(dir=self._folder.name, delete=False) as file:
            file.write(content)
        return file.name, partial(_remove, file.name)


@dataclass
class _Stored:
    """A shared array."""

    reference: weakref.ref[NDArray[Any]]
    token: Any
    free: Callable[[], Any]
    users: int = 0


def map_shared_array(token: Any) -> NDArray[Any]:
    """Return a shared array. Code that writes to it changes its own copy of that page, as it would with an array sent.

    A map of a file stays one, read only, so that it is read in chunks here too. All else is an array like any other.
    """
    path, offset, dtype, shape, strides, is_map = token
    if not is_map:
        with Path(path).open("rb") as stream:
            memory = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
        return np.ndarray(shape, dtype, memory, offset, strides)
    kind = np.dtype(dtype)
    length = sum((number - 1) * step for number, step in zip(shape, strides, strict=True)) // kind.itemsize + 1
    flat = np.memmap(path, dtype=kind, mode="r", offset=offset, shape=(length,))
    return np.lib.stride_tricks.as_strided(flat, shape, strides, subok=True)


def memory_key(array: NDArray[Any]) -> Hashable:
    """Return where an array lies and how: two views of the same numbers are one array."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def _can_be_shared(array: NDArray[Any]) -> bool:
    """Whether an array is worth it, or is a map that would not be one any more once it is sent."""
    if type(array) not in (np.ndarray, np.memmap) or array.dtype.kind not in "biuf" or not array.nbytes:
        return False
    if array.nbytes < LARGE and not isinstance(array, np.memmap):
        return False
    contiguous = array.flags.c_contiguous or array.flags.f_contiguous
    return contiguous or (min(array.strides) > 0 and _file_behind(array) is not None)


def _file_behind(array: NDArray[Any]) -> tuple[str, int] | None:
    """Return the file that an array is a map of, and where in it the array begins."""
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.filename is None or root.mode == "c" or not Path(root.filename).is_file():
        return None
    return str(root.filename), int(root.offset + array.ctypes.data - root.ctypes.data)


def _nothing() -> None:
    """Free what is not ours."""


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # on Windows a worker may still have it open: it goes with the folder
        Path(path).unlink()
