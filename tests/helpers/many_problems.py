"""Small problems for the tests of solve_many."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import momentlp as mlp

X = np.random.default_rng(0).normal(size=(1500, 100))  # large enough to be shared between processes
SPEC = mlp.Spec(tolerance=mlp.Absolute(5.0))
SMALL = np.arange(40.0).reshape(20, 2)
in_one_and_two_processes = pytest.mark.parametrize("n_jobs", [1, 2])
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def small(label: int) -> mlp.Problem:
    return SPEC.compile(SMALL, labelled=[label, 10])


def problems(number: int, points: Any = X) -> list[mlp.Problem]:
    return [SPEC.compile(points, labelled=[3 * k, 3 * k + 1, 3 * k + 2]) for k in range(number)]


def same(one: Any, other: mlp.Solution) -> bool:
    """Return whether two solutions have the same status and memberships."""
    return one.status is other.status and np.allclose(one.membership, other.membership, atol=1e-9)


def shared_memory_of_this_process() -> int:
    """Return the number of arrays that this process stores for others; Linux only."""
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sum("memfd:momentlp" in link for link in links)
