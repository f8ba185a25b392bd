"""A backend that returns the answer that a test gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

import momentlp as mlp


class ScriptedBackend(mlp.Backend):
    """Return the given answer, or what the given function of (problem, options) returns.

    ``seen`` holds the options of every run.
    """

    name: ClassVar[str] = "scripted"
    engine: ClassVar[str] = "none"
    package: ClassVar[str] = "numpy"

    def __init__(self, answer: Any, *capabilities: mlp.Capability) -> None:
        super().__init__()
        self.answer = answer
        self.seen: list[mlp.Options] = []
        self.__dict__["capabilities"] = frozenset(capabilities)

    @classmethod
    def version(cls) -> str:
        return "0"

    def run(self, problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        self.seen.append(options)
        return self.answer(problem, options) if callable(self.answer) else self.answer


def optimal_pair(problem: mlp.Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the optimal (h, y) of a problem."""
    solution = mlp.solve(problem)
    return solution.membership, solution.multipliers


def optimal_answer(**changes: Any) -> Callable[[mlp.Problem, mlp.Options], mlp.Answer]:
    """Return a script that answers with the optimum, except for the given fields of the answer."""

    def answer(problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        h, y = optimal_pair(problem)
        fields = {"outcome": mlp.Outcome.OPTIMAL, "membership": h, "multipliers": y, "message": "trust me"} | changes
        return mlp.Answer(**fields)

    return answer
