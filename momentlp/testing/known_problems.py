"""Problems whose optimum is known without a solver: worked out on paper, or given by the theorem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from momentlp.problem.problem import Problem
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import Absolute, Relative
from momentlp.status import Status

__all__ = ["KNOWN", "KnownProblem", "half_space"]


def half_space(n_points: int, n_features: int, seed: int, *, share: float = 0.3, tie: bool = False) -> tuple[Problem, float]:
    """Return a problem with the mean of a half-space of random points, and its optimum: the size of the half-space.

    By the theorem, a set that a hyperplane separates is the largest one with its mean.

    Parameters
    ----------
    n_points, n_features : int
    seed : int
        Of the random points.
    share : float
        Share of the points that lie in the half-space, between 0 and 1.
    tie : bool
        Whether the points lie on an integer grid, so that many of them coincide.

    Returns
    -------
    Problem
    float
        The optimum.

    Examples
    --------
    >>> problem, optimum = half_space(100, 3, seed=0)
    >>> problem.n_points, problem.n_moments, optimum
    (100, 3, 30.0)
    """
    random = np.random.default_rng(seed)
    if tie:
        X = random.integers(-4, 5, size=(n_points, n_features)).astype(float)
    else:
        X = random.normal(size=(n_points, n_features))
    normal = random.normal(size=n_features)
    inside = X @ normal >= np.quantile(X @ normal, 1 - share)
    return Spec(tolerance=Absolute(0.0)).compile(X, mean=X[inside].mean(axis=0)), float(inside.sum())


@dataclass(frozen=True)
class KnownProblem:
    """A problem with a known optimum.

    Attributes
    ----------
    name : str
        What is special about it.
    make : callable
        Returns the problem.
    optimum : float
        The largest weight of a feasible set.
    status : Status
        The status that a solution must have.

    Examples
    --------
    >>> known = KNOWN[0]
    >>> known.name, known.optimum, known.make().n_points
    ('three of four on a line', 3.0, 4)
    """

    name: str
    make: Callable[[], Problem]
    optimum: float
    status: Status = Status.OPTIMAL


def _line(tolerance: Any, mean: float, *points: float) -> Problem:
    """Return the problem of points on a line, with a given mean."""
    return Spec(tolerance=tolerance).compile(np.array(points)[:, None], mean=[mean])


def _list_known() -> Iterator[KnownProblem]:
    inf = np.inf
    yield KnownProblem("three of four on a line", lambda: _line(Absolute(0.0), 1.0, 0, 1, 2, 9), 3.0)
    # 0 adds -1/2 to the moment and each of the two ones adds 1/2: one of them fits, or half of both.
    yield KnownProblem("ties on the boundary", lambda: _line(Absolute(0.0), 0.5, 0, 1, 1), 2.0)
    # 0 adds -1 to the moment, and two thirds of the point at 2.5 add 1.
    yield KnownProblem("a fraction on the boundary", lambda: _line(Absolute(0.0), 1.0, 0, 2.5), 5 / 3)
    # sum x h <= 1 for x = 0, 1, 2, 3: the points 0 and 1.
    yield KnownProblem("an absolute tolerance", lambda: _line(Absolute(1.0), 0.0, 0, 1, 2, 3), 2.0)
    # The mean may be at most 1: that of 0, 1 and 2.
    yield KnownProblem("a relative tolerance", lambda: _line(Relative(0.5), 0.5, 0, 1, 2, 3), 3.0)
    yield KnownProblem("one point, its own mean", lambda: Spec().compile([[7.0]], labelled=[0]), 1.0)
    yield KnownProblem("a constant feature", lambda: Spec().compile([[5.0], [5.0], [5.0]], labelled=[1]), 3.0)
    yield KnownProblem("the same point many times", lambda: _line(Absolute(0.0), 0.0, *([1.0] * 10), *([-2.0] * 3)), 9.0)
    # Without scaling, solvers drop entries below 1e-9 and return 4999.
    yield KnownProblem(
        "entries below what solvers keep", lambda: _line(Absolute(0.0), 0.0, *([9e-10] * 4999), -1e-6), 1 + 1e-6 / 9e-10
    )
    yield KnownProblem("entries far above one", lambda: _line(Absolute(0.0), 0.0, *([9e10] * 4999), -1e14), 1 + 1e14 / 9e10)
    yield KnownProblem("far from the origin", lambda: _line(Absolute(0.0), 1e9 + 1, 1e9, 1e9 + 1, 1e9 + 2, 1e9 + 64), 3.0)
    yield KnownProblem(
        "weights and caps",
        lambda: Problem.from_arrays([[1.0], [-1.0], [-1.0]], 0, 0, weights=[1, 5, 2], caps=[2, 1, 3]),
        9.0,
    )
    yield KnownProblem("a negative weight", lambda: Problem.from_arrays([[1.0], [-1.0]], 0, 0, weights=[3.0, -1.0]), 2.0)
    yield KnownProblem("a bound above only", lambda: Problem.from_arrays([[1.0], [2.0], [3.0]], -inf, 3.0), 2.0)
    yield KnownProblem("a bound below only", lambda: Problem.from_arrays([[-1.0], [-2.0], [-3.0]], -3.0, inf), 2.0)
    yield KnownProblem(
        "a moment without bounds", lambda: Problem.from_arrays([[1.0, 1.0], [2.0, 1.0]], [-inf, 0], [inf, 1]), 1.0
    )
    # -1 and 1 alone reach the minimum size of 2; a fifth of the point at 5 needs all of the -1 instead of the 1.
    yield KnownProblem(
        "a minimum size", lambda: Problem.from_arrays([[1.0, 1.0], [-1.0, 1.0], [5.0, 1.0]], [0.0, 2.0], [0.0, inf]), 2.0
    )
    yield KnownProblem("moments that repeat", lambda: Problem.from_arrays([[1.0, 2.0, 0.0], [-1.0, -2.0, 0.0]], 0, 0), 2.0)
    yield KnownProblem(
        "sparse features, centred",
        lambda: Spec().compile(sp.csr_array([[0.0, 1.0], [0.0, 0.0], [2.0, 0.0]]), mean=[0.0, 0.5]),
        2.0,
    )
    yield KnownProblem("the mean outside the hull", lambda: _line(Absolute(0.0), 0.0, 1, 2, 3), 0.0, Status.EMPTY)
    yield KnownProblem(
        "a thousandth of a point by the tolerance", lambda: _line(Absolute(0.001), 0.0, 1, 2, 3), 0.001, Status.EMPTY
    )
    for seed, (points, features) in enumerate([(50, 1), (200, 2), (300, 3), (200, 6), (400, 12)]):
        for tie in (False, True):
            problem, size = half_space(points, features, seed, tie=tie)
            name = f"half-space of {points} points, {features} features{', on a grid' if tie else ''}"
            yield KnownProblem(name, lambda problem=problem: problem, size)  # type: ignore[misc]  # mypy cannot infer it


KNOWN = tuple(_list_known())  #: problems that every backend must solve
