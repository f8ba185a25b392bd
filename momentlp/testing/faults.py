"""Backends that return wrong answers on purpose, to show that :func:`~momentlp.solve` notices.

``Faulty("memberships are noise")`` solves with a real backend, changes the answer in one of the ways of :data:`FAULTS`, and
claims that it is optimal. For every fault, ``solve`` must raise a :class:`~momentlp.SolverError`, or return a solution whose
status and bound are true.
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
    """A backend that falsifies the answers of another.

    Parameters
    ----------
    fault : str
        One of :data:`FAULTS`.
    inner : str or Backend
        The backend whose answers are falsified.

    Raises
    ------
    OptionError
        If there is no such fault.

    Examples
    --------
    >>> from momentlp import Problem, solve
    >>> problem = Problem.from_arrays([[-1.0], [1.0], [3.0]], lower=0.0, upper=0.0)
    >>> solve(problem, Faulty("everything in"), repair=False).status.name
    'FAILED'
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
        """Solve with the inner backend, then falsify its answer."""
        solver = get_backend(self.inner)
        answer = solver.run(problem, replace(options, native=solver.native))
        falsified: Answer = FAULTS[self.fault](answer, problem)
        return falsified


def _draw_noise(size: int) -> Any:
    return np.random.default_rng(size).uniform(-1, 1, size)


def _falsify(**changes: Callable[[Any, Problem], Any]) -> Callable[[Answer, Problem], Any]:
    """Return a fault that changes fields of the answer and claims that it is optimal."""

    def falsify(answer: Answer, problem: Problem) -> Answer:
        new = {field: change(answer, problem) for field, change in changes.items()}
        return replace(answer, **{"outcome": Outcome.OPTIMAL, **new})

    return falsify


def _raises(answer: Answer, problem: Problem) -> Answer:
    raise KeyError("basis")


def _hangs(answer: Answer, problem: Problem) -> Answer:
    while True:
        time.sleep(0.01)


FAULTS: dict[str, Callable[[Answer, Problem], Any]] = {
    "memberships are noise": _falsify(membership=lambda a, p: np.abs(_draw_noise(p.n_points)) * p.caps),
    "memberships beyond their caps": _falsify(membership=lambda a, p: 1.5 * p.caps),
    "memberships below zero": _falsify(membership=lambda a, p: -p.caps),
    "everything in": _falsify(membership=lambda a, p: p.caps),
    "everything out": _falsify(membership=lambda a, p: np.zeros(p.n_points)),
    "one point too many": _falsify(membership=lambda a, p: np.where(_first_true(a.membership == 0), p.caps, a.membership)),
    "one point short": _falsify(membership=lambda a, p: np.where(_first_true(a.membership > 0), 0.0, a.membership)),
    "memberships in another order": _falsify(membership=lambda a, p: np.roll(a.membership, 7)),
    "memberships are NaN": _falsify(membership=lambda a, p: np.full(p.n_points, np.nan)),
    "memberships are infinite": _falsify(membership=lambda a, p: np.full(p.n_points, np.inf)),
    "too few memberships": _falsify(membership=lambda a, p: np.ones(max(0, p.n_points - 1))),
    "memberships in a matrix": _falsify(membership=lambda a, p: np.ones((p.n_points, 1))),
    "memberships are texts": _falsify(membership=lambda a, p: ["in"] * p.n_points),
    "no memberships": _falsify(membership=lambda a, p: None),
    "multipliers are noise": _falsify(multipliers=lambda a, p: 1e3 * _draw_noise(p.n_moments)),
    "multipliers are huge": _falsify(multipliers=lambda a, p: np.full(p.n_moments, 1.7e308)),
    "multipliers are zero": _falsify(multipliers=lambda a, p: np.zeros(p.n_moments)),
    "multipliers with the other sign": _falsify(multipliers=lambda a, p: -a.multipliers),
    "multipliers are NaN": _falsify(multipliers=lambda a, p: np.full(p.n_moments, np.nan)),
    "multipliers are infinite": _falsify(multipliers=lambda a, p: np.full(p.n_moments, -np.inf)),
    "too many multipliers": _falsify(multipliers=lambda a, p: np.zeros(p.n_moments + 1)),
    "no multipliers": _falsify(multipliers=lambda a, p: None),
    "nothing at all": _falsify(membership=lambda a, p: None, multipliers=lambda a, p: None),
    "says infeasible": _falsify(outcome=lambda a, p: Outcome.INFEASIBLE, multipliers=lambda a, p: _draw_noise(p.n_moments)),
    "says that a limit was reached": _falsify(outcome=lambda a, p: Outcome.LIMIT, membership=lambda a, p: p.caps),
    "no answer": lambda answer, problem: None,
    "an answer of another kind": lambda answer, problem: {"membership": answer.membership},
    "raises": _raises,
    "hangs": _hangs,
}  #: what a backend can do wrong, by name


def _first_true(mask: Any) -> Any:
    """Return a mask that keeps only the first True."""
    return np.asarray(mask) & (np.cumsum(mask) == 1)
