"""Problems of any size: a Gaussian class among Gaussian points."""

import numpy as np

import momentlp as mlp


def gaussians(n: int, m: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return points, a fifth of them from a class, and a separate sample of the class."""
    random = np.random.default_rng(seed)
    shift = np.r_[2.0, np.full(m - 1, 0.3)]
    X = random.normal(size=(n, m))
    X[random.random(n) < 0.2] += shift
    return X, random.normal(size=(200, m)) + shift


def gaussian_problem(n: int, m: int = 6, seed: int = 0) -> mlp.Problem:
    """Return the problem of the mean of the sample, with a tolerance of 0.02 per point on the sum."""
    X, sample = gaussians(n, m, seed)
    return mlp.Spec(tolerance=mlp.Absolute(0.02 * n)).compile(X, sample=sample)
