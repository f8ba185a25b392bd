"""Two clouds of points, one of which is the class."""

import numpy as np


def clouds(n: int = 150, n_known: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, which of them belong to the class (two in five), and y: 1 for the few of which that is known."""
    random = np.random.default_rng(seed)
    truth = random.permutation(n) < 2 * n // 5
    X = random.normal(size=(n, 2)) + np.where(truth, 0.0, 5.0)[:, None]
    y = np.zeros(n, dtype=int)
    y[random.choice(np.flatnonzero(truth), n_known, replace=False)] = 1
    return X, truth, y
