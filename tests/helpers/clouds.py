"""Two clouds of points; one of them is the class."""

import numpy as np


def clouds(n: int = 150, n_labelled: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points X, a mask of the class (two in five points), and y: 1 for the labelled points, 0 for the others."""
    random = np.random.default_rng(seed)
    truth = random.permutation(n) < 2 * n // 5
    X = random.normal(size=(n, 2)) + np.where(truth, 0.0, 5.0)[:, None]
    y = np.zeros(n, dtype=int)
    y[random.choice(np.flatnonzero(truth), n_labelled, replace=False)] = 1
    return X, truth, y
