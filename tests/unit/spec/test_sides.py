"""Tolerances with one bound: the mean must not be much smaller, or not much larger, than its target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import momentlp as mlp

X = np.random.default_rng(0).normal(size=(120, 3))
KNOWN = np.argsort(-X @ [2.0, 1.0, 0.0])[:15]
KINDS = {
    "sum": lambda side: mlp.Absolute(2.0, side=side),
    "mean": lambda side: mlp.Relative(0.1, side=side),
    "error": lambda side: mlp.StandardError(1.0, side=side),
    "exact": lambda side: mlp.Relative(0.0, side=side),
}


def linprog_optimum(side: str, kind: str) -> float:
    """Solve the program of one side by scipy, written down once more."""
    target = X[KNOWN].mean(axis=0)
    width = {"sum": np.full(3, 2.0), "mean": np.full(3, 0.1), "exact": np.zeros(3)}.get(kind)
    if width is None:
        width = X[KNOWN].std(axis=0, ddof=1) / np.sqrt(KNOWN.size)
    sign = -1.0 if side == "lower" else 1.0  # sign * deviation <= width
    rows = sign * (X - target)
    if kind != "sum":
        rows, width = rows - width, np.zeros(3)
    return -linprog(-np.ones(len(X)), A_ub=rows.T, b_ub=width, bounds=(0, 1)).fun


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_one_side_is_the_program_with_that_bound_alone(side: str, kind: str, backend: str) -> None:
    problem = mlp.Spec(tolerance=KINDS[kind](side)).compile(X, labelled=KNOWN)
    assert problem.n_moments == 3
    solution = mlp.solve(problem, backend)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    assert solution.objective == pytest.approx(linprog_optimum(side, kind), rel=1e-7)
    assert ((solution.multipliers <= 0) if side == "lower" else (solution.multipliers >= 0)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_side_is_kept_by_files_and_by_other_tolerances(kind: str, tmp_path: Path) -> None:
    spec = mlp.Spec(tolerance=KINDS[kind]("lower"))
    assert mlp.Spec.from_json(spec.to_json()) == spec
    problem = spec.compile(X, labelled=KNOWN)
    problem.save(tmp_path / "problem.npz")
    loaded = mlp.Problem.load(tmp_path / "problem.npz")
    for same in (loaded, problem.with_tolerance(1.0, relative=True), loaded.with_tolerance(1.0, relative=True)):
        assert (same.upper == np.inf).all()
        assert np.array_equal(same.lower, problem.lower)
        assert np.array_equal(same.A.toarray(), problem.A.toarray())


def test_the_larger_set_of_one_side_has_means_beyond_the_target() -> None:
    both, lower = (
        mlp.solve(mlp.Spec(tolerance=mlp.Relative(0.05, side=side)).compile(X, mean=[1.0, 0.5, 0.0]))
        for side in ("both", "lower")
    )
    assert lower.objective >= both.objective - 1e-9
    assert [row.name for row in lower.balance()] == ["x0", "x1", "x2"]


@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_explain_finds_the_smallest_tolerance_of_one_side(kind: str) -> None:
    """No point is above 5: the mean must be allowed to be smaller by the distance of the largest point."""
    points = np.linspace(0.0, 4.0, 9)[:, None]
    tolerance = mlp.Absolute(0.0, side="lower") if kind == "sum" else mlp.Relative(0.0, side="lower")
    solution = mlp.solve(mlp.Spec(tolerance=tolerance).compile(points, mean=[5.0]))
    assert solution.status is mlp.Status.EMPTY
    smallest = solution.explain().uniform
    assert smallest is not None
    assert smallest.value == pytest.approx(1.0, rel=1e-6)
    above = mlp.Absolute(0.0, side="upper") if kind == "sum" else mlp.Relative(0.0, side="upper")
    assert mlp.solve(mlp.Spec(tolerance=above).compile(points, mean=[5.0])).objective == pytest.approx(9.0)


def test_a_share_with_one_sided_moments_takes_the_best_points() -> None:
    """A constraint limits the size: of the sets of that size, the estimator takes the one nearest to the labelled mean."""
    y = np.zeros(len(X), dtype=int)
    y[KNOWN] = 1
    model = mlp.MomentClassifier(mlp.Linear(), mlp.Relative(3.0, side="lower"), [mlp.Share(high=0.2)], smoothing=None).fit(
        X, y
    )
    assert model.solution_.certificate.holds()
    assert X[model.transduction_ == 1].mean(axis=0)[0] > 0.5
