"""Large arrays are stored once for all processes, and freed when they are not needed any more."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.many_problems import on_linux, shared_memory_of_this_process

from momentlp.runtime import shared_arrays
from momentlp.runtime.shared_arrays import MAX_UNUSED_ARRAYS, SharedArrays, map_shared_array, memory_key


@pytest.fixture(params=["memory", "files"])
def shared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """SharedArrays, of arrays of any size, in anonymous memory where there is some, and in temporary files."""
    monkeypatch.setattr(shared_arrays, "MIN_SHARED_BYTES", 100)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if request.param == "files":
        monkeypatch.delattr(os, "memfd_create", raising=False)
    elif sys.platform != "linux":
        pytest.skip("Linux only")
    arrays = SharedArrays()
    yield arrays
    arrays.close()
    assert list(tmp_path.glob("momentlp-*")) == []


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_mapped_array_is_equal_to_the_original(shared: SharedArrays, kind: type, order: Any) -> None:
    array = np.asarray(np.arange(240).reshape(20, 12) % 7, dtype=kind, order=order)
    mapped = map_shared_array(shared.share(array, {}))
    np.testing.assert_array_equal(mapped, array)
    assert (mapped.dtype, mapped.strides, type(mapped)) == (array.dtype, array.strides, np.ndarray)


def test_another_process_can_map_an_array(shared: SharedArrays) -> None:
    token = shared.share(np.arange(1000.0), {})
    code = f"from momentlp.runtime.shared_arrays import map_shared_array; print(map_shared_array({token!r}).sum())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "499500.0\n"


def test_an_array_that_is_shared_twice_is_stored_once(shared: SharedArrays) -> None:
    array = np.ones(1000)
    one, other = {}, {}
    token = shared.share(array, one)
    assert shared.share(array, one) == token
    assert shared.share(array[:], other) == token
    assert len(shared._stored) == 1
    assert shared._stored[memory_key(array)].n_users == 2


def test_writing_to_a_mapped_array_changes_only_that_copy(shared: SharedArrays) -> None:
    array = np.zeros(1000)
    token = shared.share(array, {})
    mapped = map_shared_array(token)
    mapped[0] = 1.0
    assert array[0] == 0.0
    assert map_shared_array(token)[0] == 0.0


@pytest.mark.parametrize(
    "thing",
    [
        "text",
        np.ones(2),
        np.array(["text"] * 100),
        np.array([None] * 100),
        np.empty((0, 100)),
        np.ones((100, 100))[::2, ::2],
        np.ma.ones(100),
    ],
    ids=["not an array", "small", "text", "objects", "empty", "not contiguous", "a subclass"],
)
def test_other_objects_are_not_shared(shared: SharedArrays, thing: object) -> None:
    used: dict[Any, Any] = {}
    assert shared.share(thing, used) is None
    assert used == {}


def test_an_array_without_users_is_freed_when_it_is_deleted(shared: SharedArrays) -> None:
    array, used = np.ones(1000), {}
    shared.share(array, used)
    shared.release(used.values())
    assert len(shared._stored) == 1  # the next problem may use it
    used.clear()
    del array
    gc.collect()
    assert len(shared._stored) == 0


def test_an_array_with_users_is_not_freed(shared: SharedArrays) -> None:
    arrays = [np.full(1000, float(k)) for k in range(MAX_UNUSED_ARRAYS + 3)]
    users: list[dict[Any, Any]] = [{} for _ in arrays]
    tokens = [shared.share(array, used) for array, used in zip(arrays, users, strict=True)]
    for used in users[1:]:
        shared.release(used.values())
    assert map_shared_array(tokens[0])[0] == 0.0
    assert len(shared._stored) == 1 + MAX_UNUSED_ARRAYS


def test_if_too_many_arrays_have_no_users_those_released_first_are_freed(shared: SharedArrays) -> None:
    arrays = [np.full(1000, float(k)) for k in range(MAX_UNUSED_ARRAYS + 2)]
    for array in arrays:
        used: dict[Any, Any] = {}
        shared.share(array, used)
        shared.release(used.values())
    assert list(shared._stored) == [memory_key(array) for array in arrays[2:]]


@on_linux
def test_closing_frees_everything_but_a_map_stays_usable() -> None:
    before = shared_memory_of_this_process()
    shared, X = SharedArrays(), np.ones(1 << 18)
    token = shared.share(X, {})
    assert shared_memory_of_this_process() == before + 1
    mapped = map_shared_array(token)  # a map has a file descriptor of its own
    shared.close()
    assert mapped.sum() == 1 << 18
    with pytest.raises(FileNotFoundError):
        map_shared_array(token)
    del mapped
    assert shared_memory_of_this_process() == before


@pytest.mark.parametrize("part", [np.s_[:], np.s_[5:], np.s_[::3], np.s_[:, 2:9:2]])
def test_a_memory_map_is_mapped_from_its_own_file(part: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.arange(200.0).reshape(20, 10))
    original = np.load(tmp_path / "X.npy", mmap_mode="r")[part]
    token = SharedArrays().share(original, {})
    mapped = map_shared_array(token)
    assert token[0] == str(tmp_path / "X.npy")
    assert isinstance(mapped, np.memmap)
    assert not mapped.flags.writeable
    np.testing.assert_array_equal(mapped, original)


def test_a_copy_on_write_map_is_stored_since_it_may_differ_from_its_file(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.zeros(1 << 18))
    changed = np.load(tmp_path / "X.npy", mmap_mode="c")
    changed[0] = 7.0
    shared = SharedArrays()
    token = shared.share(changed, {})
    assert token[0] != str(tmp_path / "X.npy")
    assert map_shared_array(token)[0] == 7.0
    shared.close()
