"""A write that does not finish leaves the old file."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import momentlp as mlp
from fuzz.file_bytes import small
from momentlp.runtime.atomic_files import write_atomically


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write(stream: Any) -> None:
        stream.write(b"half of the new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, write)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_process_that_dies_while_it_saves_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "problem.npz"
    path.write_bytes(small())
    program = """
        import os, sys
        import numpy as np, momentlp as mlp

        def die(stream, **arrays):
            stream.write(b"half of the new")
            stream.flush()
            os._exit(7)

        np.savez = die
        mlp.Problem.from_arrays([[1.0], [1.0], [1.0]], 0.0, 1.0).save(sys.argv[1])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(path)], check=False, timeout=120)
    assert done.returncode == 7
    assert path.read_bytes() == small()
    assert mlp.Problem.load(path).n_points == 2
