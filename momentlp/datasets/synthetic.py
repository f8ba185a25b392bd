"""The paper's three synthetic cases, as seeded functions: a class cut off by a line, a Gaussian class, a ring.

Each returns the points, which of them belong to the class, and the indices of those that are labelled. Sizes are the
paper's; the shapes, which it shows only in a picture, are ours.
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
    """Points, the truth about them, and the few that are labelled."""

    X: FloatArray
    truth: NDArray[np.bool_]
    labelled: IndexArray

    def quality(self, membership: FloatArray) -> tuple[float, float]:
        """Return precision and recall of a membership above one half."""
        found = membership > 0.5
        right = int((found & self.truth).sum())
        return right / max(1, int(found.sum())), right / int(self.truth.sum())


def make_separable(random_state: int = 0) -> Case:
    """Return 300 points beyond a line and 750 before it, with a gap between them; 100 are labelled."""
    random = np.random.default_rng(random_state)
    normal = np.array([0.8, 0.6])
    near, far = random.normal(size=(5000, 2)) * 0.45 + 2.4 * normal, random.normal(size=(5000, 2)) * 1.5 - 0.5 * normal
    return _case(near[near @ normal > 1.4][:300], far[far @ normal < 0.6][:750], 100, random)


def make_gaussian(random_state: int = 0) -> Case:
    """Return 300 points of a Gaussian class and 750 spread evenly outside its bulk; 100 are labelled."""
    random = np.random.default_rng(random_state)
    mean, covariance = np.array([1.0, 0.5]), np.array([[0.5, 0.25], [0.25, 0.4]])
    inside = random.multivariate_normal(mean, covariance, 300)
    cloud = random.uniform(-5.0, 6.0, size=(4000, 2))
    distance = np.einsum("ni,ij,nj->n", cloud - mean, np.linalg.inv(covariance), cloud - mean)
    return _case(inside, cloud[distance > 9.0][:750], 100, random)


def make_ring(random_state: int = 0) -> Case:
    """Return 450 points on a ring, 200 inside it and 400 around it; 150 are labelled."""
    random = np.random.default_rng(random_state)
    ring = _polar(random.normal(2.0, 0.18, 450), random.uniform(0, 2 * np.pi, 450))
    core = random.normal(size=(200, 2)) * 0.4
    around = _polar(random.uniform(3.2, 5.0, 400), random.uniform(0, 2 * np.pi, 400))
    return _case(ring, np.vstack([core, around]), 150, random)


def _polar(radius: FloatArray, angle: FloatArray) -> FloatArray:
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _case(inside: FloatArray, outside: FloatArray, n_labelled: int, random: np.random.Generator) -> Case:
    truth = np.concatenate([np.ones(len(inside), dtype=bool), np.zeros(len(outside), dtype=bool)])
    labelled = np.sort(random.choice(len(inside), n_labelled, replace=False))
    return Case(np.vstack([inside, outside]), truth, labelled)


CASES: dict[str, tuple[Callable[[int], Case], Spec, float, float]] = {
    "separable": (make_separable, Spec(features=Linear(), tolerance=Absolute(1.0)), 0.99, 0.97),
    "gaussian": (make_gaussian, Spec(features=Quadratic(), tolerance=Absolute(5.0)), 0.95, 0.95),
    "ring": (make_ring, Spec(features=Kernel(gamma=0.5), tolerance=StandardError(1.2)), 0.94, 0.94),
}
"""Each case with the spec that suits it, one tolerance for all seeds, and the mean precision and recall it must reach."""
