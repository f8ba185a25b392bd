"""A file is replaced completely or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import pytest

from momentlp.errors import DataError
from momentlp.runtime.atomic_files import write_atomically


def test_the_new_content_replaces_the_old(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"old", b"new"):
        write_atomically(path, lambda stream, content=content: stream.write(content))
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(stream: IO[bytes]) -> None:
        stream.write(b"half of the new cont")
        raise error

    with pytest.raises(error):
        write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_sees_the_old_content_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen: list[bytes] = []

    def write(stream: IO[bytes]) -> None:
        stream.write(b"new")
        stream.flush()
        seen.append(path.read_bytes())

    write_atomically(path, write)
    assert (seen, path.read_bytes()) == ([b"old"], b"new")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot write .*file': there is no folder .*missing'"):
        write_atomically(tmp_path / "missing" / "file", lambda stream: stream.write(b""))
