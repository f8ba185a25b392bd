"""The answer to a problem, with its proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from momentlp.errors import SolverError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.proof.certificate import Certificate
from momentlp.runtime.html_table import html_table
from momentlp.solution.balance import Balance
from momentlp.solution.explanation import Explanation
from momentlp.solution.separator import Separator
from momentlp.status import Status

__all__ = ["Solution", "Status"]


@dataclass(frozen=True, eq=False)
class Solution:
    """What ``solve`` returns.

    Attributes
    ----------
    problem : Problem
    status : Status
    membership : array, shape (N,)
        h: 1 for points in the class, 0 for points outside, between only on the hyperplane.
    multipliers : array, shape (m,)
        y: how the optimum changes with each moment's active bound.
    objective : float
        ``weights . membership``.
    bound : float
        No feasible set weighs more. Never below ``objective``.
    certificate : Certificate
        Computed from ``membership`` and ``multipliers`` alone.
    backend, engine, version : str
        Who solved it.
    message : str
        The solver's own words, and what was found wrong with its answer, if anything was.
    iterations : int or None
    seconds : mapping of str to float
        Wall-clock time of ``scale``, ``run`` (the backend) and ``certify``.
    repairs : tuple of str
        What was done where the solver's first answer fell short: ``"asked again"`` with a tighter tolerance and other units,
        ``"polished"`` to the vertex it stands for, ``"solved exactly"`` in rational arithmetic. Empty if nothing was needed.
    resolve : callable, optional
        Solves a further problem with the same backend; :meth:`explain` calls it. ``solve`` hands it in.
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
    resolve: Callable[[Problem], Solution] | None = field(default=None, repr=False, kw_only=True)

    @property
    def objective(self) -> float:
        """The weight of the set found."""
        return self.certificate.objective

    @property
    def bound(self) -> float:
        """A weight that no feasible set exceeds."""
        return max(self.certificate.bound, self.certificate.objective)

    @cached_property
    def separator(self) -> Separator:
        """The hyperplane of the class, callable on new points."""
        return Separator.of(self.problem, self.multipliers)

    @cached_property
    def scores(self) -> FloatArray:
        """``s = w - A y`` of every point of the problem: above zero where the point is in, below where it is out."""
        return np.asarray(self.problem.weights - self.problem.A @ self.multipliers, dtype=np.float64)

    @property
    def direction(self) -> FloatArray:
        """A unit vector in feature space along which every point lies beyond the mean; for an EMPTY answer its proof."""
        towards = -self.separator.normal
        length = float(np.linalg.norm(towards))
        return towards / length if length > 0 else towards

    def conflict(self) -> tuple[str, ...]:
        """Return the names of the moments and constraints with a multiplier, the heaviest first."""
        weight = np.abs(self.multipliers) * self.problem.scale
        order = np.argsort(-weight, kind="stable")
        return tuple(self.problem.names[j] for j in order if weight[j] > 1e-9 * weight.max())

    def balance(self) -> Balance:
        """Return the table of what was asked of every moment and what was achieved."""
        from momentlp.solution.balance import Balance

        return Balance.of(self)

    def explain(self) -> Explanation:
        """Say why there is no answer, with a proof, and the smallest tolerance that would give one.

        For EMPTY and INFEASIBLE; solves a few further programs with the same backend.
        """
        from momentlp.solution.explanation import explain

        if self.resolve is None:
            raise SolverError(
                "explain solves further problems, but this solution has no solver: get it from momentlp.solve."
            )
        return explain(self, self.resolve)

    def summary(self) -> dict[str, Any]:
        """Return the figures of this answer as a flat record of plain values."""
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
            ("none weighs over", f"{self.bound:.6g}"),
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
