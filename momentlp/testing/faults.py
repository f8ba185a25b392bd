"""Backends that misbehave on purpose, to show that nothing wrong gets through.

``Faulty(fault="memberships are noise")`` solves with a real backend and then spoils what it found, in one of the ways of
:data:`FAULTS`, while claiming that all is well. Whatever it does, ``solve`` must raise a
:class:`~momentlp.SolverError`, or return a solution that does not claim more than is true.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from momentlp.backend.interface import Answer, Backend, Options, Outcome
from momentlp.backend.registry import get_backend
from momentlp.errors import OptionError
from momentlp.problem.problem import Problem

__all__ = ["FAULTS", "Faulty"]


class Faulty(Backend):
    """A backend that spoils the answers of another.

    Parameters
    ----------
    fault : str
        One of :data:`FAULTS`.
    inner : str or Backend
        Whose answers are spoiled.
    """

    name: ClassVar[str] = "faulty"
    engine: ClassVar[str] = "none"
    package: ClassVar[str] = "numpy"

    def __init__(self, fault: str, inner: str | Backend = "highs") -> None:
        if fault not in FAULTS:
            raise OptionError(f"fault must be one of {', '.join(map(repr, FAULTS))}, not {fault!r}.")
        super().__init__()
        self.fault, self.inner = fault, inner

    @classmethod
    def version(cls) -> str:
        """Return a version, as every backend does."""
        return "0"

    def __repr__(self) -> str:
        return f"Faulty({self.fault!r}, {self.inner!r})"

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve, then spoil."""
        solver = get_backend(self.inner)
        answer = solver.run(problem, replace(options, native=solver.native))
        spoiled: Answer = FAULTS[self.fault](answer, problem)
        return spoiled


def _noise(size: int) -> Any:
    return np.random.default_rng(size).uniform(-1, 1, size)


def _claiming(**changes: Callable[[Any, Problem], Any]) -> Callable[[Answer, Problem], Any]:
    """Return a fault that changes fields of the answer and calls it optimal."""

    def spoil(answer: Answer, problem: Problem) -> Answer:
        new = {field: change(answer, problem) for field, change in changes.items()}
        return replace(answer, **{"outcome": Outcome.OPTIMAL, **new})

    return spoil


def _raises(answer: Answer, problem: Problem) -> Answer:
    raise KeyError("basis")


def _hangs(answer: Answer, problem: Problem) -> Answer:
    while True:
        time.sleep(0.01)


FAULTS: dict[str, Callable[[Answer, Problem], Any]] = {
    "memberships are noise": _claiming(membership=lambda a, p: np.abs(_noise(p.n_points)) * p.caps),
    "memberships beyond their caps": _claiming(membership=lambda a, p: 1.5 * p.caps),
    "memberships below zero": _claiming(membership=lambda a, p: -p.caps),
    "everything in": _claiming(membership=lambda a, p: p.caps),
    "everything out": _claiming(membership=lambda a, p: np.zeros(p.n_points)),
    "one point too many": _claiming(membership=lambda a, p: np.where(_first(a.membership == 0), p.caps, a.membership)),
    "one point short": _claiming(membership=lambda a, p: np.where(_first(a.membership > 0), 0.0, a.membership)),
    "memberships in another order": _claiming(membership=lambda a, p: np.roll(a.membership, 7)),
    "memberships are NaN": _claiming(membership=lambda a, p: np.full(p.n_points, np.nan)),
    "memberships are infinite": _claiming(membership=lambda a, p: np.full(p.n_points, np.inf)),
    "too few memberships": _claiming(membership=lambda a, p: np.ones(max(0, p.n_points - 1))),
    "memberships in a matrix": _claiming(membership=lambda a, p: np.ones((p.n_points, 1))),
    "memberships are texts": _claiming(membership=lambda a, p: ["in"] * p.n_points),
    "no memberships": _claiming(membership=lambda a, p: None),
    "multipliers are noise": _claiming(multipliers=lambda a, p: 1e3 * _noise(p.n_moments)),
    "multipliers are huge": _claiming(multipliers=lambda a, p: np.full(p.n_moments, 1.7e308)),
    "multipliers are zero": _claiming(multipliers=lambda a, p: np.zeros(p.n_moments)),
    "multipliers with the other sign": _claiming(multipliers=lambda a, p: -a.multipliers),
    "multipliers are NaN": _claiming(multipliers=lambda a, p: np.full(p.n_moments, np.nan)),
    "multipliers are infinite": _claiming(multipliers=lambda a, p: np.full(p.n_moments, -np.inf)),
    "too many multipliers": _claiming(multipliers=lambda a, p: np.zeros(p.n_moments + 1)),
    "no multipliers": _claiming(multipliers=lambda a, p: None),
    "nothing at all": _claiming(membership=lambda a, p: None, multipliers=lambda a, p: None),
    "says infeasible": _claiming(outcome=lambda a, p: Outcome.INFEASIBLE, multipliers=lambda a, p: _noise(p.n_moments)),
    "says that a limit was reached": _claiming(outcome=lambda a, p: Outcome.LIMIT, membership=lambda a, p: p.caps),
    "no answer": lambda answer, problem: None,
    "an answer of another kind": lambda answer, problem: {"membership": answer.membership},
    "raises": _raises,
    "hangs": _hangs,
}  #: what a backend can do wrong, by name


def _first(where: Any) -> Any:
    """Return a mask of the first place where something is so."""
    return np.asarray(where) & (np.cumsum(where) == 1)
