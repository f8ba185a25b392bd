"""Constraints: what else is known about the class, beside its mean."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from momentlp.arrays import Matrix
from momentlp.kinds import Kind

if TYPE_CHECKING:
    from momentlp.problem import Problem

__all__ = ["Constraint"]


class Constraint(Kind):
    """Base of all constraints: a step from one problem to a narrower one.

    A constraint of your own is a subclass with a ``kind`` and :meth:`apply`, which adds moments
    (:meth:`Problem.with_block <momentlp.Problem.with_block>`) or lowers caps (``dataclasses.replace``).
    """

    group: ClassVar[str] = "momentlp.constraints"

    @abstractmethod
    def apply(self, problem: Problem, X: Matrix) -> Problem:
        """Return the problem with this constraint in it; ``X`` are the points as the user gave them."""
