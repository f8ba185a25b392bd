"""Random data for property tests, as hypothesis strategies: difficult cases are as frequent as ordinary ones.

::

    from hypothesis import given
    from momentlp.testing import clouds, half_spaces


    @given(clouds(max_dims=3).flatmap(lambda X: half_spaces(X).map(lambda h: (X, h))))
    def test_my_features(case): ...

Hypothesis draws the sizes and a seed, and numpy draws the values from that seed. So there are thousands of examples a
minute, and hypothesis still shrinks a failing example to the fewest points and dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from momentlp.features import FeatureMap, Kernel, Linear, Quadratic
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.spec.tolerances import Absolute, Relative, StandardError, Tolerance

__all__ = ["clouds", "feature_maps", "half_spaces", "labelled_sets", "problems", "tolerances"]

SHAPES = ("general", "grid", "repeated", "flat", "outlier")


def _seeds() -> st.SearchStrategy[int]:
    return st.integers(0, 2**32 - 1)


@st.composite
def clouds(
    draw: st.DrawFn,
    *,
    min_points: int = 2,
    max_points: int = 25,
    max_dims: int = 6,
    decades: int = 9,
    shapes: tuple[str, ...] = SHAPES,
) -> FloatArray:
    """Draw points, shape (N, d).

    Parameters
    ----------
    min_points, max_points, max_dims : int
        The range of N, and the maximum of d.
    decades : int
        The scale lies between ``10**-decades`` and ``10**decades``. It is a power of two, so that equal values stay equal.
    shapes : tuple of str
        The kinds to draw from: ``"general"`` position; an integer ``"grid"`` with many ties; a few points ``"repeated"``
        many times; ``"flat"``, in a subspace; ``"outlier"``, with one point a thousand times further out.

    Returns
    -------
    strategy of array
    """
    n, d = draw(st.integers(min_points, max_points)), draw(st.integers(1, max_dims))
    shape, random = draw(st.sampled_from(shapes)), np.random.default_rng(draw(_seeds()))
    if shape == "grid":
        X = random.integers(-3, 4, size=(n, d)).astype(np.float64)
    elif shape == "repeated":
        X = random.integers(-3, 4, size=(1 + n // 4, d)).astype(np.float64)[random.integers(0, 1 + n // 4, n)]
    elif shape == "flat":
        rank = int(random.integers(1, max(2, d)))
        X = (random.integers(-3, 4, size=(n, rank)) @ random.integers(-3, 4, size=(rank, d))).astype(np.float64)
    else:
        X = random.normal(size=(n, d))
    if shape == "outlier":
        X[random.integers(n)] *= 1000.0
    power = draw(st.integers(-decades, decades)) if decades else 0
    return np.asarray(X * 2.0 ** round(power * np.log2(10)), dtype=np.float64)


@st.composite
def half_spaces(draw: st.DrawFn, features: FloatArray) -> FloatArray:
    """Draw a linearly separable set: memberships 1 on one side of a hyperplane, 0 on the other, and any value on it.

    At least one point lies strictly on the side of the set: a set that lies on the hyperplane is not the largest with its
    mean, because all its multiples have the same mean. If all features coincide there is no such hyperplane, and the example
    is discarded.

    Parameters
    ----------
    features : array, shape (N, k)
        The features in which the set is separable.

    Returns
    -------
    strategy of array
        Memberships, shape (N,).
    """
    random = np.random.default_rng(draw(_seeds()))
    d = features.shape[1]
    normal = random.integers(-3, 4, d).astype(np.float64) if draw(st.booleans()) else random.normal(size=d)
    terms = features * normal
    scores = _merge_close(np.sum(terms, axis=1), np.sum(np.abs(terms), axis=1))
    levels = np.unique(scores)[:-1]
    assume(levels.size > 0)
    level = levels[draw(st.integers(0, levels.size - 1))]
    fuzz = random.uniform(size=len(features)) if draw(st.booleans()) else np.full(len(features), random.integers(0, 2))
    return np.where(scores > level, 1.0, np.where(scores == level, fuzz, 0.0))


def _merge_close(scores: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the rank of every score. Neighbours that differ by less than 1e-8 of their terms have the same rank.

    Each pair is judged by its own terms: an outlier among the points must not make all others equal.
    """
    order = np.argsort(scores, kind="stable")
    larger = np.maximum(sizes[order][1:], sizes[order][:-1])
    ranks = np.empty(scores.size)
    ranks[order] = np.concatenate([[0.0], np.cumsum(np.diff(scores[order]) > 1e-8 * larger)])
    return ranks


def feature_maps(*, landmarks: int = 4) -> st.SearchStrategy[FeatureMap]:
    """Draw a map that maps each point on its own: linear, quadratic, or a kernel with landmarks.

    Parameters
    ----------
    landmarks : int
        The maximum number of landmarks of a kernel.

    Returns
    -------
    strategy of FeatureMap
    """
    kernels = st.integers(1, landmarks).map(lambda number: Kernel(landmarks=number))
    return st.one_of(st.just(Linear()), st.just(Quadratic()), kernels)


def tolerances() -> st.SearchStrategy[Tolerance]:
    """Draw a tolerance on the sum, on the mean, or in standard errors; some are zero.

    Returns
    -------
    strategy of Tolerance
    """
    some = st.sampled_from([0.0, 1e-6, 0.1, 0.5, 2.0])
    return st.one_of(
        some.map(Absolute),
        some.map(Relative),
        st.sampled_from([0.1, 0.5, 1.0]).map(StandardError),
    )


def labelled_sets(n_points: int, *, least: int = 1, most: int = 6) -> st.SearchStrategy[list[int]]:
    """Draw the sorted row indices of some labelled points.

    Parameters
    ----------
    n_points : int
        The number of all points.
    least, most : int
        The minimum and the maximum number of labelled points.

    Returns
    -------
    strategy of list of int
    """
    chosen = st.sets(st.integers(0, n_points - 1), min_size=least, max_size=min(most, n_points))
    return chosen.map(sorted)


@st.composite
def problems(draw: st.DrawFn, *, max_points: int = 25, max_moments: int = 5, feasible: bool = False) -> Problem:
    """Draw a problem in small integers, where floats are exact and ties are frequent.

    It has equations, two-sided and one-sided bounds, weights (some zero or negative) and caps (some zero).

    Parameters
    ----------
    max_points, max_moments : int
        The maximum size of the problem.
    feasible : bool
        Whether every problem has a feasible point. Otherwise some are infeasible.

    Returns
    -------
    strategy of Problem
    """
    random = np.random.default_rng(draw(_seeds()))
    n, m = draw(st.integers(1, max_points)), draw(st.integers(1, max_moments))
    wide = draw(st.sampled_from([0, 1, 4]))
    lower, upper = (sign * random.integers(0, wide + 1, m).astype(np.float64) for sign in (-1, 1))
    lower[random.random(m) < 0.15] = -np.inf
    upper[random.random(m) < 0.15] = np.inf
    if not feasible and draw(st.integers(0, 4)) == 0:
        lower[0] = random.integers(0, 4)
        upper[0] = lower[0] + random.integers(0, 4)
    plain = draw(st.booleans())
    weights: Any = 1.0 if plain else random.integers(-1, 4, n)
    caps: Any = 1.0 if plain else random.integers(0, 3, n)
    return Problem.from_arrays(random.integers(-3, 4, (n, m)).astype(np.float64), lower, upper, weights=weights, caps=caps)
