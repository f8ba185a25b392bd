"""Families of hostile problems. Each is a function of a random generator that returns the raw inputs of one problem.

A family whose numbers floats cannot tell apart is marked ``impossible``: there FAILED is allowed, but nothing wrong is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import scipy.sparse as sp

from .raw_problem import RawMatrix, RawProblem, RawSpec, RawTolerance

__all__ = ["FAMILIES", "Family", "make_problem"]

Random = np.random.Generator
EXACT = RawTolerance()


@dataclass(frozen=True)
class Family:
    """A function that makes problems, and whether floats cannot be expected to solve them."""

    make: Callable[[Random], RawProblem]
    impossible: bool = False


FAMILIES: dict[str, Family] = {}


def family(make: Callable[[Random], RawProblem]) -> Callable[[Random], RawProblem]:
    """Register a family under the name of its function."""
    FAMILIES[make.__name__.replace("_", "-")] = Family(make)
    return make


def impossible(make: Callable[[Random], RawProblem]) -> Callable[[Random], RawProblem]:
    """Register a family that floats cannot be expected to solve."""
    FAMILIES[make.__name__.replace("_", "-")] = Family(make, impossible=True)
    return make


def make_problem(name: str, seed: int, number: int) -> RawProblem:
    """Return one problem of a family; the same arguments give the same problem, whatever other families there are."""
    return FAMILIES[name].make(np.random.default_rng([seed, crc32(name.encode()), number]))


def _shape(random: Random, *, max_points: int = 60, max_columns: int = 6) -> tuple[int, int]:
    """Return the number of points, at least three and more often few than many, and the number of columns."""
    return int(random.integers(3, random.integers(4, max_points + 2))), int(random.integers(1, max_columns + 1))


def _labels(random: Random, n: int) -> list[int]:
    """Return some of the points; a few, a third, or all but a few of them."""
    size = min(n, int(random.choice([1, 2, 3, max(1, n // 3), max(1, n - 2)])))
    return sorted(random.choice(n, size, replace=False).tolist())


def _tolerance(random: Random, X: Any, n_labelled: int) -> RawTolerance:
    """Return any tolerance, in widths that fit the spread of X."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    d = dense.shape[1]
    size = float(10.0 ** random.uniform(-6, 1))
    spread = dense.std(axis=0)
    kind = random.integers(0, 8)
    if kind == 0:
        return EXACT
    if kind in {1, 2, 3}:
        name = "absolute" if kind < 3 else "relative"
        width = float(size * spread.mean()) if kind == 1 else tuple((size * spread * (random.random(d) < 0.8)).tolist())
        return RawTolerance(name, width)
    if kind in {4, 5}:
        return RawTolerance("absolute" if kind == 4 else "relative", size, standardised=True)
    if kind == 6 and n_labelled >= 2:
        return RawTolerance("standard_error", float(random.choice([0.1, 1.0, 3.0])))
    return RawTolerance("relative", float(size * spread.mean()))


def _labelled_spec(random: Random, X: Any, tolerance: RawTolerance | None = None) -> RawSpec:
    labelled = _labels(random, X.shape[0])
    return RawSpec(X, labelled=labelled, tolerance=tolerance or _tolerance(random, X, len(labelled)))


@family
def small_integers(random: Random) -> RawProblem:
    n, d = _shape(random)
    X = random.integers(-3, 4, size=(n, d))
    if random.random() < 0.5:
        return _labelled_spec(random, X.astype(float) if random.random() < 0.7 else X)
    low = random.integers(-4, 2, d).astype(float)
    high = low + random.integers(0, 6, d)
    low[random.random(d) < 0.2], high[random.random(d) < 0.2] = -np.inf, np.inf
    weights, caps = random.integers(-2, 5, n).astype(float), random.integers(0, 4, n).astype(float)
    return RawMatrix(X.astype(float), low, high, weights, caps)


@family
def duplicates(random: Random) -> RawProblem:
    n, d = _shape(random)
    distinct = random.normal(size=(int(random.integers(1, 6)), d)).round(int(random.integers(0, 8)))
    return _labelled_spec(random, distinct[random.integers(0, len(distinct), n)])


@family
def one_hot(random: Random) -> RawProblem:
    """All indicators of one or two categories; those of one category add up to one."""
    n, _ = _shape(random)
    parts = [np.eye(k)[random.integers(0, k, n)] for k in random.integers(2, 5, int(random.integers(1, 3)))]
    X = np.hstack([*parts, random.normal(size=(n, 1))]) if random.random() < 0.5 else np.hstack(parts)
    return _labelled_spec(random, sp.csr_array(X) if random.random() < 0.3 else X)


@family
def twelve_decades_between_columns(random: Random) -> RawProblem:
    n, d = _shape(random)
    X = random.normal(size=(n, d)) * 10.0 ** random.uniform(-6, 6, d)
    return _labelled_spec(random, X)


@family
def eight_decades_within_a_column(random: Random) -> RawProblem:
    n, d = _shape(random)
    X = random.normal(size=(n, d)) * 10.0 ** random.uniform(-4, 4, size=(n, d))
    return _labelled_spec(random, X)


@family
def near_parallel_columns(random: Random) -> RawProblem:
    n, d = _shape(random, max_columns=3)
    X = random.normal(size=(n, d))
    close = X + 10.0 ** -float(random.integers(3, 10)) * random.normal(size=(n, d))
    return _labelled_spec(random, np.hstack([X, close]))


def _sentinels(random: Random, max_power: int) -> RawProblem:
    """Normal points with one or two rows of huge values, of one sign or both, in one column or in all."""
    n, d = _shape(random)
    n = max(n, 6)
    X = random.normal(size=(n, d))
    rows = random.choice(n, int(random.integers(1, 3)), replace=False)
    columns = slice(None) if random.random() < 0.5 else int(random.integers(d))
    for sign, row in zip(random.choice([-1.0, 1.0], 2), rows, strict=False):
        X[row, columns] = sign * 10.0 ** float(random.integers(6, max_power + 1))
    spec = _labelled_spec(random, X, RawTolerance("absolute", float(random.choice([0.0, 1e-6, 0.1, 5.0]))))
    if random.random() < 0.3:
        return RawSpec(X, labelled=spec.labelled, tolerance=RawTolerance("relative", float(random.choice([1e-3, 0.3]))))
    return spec


@family
def sentinels(random: Random) -> RawProblem:
    return _sentinels(random, 11)


@impossible
def sentinels_to_1e15(random: Random) -> RawProblem:
    return _sentinels(random, 15)


def _offsets(random: Random, min_digits: int, max_digits: int) -> RawSpec:
    """Columns ``10^k + 10^-j Gaussian`` with k + j digits between the offset and the spread."""
    n, d = _shape(random)
    digits = random.integers(min_digits, max_digits + 1, d)
    power = np.array([random.integers(0, k + 1) for k in digits])
    X = random.choice([-1.0, 1.0], d) * 10.0**power + random.normal(size=(n, d)) * 10.0 ** -(digits - power).astype(float)
    spec = _labelled_spec(random, X)
    if random.random() < 0.4:
        known = {"positives": spec.labelled[: max(1, len(spec.labelled) // 2)]}
        return RawSpec(X, labelled=spec.labelled, tolerance=spec.tolerance, constraints=(("Known", known),))
    return spec


@family
def large_offsets(random: Random) -> RawProblem:
    return _offsets(random, 2, 9)


@impossible
def offsets_beyond_floats(random: Random) -> RawProblem:
    return _offsets(random, 10, 17)


@family
def float32(random: Random) -> RawProblem:
    """Single precision, dense or sparse, with offsets: the mean of such numbers is not one of them."""
    n, d = _shape(random)
    X = random.normal(size=(n, d)) + random.choice([0.0, 1.0, 100.0, 1e4, 1e6])
    if random.random() < 0.5:
        X[random.random(X.shape) < 0.5] = 0.0
        return _labelled_spec(random, sp.csr_array(X.astype(np.float32)))
    return _labelled_spec(random, X.astype(np.float32))


@family
def float32_matrices(random: Random) -> RawProblem:
    """Single precision in ``Problem.from_arrays``, with sides left open and points without a cap."""
    n, d = _shape(random)
    A = (random.normal(size=(n, d)) * 10.0 ** random.uniform(-3, 3, d)).astype(np.float32)
    high = np.abs(A).max(axis=0).astype(float) * random.choice([0.0, 1e-3, 2.0], d)
    low = np.where(random.random(d) < 0.3, -np.inf, -high)
    high[random.random(d) < 0.2] = np.inf
    caps = random.choice([0.0, 0.3, 1.0], n)
    return RawMatrix(sp.csr_array(A) if random.random() < 0.5 else A, low, high, random.choice([0.1, 1.0, 3.0], n), caps)


@family
def weights_and_caps_over_sixteen_decades(random: Random) -> RawProblem:
    n, d = _shape(random)
    A = random.normal(size=(n, d))
    weights, caps = 10.0 ** random.uniform(-8, 8, n), 10.0 ** random.uniform(-8, 8, n)
    case = random.integers(0, 4)
    if case == 0:
        weights = 1.0 / caps
    elif case == 1:
        weights = np.ones(n)
    elif case == 2:
        caps = np.ones(n)
    width = 0.0 if random.random() < 0.5 else float(10.0 ** random.uniform(-8, 8))
    return RawMatrix(A, -width, width, weights, caps)


@family
def sample_weights(random: Random) -> RawProblem:
    """Weights of rows in a spec: zeros, repeated points, or ten decades."""
    n, d = _shape(random)
    X = random.normal(size=(n, d))
    choices = (random.integers(0, 4, n).astype(float), 10.0 ** random.uniform(-5, 5, n), np.full(n, 0.7))
    weight = choices[int(random.integers(3))]
    labelled = _labels(random, n)
    weight[labelled[0]] = max(weight[labelled[0]], 0.5)
    kind = str(random.choice(["absolute", "relative"]))
    width = float(random.choice([0.0, 0.1]))
    return RawSpec(X, labelled=labelled, sample_weight=weight, tolerance=RawTolerance(kind, width))


@family
def every_tolerance(random: Random) -> RawProblem:
    n, d = _shape(random)
    X = random.normal(size=(n, d)) * random.choice([1.0, 1e-3, 1e3]) + random.choice([0.0, 10.0])
    if random.random() < 0.6:
        return _labelled_spec(random, X)
    sample = X[random.choice(n, int(random.integers(2, n + 1)))] + 0.1 * random.normal(size=d)
    return RawSpec(X, sample=sample, tolerance=_tolerance(random, X, len(sample)))


@family
def constraints(random: Random) -> RawProblem:
    """Up to three constraints together, of every kind, that may contradict the mean."""
    n, d = _shape(random, max_columns=3)
    X = random.normal(size=(n, d)) + random.choice([0.0, 5.0])
    spec = _labelled_spec(random, X)
    chosen = random.choice(4, int(random.integers(1, 4)), replace=False)
    added = tuple(CONSTRAINTS[int(kind)](random, spec) for kind in chosen)
    return RawSpec(X, labelled=spec.labelled, tolerance=spec.tolerance, constraints=added)


def _share(random: Random, spec: RawSpec) -> tuple[str, dict[str, Any]]:
    low, high = sorted(random.random(2).round(int(random.integers(1, 17))).tolist())
    return "Share", random.choice([{"low": low}, {"high": high}, {"low": low, "high": high}])


def _known(random: Random, spec: RawSpec) -> tuple[str, dict[str, Any]]:
    others = [i for i in range(spec.X.shape[0]) if i not in spec.labelled]
    negatives = random.choice(others, min(len(others), int(random.integers(1, 4))), replace=False).tolist() if others else []
    positives = spec.labelled[: int(random.integers(1, len(spec.labelled) + 1))]
    if not negatives or random.random() < 0.3:
        return "Known", {"positives": positives}
    return "Known", {"negatives": negatives} if random.random() < 0.5 else {"positives": positives, "negatives": negatives}


def _group_share(random: Random, spec: RawSpec) -> tuple[str, dict[str, Any]]:
    groups = random.choice(["a", "b", "c"], spec.X.shape[0]).tolist()
    groups[0] = "a"
    low, high = sorted(random.random(2).tolist())
    sides = random.choice([{"low": {"a": low}}, {"high": {"a": high}}, {"low": {"a": low}, "high": {"a": high}}])
    return "GroupShare", {"groups": groups, **sides}


def _moment(random: Random, spec: RawSpec) -> tuple[str, dict[str, Any]]:
    target = spec.X[spec.labelled].mean(axis=0) + random.choice([0.0, 0.1, 1.0]) * random.normal(size=spec.X.shape[1])
    tolerance = RawTolerance(str(random.choice(["absolute", "relative"])), float(10.0 ** random.uniform(-3, 0.5)))
    return "Moment", {"target": tuple(target.tolist()), "tolerance": tolerance}


CONSTRAINTS = (_share, _known, _group_share, _moment)


def _near_hull(random: Random, powers: tuple[int, int]) -> RawProblem:
    """Put the mean inside the hull, on its boundary, or outside by a small part of its size."""
    n, d = _shape(random, max_columns=3)
    X = random.normal(size=(n, d)) if random.random() < 0.5 else random.integers(-4, 5, size=(n, d)).astype(float)
    face = X[np.argsort(X @ random.normal(size=d))[: int(random.integers(1, 3))]]
    on_boundary, centre = face.mean(axis=0), X.mean(axis=0)
    step = float(random.choice([-1.0, 0.0, 1.0])) * 10.0 ** -float(random.integers(*powers))
    tolerance = EXACT if random.random() < 0.7 else RawTolerance("absolute", float(10.0 ** random.uniform(-9, -1)))
    return RawSpec(X, mean=on_boundary + step * (on_boundary - centre), tolerance=tolerance)


@family
def mean_near_the_hull(random: Random) -> RawProblem:
    return _near_hull(random, (3, 10))


@impossible
def mean_within_rounding_of_the_hull(random: Random) -> RawProblem:
    return _near_hull(random, (10, 15))


@family
def fewer_points_than_moments(random: Random) -> RawProblem:
    n = int(random.integers(1, 6))
    X = random.normal(size=(n, n + int(random.integers(1, 6))))
    return _labelled_spec(random, X)


@family
def constant_columns(random: Random) -> RawProblem:
    """Columns of one value, such as 0.1, whose mean rounds."""
    n, d = _shape(random, max_columns=3)
    values = random.choice([0.1, 1 / 3, 1e-9, 1e9 / 7, -0.7, 0.0], int(random.integers(1, 4)))
    X = np.hstack([np.tile(values, (n, 1)), random.normal(size=(n, d))])[:, random.permutation(d + values.size)]
    if random.random() < 0.3:
        return RawSpec(X, mean=X[:3].sum(axis=0) / min(3, n), tolerance=_tolerance(random, X, 0))
    weight = np.full(n, 0.7) if random.random() < 0.3 else None
    spec = _labelled_spec(random, sp.csr_array(X) if random.random() < 0.3 else X)
    return RawSpec(spec.X, labelled=spec.labelled, tolerance=spec.tolerance, sample_weight=weight)


@family
def strided_and_read_only(random: Random) -> RawProblem:
    n, d = _shape(random)
    wide = random.normal(size=(2 * n, d))
    views = (wide[::2, ::-1], np.asfortranarray(wide)[:n], wide[::-1][:n], np.broadcast_to(wide[0], (n, d)))
    X = views[int(random.integers(4))]
    X.setflags(write=False)
    return _labelled_spec(random, X)


@family
def sparse_with_explicit_zeros(random: Random) -> RawProblem:
    n, d = _shape(random)
    X = sp.csr_array(random.normal(size=(n, d)) * (random.random((n, d)) < 0.6))
    X.data[random.random(X.data.size) < 0.3] = 0.0
    return _labelled_spec(random, X)


@family
def dependent_columns(random: Random) -> RawProblem:
    """Columns that are combinations of others, exactly in integers or up to the rounding of floats."""
    n, d = _shape(random, max_columns=3)
    X = random.integers(-5, 6, size=(n, d)).astype(float) if random.random() < 0.5 else random.normal(size=(n, d))
    mixed = X @ random.integers(-2, 3, size=(d, int(random.integers(1, 4))))
    return _labelled_spec(random, np.hstack([X, mixed]))


@family
def everything_labelled(random: Random) -> RawProblem:
    n, d = _shape(random)
    X = random.normal(size=(n, d)) * 10.0 ** float(random.integers(-3, 4)) + random.choice([0.0, 1e3])
    return RawSpec(X, labelled=list(range(n)), tolerance=_tolerance(random, X, n))


@family
def several_difficulties_at_once(random: Random) -> RawProblem:
    """A random choice of repeated rows, units, offsets, a sentinel, sample weights, any tolerance and constraints."""
    n, d = _shape(random, max_points=40, max_columns=4)
    X = random.normal(size=(n, d))
    use = random.random(6) < 0.4
    if use[0]:
        X = X[random.integers(0, n, n)].round(2)
    if use[1]:
        X = X * 10.0 ** random.uniform(-4, 4, d)
    if use[2]:
        X = X + X.std(axis=0) * 10.0 ** random.integers(0, 7, d)
    if use[3]:
        X[int(random.integers(n)), int(random.integers(d))] *= 10.0 ** float(random.integers(3, 8))
    spec = _labelled_spec(random, X.astype(np.float32) if random.random() < 0.2 else X)
    chosen = random.choice(4, int(random.integers(1, 3)), replace=False) if use[4] else []
    added = tuple(CONSTRAINTS[int(kind)](random, spec) for kind in chosen)
    weight = 10.0 ** random.uniform(-2, 2, n) if use[5] else None
    if weight is not None and spec.tolerance.kind == "standard_error":
        weight = np.ceil(weight)
    return RawSpec(spec.X, labelled=spec.labelled, tolerance=spec.tolerance, constraints=added, sample_weight=weight)


@family
def rows_that_exclude_the_empty_set(random: Random) -> RawProblem:
    """Ask for an activity just below or above the largest that is possible, with the other rows far from their bounds."""
    n, d = _shape(random, max_columns=3)
    A = random.normal(size=(n, d)) * 10.0 ** random.uniform(-3, 3, d)
    caps = random.choice([0.5, 1.0, 2.0], n)
    largest = np.maximum(A * caps[:, None], 0.0).sum(axis=0)
    low = np.full(d, -np.inf)
    step = float(random.choice([-1.0, 1.0])) * 10.0 ** -float(random.integers(1, 9))
    low[0] = largest[0] * (1.0 + step)
    high = np.where(random.random(d) < 0.5, np.inf, 2 * np.abs(A).sum(axis=0))
    high[0] = np.inf
    return RawMatrix(A, low, high, random.choice([0.5, 1.0, 3.0], n), caps)
