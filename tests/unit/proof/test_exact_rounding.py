"""Exact arithmetic beside rounding: products without rounding, and the problem with rounding in integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import momentlp as mlp
from momentlp.problem.rounding import REFUTED, ROUNDING, SOLVED
from momentlp.proof.exact.evaluation import exact_activity, exact_scores
from momentlp.proof.exact.integers import IntegerProgram
from momentlp.proof.exact.proof import prove, prove_with_rounding
from momentlp.proof.exact.rounded import allow_rounding

WIDE = np.array([[1.0, 0.1], [1e16, 3.0], [-1e16, 0.7], [2.0, -0.3]])


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_products_are_rounded_once(build: Any) -> None:
    problem = mlp.Spec(tolerance=mlp.Relative(0.1), constraints=[mlp.Share(high=0.9)]).compile(build(WIDE), mean=[0.3, 0.2])
    h, y, w = np.array([0.1, 0.7, 0.7, 1.0]), np.array([0.3, -0.1, 1e-16, 0.7, -1.0]), problem.weights
    mean, width, share = [Fraction(0.3), Fraction(0.2)], Fraction(0.1), Fraction(1)
    rows = [[Fraction(x) - a for x, a in zip(point, mean, strict=True)] for point in WIDE.tolist()]
    A = [[*(x - width for x in row), *(x + width for x in row), share] for row in rows]
    for j in range(5):
        total = sum((A[i][j] * Fraction(h[i]) for i in range(4)), Fraction(0))
        assert exact_activity(problem.A, h, np.array([j])) == float(total)
    scores = [Fraction(w[i]) - sum(A[i][j] * Fraction(y[j]) for j in range(5)) for i in range(4)]
    assert exact_scores(problem.A, w, y, np.array([3, 1])).tolist() == [float(scores[3]), float(scores[1])]


def test_a_score_beyond_floats_is_infinite() -> None:
    problem = mlp.Problem.from_arrays([[1e300], [-1e300]], 0.0, 0.0)
    assert exact_scores(problem.A, np.ones(2), np.array([1e300]), np.arange(2)).tolist() == [-np.inf, np.inf]


def test_rows_of_small_integers_are_not_relaxed() -> None:
    problem = mlp.Problem.from_arrays([[1.0], [2.0], [-3.0]], 0.0, 1.0)
    rounded = allow_rounding(problem, IntegerProgram.of(problem), SOLVED)
    assert rounded.sides.tolist() == [0]


def test_relaxed_rows_are_as_wide_as_the_rule_and_never_wider() -> None:
    problem = mlp.Spec().compile(np.random.default_rng(0).normal(size=(6, 2)) + 1e3, labelled=[0, 1, 2])
    program = IntegerProgram.of(problem)
    rounded = allow_rounding(problem, program, 1.0)
    assert rounded.moments.tolist() == [0, 0, 1, 1]
    assert rounded.sides.tolist() == [1, -1, 1, -1]
    for row, (j, side) in enumerate(zip(rounded.moments, rounded.sides, strict=True)):
        unit = rounded.program.row_units[row] / program.cap_unit
        for i in range(6):
            exact = program.M[j, i] * program.row_units[j] / program.cap_unit
            typical = Fraction(problem.A.entry_limits[j]) / 2**20
            allowed = Fraction(ROUNDING) * (Fraction(problem.blocks[0].origin[j]) + typical + abs(exact))
            relaxed = side * (exact - rounded.program.M[row, i] * unit)
            assert 0.999 * allowed <= relaxed <= allowed


def test_a_labelled_set_is_found_in_the_problem_with_rounding() -> None:
    """Without a tolerance, three of four points in five dimensions have exactly their mean as it was rounded: none does."""
    X = 1e6 + 1e-3 * np.random.default_rng(1).normal(size=(4, 5))
    problem = mlp.Spec().compile(X, labelled=[0, 1, 2])
    h, y = np.zeros(4), np.zeros(5)
    assert prove(problem, h, y).optimum == 0
    found = prove_with_rounding(problem, h, y)
    assert found.status is mlp.Status.OPTIMAL
    assert float(found.optimum) == pytest.approx(3.0, abs=1e-4)
    assert len(found.multipliers) == 5
    assert prove_with_rounding(problem, h, y, factor=REFUTED).optimum >= found.optimum


@pytest.mark.filterwarnings("ignore::momentlp.SentinelWarning")
def test_a_certificate_keeps_multipliers_that_no_float_holds() -> None:
    """Beside an entry of 1e12 the last digit of a multiplier counts: rounded to floats, the bound is off by 1e-5."""
    X = np.array([[1.0, -1.0]] * 50 + [[1e12, 1e12], [-1e12, -1e12]])
    solutions = [mlp.solve(mlp.Spec().compile(X, mean=[0.0, 0.0]), backend) for backend in ("highs", "scipy")]
    for solution in solutions:
        assert solution.certificate.holds()
        kept = solution.certificate.exact_multipliers
        if kept is not None:
            assert solution.multipliers == pytest.approx([float(value) for value in kept])
            assert mlp.Certificate.of(solution.problem, solution.membership, solution.multipliers).bound >= 2.0
    assert any(solution.certificate.exact_multipliers is not None for solution in solutions)
