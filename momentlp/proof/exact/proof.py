"""Proofs in exact arithmetic: every float is a rational number, so a problem made of float_h has one exact optimum.

The vertex next to a float answer (h, y) is computed without rounding. If it is not optimal, an exact simplex method
continues from there to the optimum. The result is checked once more, from the integers of the problem alone: h meets every
bound, and ``w . h = bound(y)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from momentlp.backend.interface import Options, Outcome
from momentlp.backend.registry import get_backend
from momentlp.errors import SolverError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.problem.rounding import SOLVED
from momentlp.proof.exact.integers import IntegerProgram, format_fraction, to_decimal
from momentlp.proof.exact.rounded import allow_rounding
from momentlp.proof.exact.simplex import ExactSimplex, LimitReachedError, Vertex
from momentlp.status import Status

__all__ = ["ExactProof", "ask_glpk", "prove", "prove_with_rounding"]

BOUND_TOLERANCE = (
    1e-9  # relative; a membership or moment this close to a bound counts as being there when the vertex is read
)
VALUE_TOLERANCE = Fraction(1, 10**6)  # in units of the cap; a float membership this close to its exact value is that value


@dataclass(frozen=True, eq=False)
class ExactProof:
    """The exact optimum of a problem, and how a float answer compares with it.

    :meth:`Certificate.exact <momentlp.Certificate.exact>` returns an instance.

    Attributes
    ----------
    status : Status
        OPTIMAL: ``optimum`` is the exact optimum, proved. INFEASIBLE: no h meets all bounds, proved. LIMIT: time ran out.
    confirmed : bool
        Whether the float answer is, up to rounding, a vertex that is exactly feasible and optimal. (INFEASIBLE: whether its
        multipliers prove that already.)
    reason : str
        Why it is not confirmed; empty if it is.
    optimum : Fraction or None
        The maximum weight of a feasible set.
    objective : Fraction
        The weight of the float memberships, without rounding.
    bound : Fraction
        The bound that the float multipliers prove, without rounding: no feasible set weighs more.
    violation : Fraction
        The maximum violation of a moment's bound by the float memberships, in that moment's units; 0 if there is none.
    membership, multipliers : tuple of Fraction
        The exact vertex and its hyperplane, which are the proof. (INFEASIBLE: the multipliers alone are the proof.)
    pivots : int
        The number of steps of the exact simplex from the vertex next to the float answer to the optimum.
    second_opinion : float or None
        The optimum by GLPK's exact simplex, if it was asked for.

    Examples
    --------
    >>> problem = Problem.from_arrays([[-1.0], [3.0], [7.0]], lower=0.0, upper=0.0)
    >>> proof = prove(problem, np.array([1.0, 1 / 3, 0.0]), np.array([1 / 3]))
    >>> proof.confirmed, proof.optimum, proof.membership
    (True, Fraction(4, 3), (Fraction(1, 1), Fraction(1, 3), Fraction(0, 1)))
    """

    status: Status
    confirmed: bool
    reason: str
    optimum: Fraction | None
    objective: Fraction
    bound: Fraction
    violation: Fraction
    membership: tuple[Fraction, ...]
    multipliers: tuple[Fraction, ...]
    pivots: int
    second_opinion: float | None = None

    @property
    def off(self) -> Fraction | None:
        """The float objective minus the exact optimum: positive if the float answer claims too much."""
        return None if self.optimum is None else self.objective - self.optimum

    def __repr__(self) -> str:
        value = (
            ""
            if self.off is None or self.optimum is None
            else f", {format_fraction(self.optimum)}, off={_format_short(self.off)}"
        )
        verdict = "confirmed" if self.confirmed else f"not confirmed: {self.reason}"
        return f"ExactProof({self.status.name}{value}, {verdict})"


def ask_glpk(problem: Problem) -> float:
    """Return the optimum by GLPK's exact simplex, which shares no code with ours; NaN if it finds none.

    Raises
    ------
    BackendUnavailableError
        If GLPK is not installed.
    """
    answer = get_backend("glpk").run(problem, Options(native={"method": "exact"}))
    if answer.outcome is not Outcome.OPTIMAL or answer.membership is None:
        return float("nan")
    return float(problem.weights @ answer.membership)


def prove(
    problem: Problem, h: FloatArray, y: FloatArray, *, time_limit: float | None = None, pivot_limit: int | None = None
) -> ExactProof:
    """Find the exact optimum of a problem, starting from the vertex next to a float answer.

    Parameters
    ----------
    problem : Problem
    h : array, shape (N,)
        Memberships; any numbers will do, but the closer to an optimum the fewer steps.
    y : array, shape (m,)
        Multipliers, likewise.
    time_limit : float, optional
        Seconds after which to give up.
    pivot_limit : int, optional
        The maximum number of steps of the exact simplex.

    Returns
    -------
    ExactProof
        With status LIMIT if a limit was reached.
    """
    vertex = _read_vertex(problem, h, y)
    return _prove(IntegerProgram.of(problem), vertex, h, y, ExactLimits(time_limit, pivot_limit))


def prove_with_rounding(
    problem: Problem,
    h: FloatArray,
    y: FloatArray,
    *,
    factor: float = SOLVED,
    time_limit: float | None = None,
    pivot_limit: int | None = None,
) -> ExactProof:
    """Find the optimum of the problem with rounding (:mod:`momentlp.problem.rounding`) in exact arithmetic.

    Parameters
    ----------
    problem, h, y, time_limit, pivot_limit
        As for :func:`prove`.
    factor : float
        A multiple of the rule for rounding.

    Returns
    -------
    ExactProof
        With one multiplier per moment.
    """
    rounded = allow_rounding(problem, IntegerProgram.of(problem), factor)
    vertex = rounded.split_vertex(_read_vertex(problem, h, y), y, problem.n_points)
    proof = _prove(rounded.program, vertex, h, rounded.split_multipliers(y), ExactLimits(time_limit, pivot_limit))
    if not proof.multipliers:
        return proof
    return replace(proof, multipliers=rounded.join_multipliers(proof.multipliers, problem.n_moments))


@dataclass(frozen=True)
class ExactLimits:
    """Limits of the exact simplex: seconds and steps, None for no limit."""

    time_limit: float | None
    pivot_limit: int | None


def _prove(program: IntegerProgram, vertex: Vertex, h: FloatArray, y: FloatArray, limits: ExactLimits) -> ExactProof:
    """Go from a vertex to the optimum of a program, check it, and compare it with the float pair (h, y)."""
    simplex = ExactSimplex(program, limits.time_limit, limits.pivot_limit)
    float_h = [Fraction(value) / program.cap_unit for value in h.tolist()]
    float_y = [Fraction(value) * unit / program.unit for value, unit in zip(y.tolist(), program.row_units, strict=True)]

    def proof(
        status: Status, reason: str, optimum: Fraction | None, point: list[Fraction], hyperplane: list[Fraction]
    ) -> ExactProof:
        return ExactProof(
            status=status,
            confirmed=not reason,
            reason=reason,
            optimum=optimum,
            objective=program.unit * program.weigh(float_h),
            bound=program.unit * program.bound(float_y, program.weights),
            violation=max(Fraction(0), *program.excess(float_h)),
            membership=tuple(program.cap_unit * value for value in point),
            multipliers=program.multipliers(hyperplane) if hyperplane else (),
            pivots=simplex.pivots,
        )

    try:
        simplex.start(vertex)
        first = simplex.memberships()
        feasible = simplex.finish()
    except LimitReachedError as limit:
        return proof(Status.LIMIT, str(limit), None, [], [])
    if not feasible:
        ray = program.without_open_sides(simplex.farkas())
        no_weights = np.zeros_like(program.weights)
        _require_proof(program.bound(ray, no_weights) < 0)
        reason = "" if program.bound(float_y, no_weights) < 0 else "the float multipliers do not prove that no h is feasible"
        return proof(Status.INFEASIBLE, reason, None, [], ray)
    last, hyperplane = simplex.memberships(), simplex.multipliers()
    weight = program.weigh(last)
    _require_proof(not program.describe_violation(last) and weight == program.bound(hyperplane, program.weights))
    reason = program.describe_violation(first)
    if not reason and program.weigh(first) < weight:
        reason = f"another set is heavier by {format_fraction(program.unit * (weight - program.weigh(first)))}"
    reason = reason or _describe_difference(program, float_h, first)
    return proof(Status.OPTIMAL, reason, program.unit * weight, last, hyperplane)


@np.errstate(over="ignore", invalid="ignore")  # any float answer is allowed: it only says where to start
def _read_vertex(problem: Problem, h: FloatArray, y: FloatArray) -> Vertex:
    """Return the vertex next to a float answer."""
    caps, scale = problem.caps, problem.scale
    inside = np.minimum(h, caps - h) / np.where(caps > 0, caps, 1.0)
    order = np.argsort(-inside, kind="stable")
    between = order[inside[order] > BOUND_TOLERANCE]
    near = np.argsort(np.abs(problem.weights - problem.A @ y), kind="stable")
    activity = problem.A.T @ h
    to_lower, to_upper = np.abs(activity - problem.lower), np.abs(activity - problem.upper)
    pull = np.abs(y) * scale
    held = (pull > BOUND_TOLERANCE * pull.max(initial=0.0)) | (problem.lower == problem.upper)
    touched = ~held & (np.minimum(to_lower, to_upper) <= BOUND_TOLERANCE * (scale + problem.A.per_moment("magnitude", h)))
    return Vertex(
        at_high=np.concatenate([h > caps / 2, np.where(held & (y != 0), y > 0, to_upper < to_lower)]),
        between=between.tolist(),
        near=near[~np.isin(near, between)].tolist(),
        held=np.flatnonzero(held).tolist(),
        touched=np.flatnonzero(touched).tolist(),
    )


def _format_short(value: Fraction) -> str:
    try:
        return f"{float(value):.1e}"
    except OverflowError:
        return f"{to_decimal(value):.1e}"


def _describe_difference(program: IntegerProgram, float_h: list[Fraction], exact: list[Fraction]) -> str:
    """Return which float membership is furthest from the exact one; an empty text if all are close."""
    apart = [abs(value - other) / max(1, int(cap)) for value, other, cap in zip(float_h, exact, program.caps, strict=True)]
    i = max(range(len(apart)), key=apart.__getitem__)
    if apart[i] <= VALUE_TOLERANCE:
        return ""
    there, here = (format_fraction(program.cap_unit * values[i]) for values in (exact, float_h))
    return f"point {i} has membership {there} at the vertex, not {here}"


def _require_proof(holds: bool) -> None:
    """Raise SolverError if a proof fails its check: that is a bug in momentlp, and the result must not be used."""
    if not holds:
        raise SolverError("the exact proof does not check: this is a bug in momentlp; save the problem and report it.")
