"""Small random problems whose memberships must be whole, and the heaviest set of each, found by trying all of them."""

import itertools
from dataclasses import replace

import numpy as np

import momentlp as mlp

KINDS = (
    "absolute",
    "relative",
    "standard error",
    "share",
    "known",
    "group",
    "weights",
    "repeated rows",
    "equations",
    "moment",
)


def random_problem(seed: int) -> mlp.Problem:
    """Return a problem of 4 to 11 points; the kind of its constraints goes round with the seed."""
    random, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    n, d = int(random.integers(4, 12)), int(random.integers(1, 4))
    X = random.integers(-4, 5, size=(n, d)) / 2.0 if seed % 3 else random.normal(size=(n, d))
    labelled = np.arange(int(random.integers(1, max(2, n // 2))))
    tolerance: mlp.Tolerance = mlp.Absolute(float(random.choice([0.0, 0.5, 1.5])))
    constraints: list[mlp.Constraint] = []
    weights = None
    if kind == "relative":
        tolerance = mlp.Relative(0.3)
    elif kind == "standard error":
        labelled, tolerance = np.arange(2), mlp.StandardError(1.0)
    elif kind == "share":
        constraints = [mlp.Share(0.2, 0.6)]
    elif kind == "known":
        constraints = [mlp.Known(positives=labelled[:1], negatives=[n - 1])]
    elif kind == "group":
        constraints = [mlp.GroupShare(["a" if point % 2 else "b" for point in range(n)], low={"a": 0.3}, high={"a": 0.7})]
    elif kind == "repeated rows":
        weights = random.integers(0, 3, size=n).astype(float)
        weights[0] = 2.0
    elif kind == "moment":
        constraints = [mlp.Moment(mlp.Quadratic(), target=0.5, tolerance=mlp.Relative(1.0))]
    spec = mlp.Spec(tolerance=tolerance, constraints=constraints, whole=True)
    problem = spec.compile(X, labelled=labelled, sample_weight=weights)
    if kind == "weights":
        A = problem.A.toarray()
        problem = mlp.Problem.from_arrays(A, problem.lower, problem.upper, weights=random.integers(-1, 5, size=n) / 2.0)
    if kind == "equations":
        A = random.integers(-2, 3, size=(n, d)).astype(float)
        problem = mlp.Problem.from_arrays(A, random.integers(0, 2, size=d), random.integers(0, 2, size=d) + 1.0)
    return replace(problem, whole=True)


def best_set(problem: mlp.Problem) -> float | None:
    """Return the weight of the heaviest feasible set of integers; None if there is none."""
    A, best = problem.A.toarray(), None
    for x in itertools.product(*(range(int(cap) + 1) for cap in problem.caps)):
        reached = np.asarray(x) @ A
        if (reached <= problem.upper + 1e-9).all() and (reached >= problem.lower - 1e-9).all():
            weight = float(np.asarray(x) @ problem.weights)
            best = weight if best is None else max(best, weight)
    return best
