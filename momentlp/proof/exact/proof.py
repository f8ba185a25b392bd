"""Proof in exact arithmetic: every float is a rational number, so a problem made of floats has one exact optimum.

The vertex behind a float answer (h, y) is solved without rounding, and the exact simplex goes on from there if it is not
optimal. What comes out is checked once more, from the whole numbers of the problem alone: h meets every bound, and
``w . h = bound(y)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from momentlp.backend.interface import Options
from momentlp.backend.registry import get_backend
from momentlp.errors import SolverError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.proof.exact.integers import IntegerProgram, rounded, shown
from momentlp.proof.exact.simplex import ExactSimplex, LimitReachedError, Vertex
from momentlp.status import Status

__all__ = ["ExactProof", "ask_glpk", "prove"]

NEAR = 1e-9  # this close to a bound, a membership or a scaled multiplier counts as being there
CLOSE = Fraction(1, 10**6)  # this close to its exact value, in units of its cap, a float membership counts as that value


@dataclass(frozen=True, eq=False)
class ExactProof:
    """What exact arithmetic says of a float answer. Made by :meth:`Certificate.exact`.

    Attributes
    ----------
    status : Status
        OPTIMAL: ``optimum`` is the exact optimum, proved. INFEASIBLE: no h meets all bounds, proved. LIMIT: time ran out.
    confirmed : bool
        Whether the float answer is a vertex, up to rounding, that is feasible and optimal, exactly. (INFEASIBLE: whether its
        multipliers already prove that.)
    reason : str
        If it is not: why not.
    optimum : Fraction or None
        The largest weight of a feasible set.
    objective : Fraction
        The weight of the float memberships, without rounding.
    bound : Fraction
        What the float multipliers prove, without rounding: no feasible set weighs more.
    violation : Fraction
        The most by which the float memberships miss the bound of a moment, in that moment's units; 0 if they miss none.
    membership, multipliers : tuple of Fraction
        The exact vertex and its hyperplane: the proof. (Of INFEASIBLE the multipliers alone are.)
    pivots : int
        Steps of the exact simplex from the vertex behind the float answer to the optimum.
    second_opinion : float or None
        The optimum by GLPK's exact simplex, where it was asked for.
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
        """How far the float objective is from the exact optimum: above zero if it claims too much."""
        return None if self.optimum is None else self.objective - self.optimum

    def __repr__(self) -> str:
        value = "" if self.off is None or self.optimum is None else f", {shown(self.optimum)}, off={_brief(self.off)}"
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
    return float("nan") if answer.membership is None else float(problem.weights @ answer.membership)


def prove(
    problem: Problem, h: FloatArray, y: FloatArray, *, time_limit: float | None = None, pivot_limit: int | None = None
) -> ExactProof:
    """Find the exact optimum of a problem from the vertex behind a float answer; see :meth:`Certificate.exact`."""
    program = IntegerProgram.of(problem)
    simplex = ExactSimplex(program, time_limit, pivot_limit)
    floats = [Fraction(value) / program.cap_unit for value in h.tolist()]
    sides = [Fraction(value) * unit / program.unit for value, unit in zip(y.tolist(), program.row_units, strict=True)]

    def proof(
        status: Status, reason: str, optimum: Fraction | None, point: list[Fraction], hyperplane: list[Fraction]
    ) -> ExactProof:
        return ExactProof(
            status=status,
            confirmed=not reason,
            reason=reason,
            optimum=optimum,
            objective=program.unit * program.weigh(floats),
            bound=program.unit * program.bound(sides, program.weights),
            violation=max(Fraction(0), *program.excess(floats)),
            membership=tuple(program.cap_unit * value for value in point),
            multipliers=program.multipliers(hyperplane) if hyperplane else (),
            pivots=simplex.pivots,
        )

    try:
        simplex.start(_vertex(problem, h, y))
        first = simplex.memberships()
        feasible = simplex.finish()
    except LimitReachedError as limit:
        return proof(Status.LIMIT, str(limit), None, [], [])
    if not feasible:
        ray = program.without_open_sides(simplex.farkas())
        nothing = np.zeros_like(program.weights)
        _insist(program.bound(ray, nothing) < 0)
        reason = "" if program.bound(sides, nothing) < 0 else "the float multipliers do not prove that no h is feasible"
        return proof(Status.INFEASIBLE, reason, None, [], ray)
    last, hyperplane = simplex.memberships(), simplex.multipliers()
    weight = program.weigh(last)
    _insist(not program.fault(last) and weight == program.bound(hyperplane, program.weights))
    reason = program.fault(first)
    if not reason and program.weigh(first) < weight:
        reason = f"another set is heavier by {shown(program.unit * (weight - program.weigh(first)))}"
    reason = reason or _apart(program, floats, first)
    return proof(Status.OPTIMAL, reason, program.unit * weight, last, hyperplane)


@np.errstate(over="ignore", invalid="ignore")  # a float answer may be anything: it is only where to start
def _vertex(problem: Problem, h: FloatArray, y: FloatArray) -> Vertex:
    """Read the vertex off a float answer."""
    caps, scale = problem.caps, problem.scale
    inside = np.minimum(h, caps - h) / np.where(caps > 0, caps, 1.0)
    order = np.argsort(-inside, kind="stable")
    between = order[inside[order] > NEAR]
    near = np.argsort(np.abs(problem.weights - problem.A @ y), kind="stable")
    activity = problem.A.T @ h
    to_lower, to_upper = np.abs(activity - problem.lower), np.abs(activity - problem.upper)
    pull = np.abs(y) * scale
    held = (pull > NEAR * pull.max(initial=0.0)) | (problem.lower == problem.upper)
    touched = ~held & (np.minimum(to_lower, to_upper) <= NEAR * (scale + problem.A.per_moment("magnitude", h)))
    return Vertex(
        at_high=np.concatenate([h > caps / 2, np.where(held & (y != 0), y > 0, to_upper < to_lower)]),
        between=between.tolist(),
        near=near[~np.isin(near, between)].tolist(),
        held=np.flatnonzero(held).tolist(),
        touched=np.flatnonzero(touched).tolist(),
    )


def _brief(value: Fraction) -> str:
    try:
        return f"{float(value):.1e}"
    except OverflowError:
        return f"{rounded(value):.1e}"


def _apart(program: IntegerProgram, floats: list[Fraction], exact: list[Fraction]) -> str:
    """Name the point whose float membership is furthest from its vertex, if it is not close."""
    apart = [abs(value - other) / max(1, int(cap)) for value, other, cap in zip(floats, exact, program.caps, strict=True)]
    i = max(range(len(apart)), key=apart.__getitem__)
    if apart[i] <= CLOSE:
        return ""
    there, here = (shown(program.cap_unit * values[i]) for values in (exact, floats))
    return f"point {i} has membership {there} at the vertex, not {here}"


def _insist(holds: bool) -> None:
    """Stop if a proof does not check: that would be a bug here, and nothing may be said on its strength."""
    if not holds:
        raise SolverError("the exact proof does not check: this is a bug in momentlp; save the problem and report it.")
