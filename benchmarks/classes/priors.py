"""Published estimates of the class prior, written from the formulas of their papers.

All but KM2 take scores of labelled and unlabelled points: here those of bags of support vector machines on normal
quantiles, out of bag for both, the best single scores on the half that settings were chosen on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.metrics.pairwise import euclidean_distances

from benchmarks.classes.scaling import quantiles

__all__ = ["bbe", "dedpul", "elkan_noto", "km2"]

DELTA = 0.1  # of BBE: its bounds hold with this probability of failure
N_KERNEL_POINTS = 600  # that KM2 is computed on: its quadratic programs take time with the square
N_STEPS = 300  # of projected gradient descent
MAX_LAMBDA = 10.0


def elkan_noto(members: np.ndarray, unlabelled: np.ndarray) -> float:
    """Elkan and Noto 2008: c is the mean probability of being labelled among labelled points; prior = mean_U p / c.

    Probabilities are those of a logistic function of the score, with both kinds of points of equal weight.
    """
    slope = 1 / max(float(np.std(unlabelled)), 1e-12)
    centre = (members.mean() + unlabelled.mean()) / 2
    p = [expit(slope * (scores - centre)) for scores in (members, unlabelled)]
    return float(np.clip(p[1].mean() / max(p[0].mean(), 1e-12), 0.0, 1.0))


def bbe(members: np.ndarray, unlabelled: np.ndarray) -> float:
    """Garg and others 2021, best bin estimation: the smallest ratio of shares above a threshold, with their bound.

    ``q_U(c) / q_P(c)`` is an upper bound of the prior at every threshold c. The c is taken that minimises
    ``q_U / q_P + (sqrt(log(4 / delta) / 2 n_U) + sqrt(log(4 / delta) / 2 n_P)) / q_P``.
    """
    cuts = np.unique(np.concatenate([members, unlabelled]))
    q_p, q_u = (1 - np.searchsorted(np.sort(scores), cuts) / len(scores) for scores in (members, unlabelled))
    error = sum(np.sqrt(np.log(4 / DELTA) / (2 * len(scores))) for scores in (members, unlabelled))
    kept = q_p > 0
    best = np.argmin((q_u[kept] + error) / q_p[kept])
    return float(np.clip(q_u[kept][best] / q_p[kept][best], 0.0, 1.0))


def dedpul(members: np.ndarray, unlabelled: np.ndarray) -> float:
    """Ivanov 2020, DEDPUL: densities of the scores, their ratio made monotone, and EM for the prior.

    ``r = f_P / f_U`` at the unlabelled points, smoothed by a moving median. The posterior is ``min(prior * r, 1)``; EM
    repeats ``prior = mean_U of the posterior``. Where EM ends at zero, the largest prior is taken whose posterior has a mean
    near it, as in the paper: the largest second difference of ``prior - mean posterior``.
    """
    from sklearn.isotonic import IsotonicRegression

    width = [1.06 * max(float(scores.std()), 1e-9) * len(scores) ** -0.2 for scores in (members, unlabelled)]
    order = np.sort(unlabelled)
    density = [
        np.exp(-0.5 * ((order[:, None] - scores) / h) ** 2).mean(axis=1) / h
        for scores, h in zip((members, unlabelled), width, strict=True)
    ]
    ratio = IsotonicRegression().fit_transform(order, density[0] / np.maximum(density[1], 1e-12))
    priors = np.linspace(0.001, 1.0, 1000)
    gaps = priors - np.minimum(priors[:, None] * ratio, 1.0).mean(axis=1)
    prior = 1.0
    for _ in range(1000):
        new = float(np.minimum(prior * ratio, 1.0).mean())
        if abs(new - prior) < 1e-6:
            break
        prior = new
    if prior > 0.01:
        return prior
    second = gaps[2:] - 2 * gaps[1:-1] + gaps[:-2]
    return float(priors[1:-1][np.argmax(second)])


def km2(X: Any, known: np.ndarray, seed: int) -> float:
    """Ramaswamy and others 2016, KM2: the gradient of the distance between kernel means and the hull of all points.

    ``d(lambda)`` is the distance of ``lambda mean(U) + (1 - lambda) mean(P)`` from the convex hull of the points, in the
    space of an RBF kernel. It is zero up to ``1 / (1 - prior)`` and rises after that; lambda is where its slope passes
    ``0.8 first + 0.2 last`` slope.
    """
    random = np.random.default_rng(seed)
    scaled = quantiles(X)
    pool = np.setdiff1d(np.arange(X.shape[0]), known)
    rows = random.choice(pool, min(len(pool), max(100, N_KERNEL_POINTS - len(known))), replace=False)
    points = sp.vstack([scaled[known], scaled[rows]]).toarray() if sp.issparse(scaled) else scaled[np.r_[known, rows]]
    squares = euclidean_distances(points, squared=True)
    kernel = np.exp(-squares / np.median(squares[squares > 0]))
    p, u = np.zeros(len(points)), np.zeros(len(points))
    p[: len(known)], u[len(known) :] = 1 / len(known), 1 / len(rows)
    step = 1 / np.linalg.eigvalsh(kernel)[-1]
    weights = u

    def distance(lam: float) -> float:
        nonlocal weights
        target = lam * u + (1 - lam) * p
        weights = _project(kernel, target, weights, step)
        rest = weights - target
        return float(np.sqrt(max(rest @ kernel @ rest, 0.0)))

    grid = np.concatenate([np.linspace(1.0, 2.0, 21), np.linspace(2.2, MAX_LAMBDA, 20)])
    slopes = np.diff([distance(lam) for lam in grid]) / np.diff(grid)
    limit = 0.8 * slopes[0] + 0.2 * slopes[-1]
    lam = float(grid[:-1][np.argmax(slopes >= limit)]) if (slopes >= limit).any() else MAX_LAMBDA
    return float(np.clip(1 - 1 / max(lam, 1.0 + 1e-9), 0.0, 1.0))


def _project(kernel: np.ndarray, target: np.ndarray, start: np.ndarray, step: float) -> np.ndarray:
    """Return the weights of the nearest point of the hull, by accelerated projected gradient descent."""
    weights, ahead, t = start.copy(), start.copy(), 1.0
    for _ in range(N_STEPS):
        new = _onto_simplex(ahead - step * (kernel @ (ahead - target)))
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        ahead, weights, t = new + (t - 1) / t_new * (new - weights), new, t_new
    return weights


def _onto_simplex(v: np.ndarray) -> np.ndarray:
    ordered = np.sort(v)[::-1]
    total = np.cumsum(ordered) - 1
    last = np.flatnonzero(ordered - total / np.arange(1, len(v) + 1) > 0)[-1]
    return np.maximum(v - total[last] / (last + 1), 0.0)
