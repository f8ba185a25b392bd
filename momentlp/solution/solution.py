"""The solution of a problem, with its proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from momentlp.errors import SolverError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.proof.certificate import Certificate
from momentlp.runtime.html_table import html_table
from momentlp.solution.balance import Balance
from momentlp.solution.explanation import Explanation, explain
from momentlp.solution.separator import Separator
from momentlp.status import Status

__all__ = ["Solution", "Status"]


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of a problem, with its proof. :func:`momentlp.solve` returns one.

    Attributes
    ----------
    problem : Problem
    status : Status
        What was proved.
    membership : array, shape (N,)
        h: the cap (1 by default) for points in the class, 0 for points outside, and between only on the hyperplane.
    multipliers : array, shape (m,)
        y: the derivative of the optimum with respect to the active bound of each moment.
    objective : float
        ``weights . membership``, the weight of the set.
    bound : float
        No feasible set weighs more than this. It is never below ``objective``.
    certificate : Certificate
        Computed from ``membership`` and ``multipliers`` alone.
    backend, engine, version : str
        The backend that solved the problem, the code that did the work, and its version.
    message : str
        The solver's own words, and what is wrong with its answer, if anything is.
    iterations : int or None
        Iterations of the solver, if it reports them.
    seconds : mapping of str to float
        Wall-clock time of the steps: ``scale``, ``run`` (the backend), ``certify`` and, if it was needed, ``exact``.
    repairs : tuple of str
        What was done because the solver's first answer did not prove itself: ``"asked again"`` with a tighter tolerance and
        in other units, ``"polished"`` to the nearby vertex, ``"solved exactly"`` in rational arithmetic. Empty if nothing.
    resolve : callable, optional
        Solves another problem with the same backend. ``solve`` sets it, :meth:`explain` and :meth:`whole` call it.
    claimed_bound : float, optional
        If memberships must be whole: the bound on the weight that branch and bound claims. It may be smaller than
        ``bound``, but nobody can check it without searching again.

    Examples
    --------
    >>> import momentlp as mlp
    >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    >>> solution = mlp.solve(problem)
    >>> solution.status.name, solution.membership.tolist()
    ('OPTIMAL', [1.0, 1.0, 1.0, 0.125])
    >>> solution.objective, solution.bound
    (3.125, 3.125)
    """

    problem: Problem = field(repr=False)
    status: Status
    membership: FloatArray
    multipliers: FloatArray
    certificate: Certificate
    backend: str
    engine: str
    version: str
    message: str
    iterations: int | None
    seconds: Mapping[str, float]
    repairs: tuple[str, ...] = ()
    resolve: Callable[..., Solution] | None = field(default=None, repr=False, kw_only=True)
    claimed_bound: float | None = field(default=None, kw_only=True)

    @property
    def objective(self) -> float:
        """The weight of the set, ``weights . membership``."""
        return self.certificate.objective

    @property
    def bound(self) -> float:
        """The weight that no feasible set exceeds."""
        return max(self.certificate.bound, self.certificate.objective)

    @cached_property
    def separator(self) -> Separator:
        """The hyperplane of the class, which also classifies new points."""
        return Separator.of(self.problem, self.multipliers)

    @cached_property
    def scores(self) -> FloatArray:
        """The scores ``s = w - A y`` of the points, shape (N,): above zero inside the class, below zero outside."""
        return np.asarray(self.problem.weights - self.problem.A @ self.multipliers, dtype=np.float64)

    @property
    def direction(self) -> FloatArray:
        """The unit vector in feature space that is opposite to the normal of the separator; zero if the normal is zero.

        If the status is EMPTY it is the proof: along this direction every point lies beyond the mean.
        """
        opposite = -self.separator.normal
        length = float(np.linalg.norm(opposite))
        return opposite / length if length > 0 else opposite

    def conflict(self) -> tuple[str, ...]:
        """Return the names of the moments and constraints that have a multiplier.

        If the status is EMPTY or INFEASIBLE, these are the ones that contradict each other.

        Returns
        -------
        tuple of str
            Sorted by the absolute multiplier times the largest entry of the moment, the largest first.

        Examples
        --------
        >>> import momentlp as mlp
        >>> mlp.solve(mlp.Spec().compile([[0.0], [1.0]], mean=[5.0])).conflict()
        ('x0',)
        """
        weight = np.abs(self.multipliers) * self.problem.scale
        order = np.argsort(-weight, kind="stable")
        return tuple(self.problem.names[j] for j in order if weight[j] > 1e-9 * weight.max())

    def balance(self) -> Balance:
        """Return a table with the target and the achieved value of every moment and constraint.

        Returns
        -------
        Balance
            A sequence of :class:`~momentlp.BalanceRow`.

        Examples
        --------
        >>> import momentlp as mlp
        >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
        >>> row = mlp.solve(problem).balance()[0]
        >>> row.name, row.target, row.achieved
        ('x0', 1.0, 1.32)
        """
        return Balance.of(self)

    def explain(self) -> Explanation:
        """Explain why no set was found: the proof, and the smallest tolerance at which there is one.

        For the statuses EMPTY and INFEASIBLE. It solves a few more linear programs with the same backend. If memberships
        must be whole, it explains why there is no fuzzy set either.

        Returns
        -------
        Explanation
            ``str`` of it is a text of a few lines.

        Raises
        ------
        SolverError
            If the solution does not come from :func:`momentlp.solve`, or the backend raises an error.

        Examples
        --------
        >>> import momentlp as mlp
        >>> print(mlp.solve(mlp.Spec(tolerance=mlp.Relative(0.5)).compile([[0.0], [1.0]], mean=[5.0])).explain())
        EMPTY: No set of the points has this mean: there is a direction along which all points lie beyond it. (proved)
        In conflict: x0:low (100%)
        Smallest tolerance for all moments: 4 on the mean (gives a set of weight 1)
        """
        if self.resolve is None:
            raise SolverError(
                "explain solves more problems, but this solution has no backend for them: get the solution from "
                "momentlp.solve."
            )
        return explain(replace(self, problem=self.problem.relaxed()), self.resolve)

    def whole(self, **options: Any) -> Solution:
        """Return the best whole set near this solution: no membership is fractional, and no bound is broken.

        The multipliers bound every whole set, so the result says how far from the best one it can be at most. Its status is
        OPTIMAL if set and bound meet, and LIMIT otherwise.

        Parameters
        ----------
        **options
            Arguments of :func:`momentlp.solve`, such as ``time_limit`` or ``backend``.

        Returns
        -------
        Solution

        Raises
        ------
        SolverError
            If the solution does not come from :func:`momentlp.solve`, or the backend raises an error.

        Examples
        --------
        >>> import momentlp as mlp
        >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
        >>> solution = mlp.solve(problem)
        >>> solution.objective, solution.whole().objective, solution.whole().status.name
        (3.125, 3.0, 'OPTIMAL')
        """
        if self.resolve is None:
            raise SolverError(
                "whole solves another problem, but this solution has no backend for it: use momentlp.solve with a problem "
                "of Spec(whole=True)."
            )
        start = self if self.status is Status.OPTIMAL else None
        return self.resolve(replace(self.problem, whole=True), **{"backend": "auto", "start": start, **options})

    def summary(self) -> dict[str, Any]:
        """Return the figures of the solution as a dictionary of plain values, such as a row of a table.

        Returns
        -------
        dict
            With the keys ``backend``, ``engine``, ``version``, ``status``, ``objective``, ``bound``, ``gap``,
            ``primal_residual``, ``dual_residual``, ``fractional``, ``active_moments``, ``iterations``, ``seconds`` (in all),
            ``repairs`` (joined by commas) and ``message``.

        Examples
        --------
        >>> import momentlp as mlp
        >>> summary = mlp.solve(mlp.Spec().compile([[0.0], [1.0]], mean=[0.5])).summary()
        >>> summary["status"], summary["objective"], summary["fractional"]
        ('optimal', 2.0, 0)
        """
        proof = self.certificate
        return {
            "backend": self.backend,
            "engine": self.engine,
            "version": self.version,
            "status": self.status.value,
            "objective": self.objective,
            "bound": self.bound,
            "gap": proof.gap,
            "primal_residual": proof.primal_residual,
            "dual_residual": proof.dual_residual,
            "fractional": proof.fractional,
            "active_moments": proof.active,
            "iterations": self.iterations,
            "seconds": sum(self.seconds.values()),
            "repairs": ", ".join(self.repairs),
            "message": self.message,
        }

    def __repr__(self) -> str:
        return (
            f"Solution({self.status.name}, objective={self.objective:.6g}, bound={self.bound:.6g}, "
            f"gap={self.certificate.gap:.1e}, backend={self.backend!r})"
        )

    def _repr_html_(self) -> str:
        proof, problem = self.certificate, self.problem
        rows: list[tuple[str, object]] = [
            ("weight of the set", f"{self.objective:.6g} of {float(problem.weights @ problem.caps):.6g}"),
            ("upper bound", f"{self.bound:.6g}"),
            ("gap", f"{proof.gap:.1e}"),
            ("residuals", f"{proof.primal_residual:.1e} primal, {proof.dual_residual:.1e} dual"),
            ("fractional points", f"{proof.fractional:,} of {problem.n_points:,}"),
            ("active moments", f"{proof.active:,} of {problem.n_moments:,}"),
            ("backend", f"{self.backend} ({self.engine} {self.version})"),
            ("seconds", f"{sum(self.seconds.values()):.3g}"),
        ]
        if self.repairs:
            rows.append(("repairs", ", ".join(self.repairs)))
        if self.status is not Status.OPTIMAL and self.message:
            rows.append(("message", self.message))
        return html_table(f"Solution: {self.status.name}", rows)
