"""The problems of the corpus, in families. A family has one kind of difficulty, and is made from a seed.

Every family is a generator of problems. Large problems come with the optimum that the theorem gives. The others are small
enough for exact arithmetic to find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

import momentlp as mlp
from momentlp.testing import half_space

Random = np.random.Generator


@dataclass(frozen=True)
class Hard:
    """A problem, its family, and its optimum if the problem is too large for exact arithmetic."""

    family: str
    problem: mlp.Problem
    optimum: float | None = None


def corpus(seed: int = 0, families: list[str] | None = None) -> Iterator[Hard]:
    """Yield the problems, one family after the other."""
    for number, (name, family) in enumerate(FAMILIES.items()):
        if families is None or name in families:
            for made in family(np.random.default_rng([seed, number])):
                problem, optimum = made if isinstance(made, tuple) else (made, None)
                yield Hard(name, problem, optimum)


def degenerate(random: Random) -> Iterator[mlp.Problem]:
    """Integer grids: many ties, and the mean of some of the points in integers."""
    for n in (4, 10, 30, 100, 300):
        for d in (1, 2, 3, 5):
            X = random.integers(-3, 4, size=(n, d)).astype(float)
            chosen = random.choice(n, max(1, n // 3), replace=False)
            yield mlp.Problem.from_arrays(X * chosen.size - X[chosen].sum(axis=0), 0.0, 0.0)


def nearly_infeasible(random: Random) -> Iterator[mlp.Problem]:
    """Put the mean just in or out of the hull, by 1e-3 to 1e-13 of its size; or a minimum size just in or out of reach."""
    for power in (-3, -5, -7, -9, -11, -13):
        for sign in (-1, 1):
            for d in (1, 3):
                X = random.uniform(size=(40, d))
                corner = X[int(np.argmin(X[:, 0]))]
                yield mlp.Spec().compile(X, mean=corner + sign * 10.0**power * (X.mean(axis=0) - corner))
            X = random.normal(size=(30, 2))
            spec = mlp.Spec(tolerance=mlp.Absolute(0.5))
            largest = mlp.solve(spec.compile(X, labelled=range(5))).objective
            yield spec.compile(X, labelled=range(5)).with_rows(
                np.ones((30, 1)), largest * (1 + sign * 10.0**power), np.inf, ["size"]
            )


def boundary(random: Random) -> Iterator[mlp.Problem]:
    """Put the mean on a corner of the hull, on an edge or on a face, exactly: all numbers are integers."""
    for d in (1, 2, 3, 4):
        for on in range(1, d + 1):
            corners = np.vstack([np.zeros(d), 8 * np.eye(d)])
            inside = random.integers(1, 3, size=(30, d)).astype(float)
            face = random.integers(0, on, 20) if on > 1 else np.zeros(20, dtype=int)
            X = np.vstack([corners, inside, corners[face]])
            members = corners[:on]
            yield mlp.Problem.from_arrays(X * on - members.sum(axis=0), 0.0, 0.0)


def repeated(random: Random) -> Iterator[mlp.Problem]:
    """Few distinct points, each repeated many times; or few points with caps from 1e-6 to 1e6."""
    for n_distinct in (1, 2, 3, 5, 10):
        X = random.normal(size=(n_distinct, 2))
        many = X[random.integers(0, n_distinct, 400)]
        yield mlp.Spec().compile(many, labelled=range(3))
        yield mlp.Spec(tolerance=mlp.Relative(0.1)).compile(many, labelled=range(3))
        for decades in (2, 6):
            caps = 10.0 ** random.uniform(-decades, decades, n_distinct)
            yield mlp.Problem.from_arrays(X - X.mean(axis=0), 0.0, 0.0, caps=caps)


def dependent(random: Random) -> Iterator[mlp.Problem]:
    """Moments that are combinations of others, exactly or up to rounding; one that is repeated, and one that is constant."""
    for n in (20, 100, 300):
        for noise in (0.0, 1e-15, 1e-12, 1e-9, 1e-6):
            X = random.normal(size=(n, 3))
            more = X @ random.integers(-2, 3, size=(3, 3)) + noise * random.normal(size=(n, 3))
            wide = np.column_stack([X, more, np.full(n, 0.1), X[:, 0]])
            yield mlp.Spec(tolerance=mlp.Absolute(0.0)).compile(wide, labelled=range(7))
            yield mlp.Spec(tolerance=mlp.Absolute(1e-3)).compile(wide, labelled=range(7))


def ranges(random: Random) -> Iterator[mlp.Problem]:
    """Columns from 1e-12 to 1e12; entries of one column that span decades; a sentinel far out."""
    for decades in (3, 6, 9, 12):
        X = random.normal(size=(120, 5))
        yield mlp.Spec().compile(X * 10.0 ** np.linspace(-decades, decades, 5), labelled=range(10))
        yield mlp.Spec(tolerance=mlp.Relative(0.01)).compile(
            X * 10.0 ** np.linspace(-decades, decades, 5), labelled=range(10)
        )
        spread = X[:, :2] * 10.0 ** random.uniform(-decades, decades, size=(120, 2))
        yield mlp.Spec().compile(spread, labelled=range(10))
        column = random.normal(size=(200, 1)) * 10.0 ** random.uniform(-decades, decades, size=(200, 1))
        yield mlp.Problem.from_arrays(column, -1.0, 1.0)
        sentinel = X[:, :2].copy()
        sentinel[0, 0] = -(10.0**decades)
        yield mlp.Spec().compile(sentinel, labelled=range(1, 10))
        shifted = X[:, :2] + 10.0**decades
        yield mlp.Spec(tolerance=mlp.Absolute(0.1)).compile(shifted, labelled=range(10))


def tolerance(random: Random) -> Iterator[mlp.Problem]:
    """Tolerances from 0 to 1e6, on the sum and on the mean."""
    X = random.normal(size=(200, 6))
    for eps in (0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6):
        yield mlp.Spec(tolerance=mlp.Absolute(eps)).compile(X, labelled=range(20))
        yield mlp.Spec(tolerance=mlp.Relative(eps)).compile(X, labelled=range(20))


def features(random: Random) -> Iterator[mlp.Problem]:
    """Kernels with landmarks that nearly coincide, and all squares and products."""
    for n in (20, 60, 150):
        X = random.normal(size=(n, 2))
        X[1] = X[0] + 1e-8
        for feature_map in (
            mlp.Quadratic(),
            mlp.Kernel(landmarks=6),
            mlp.Kernel(landmarks=15),
            mlp.Kernel(gamma=1e-4, landmarks=6),
        ):
            for eps in (0.0, 1e-6, 0.1):
                yield mlp.Spec(features=feature_map, tolerance=mlp.Absolute(eps)).compile(X, labelled=range(5))


def constraints(random: Random) -> Iterator[mlp.Problem]:
    """Minimum sizes and shares that contradict the mean, or nearly do; weights and caps that are zero or negative."""
    for n in (10, 50, 200):
        X = random.normal(size=(n, 3))
        for low in (0.05, 0.3, 0.6, 0.9):
            spec = mlp.Spec(tolerance=mlp.Relative(0.3), constraints=[mlp.Share(low=low)])
            yield spec.compile(X, labelled=range(4))
        A = random.integers(-3, 4, size=(n, 3)).astype(float)
        yield mlp.Problem.from_arrays(A, -2.0, 2.0, weights=random.integers(-2, 4, n), caps=random.integers(0, 3, n))
        yield mlp.Problem.from_arrays(A, [1.0, 0.0, -np.inf], [1.0, np.inf, 3.0])
        yield mlp.Problem.from_arrays(A, 10.0 * n, np.inf)


def sizes(random: Random) -> Iterator[tuple[mlp.Problem, float]]:
    """Half-spaces, whose optimum the theorem gives, of 1 to 100,000 points, in general position and on a grid."""
    for n in (1, 2, 3, 10, 100, 1000, 10_000, 100_000):
        for d in (1, 4) if n < 100_000 else (4, 8):  # with one moment a simplex takes a step for every other point
            for tie in (False, True):
                yield half_space(n, d, int(random.integers(2**31)), tie=tie)


def adversarial(random: Random) -> Iterator[mlp.Problem]:
    """Collect the kinds of problems on which ``tests/adversary`` found wrong answers: numbers of very different size.

    They are sentinels of both signs, columns that are nearly parallel, weights times caps over many decades, offsets with
    known points, and means of single precision.
    """
    for power in (6, 8, 10, 12):
        X = random.normal(size=(40, 3))
        X[:2, 0] = 10.0**power, -(10.0**power)
        for eps in (0.0, 0.1, 5.0):
            yield mlp.Spec(tolerance=mlp.Absolute(eps)).compile(X, labelled=range(2, 12))
            yield mlp.Spec(tolerance=mlp.Absolute(eps)).compile(X, labelled=range(1, 12))
    for power in (3, 5, 7, 9):
        X = random.normal(size=(40, 3))
        close = np.hstack([X, X + 10.0**-power * random.normal(size=(40, 3))])
        yield mlp.Spec(tolerance=mlp.Absolute(1e-3)).compile(close, labelled=range(10))
    for decades in (2, 4, 6, 8):
        A, caps = random.normal(size=(40, 3)), 10.0 ** random.uniform(-decades, decades, 40)
        for weights in (1.0, 1.0 / caps, 10.0 ** random.uniform(-decades, decades, 40)):
            yield mlp.Problem.from_arrays(A, 0.0, 0.0, weights=weights, caps=caps)
    for power in (3, 6, 9, 12):
        X = 10.0**power + random.normal(size=(40, 3))
        known = mlp.Known(positives=range(5), negatives=[39])
        for tolerance in (mlp.Absolute(0.0), mlp.Absolute(0.5), mlp.Relative(0.01)):
            yield mlp.Spec(tolerance=tolerance, constraints=[known]).compile(X, labelled=range(10))
    for offset in (0.0, 1e2, 1e4, 1e6):
        X = (offset + random.normal(size=(40, 3))).astype(np.float32)
        yield mlp.Spec().compile(X, labelled=range(7))
        yield mlp.Spec().compile(sp.csr_array(X), labelled=range(7))


FAMILIES: dict[str, Callable[[Random], Iterator[mlp.Problem | tuple[mlp.Problem, float]]]] = {
    "degenerate": degenerate,
    "nearly infeasible": nearly_infeasible,
    "mean on the hull's boundary": boundary,
    "repeated points": repeated,
    "dependent moments": dependent,
    "ranges up to 1e12": ranges,
    "tolerances 0 to 1e6": tolerance,
    "kernels and squares": features,
    "constraints": constraints,
    "1 to 100,000 points": sizes,
    "found by the adversary": adversarial,
}
