"""The status is what (h, y) proves; the report of the solver counts only where they prove nothing."""

from __future__ import annotations

import numpy as np
import pytest

import momentlp as mlp
from momentlp.backend.interface import Outcome
from momentlp.solving.verdict import (
    Verdict,
    confirm_exact,
    confirm_infeasible,
    decide_status,
    is_empty_but_for_rounding,
    is_settled,
    proves_empty,
)
from momentlp.status import Status

TOL = 1e-7
# maximise h1 + h2 + h3 with h2 + 3 h3 = h1: h = (1, 1, 0), y = 1/2
FEASIBLE = mlp.Problem.from_arrays([[-1.0], [1.0], [3.0]], 0.0, 0.0)
PROOF = mlp.Certificate.of(FEASIBLE, [1.0, 1.0, 0.0], [0.5])
NO_PROOF = mlp.Certificate.of(FEASIBLE, [0.0, 0.0, 0.0], [0.0])
# at least two full points out of three: h = 0 is not feasible
AT_LEAST_TWO = mlp.Problem.from_arrays(np.ones((3, 1)), 2.0, 3.0)
# all points lie beyond the mean
BEYOND = mlp.Spec(tolerance=mlp.Absolute(0.1)).compile([[1.0], [2.0]], mean=[0.0])
EMPTY_PROOF = mlp.Certificate.of(BEYOND, [0.1, 0.0], [1.0])


def answer(outcome: Outcome) -> mlp.Answer:
    return mlp.Answer(outcome, None, None, "the message of the solver")


@pytest.mark.parametrize("outcome", Outcome)
def test_a_proof_of_the_optimum_counts_whatever_the_solver_reports(outcome: Outcome) -> None:
    assert decide_status(answer(outcome), PROOF, TOL) == Verdict(Status.OPTIMAL, "the message of the solver")


@pytest.mark.parametrize("outcome", Outcome)
def test_a_proof_of_emptiness_counts_whatever_the_solver_reports(outcome: Outcome) -> None:
    assert decide_status(answer(outcome), EMPTY_PROOF, TOL) == Verdict(Status.EMPTY, "the message of the solver")


@pytest.mark.parametrize(
    ("outcome", "status", "message"),
    [
        (Outcome.LIMIT, Status.LIMIT, ""),
        (Outcome.INFEASIBLE, Status.FAILED, "(but the empty set, h = 0, is feasible, so the solver is wrong"),
        (Outcome.OPTIMAL, Status.FAILED, "(but the certificate does not hold at 1e-07: primal residual 0.0e+00"),
        (Outcome.FAILED, Status.FAILED, ""),
    ],
)
def test_without_a_proof_the_report_of_the_solver_decides(outcome: Outcome, status: Status, message: str) -> None:
    verdict = decide_status(answer(outcome), NO_PROOF, TOL)
    assert verdict.status is status
    assert verdict.message.startswith(f"the message of the solver {message}".strip())


def test_infeasible_is_possible_where_the_empty_set_is_not_feasible() -> None:
    nothing = mlp.Certificate.of(AT_LEAST_TWO, np.zeros(3), np.zeros(1))
    assert decide_status(answer(Outcome.INFEASIBLE), nothing, TOL).status is Status.INFEASIBLE


def test_the_tolerance_decides_what_is_a_proof() -> None:
    rough = mlp.Certificate.of(FEASIBLE, [1.0, 1.0 - 1e-4, 0.0], [0.5])
    assert decide_status(answer(Outcome.OPTIMAL), rough, 1e-7).status is Status.FAILED
    assert decide_status(answer(Outcome.OPTIMAL), rough, 1e-3).status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("multiplier", "is_empty"),
    [(1.0, True), (0.95, True), (0.0, False), (-1.0, False)],
    ids=["bound 0.1", "bound 0.145", "bound 2", "wrong direction"],
)
def test_empty_needs_a_bound_below_one_full_point(multiplier: float, is_empty: bool) -> None:
    assert proves_empty(mlp.Certificate.of(BEYOND, [0.0, 0.0], [multiplier])) is is_empty


def test_one_full_point_is_not_empty() -> None:
    problem = mlp.Spec(tolerance=mlp.Absolute(0.0)).compile([[0.0], [1.0], [2.0]], mean=[0.0])
    certificate = mlp.Certificate.of(problem, [1.0, 0.0, 0.0], [1.0])
    assert certificate.holds()
    assert not proves_empty(certificate)


@pytest.mark.parametrize(("cap", "is_empty"), [(1.0, False), (100.0, True)])
def test_the_weight_of_a_full_point_depends_on_its_cap(cap: float, is_empty: bool) -> None:
    problem = mlp.Spec(tolerance=mlp.Absolute(2.0)).compile([[1.0], [2.0]], mean=[0.0], sample_weight=[cap, cap])
    certificate = mlp.Certificate.of(problem, np.zeros(2), [1.0])
    assert certificate.bound == pytest.approx(2.0)
    assert proves_empty(certificate) is is_empty


def test_a_small_set_by_a_constraint_is_not_empty() -> None:
    """A constraint does not bound the mean, so a set of half a point is not empty."""
    half_a_point = mlp.Problem.from_arrays(np.ones((3, 1)), 0.0, 0.5)
    certificate = mlp.Certificate.of(half_a_point, [0.5, 0.0, 0.0], [1.0])
    assert certificate.holds()
    assert not proves_empty(certificate)
    assert decide_status(answer(Outcome.OPTIMAL), certificate, TOL).status is Status.OPTIMAL


def test_an_optimum_of_zero_by_a_constraint_is_empty() -> None:
    no_point = mlp.Problem.from_arrays(np.ones((3, 1)), 0.0, 0.0)
    assert proves_empty(mlp.Certificate.of(no_point, np.zeros(3), [1.0]))


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_a_point_without_weight_rules_out_empty(weight: float) -> None:
    problem = mlp.Problem.from_arrays([[1.0], [1.0]], 0.0, 0.0, weights=[1.0, weight])
    certificate = mlp.Certificate.of(problem, np.zeros(2), [1.0])
    assert certificate.bound == 0.0
    assert not proves_empty(certificate)


def test_empty_is_impossible_where_the_empty_set_is_not_feasible() -> None:
    assert not proves_empty(mlp.Certificate.of(AT_LEAST_TWO, np.zeros(3), [1.0]))


CLAIM = Verdict(Status.INFEASIBLE, "no feasible point")
FIVE_OF_FOUR = mlp.Problem.from_arrays(np.ones((4, 1)), 5.0, np.inf)


@pytest.mark.parametrize("limit_reached", [False, True])
def test_a_farkas_proof_confirms_that_a_problem_is_infeasible(limit_reached: bool) -> None:
    assert confirm_infeasible(CLAIM, FIVE_OF_FOUR, np.array([-1.0]), limit_reached=limit_reached) is CLAIM


@pytest.mark.parametrize("y", [np.array([0.0]), np.array([1.0]), None], ids=str)
def test_without_a_farkas_proof_a_problem_is_not_infeasible(y: np.ndarray | None) -> None:
    failed = confirm_infeasible(CLAIM, FIVE_OF_FOUR, y, limit_reached=False)
    assert failed.status is Status.FAILED
    assert failed.message.startswith("no feasible point (but no proof of infeasibility was found")
    stopped = confirm_infeasible(CLAIM, FIVE_OF_FOUR, y, limit_reached=True)
    assert stopped == Verdict(Status.LIMIT, "no feasible point (a limit was reached before infeasibility was proved)")


@pytest.mark.parametrize(
    ("status", "certificate", "confirmed"),
    [
        (Status.OPTIMAL, PROOF, Status.OPTIMAL),
        (Status.OPTIMAL, EMPTY_PROOF, Status.EMPTY),
        (Status.OPTIMAL, NO_PROOF, None),
        (Status.INFEASIBLE, mlp.Certificate.of(FIVE_OF_FOUR, np.zeros(4), [-1.0]), Status.INFEASIBLE),
        (Status.INFEASIBLE, mlp.Certificate.of(FIVE_OF_FOUR, np.zeros(4), [0.0]), None),
    ],
    ids=["optimal", "empty", "lost in rounding", "infeasible", "infeasible, lost in rounding"],
)
def test_exact_results_must_still_prove_themselves_as_floats(
    status: Status, certificate: mlp.Certificate, confirmed: Status | None
) -> None:
    assert confirm_exact(status, certificate, TOL) is confirmed


def test_a_mean_beside_the_points_by_rounding_alone_is_neither_empty_nor_optimal() -> None:
    X = 1e6 + 1e-3 * np.random.default_rng(1).normal(size=(4, 5))
    problem = mlp.Spec().compile(X, labelled=[0, 1, 2])
    y = np.array([float(value) for value in mlp.Certificate.of(problem, np.zeros(4), np.zeros(5)).exact().multipliers])
    certificate = mlp.Certificate.of(problem, np.zeros(4), y)
    assert certificate.bound < 1e-3  # no set has the mean as it is stored
    assert is_empty_but_for_rounding(certificate)
    assert not proves_empty(certificate)
    assert not is_settled(certificate, TOL)
    verdict = decide_status(mlp.Answer(mlp.Outcome.OPTIMAL, np.zeros(4), y, "optimal"), certificate, TOL)
    assert verdict.status is Status.FAILED
    assert "try a small tolerance" in verdict.message
