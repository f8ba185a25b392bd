r"""The certificate: how far a pair (h, y) is from proving itself optimal, computed from the problem and the pair alone.

For every feasible h and *every* y (with ``y_j >= 0`` where ``L_j = -inf`` and ``y_j <= 0`` where ``U_j = inf``), with
scores ``s = w - A y``::

    w . h  <=  sum_i u_i max(0, s_i)  +  sum_j ( U_j max(y_j, 0) + L_j min(y_j, 0) )  =  bound(y)

The difference of the two sides is a sum of terms, one per point and one per moment, none of them negative::

    u_i max(0, s_i) - s_i h_i        and        U_j max(y_j, 0) + L_j min(y_j, 0) - y_j (A^T h)_j

so a gap of zero means that h is optimal, and ``h_i = u_i`` where ``s_i > 0`` and ``h_i = 0`` where ``s_i < 0``: y is the
hyperplane of the theorem. Two products with A, in one pass over the points, check all of this. No solver has to be trusted.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial, reduce
from typing import TYPE_CHECKING, Self

import numpy as np

from momentlp.points.arrays import FloatArray, one_entry_if_constant
from momentlp.points.validation import as_vector
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp.problem.problem import Problem
from momentlp.problem.rounding import REFUTED, ROUNDING, SOLVED
from momentlp.problem.whole_sets import round_down_bound
from momentlp.proof.dual_bound import (
    ScoreRounding,
    compute_scores,
    dual_bound,
    find_score_rounding,
    infinite_if_lost,
    point_terms,
    row_terms,
    sum_row_terms,
)
from momentlp.proof.moment_residual import compute_moment_residual
from momentlp.runtime.argument_checks import check_number
from momentlp.runtime.html_table import html_table

if TYPE_CHECKING:
    from momentlp.proof.exact.proof import ExactProof

__all__ = ["Certificate"]

BOUND_TOLERANCE = 1e-7  # a membership this close to 0 or its cap, relative to the cap, counts as being at that bound
MEANS_MATTER = 1e-9  # an effect of the rounding of the means, in the unit of the gap, above which P and P+ are told apart
SAMPLING_STEP = 4  # of points that are read in chunks, every fourth counts in a lower bound on |A|^T h


@dataclass(frozen=True)
class Certificate:
    """How far a pair (h, y) is from proving itself optimal. Build one with :meth:`of`.

    Attributes
    ----------
    objective : float
        ``w . h``.
    bound : float
        No feasible set weighs more than this. Infinite if a multiplier has a sign that it may not have. If memberships must
        be whole, it is rounded down to the next weight that a whole set can have. If h is feasible
        only for the problem with rounding (:mod:`momentlp.problem.rounding`), the bound is that of the same problem.
    primal_residual : float
        How far h is from being feasible, beyond what rounding explains: the change of memberships, in points, that brings
        all moments within their bounds at once, or what that change costs of the objective, in the unit of the gap,
        whichever is larger. Memberships outside their own bounds are brought back first, which is part of the change. So is
        the distance of memberships that must be whole from the nearest integers.
    dual_residual : float
        The maximum multiplier, times the maximum entry of its moment, on a side where the moment has no bound.
    gap : float
        ``(bound - objective) / max(|bound|, weight of a typical point)``. Negative only if h violates a bound.
    complementarity : float
        The maximum single term of the gap, in the same unit.
    fractional : int
        The number of points whose membership is strictly between 0 and its cap: they lie on the hyperplane.
    active : int
        The number of moments whose multiplier is not negligible beside the maximum one.
    problem : Problem
    membership : array, shape (N,)
    multipliers : array, shape (m,)
        The problem and the pair (h, y) that the certificate was computed from.
    exact_multipliers : tuple of Fraction, or None
        y without rounding, if the problem was solved in exact arithmetic and y as floats proves nothing: beside an entry of
        1e15, the last digit of a multiplier matters. The bound is then that of these multipliers; if the problem is
        infeasible, they are a Farkas proof.

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
    exact_multipliers: tuple[Fraction, ...] | None = field(default=None, repr=False, compare=False)

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # figures that overflow make the certificate fail, see error
    def of(cls, problem: Problem, membership: object, multipliers: object) -> Self:
        """Compute the certificate of (h, y) for a problem.

        Parameters
        ----------
        problem : Problem
        membership : array, shape (N,)
            h. It need not be feasible.
        multipliers : array, shape (m,)
            y, one number per moment. Any numbers will do.

        Returns
        -------
        Certificate

        Raises
        ------
        DataError
            If an array has a wrong length or holds NaN, or a moment overflows.
        """
        h = as_vector(membership, problem.n_points, "membership")
        y = as_vector(multipliers, problem.n_moments, "multipliers")
        terms, wrong_side = row_terms(problem, y)
        sums, bound = _sum_up(problem, h, y, terms)
        moments, bound = _judge(problem, h, y, sums, bound)
        bound = _bound_of_whole_sets(problem, bound)
        weight = _unit_of_weight(problem, bound)
        pull = np.abs(y) * problem.scale
        rows = float(np.max(terms - y * sums.activity, where=~wrong_side, initial=0.0))
        return cls(
            objective=sums.objective,
            bound=bound,
            primal_residual=float(max(0.0, moments)) + _distance_from_whole(problem, h),
            dual_residual=float(np.max(pull, where=wrong_side, initial=0.0)),
            gap=(bound - sums.objective) / weight,
            complementarity=max(sums.max_term, rows) / weight,
            fractional=sums.fractional,
            active=int((pull > BOUND_TOLERANCE * pull.max()).sum()),
            problem=problem,
            membership=h,
            multipliers=y,
        )

    def with_bound_of_rounding(self) -> Self:
        """Return the certificate with a bound that holds for all problems whose data differ by rounding."""
        bound = _bound_of_whole_sets(self.problem, dual_bound(self.problem, self.multipliers, REFUTED))
        return replace(self, bound=bound, gap=(bound - self.objective) / _unit_of_weight(self.problem, bound))

    def with_exact_bound(self, bound: float, multipliers: tuple[Fraction, ...]) -> Self:
        """Return the certificate with a bound that was proved in exact arithmetic.

        Parameters
        ----------
        bound : float
            The bound of ``multipliers``, for the problem with rounding.
        multipliers : tuple of Fraction
            One per moment.
        """
        bound = _bound_of_whole_sets(self.problem, bound)
        weight = _unit_of_weight(self.problem, bound)
        return replace(
            self, bound=bound, dual_residual=0.0, gap=(bound - self.objective) / weight, exact_multipliers=multipliers
        )

    def figures(self) -> dict[str, float | int]:
        """Return all figures by name, without the problem and the arrays.

        Examples
        --------
        >>> problem = Problem.from_arrays([[-1.0], [1.0]], lower=0.0, upper=0.0)
        >>> Certificate.of(problem, [1.0, 1.0], [0.0]).figures()["bound"]
        2.0
        """
        return {part.name: getattr(self, part.name) for part in fields(self) if part.compare}

    def holds(self, tol: float = 1e-7) -> bool:
        """Return whether (h, y) proves itself optimal: residuals and gap are all within ``tol``.

        Parameters
        ----------
        tol : float
            A number without unit: residuals and gap are relative, see the attributes.

        Examples
        --------
        >>> problem = Problem.from_arrays([[-1.0], [1.0]], lower=0.0, upper=0.0)
        >>> Certificate.of(problem, [1.0, 0.99], [0.0]).holds(), Certificate.of(problem, [1.0, 1.0], [0.0]).holds()
        (False, True)
        """
        return bool(self.error <= tol)

    def _repr_html_(self) -> str:
        rows = [
            ("weight of the set", f"{self.objective:.6g}"),
            ("upper bound", f"{self.bound:.6g}"),
            ("gap", f"{self.gap:.1e}"),
            ("residuals", f"{self.primal_residual:.1e} primal, {self.dual_residual:.1e} dual"),
            ("complementarity", f"{self.complementarity:.1e}"),
            ("fractional points", f"{self.fractional:,} of {self.problem.n_points:,}"),
            ("active moments", f"{self.active:,} of {self.problem.n_moments:,}"),
        ]
        return html_table(f"Certificate: {'holds' if self.holds() else 'does not hold'}", rows)

    def exact(self, *, time_limit: float | None = None, second_opinion: bool = False) -> ExactProof:
        """Find the exact optimum in rational arithmetic, and say whether (h, y) is the vertex that attains it.

        Every float is a rational number: features, mean, bounds, weights and caps are used as they are, and no step
        rounds. The vertex next to (h, y) is computed exactly. If it is not optimal, an exact simplex method continues to
        the optimum. Some hundreds of points with some tens of moments take seconds.

        Parameters
        ----------
        time_limit : float, optional
            Seconds after which to give up; the proof then has status LIMIT and no optimum.
        second_opinion : bool
            Whether to ask GLPK's exact simplex too. It shares no code with momentlp; it is slower, and ``time_limit`` does
            not stop it.

        Returns
        -------
        ExactProof

        Raises
        ------
        OptionError
            If ``time_limit`` is not a positive number.
        BackendUnavailableError
            If ``second_opinion`` is set and GLPK is not installed.

        Examples
        --------
        >>> problem = Problem.from_arrays([[-1.0], [3.0]], lower=0.0, upper=0.0)
        >>> Certificate.of(problem, membership=[1.0, 0.33333333], multipliers=[1 / 3]).exact()
        ExactProof(OPTIMAL, 4/3, off=-3.3e-09, confirmed)
        """
        from momentlp.proof.exact.proof import ask_glpk, prove

        limit = None if time_limit is None else check_number("time_limit", time_limit, above=0, infinite=True)
        proof = prove(self.problem, self.membership, self.multipliers, time_limit=limit)
        return replace(proof, second_opinion=ask_glpk(self.problem)) if second_opinion else proof

    @property
    def weight_unit(self) -> float:
        """The unit of the gap: the bound, or the weight of a typical point if that is larger."""
        return _unit_of_weight(self.problem, self.bound)

    @property
    def error(self) -> float:
        """The maximum of residuals and gap: the smallest tolerance at which the certificate holds; infinite for NaN."""
        figures = np.array([self.primal_residual, self.dual_residual, abs(self.gap)])
        # Every comparison with NaN is false, so NaN must not reach a comparison.
        return float(figures.max()) if np.isfinite([*figures, self.objective, self.bound]).all() else float("inf")


def _judge(problem: Problem, h: FloatArray, y: FloatArray, sums: _Sums, bound: float) -> tuple[float, float]:
    """Return the residual of the moments and the bound that h must reach.

    If the rounding of the means matters for this pair, P and P+ differ. Then h must be feasible for P and as heavy as the
    bound of P, or feasible for P+ and as heavy as the bound of P+: the choice with the smaller error is returned.
    """
    activity, clipping = sums.activity, 0.0
    if sums.max_violation > 0:  # moments are judged after memberships were brought within their bounds: a change too
        inside = np.clip(h, 0.0, problem.caps)
        clipping = _size_of_clipping(problem, h - inside, _unit_of_weight(problem, bound))
        h, activity = inside, problem.A.T @ inside

    def residual(weight: float, *, allow_means: bool = True) -> float:
        found = compute_moment_residual(problem, h, y, activity, sums.min_magnitude, weight, allow_means=allow_means)
        return found + clipping

    effect = ROUNDING * float(h.sum()) * float(np.abs(y) @ problem.A.per_moment("mean_size"))
    weight = _unit_of_weight(problem, bound)
    if not effect > MEANS_MATTER * weight:
        return residual(weight), bound
    relaxed = dual_bound(problem, y, SOLVED)
    choices = [
        (residual(weight, allow_means=False), bound),
        (residual(_unit_of_weight(problem, relaxed), allow_means=True), relaxed),
    ]
    return min(choices, key=lambda one: max(one[0], abs(one[1] - sums.objective) / _unit_of_weight(problem, one[1])))


def _bound_of_whole_sets(problem: Problem, bound: float) -> float:
    """Return the bound, rounded down to the next weight that a whole set can have if memberships must be whole."""
    return round_down_bound(bound, problem.weight_step) if problem.is_whole else bound


def _distance_from_whole(problem: Problem, h: FloatArray) -> float:
    """Return how far the memberships that must be integers are from them, all together."""
    return float(np.abs(h - np.rint(h)).sum(where=np.asarray(problem.whole))) if problem.is_whole else 0.0


def _size_of_clipping(problem: Problem, change: FloatArray, weight: float) -> float:
    """Return how large a change of memberships is: in points, or by its cost, whichever is larger."""
    (caps,) = one_entry_if_constant(problem.caps)
    units = np.where(problem.caps > 0, problem.caps, float(caps.max(initial=0.0)) or 1.0)
    return max(float(np.abs(change / units).sum()), abs(float(problem.weights @ change)) / weight)


def _unit_of_weight(problem: Problem, bound: float) -> float:
    """Return the unit of the gap: the bound, or the weight of a typical point if that is larger."""
    return max(problem.point_weight, abs(bound)) if np.isfinite(bound) else problem.point_weight


@dataclass(frozen=True)
class _Sums:
    """Everything about (h, y) that needs the points, for some of the points; ``+`` joins two parts.

    Attributes
    ----------
    activity : array, shape (m,)
        A^T h.
    min_magnitude : array, shape (m,)
        At most ``|A|^T h``: the sum over every fourth point if they are read in chunks, zero if not.
    point_terms : float
        ``sum u max(0, s)``.
    objective : float
        ``w . h``.
    max_term : float
        The maximum of ``u max(0, s) - s h``.
    max_violation : float
        The maximum violation of ``0 <= h <= u``, relative to the cap.
    fractional : int
        The number of points strictly between 0 and their cap.
    """

    activity: FloatArray
    min_magnitude: FloatArray
    point_terms: float
    objective: float
    max_term: float
    max_violation: float
    fractional: int

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(
            self.activity + other.activity,
            self.min_magnitude + other.min_magnitude,
            self.point_terms + other.point_terms,
            self.objective + other.objective,
            float(np.maximum(self.max_term, other.max_term)),  # np.maximum keeps NaN, the built-in max may drop it
            float(np.maximum(self.max_violation, other.max_violation)),
            self.fractional + other.fractional,
        )


def _sum_up(problem: Problem, h: FloatArray, y: FloatArray, terms: FloatArray) -> tuple[_Sums, float]:
    """Return the sums over all points, and the bound; ``terms`` are those of the moments.

    If it turns out that the rounding of the scores matters beside the bound, they are computed once more, with it.
    """
    (caps,) = one_entry_if_constant(problem.caps)
    max_cap, is_chunked = float(caps.max(initial=0.0)) or 1.0, problem.A.table is not None

    def add_up(rounding: ScoreRounding | None) -> tuple[_Sums, float]:
        compute = partial(_compute_sums, y, rounding, max_cap, is_chunked)
        sums = reduce(operator.add, problem.A.scan(compute, h, problem.weights, problem.caps))
        problem.require_finite(sums.activity)
        return sums, infinite_if_lost(sums.point_terms + sum_row_terms(terms, rounding))

    sums, bound = add_up(None)
    rounding = find_score_rounding(problem, y, weight=abs(bound) if np.isfinite(bound) else 0.0)
    return (sums, bound) if rounding is None else add_up(rounding)


def _compute_sums(
    y: FloatArray,
    rounding: ScoreRounding | None,
    max_cap: float,
    is_chunked: bool,
    A: MomentMatrix,
    h: FloatArray,
    weights: FloatArray,
    caps: FloatArray,
) -> _Sums:
    """Compute the sums of some points; if points are read in chunks, also what usually saves another pass over them."""
    activity = A.T @ h
    scores, raised = compute_scores(A, y, weights, rounding)
    terms = point_terms(raised, caps)
    some = np.where(np.arange(h.size) % SAMPLING_STEP == 0, h, 0.0) if is_chunked else h
    violation = np.maximum(h - caps, -h) / np.where(caps > 0, caps, max_cap)
    return _Sums(
        activity=activity,
        min_magnitude=A.per_moment("magnitude", some) if is_chunked else np.zeros_like(activity),
        point_terms=float(terms.sum()),
        objective=float(np.ascontiguousarray(weights) @ h),  # a constant vector would be added up in another order
        max_term=float(np.max(terms - scores * h)),
        max_violation=float(violation.max()),
        fractional=int(((h > BOUND_TOLERANCE * caps) & (h < (1 - BOUND_TOLERANCE) * caps)).sum()),
    )
