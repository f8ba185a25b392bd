r"""The proof that an answer is right, computed from the problem and (h, y) alone.

For every feasible h and *every* y (with ``y_j >= 0`` where ``L_j = -inf`` and ``y_j <= 0`` where ``U_j = inf``), with
scores ``s = w - A y``::

    w . h  <=  sum_i u_i max(0, s_i)  +  sum_j ( U_j max(y_j, 0) + L_j min(y_j, 0) )  =  bound(y)

The difference of the two sides is a sum of terms, one per point and one per moment, none of them negative::

    u_i max(0, s_i) - s_i h_i        and        U_j max(y_j, 0) + L_j min(y_j, 0) - y_j (A^T h)_j

so a gap of zero says both that h is optimal and that ``h_i = u_i`` where ``s_i > 0`` and ``h_i = 0`` where ``s_i < 0``: y is
the hyperplane of the theorem. Two products with A check it all, in one look at the points; no solver has to be trusted.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, fields, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Self

import numpy as np

from momentlp.backend.interface import check_number
from momentlp.points.arrays import FloatArray, IndexArray, constant_vector, one_entry_if_constant
from momentlp.points.validation import as_vector
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp.problem.problem import Problem
from momentlp.proof.least_change import least_change_in_chunks, repair_moves
from momentlp.runtime.html_table import html_table

if TYPE_CHECKING:
    from momentlp.proof.exact.proof import ExactProof

__all__ = ["Certificate", "dual_bound", "farkas_value"]

CHUNK_ENTRIES = 1 << 21  # entries of A that are looked at together
BOUND_TOLERANCE = 1e-7  # closer than this to a bound, a membership counts as being there


@dataclass(frozen=True)
class Certificate:
    """How far a pair (h, y) is from proving itself optimal. Build one with :meth:`of`.

    Attributes
    ----------
    objective : float
        ``w . h``.
    bound : float
        No feasible set weighs more than this; infinite if a multiplier has a sign it may not have.
    primal_residual : float
        Largest violation of a bound. Of a moment: how much of a point would have to change to mend it. Of a membership:
        relative to its cap.
    dual_residual : float
        Largest multiplier, times the largest entry of its moment, on a side where the moment has no bound.
    gap : float
        ``(bound - objective) / max(|bound|, one typical point)``. Below zero only as far as h violates a bound.
    complementarity : float
        The largest single term of the gap, on the same scale.
    fractional : int
        Points whose membership is strictly between 0 and its cap: they lie on the hyperplane.
    active : int
        Moments with a multiplier that is not negligible beside the largest.
    problem, membership, multipliers
        What it was computed from.

    Examples
    --------
    >>> problem = Problem.from_arrays([[-1.0], [1.0], [3.0]], lower=0.0, upper=0.0)
    >>> proof = Certificate.of(problem, membership=[1.0, 1.0, 0.0], multipliers=[0.5])
    >>> proof.objective, proof.bound, proof.holds()
    (2.0, 2.0, True)
    """

    objective: float
    bound: float
    primal_residual: float
    dual_residual: float
    gap: float
    complementarity: float
    fractional: int
    active: int
    problem: Problem = field(repr=False, compare=False)
    membership: FloatArray = field(repr=False, compare=False)
    multipliers: FloatArray = field(repr=False, compare=False)

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # what is beyond floats holds at no tolerance
    def of(cls, problem: Problem, membership: object, multipliers: object) -> Self:
        """Compute the certificate of (h, y) for a problem."""
        h = as_vector(membership, problem.n_points, "membership")
        y = as_vector(multipliers, problem.n_moments, "multipliers")
        (caps,) = one_entry_if_constant(problem.caps)
        ceiling, spares = float(caps.max(initial=0.0)) or 1.0, problem.A.table is not None
        look = partial(_look, y, _score_rounding(problem, y), ceiling, spares)
        seen = reduce(operator.add, problem.A.scan(look, h, problem.weights, problem.caps))
        problem.require_finite(seen.activity)
        row_terms, wrong_side = _row_bounds(problem, y)
        bound = _known(float(seen.point_terms + row_terms.sum()))
        weight = max(problem.point_weight, abs(bound)) if np.isfinite(bound) else problem.point_weight
        pull = np.abs(y) * problem.scale
        rows = float(np.max(row_terms - y * seen.activity, where=~wrong_side, initial=0.0))
        return cls(
            objective=seen.objective,
            bound=bound,
            primal_residual=float(max(0.0, _moment_residual(problem, h, seen), seen.out)),
            dual_residual=float(np.max(pull, where=wrong_side, initial=0.0)),
            gap=(bound - seen.objective) / weight,
            complementarity=max(seen.slack, rows) / weight,
            fractional=seen.fractional,
            active=int((pull > BOUND_TOLERANCE * pull.max()).sum()),
            problem=problem,
            membership=h,
            multipliers=y,
        )

    def figures(self) -> dict[str, float | int]:
        """Return the figures by name, without the arrays they were computed from."""
        return {part.name: getattr(self, part.name) for part in fields(self) if part.compare}

    def holds(self, tol: float = 1e-7) -> bool:
        """Whether (h, y) proves itself optimal: residuals and gap all within ``tol``."""
        return bool(self.error <= tol)

    def _repr_html_(self) -> str:
        rows = [
            ("weight of the set", f"{self.objective:.6g}"),
            ("none weighs over", f"{self.bound:.6g}"),
            ("gap", f"{self.gap:.1e}"),
            ("residuals", f"{self.primal_residual:.1e} primal, {self.dual_residual:.1e} dual"),
            ("complementarity", f"{self.complementarity:.1e}"),
            ("fractional points", f"{self.fractional:,} of {self.problem.n_points:,}"),
            ("active moments", f"{self.active:,} of {self.problem.n_moments:,}"),
        ]
        return html_table(f"Certificate: {'holds' if self.holds() else 'does not hold'}", rows)

    def exact(self, *, time_limit: float | None = None, second_opinion: bool = False) -> ExactProof:
        """Prove the exact optimum in rational arithmetic, and say whether this answer is the vertex that attains it.

        Every float is a rational number: features, mean, bounds, weights and caps are taken as they stand, and no step
        rounds. The vertex behind (h, y) is solved exactly; if it is not optimal the exact simplex goes on to the optimum.
        Meant for some hundreds of points and some tens of moments, which take seconds.

        Parameters
        ----------
        time_limit : float, optional
            Seconds after which to give up; the proof then has status LIMIT and no optimum.
        second_opinion : bool
            Also ask GLPK's own exact simplex, which shares no code with ours (it is slower, and no limit stops it).

        Examples
        --------
        >>> problem = Problem.from_arrays([[-1.0], [3.0]], lower=0.0, upper=0.0)
        >>> Certificate.of(problem, membership=[1.0, 0.33333333], multipliers=[1 / 3]).exact()
        ExactProof(OPTIMAL, 4/3, off=-3.3e-09, confirmed)
        """
        from momentlp.proof.exact.proof import ask_glpk, prove

        limit = None if time_limit is None else check_number("time_limit", time_limit)
        proof = prove(self.problem, self.membership, self.multipliers, time_limit=limit)
        return replace(proof, second_opinion=ask_glpk(self.problem)) if second_opinion else proof

    @property
    def error(self) -> float:
        """The largest of residuals and gap: the tolerance from which the certificate holds."""
        figures = np.array([self.primal_residual, self.dual_residual, abs(self.gap)])
        # What is not a number compares as false with everything, so it must not get as far as a comparison.
        return float(figures.max()) if np.isfinite([*figures, self.objective, self.bound]).all() else float("inf")


@dataclass(frozen=True)
class _Seen:
    """What one look at some of the points gives; ``+`` joins two looks.

    ``magnitude`` adds up every eighth point at most: it is no more than ``|A|^T h``, which takes a look of its own.
    """

    activity: FloatArray
    magnitude: FloatArray
    point_terms: float
    objective: float
    slack: float
    out: float
    fractional: int

    def __add__(self, other: _Seen) -> _Seen:
        return _Seen(
            self.activity + other.activity,
            self.magnitude + other.magnitude,
            self.point_terms + other.point_terms,
            self.objective + other.objective,
            float(np.maximum(self.slack, other.slack)),  # which keeps what is not a number, as max would not
            float(np.maximum(self.out, other.out)),
            self.fractional + other.fractional,
        )


def _look(
    y: FloatArray,
    rounding: float,
    largest_cap: float,
    spares: bool,
    A: MomentMatrix,
    h: FloatArray,
    weights: FloatArray,
    caps: FloatArray,
) -> _Seen:
    """Compute everything about (h, y) that takes a look at the points, and what ``spares`` a second look at them, mostly."""
    activity = A.T @ h
    scores = weights - A @ y
    point_terms = _point_terms(A, y, scores, caps, rounding)
    some = np.where(np.arange(h.size) % 8 == 0, h, 0.0) if spares else h
    out = np.maximum(h - caps, -h) / np.where(caps > 0, caps, largest_cap)
    return _Seen(
        activity=activity,
        magnitude=A.per_moment("magnitude", some) if spares else np.zeros_like(activity),
        point_terms=float(point_terms.sum()),
        objective=float(weights @ h),
        slack=float(np.max(point_terms - scores * h)),
        out=float(out.max()),
        fractional=int(((h > BOUND_TOLERANCE * caps) & (h < (1 - BOUND_TOLERANCE) * caps)).sum()),
    )


def _moment_residual(problem: Problem, h: FloatArray, seen: _Seen) -> float:
    """Return how much of a point would have to change to bring the worst moment back to its bound.

    A row that is too high comes down by taking out what adds to it, or by putting in what takes from it; each point has room
    for that, ``h_i`` or ``u_i - h_i``. The residual is the least change of memberships, in units of a typical cap, that
    mends the row by itself. (The violation over the largest entry would not do: a far outlier on the wrong side mends
    nothing, and against it every violation looks small.) What the rounding of the data explains is no violation.
    """
    activity = seen.activity
    over = np.maximum(activity - problem.upper, problem.lower - activity)
    rows = np.flatnonzero((over > 0) & ~problem.noise)
    if not rows.size:
        return 0.0
    facing = np.where(activity > problem.upper, problem.upper, problem.lower)[rows]
    rounding = problem.A.per_moment("rounding", h)[rows]
    noise = 16 * np.finfo(np.float64).eps * (seen.magnitude[rows] + np.abs(facing))
    if (over[rows] <= noise + rounding).all():  # then another look at all points would say so too
        return 0.0
    noise = 16 * np.finfo(np.float64).eps * (problem.A.per_moment("magnitude", h)[rows] + np.abs(facing))
    excess = over[rows] - noise - rounding
    rows, excess = rows[excess > 0], excess[excess > 0]
    if not rows.size:
        return 0.0
    sides = np.where(activity > problem.upper, 1.0, -1.0)[rows]
    (caps,) = one_entry_if_constant(problem.caps)
    caps = caps[caps > 0]
    unit = float(np.median(caps)) if caps.size else 1.0
    if problem.A.table is not None:
        return least_change_in_chunks(problem, h, rows, sides, excess) / unit
    step = max(1, CHUNK_ENTRIES // problem.n_points)
    stretches = [slice(start, start + step) for start in range(0, rows.size, step)]
    return max(_largest_change(problem, h, rows[s], sides[s], excess[s]) for s in stretches) / unit


def _largest_change(problem: Problem, h: FloatArray, rows: IndexArray, sides: FloatArray, excess: FloatArray) -> float:
    """Return the largest of the least changes that mend some rows."""
    entries, room = repair_moves(problem.A, rows, sides, h, problem.caps)
    alone = np.max(entries, axis=0, where=entries * room >= excess, initial=0.0)  # a point that can mend the row by itself
    return max(
        float(excess[k] / alone[k]) if alone[k] > 0 else _least_change(entries[:, k], room[:, k], excess[k])
        for k in range(rows.size)
    )


def _least_change(entries: FloatArray, room: FloatArray, excess: float) -> float:
    """Return the least total change of memberships that moves a row by so much, the largest entries first."""
    order = np.argsort(-entries, kind="stable")
    gained = np.cumsum((entries * room)[order])
    last = int(np.searchsorted(gained, excess))
    if last == order.size:
        return float("inf")
    before = float(gained[last - 1]) if last else 0.0
    return float(room[order[:last]].sum() + (excess - before) / entries[order[last]])


def dual_bound(problem: Problem, y: FloatArray) -> float:
    """Return ``bound(y)``, an upper bound on the weight of every feasible set."""
    return _bound(problem, y, problem.weights)


def farkas_value(problem: Problem, y: FloatArray) -> float:
    """Return the bound of the same problem with all weights zero.

    Every feasible h has ``0 . h = 0`` below it. A value under zero therefore proves that no h is feasible.
    """
    return _bound(problem, y, constant_vector(0.0, problem.n_points))


@np.errstate(over="ignore", invalid="ignore")
def _bound(problem: Problem, y: FloatArray, weights: FloatArray) -> float:
    terms, _ = _row_bounds(problem, y)
    points = problem.A.scan(partial(_sum_of_terms, y, _score_rounding(problem, y)), weights, problem.caps)
    return _known(float(sum(points) + terms.sum()))


def _sum_of_terms(y: FloatArray, rounding: float, A: MomentMatrix, weights: FloatArray, caps: FloatArray) -> float:
    return float(_point_terms(A, y, weights - A @ y, caps, rounding).sum())


def _known(bound: float) -> float:
    """Return a bound; infinity where it got lost beyond floats."""
    return bound if np.isfinite(bound) else float("inf")


def _score_rounding(problem: Problem, y: FloatArray) -> float:
    """Return the rounding of scores beside the size of what is added up in them; zero where it cannot matter."""
    unit = 4 * float(np.finfo(np.float64).eps)
    most = (
        unit * float(problem.caps.sum()) * float((np.abs(y) * (problem.scale + problem.A.per_moment("cancellation"))).sum())
    )
    return 0.0 if most <= 1e-9 * problem.point_weight else unit


def _point_terms(A: MomentMatrix, y: FloatArray, scores: FloatArray, caps: FloatArray, rounding: float) -> FloatArray:
    """Return ``u max(0, s)`` per point, with room for the rounding of the scores where that can matter.

    Multipliers of nearly dependent moments can be huge and cancel: what is left of the scores is then rounding, and a bound
    made of it would be none.
    """
    if rounding:
        scores = scores + rounding * A.score_magnitude(y)
    return np.where(caps > 0, caps * np.maximum(scores, 0.0), 0.0)


def _row_bounds(problem: Problem, y: FloatArray) -> tuple[FloatArray, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return ``U max(y, 0) + L min(y, 0)`` per moment, and where y points at a side that has no bound."""
    facing = np.where(y > 0, problem.upper, problem.lower)
    wrong = (y != 0) & np.isinf(facing)
    terms = np.where(wrong, np.inf, np.where(y == 0, 0.0, y) * np.where(np.isinf(facing), 0.0, facing))
    return terms, wrong
