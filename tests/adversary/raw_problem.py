"""Raw problems: the inputs that a user gives, from which momentlp builds its problem and the judge its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import momentlp as mlp

__all__ = ["RawMatrix", "RawProblem", "RawSpec", "RawTolerance"]


class RawProblem(ABC):
    """The inputs of one problem: :class:`RawSpec` or :class:`RawMatrix`."""

    @abstractmethod
    def build(self) -> mlp.Problem:
        """Return the problem that the public interface of momentlp makes of the inputs."""


@dataclass(frozen=True)
class RawTolerance:
    """A tolerance of a spec.

    Attributes
    ----------
    kind : {"absolute", "relative", "standard_error"}
    width : float or tuple of float
        eps, delta or z.
    standardised : bool
        Whether the width is in standard deviations; not for ``standard_error``.
    """

    kind: str = "absolute"
    width: float | tuple[float, ...] = 0.0
    standardised: bool = False

    def build(self) -> mlp.Tolerance:
        """Return the tolerance of momentlp."""
        if self.kind == "standard_error":
            return mlp.StandardError(self.width)
        return {"absolute": mlp.Absolute, "relative": mlp.Relative}[self.kind](self.width, self.standardised)


@dataclass(frozen=True, eq=False)
class RawSpec(RawProblem):
    """The inputs of ``Spec(...).compile(...)``, with the columns of X as features.

    Attributes
    ----------
    X : array or csr_array, shape (N, d)
    labelled, sample, mean
        Exactly one is given, as for ``compile``.
    tolerance : RawTolerance
    constraints : tuple of (str, dict)
        The name of a constraint of momentlp and its arguments; the tolerance of a ``Moment`` is a RawTolerance.
    sample_weight : array of shape (N,), optional
    """

    X: Any
    labelled: list[int] | None = None
    sample: Any = None
    mean: Any = None
    tolerance: RawTolerance = field(default_factory=RawTolerance)
    constraints: tuple[tuple[str, dict[str, Any]], ...] = ()
    sample_weight: Any = None

    def build(self) -> mlp.Problem:
        """Return the compiled spec."""
        constraints = [self._constraint(name, arguments) for name, arguments in self.constraints]
        spec = mlp.Spec(tolerance=self.tolerance.build(), constraints=constraints)
        return spec.compile(
            self.X, labelled=self.labelled, sample=self.sample, mean=self.mean, sample_weight=self.sample_weight
        )

    @staticmethod
    def _constraint(name: str, arguments: dict[str, Any]) -> mlp.Constraint:
        if name == "Moment":
            arguments = {**arguments, "features": mlp.Linear(), "tolerance": arguments["tolerance"].build()}
        return getattr(mlp, name)(**arguments)


@dataclass(frozen=True, eq=False)
class RawMatrix(RawProblem):
    """The inputs of ``Problem.from_arrays``."""

    A: Any
    lower: Any
    upper: Any
    weights: Any = 1.0
    caps: Any = 1.0

    def build(self) -> mlp.Problem:
        """Return the problem of these arrays."""
        return mlp.Problem.from_arrays(self.A, self.lower, self.upper, weights=self.weights, caps=self.caps)
