"""Which status an answer gets.

What the pair (h, y) proves decides. The solver's own report counts only where the pair proves nothing.

===============================================  ====================================  ==========
what (h, y) proves                               what the solver reports               status
===============================================  ====================================  ==========
no set of the points has this mean               anything                              EMPTY
h is optimal (the certificate holds at ``tol``)  anything                              OPTIMAL
nothing                                          a limit                               LIMIT
nothing                                          infeasible, and h = 0 is infeasible   INFEASIBLE
nothing                                          infeasible, but h = 0 is feasible     FAILED
nothing                                          optimal, or a failure                 FAILED
===============================================  ====================================  ==========

INFEASIBLE in this table is a claim of the solver. :func:`confirm_infeasible` keeps it only with a Farkas proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from momentlp.backend.interface import Answer, Outcome
from momentlp.points.arrays import FloatArray, one_entry_if_constant
from momentlp.problem.problem import Problem
from momentlp.problem.rounding import REFUTED
from momentlp.proof.certificate import Certificate
from momentlp.proof.dual_bound import dual_bound
from momentlp.proof.infeasibility import proves_infeasible
from momentlp.status import Status

__all__ = [
    "Verdict",
    "confirm_exact",
    "confirm_infeasible",
    "decide_status",
    "depends_on_rounding",
    "emptiness_limit",
    "is_empty_but_for_rounding",
    "is_settled",
    "proves_empty",
]

ONE_POINT = 1 - 1e-6  # a bound below this multiple of the lightest point leaves no room for that point
MEAN_WITHIN_ROUNDING = (
    "but the rounding of the mean decides what is found, so nothing is proved; subtract a round number near the mean from "
    "the features, or try a small tolerance"
)
NEGLIGIBLE = 1e-12  # relative to the weights: rounding of a multiplier
ZERO = 1e-9  # relative to the weights: rounding of an optimum of zero


@dataclass(frozen=True)
class Verdict:
    """A status and a message: the message of the solver, and what is wrong with its answer, if anything."""

    status: Status
    message: str


def decide_status(answer: Answer, certificate: Certificate, tol: float) -> Verdict:
    """Return the status of an answer, by the table at the top of this module.

    Parameters
    ----------
    answer : Answer
        What the solver reported.
    certificate : Certificate
        Of the pair (h, y) in the units of the problem, which may have been polished since.
    tol : float
        The certificate must hold within this.
    """
    message, zero_is_feasible = answer.message, certificate.problem.zero_is_feasible
    if proves_empty(certificate):
        return Verdict(Status.EMPTY, message)
    if answer.outcome is not Outcome.LIMIT and depends_on_rounding(certificate, tol):
        return Verdict(Status.FAILED, f"{message} ({MEAN_WITHIN_ROUNDING})")
    if certificate.holds(tol):
        return Verdict(Status.OPTIMAL, message)
    if answer.outcome is Outcome.LIMIT:
        return Verdict(Status.LIMIT, message)
    if answer.outcome is Outcome.INFEASIBLE and not zero_is_feasible:
        return Verdict(Status.INFEASIBLE, message)
    if answer.outcome is Outcome.INFEASIBLE:
        return Verdict(
            Status.FAILED,
            f"{message} (but the empty set, h = 0, is feasible, so the solver is wrong; try another backend)",
        )
    if answer.outcome is Outcome.OPTIMAL:
        return Verdict(Status.FAILED, f"{message} ({_describe_error(certificate, tol)})")
    return Verdict(Status.FAILED, f"{message} (nothing was proved; try another backend)")


def proves_empty(certificate: Certificate) -> bool:
    """Whether the bound on the optimum proves that no set of the points has the mean.

    If some h > 0 met the mean exactly, so would its multiples. The largest multiple that meets the caps has a point at its
    cap, so it weighs at least as much as the lightest full point, ``min_i w_i u_i``. A bound below that weight proves that
    there is no such h, provided that the bound comes from moments alone. (The multipliers then satisfy ``A y > 0`` at every
    point: they separate the mean from all points.)

    Rows of constraints, and rows of unknown origin, are not means. If they contribute to the bound, only an optimum of zero
    is empty: the bound is that small, or all bounds that contribute to it are zero, so that multiples of h would be feasible
    too. If some point has no positive weight, the bound proves nothing about emptiness.
    """
    limit = emptiness_limit(certificate.problem, certificate.multipliers)
    if limit is None or certificate.bound > limit:
        return False
    if certificate.exact_multipliers is not None:  # so small a bound of theirs allows for rounding already
        return True
    return dual_bound(certificate.problem, certificate.multipliers, REFUTED) <= limit


def is_empty_but_for_rounding(certificate: Certificate) -> bool:
    """Whether no set has the mean as it is stored, but some set may have a mean that differs from it by rounding.

    The mean of a few floats is rarely a float. If the points lie in a plane, say, the mean as it was rounded lies beside it.
    """
    limit = emptiness_limit(certificate.problem, certificate.multipliers)
    if limit is None or certificate.bound > limit:
        return False
    return limit >= _lightest_point(certificate.problem) * ONE_POINT and not proves_empty(certificate)


def emptiness_limit(problem: Problem, y: FloatArray) -> float | None:
    """Return the bound up to which multipliers y prove EMPTY; None if a small bound does not mean that."""
    lightest = _lightest_point(problem)
    if not problem.zero_is_feasible or lightest <= 0:
        return None
    one_point = _uses_only_means(problem, y) or _uses_only_zero_bounds(problem, y)
    return ONE_POINT * lightest if one_point else ZERO * lightest


def _lightest_point(problem: Problem) -> float:
    """Return the weight of the lightest full point, which may be negative; a tiny number if no point has a cap."""
    weights, caps = one_entry_if_constant(problem.weights, problem.caps)
    full_points = (weights * caps)[caps > 0]
    return float(full_points.min()) if full_points.size else float(np.finfo(np.float64).tiny)


def _uses_only_zero_bounds(problem: Problem, y: FloatArray) -> bool:
    """Whether all bounds that the multipliers face are zero: every multiple of a feasible h meets them."""
    return bool((np.where(y > 0, problem.upper, problem.lower)[y != 0] == 0).all())


def _uses_only_means(problem: Problem, y: FloatArray) -> bool:
    """Whether all multipliers that are not negligible belong to moments of a mean, not to constraints."""
    is_mean = np.concatenate([np.full(block.n_moments, block.tolerance_on is not None) for block in problem.blocks])
    with np.errstate(over="ignore"):
        largest_effects = np.abs(y[~is_mean]) * problem.scale[~is_mean]  # on the score of any point
    weights = np.abs(one_entry_if_constant(problem.weights)[0])
    smallest_weight = weights.min(where=weights > 0, initial=np.inf)
    return not (largest_effects > NEGLIGIBLE * smallest_weight).any()


def confirm_infeasible(claim: Verdict, problem: Problem, y: FloatArray | None, *, limit_reached: bool) -> Verdict:
    """Return the status of a problem that the solver reports as infeasible.

    Parameters
    ----------
    claim : Verdict
        INFEASIBLE, with the message of the solver.
    problem : Problem
    y : array, shape (m,), or None
        Multipliers of the elastic problem; None if there was no time to solve it.
    limit_reached : bool
        Whether a limit stopped the search for a proof.
    """
    if y is not None and proves_infeasible(problem, y):
        return claim
    if limit_reached:
        return Verdict(Status.LIMIT, f"{claim.message} (a limit was reached before infeasibility was proved)")
    return Verdict(Status.FAILED, f"{claim.message} (but no proof of infeasibility was found; try another backend)")


def is_settled(certificate: Certificate, tol: float) -> bool:
    """Whether a pair (h, y) proves OPTIMAL or EMPTY, so that nothing has to be repaired."""
    return proves_empty(certificate) or (certificate.holds(tol) and not depends_on_rounding(certificate, tol))


def depends_on_rounding(certificate: Certificate, tol: float) -> bool:
    """Whether the problem as it is stored offers less than one whose data differ by rounding: nothing, or too little."""
    return is_empty_but_for_rounding(certificate) or (certificate.holds(tol) and is_labelled_set_heavier(certificate, tol))


def is_labelled_set_heavier(certificate: Certificate, tol: float) -> bool:
    """Whether the labelled set weighs more than h and meets all bounds within the rounding that is forgiven.

    Where moments are nearly dependent, the mean as it was rounded may leave room for less than the labelled set itself.
    """
    problem = certificate.problem
    if problem.labelled is None:
        return False
    labelled_set = np.zeros(problem.n_points)
    labelled_set[problem.labelled] = problem.caps[problem.labelled]
    if problem.weights @ labelled_set <= certificate.objective + tol * certificate.weight_unit:
        return False
    return Certificate.of(problem, labelled_set, np.zeros(problem.n_moments)).primal_residual <= tol


def confirm_exact(status: Status, certificate: Certificate, tol: float) -> Status | None:
    """Return what the result of exact arithmetic proves after it was rounded to floats; None if nothing.

    Parameters
    ----------
    status : Status
        OPTIMAL or INFEASIBLE, as found in exact arithmetic.
    certificate : Certificate
        Of the rounded pair.
    tol : float
    """
    if status is Status.INFEASIBLE:
        proved = proves_infeasible(certificate.problem, certificate.multipliers)
        return Status.INFEASIBLE if proved else None
    if proves_empty(certificate):
        return Status.EMPTY
    return Status.OPTIMAL if is_settled(certificate, tol) else None


def _describe_error(certificate: Certificate, tol: float) -> str:
    if np.isinf(certificate.primal_residual):
        return (
            "but no small change of memberships brings all moments within their bounds at once; some moments may be nearly "
            "dependent: try a small tolerance, drop a feature, or another backend"
        )
    return (
        f"but the certificate does not hold at {tol:g}: primal residual {certificate.primal_residual:.1e}, dual residual "
        f"{certificate.dual_residual:.1e}, gap {certificate.gap:.1e}; try a smaller feasibility_tolerance, another backend, "
        "or a larger tol"
    )
