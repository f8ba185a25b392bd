"""The problems that are timed, each made from a few numbers, so that a fresh process can make it again.

``make("gaussians", n=20000, m=32)`` returns a :class:`Case`: points, what is known of the class, and the spec. What is not
an argument is fixed here, so that a figure can be made again from the command that stands beside it.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import momentlp as mlp
from benchmarks.common.timing import usps, usps_protocol
from momentlp.datasets.synthetic import make_ring
from momentlp.datasets.usps import usps_split

__all__ = ["Case", "describe", "make", "paper_problem", "written"]

SHARE, SHIFT, LABELLED, EPS = 0.2, 3.0, 200, 0.02  # of the Gaussians; EPS is per point: the tolerance on the sum is EPS * n
ROWS = 100_000  # made, and written, at a time: the points are the same in memory and on disk
GAMMA, RING_EPS = 0.5, 0.5  # of the ring


@dataclass(frozen=True, eq=False)
class Case:
    """Points, what is known of the class (``sample``, ``mean`` or ``labelled``), and the spec."""

    X: Any
    known: Mapping[str, Any]
    spec: mlp.Spec

    def compile(self) -> mlp.Problem:
        """Return the problem."""
        return self.spec.compile(self.X, **self.known)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return A, lower and upper, as a solver without momentlp wants them: the very same program."""
        problem = self.compile()
        return np.ascontiguousarray(problem.A.toarray()), problem.lower, problem.upper


def usps_eps(eps: float = 30.0) -> Case:
    """Return the paper's problem: 6198 unlabelled digits, 256 pixels, the mean of 300 zeros that are not among them."""
    X, sample = usps_protocol()
    return Case(X, {"sample": sample}, mlp.Spec(tolerance=mlp.Absolute(eps)))


def usps_true_mean(eps: float = 1e-6) -> Case:
    """Return all 9298 digits with the mean that the zeros really have: the optimum is the zeros, exactly."""
    X, y = usps()
    return Case(X, {"mean": X[y == 0].mean(axis=0)}, mlp.Spec(tolerance=mlp.Absolute(eps)))


def ring() -> Case:
    """Return the ring of 1050 points with one kernel column per point: as many moments as points."""
    case = make_ring(0)
    spec = mlp.Spec(features=mlp.Kernel(gamma=GAMMA), tolerance=mlp.Absolute(RING_EPS))
    return Case(case.X, {"labelled": case.labelled}, spec)


def gaussians(n: int, m: int, seed: int = 0) -> Case:
    """Return n points in m dimensions, a fifth of them from a class three standard deviations away, 200 more labelled."""
    X = np.concatenate(list(_parts(n, m, seed))).astype(np.float64)
    return Case(X, {"sample": _labelled(m, seed)}, _spec(n))


def gaussians_file(n: int, m: int, scratch: str, seed: int = 0) -> Case:
    """Return the same points as a memory-mapped file of float32, which is written if it is not there."""
    path = written(n, m, scratch, seed)
    return Case(np.load(path, mmap_mode="r"), {"sample": _labelled(m, seed)}, _spec(n))


def gaussians_dask(n: int, m: int, scratch: str, seed: int = 0, rows: int = ROWS, log: str = "") -> Case:
    """Return the same file as a dask array of blocks of rows, read by whoever needs them, and again if a worker is lost.

    The time of every reading is added to the file ``log``, if there is one: what was read again is then known.
    """
    import dask.array as da

    path = str(written(n, m, scratch, seed))
    starts = range(0, n, rows)
    heights = tuple(min(rows, n - start) for start in starts)
    X = da.map_blocks(
        _read_rows, path=path, height=rows, log=log, chunks=(heights, (m,)), dtype=np.float32,
        meta=np.empty((0, 0), dtype=np.float32),
    )  # fmt: skip
    return Case(X, {"sample": _labelled(m, seed)}, _spec(n))


def written(n: int, m: int, scratch: str, seed: int = 0) -> Path:
    """Write the points of :func:`gaussians` as float32, a few rows at a time, unless that was done before."""
    path = Path(scratch) / f"gaussians-{n}-{m}-{seed}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        table = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float32, shape=(n, m))
        start = 0
        for part in _parts(n, m, seed):
            table[start : start + len(part)] = part
            start += len(part)
        table.flush()
        partial.rename(path)
    return path


def paper_problem(n_known: int, seed: int, eps: float = 30.0) -> mlp.Problem:
    """Return one problem of the paper's experiment: a split of the digits, and so many known zeros, or all that it has."""
    X, y = _digits()
    has = int((y == 0).sum() - usps_split(X[:, :1], y, 1, seed)[1].sum())
    unlabelled, _, sample = usps_split(X, y, min(n_known, has), seed)
    return mlp.Spec(tolerance=mlp.Absolute(eps)).compile(unlabelled, sample=sample)


MAKERS: dict[str, Callable[..., Case]] = {
    "usps": usps_eps,
    "usps true mean": usps_true_mean,
    "ring": ring,
    "gaussians": gaussians,
    "gaussians on disk": gaussians_file,
    "gaussians in dask": gaussians_dask,
}


def make(name: str, **numbers: Any) -> Case:
    """Make a case from its name and its numbers."""
    return MAKERS[name](**numbers)


def describe(name: str, **numbers: Any) -> str:
    """Say which case it is, for a heading."""
    reported = ", ".join(f"{key} = {value:,}" for key, value in numbers.items() if not isinstance(value, str))
    return f"{name}, {reported}" if reported else name


@functools.cache
def _digits() -> tuple[np.ndarray, np.ndarray]:
    """Read the digits once in each process that solves many of their problems."""
    return usps()


def _spec(n: int) -> mlp.Spec:
    return mlp.Spec(tolerance=mlp.Absolute(EPS * n))


def _labelled(m: int, seed: int) -> np.ndarray:
    return np.random.default_rng([seed, 0]).normal(size=(LABELLED, m)) + SHIFT / np.sqrt(m)


def _parts(n: int, m: int, seed: int) -> Iterator[np.ndarray]:
    for number, start in enumerate(range(0, n, ROWS), 1):
        random = np.random.default_rng([seed, number])
        part = random.standard_normal(size=(min(ROWS, n - start), m), dtype=np.float32)
        part[random.random(len(part)) < SHARE] += np.float32(SHIFT / np.sqrt(m))
        yield part


def _read_rows(path: str, height: int, log: str, block_info: Any = None) -> np.ndarray:
    if log:
        with Path(log).open("a") as stream:
            stream.write(f"{time.time()}\n")
    start = block_info[None]["array-location"][0][0]
    return np.array(np.load(path, mmap_mode="r")[start : start + height])
