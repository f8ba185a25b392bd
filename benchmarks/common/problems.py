"""The problems that are timed. Each is made from a few numbers, so that a fresh process can make_case it again.

``make_case("gaussians", n=20000, m=32)`` returns a :class:`Case`: points, what is known of the class, and the spec. All
other settings are constants of this module, so the command beside a result is enough to measure it again.
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
from benchmarks.common.usps_digits import load_usps_digits, split_usps_digits
from momentlp.datasets.synthetic import make_ring
from momentlp.datasets.usps import usps_split

__all__ = ["Case", "describe_case", "is_certified", "make_case", "make_paper_problem", "write_gaussians"]

# The Gaussians
CLASS_SHARE = 0.2
CLASS_SHIFT = 3.0  # standard deviations between the class and the other points
N_LABELLED = 200
EPS_PER_POINT = 0.02  # the tolerance on the sum is EPS_PER_POINT * n
BLOCK_ROWS = 100_000  # drawn at a time, in memory as on disk, so that the points are the same
# The ring
RING_GAMMA, RING_EPS = 0.5, 0.5


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
        """Return A, lower and upper, for solvers without momentlp: the same program."""
        problem = self.compile()
        return np.ascontiguousarray(problem.A.toarray()), problem.lower, problem.upper


def usps_eps(eps: float = 30.0) -> Case:
    """Return the paper's problem: 6198 unlabelled digits, 256 pixels, the mean of 300 zeros that are not among them."""
    X, sample = split_usps_digits()
    return Case(X, {"sample": sample}, mlp.Spec(tolerance=mlp.Absolute(eps)))


def usps_true_mean(eps: float = 1e-6) -> Case:
    """Return all 9298 digits with the true mean of the zeros: the optimum is exactly the zeros."""
    X, y = load_usps_digits()
    return Case(X, {"mean": X[y == 0].mean(axis=0)}, mlp.Spec(tolerance=mlp.Absolute(eps)))


def ring() -> Case:
    """Return the ring of 1050 points with one kernel column per point: as many moments as points."""
    case = make_ring(0)
    spec = mlp.Spec(features=mlp.Kernel(gamma=RING_GAMMA), tolerance=mlp.Absolute(RING_EPS))
    return Case(case.X, {"labelled": case.labelled}, spec)


def gaussians(n: int, m: int, seed: int = 0) -> Case:
    """Return n points in m dimensions, a fifth of them from a class at three standard deviations, and 200 labelled."""
    X = np.concatenate(list(_blocks(n, m, seed))).astype(np.float64)
    return Case(X, {"sample": _draw_labelled(m, seed)}, _spec(n))


def gaussians_file(n: int, m: int, scratch: str, seed: int = 0) -> Case:
    """Return the same points as a memory-mapped file of float32; write it if it is missing."""
    path = write_gaussians(n, m, scratch, seed)
    return Case(np.load(path, mmap_mode="r"), {"sample": _draw_labelled(m, seed)}, _spec(n))


def gaussians_dask(n: int, m: int, scratch: str, seed: int = 0, rows: int = BLOCK_ROWS, log: str = "") -> Case:
    """Return the same file as a dask array of blocks of rows.

    Workers read a block when they need it, and again if a worker is lost. If ``log`` names a file, the time of every read is
    appended to it.
    """
    import dask.array as da

    path = str(write_gaussians(n, m, scratch, seed))
    starts = range(0, n, rows)
    heights = tuple(min(rows, n - start) for start in starts)
    X = da.map_blocks(
        _read_rows, path=path, height=rows, log=log, chunks=(heights, (m,)), dtype=np.float32,
        meta=np.empty((0, 0), dtype=np.float32),
    )  # fmt: skip
    return Case(X, {"sample": _draw_labelled(m, seed)}, _spec(n))


def write_gaussians(n: int, m: int, scratch: str, seed: int = 0) -> Path:
    """Write the points of :func:`gaussians` as float32, block by block, unless the file exists."""
    path = Path(scratch) / f"gaussians-{n}-{m}-{seed}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        table = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float32, shape=(n, m))
        start = 0
        for block in _blocks(n, m, seed):
            table[start : start + len(block)] = block
            start += len(block)
        table.flush()
        partial.rename(path)
    return path


def make_paper_problem(n_known: int, seed: int, eps: float = 30.0) -> mlp.Problem:
    """Return one problem of the paper's experiment: a split of the digits with ``n_known`` labelled zeros, or all."""
    X, y = _digits()
    n_zeros = int((y == 0).sum() - usps_split(X[:, :1], y, 1, seed)[1].sum())
    unlabelled, _, sample = usps_split(X, y, min(n_known, n_zeros), seed)
    return mlp.Spec(tolerance=mlp.Absolute(eps)).compile(unlabelled, sample=sample)


def is_certified(solution: mlp.Solution) -> bool:
    """Tell whether the certificate of a solution holds: what workers of ``solve_many`` return instead of the solution."""
    return bool(solution.certificate.holds())


MAKERS: dict[str, Callable[..., Case]] = {
    "usps": usps_eps,
    "usps true mean": usps_true_mean,
    "ring": ring,
    "gaussians": gaussians,
    "gaussians on disk": gaussians_file,
    "gaussians in dask": gaussians_dask,
}


def make_case(name: str, **numbers: Any) -> Case:
    """Make a case from its name and its arguments."""
    return MAKERS[name](**numbers)


def describe_case(name: str, **numbers: Any) -> str:
    """Return a heading for a case."""
    listed = ", ".join(f"{key} = {value:,}" for key, value in numbers.items() if not isinstance(value, str))
    return f"{name}, {listed}" if listed else name


@functools.cache
def _digits() -> tuple[np.ndarray, np.ndarray]:
    """Read the digits once per process."""
    return load_usps_digits()


def _spec(n: int) -> mlp.Spec:
    return mlp.Spec(tolerance=mlp.Absolute(EPS_PER_POINT * n))


def _draw_labelled(m: int, seed: int) -> np.ndarray:
    return np.random.default_rng([seed, 0]).normal(size=(N_LABELLED, m)) + CLASS_SHIFT / np.sqrt(m)


def _blocks(n: int, m: int, seed: int) -> Iterator[np.ndarray]:
    for number, start in enumerate(range(0, n, BLOCK_ROWS), 1):
        random = np.random.default_rng([seed, number])
        block = random.standard_normal(size=(min(BLOCK_ROWS, n - start), m), dtype=np.float32)
        block[random.random(len(block)) < CLASS_SHARE] += np.float32(CLASS_SHIFT / np.sqrt(m))
        yield block


def _read_rows(path: str, height: int, log: str, block_info: Any = None) -> np.ndarray:
    if log:
        with Path(log).open("a") as stream:
            stream.write(f"{time.time()}\n")
    start = block_info[None]["array-location"][0][0]
    return np.array(np.load(path, mmap_mode="r")[start : start + height])
