"""Explanations: the reason for an empty or infeasible problem is proved, and the smallest tolerance is the smallest."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp

X = np.random.default_rng(0).normal(size=(150, 2)) + 5.0


def smallest_tolerance(points: np.ndarray, mean: np.ndarray) -> float:
    """Return the smallest rho by brute force: the minimum distance of the mean from a segment between two points."""
    best = np.abs(points - mean).max(axis=1).min()
    steps = np.linspace(0, 1, 201)[:, None]
    for point in points:
        segments = point + steps[:, None] * (points - point) - mean  # (steps, others, coordinates)
        best = min(best, np.abs(segments).max(axis=2).min())
    return float(best)


NEAREST = smallest_tolerance(X, np.zeros(2))


@pytest.mark.parametrize("tolerance", [mlp.Absolute(0.01), mlp.Relative(0.01), mlp.Absolute(0.0)], ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_an_empty_answer_names_the_smallest_tolerance(tolerance: mlp.Tolerance, sparse: bool, backend: str) -> None:
    data = sp.csr_array(X) if sparse else X
    spec = mlp.Spec(tolerance=tolerance)
    solution = mlp.solve(spec.compile(data, mean=[0.0, 0.0]), backend)
    reason = solution.explain()
    assert reason.status == "empty"
    assert reason.proved
    assert reason.uniform is not None
    assert reason.uniform.value == pytest.approx(NEAREST, rel=0.01)
    assert reason.uniform.objective is not None
    assert reason.uniform.objective >= 1 - 1e-6
    # just below it nothing works, just above it something does
    kind = type(tolerance)
    for factor, status in ((0.99, mlp.Status.EMPTY), (1.01, mlp.Status.OPTIMAL)):
        spec = mlp.Spec(tolerance=kind(reason.uniform.value * factor))
        assert mlp.solve(spec.compile(data, mean=[0.0, 0.0]), backend).status is status
    assert "Smallest tolerance for all moments" in str(reason)


@pytest.mark.parametrize("tolerance", [mlp.Absolute(0.1), mlp.Relative(0.01)], ids=str)
def test_an_infeasible_problem_names_what_is_in_conflict(tolerance: mlp.Tolerance, backend: str) -> None:
    if backend == "pyomo" and isinstance(tolerance, mlp.Relative):
        backend = "highs"  # sixty models for the bisection
    spec = mlp.Spec(tolerance=tolerance, constraints=[mlp.Share(0.6, 1.0)])
    solution = mlp.solve(spec.compile(X, mean=X.mean(axis=0) + 0.7), backend)
    assert solution.status is mlp.Status.INFEASIBLE
    reason = solution.explain()
    assert reason.proved
    assert "share" in reason.conflict
    assert sum(reason.conflict.values()) == pytest.approx(1.0)
    assert reason.uniform is not None
    assert reason.uniform.value is not None
    for factor, status in ((0.99, mlp.Status.INFEASIBLE), (1.01, mlp.Status.OPTIMAL)):
        wider = mlp.Spec(tolerance=type(tolerance)(reason.uniform.value * factor), constraints=spec.constraints)
        assert mlp.solve(wider.compile(X, mean=X.mean(axis=0) + 0.7), backend).status is status


def test_each_block_has_a_smallest_tolerance_of_its_own() -> None:
    features = mlp.Concat([mlp.Linear(), mlp.Quadratic()])
    mean = np.concatenate([X[:5].mean(axis=0), X[:5].mean(axis=0) + 40.0, [0.0, 0.0, 0.0]])
    problem = mlp.Spec(features=features, tolerance=mlp.Absolute([0.1, 0.1])).compile(X, mean=mean)
    reason = mlp.solve(problem).explain()
    assert len(reason.per_block) == 2
    assert reason.per_block[0].value is None  # the second block alone has no set
    assert reason.per_block[1].value is not None
    assert reason.uniform is not None
    assert reason.uniform.value is not None


def test_constraints_alone_can_contradict_each_other() -> None:
    spec = mlp.Spec(tolerance=mlp.Absolute(1e6), constraints=[mlp.Share(0.9, 1.0), mlp.Known(negatives=range(100))])
    solution = mlp.solve(spec.compile(X, labelled=[120]))
    assert solution.status is mlp.Status.INFEASIBLE
    reason = solution.explain()
    assert reason.conflict == {"share": pytest.approx(1.0)}
    assert reason.uniform is not None
    assert reason.uniform.value is None
    assert "Smallest tolerance for all moments: no tolerance is large enough" in str(reason)


def test_an_answer_needs_no_explanation() -> None:
    reason = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(X, labelled=[0, 1])).explain()
    assert "nothing to explain" in str(reason)
    assert reason.uniform is None


@pytest.mark.parametrize("weight", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("kind", "expected"), [(mlp.Relative, 1.0), (mlp.Absolute, None)])
def test_the_smallest_tolerance_uses_the_weights(weight: float, kind: type[mlp.Absolute], expected: float | None) -> None:
    """The nearest point is 1 off the mean: a tolerance on the mean must be 1, one on the sum of a whole point its weight."""
    points = np.array([[0.0], [1.0], [2.0]])
    weights = np.full(3, weight)
    reason = mlp.solve(mlp.Spec(tolerance=kind(0.0)).compile(points, mean=[3.0], sample_weight=weights)).explain()
    assert reason.uniform is not None
    assert reason.uniform.value == pytest.approx(weight if expected is None else expected)
    assert reason.uniform.objective is not None
