"""The three synthetic cases of the paper: a linearly separable class, a Gaussian class, and a ring.

Each function returns the points, which of them belong to the class, and the row indices of the labelled points. The sizes
are those of the paper. The paper shows the shapes only in a figure, so the shapes are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from momentlp.features import Kernel, Linear, Quadratic
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import Absolute, StandardError

__all__ = ["CASES", "Case", "make_gaussian", "make_ring", "make_separable"]


@dataclass(frozen=True, eq=False)
class Case:
    """Points of a synthetic case.

    Parameters
    ----------
    X : array, shape (N, 2)
        The points.
    truth : array of bool, shape (N,)
        Which points belong to the class.
    labelled : array of int
        Row indices of the labelled points, all of them in the class.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]])
    >>> case = Case(X, truth=np.array([True, True, False]), labelled=np.array([0]))
    >>> case.quality(np.array([1.0, 0.0, 0.0]))
    (1.0, 0.5)
    """

    X: FloatArray
    truth: NDArray[np.bool_]
    labelled: IndexArray

    def quality(self, membership: FloatArray) -> tuple[float, float]:
        """Return precision and recall of the points with a membership above one half.

        Parameters
        ----------
        membership : array, shape (N,)

        Returns
        -------
        precision, recall : float
            Precision is 0 if nothing was found.

        Examples
        --------
        >>> from momentlp.synthetic import make_ring
        >>> case = make_ring(0)
        >>> case.quality(case.truth.astype(float))
        (1.0, 1.0)
        """
        found = membership > 0.5
        n_correct = int((found & self.truth).sum())
        return n_correct / max(1, int(found.sum())), n_correct / int(self.truth.sum())


def make_separable(random_state: int = 0) -> Case:
    """Make a linearly separable class: 300 points beyond a line and 750 others, with a gap; 100 are labelled.

    Parameters
    ----------
    random_state : int
        Seed; the same seed gives the same points.

    Returns
    -------
    Case

    Examples
    --------
    >>> from momentlp.synthetic import make_separable
    >>> case = make_separable(0)
    >>> case.X.shape, int(case.truth.sum()), case.labelled.size
    ((1050, 2), 300, 100)
    """
    random = np.random.default_rng(random_state)
    normal = np.array([0.8, 0.6])
    inside = random.normal(size=(5000, 2)) * 0.45 + 2.4 * normal
    outside = random.normal(size=(5000, 2)) * 1.5 - 0.5 * normal
    return _build_case(inside[inside @ normal > 1.4][:300], outside[outside @ normal < 0.6][:750], 100, random)


def make_gaussian(random_state: int = 0) -> Case:
    """Make a Gaussian class of 300 points, and 750 points spread uniformly around it; 100 are labelled.

    Parameters
    ----------
    random_state : int
        Seed; the same seed gives the same points.

    Returns
    -------
    Case

    Examples
    --------
    >>> from momentlp.synthetic import make_gaussian
    >>> case = make_gaussian(0)
    >>> case.X.shape, int(case.truth.sum()), case.labelled.size
    ((1050, 2), 300, 100)
    """
    random = np.random.default_rng(random_state)
    mean, covariance = np.array([1.0, 0.5]), np.array([[0.5, 0.25], [0.25, 0.4]])
    inside = random.multivariate_normal(mean, covariance, 300)
    cloud = random.uniform(-5.0, 6.0, size=(4000, 2))
    distance = np.einsum("ni,ij,nj->n", cloud - mean, np.linalg.inv(covariance), cloud - mean)
    return _build_case(inside, cloud[distance > 9.0][:750], 100, random)


def make_ring(random_state: int = 0) -> Case:
    """Make a ring of 450 points, with 200 others inside it and 400 around it; 150 are labelled.

    Parameters
    ----------
    random_state : int
        Seed; the same seed gives the same points.

    Returns
    -------
    Case

    Examples
    --------
    >>> from momentlp.synthetic import make_ring
    >>> case = make_ring(0)
    >>> case.X.shape, int(case.truth.sum()), case.labelled.size
    ((1050, 2), 450, 150)
    """
    random = np.random.default_rng(random_state)
    ring = _from_polar(random.normal(2.0, 0.18, 450), random.uniform(0, 2 * np.pi, 450))
    core = random.normal(size=(200, 2)) * 0.4
    around = _from_polar(random.uniform(3.2, 5.0, 400), random.uniform(0, 2 * np.pi, 400))
    return _build_case(ring, np.vstack([core, around]), 150, random)


def _from_polar(radius: FloatArray, angle: FloatArray) -> FloatArray:
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _build_case(inside: FloatArray, outside: FloatArray, n_labelled: int, random: np.random.Generator) -> Case:
    truth = np.concatenate([np.ones(len(inside), dtype=bool), np.zeros(len(outside), dtype=bool)])
    labelled = np.sort(random.choice(len(inside), n_labelled, replace=False))
    return Case(np.vstack([inside, outside]), truth, labelled)


CASES: dict[str, tuple[Callable[[int], Case], Spec, float, float]] = {
    "separable": (make_separable, Spec(features=Linear(), tolerance=Absolute(1.0)), 0.99, 0.97),
    "gaussian": (make_gaussian, Spec(features=Quadratic(), tolerance=Absolute(5.0)), 0.95, 0.95),
    "ring": (make_ring, Spec(features=Kernel(gamma=0.5), tolerance=StandardError(1.2)), 0.94, 0.94),
}
"""Each case: its function, a spec that solves it for all seeds, and the mean precision and recall that it must reach."""
