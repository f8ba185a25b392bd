"""When there is no answer: why, proved, and the smallest tolerance that would give one.

EMPTY: the multipliers are a direction along which every point lies beyond the mean. INFEASIBLE: they are a Farkas proof.
Both are checked here by arithmetic of our own, and the moments and constraints that take part in them are named.

The smallest tolerance rho comes from one more linear program. For an empty answer it asks for a set of one whole point's
weight, with every deviation within rho::

    minimise  rho   subject to   -rho <= sum_i (phi_ij - alpha_j) h_i <= rho,   w . h = 1,   0 <= h <= caps

(on a set of that weight a tolerance on the sum and one on the mean are the same). For an infeasible one the size is not
free; a tolerance on the sum is a linear program all the same, one on the mean is found by bisection. Either way the problem
is then solved with the tolerance found, to confirm it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import scipy.sparse as sp

from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem
from momentlp.proof.infeasibility import append_points, proves_infeasible
from momentlp.status import Status

if TYPE_CHECKING:
    from momentlp.solution.solution import Solution

__all__ = ["Explanation", "SmallestTolerance", "explain"]

ROOM = 1e-6  # the confirming solve gets this much more, relatively: the tolerance found is on the edge
STEPS = 60

Solver: TypeAlias = "Callable[[Problem], Solution]"


@dataclass(frozen=True)
class SmallestTolerance:
    """The smallest number that would give an answer if it were the tolerance of all moments of some blocks.

    Attributes
    ----------
    value : float or None
        None if no tolerance there would help.
    on : {"sum", "mean"}
        What it is a tolerance on: as in ``Absolute``, or as in ``Relative``.
    objective : float or None
        The weight of the set found with it: the confirmation.
    """

    value: float | None
    on: str
    objective: float | None


@dataclass(frozen=True)
class Explanation:
    """Why a problem has no answer, and what would give it one. ``str`` tells it in a few lines.

    Attributes
    ----------
    status : str
    proved : bool
        Whether the proof was confirmed by arithmetic of our own.
    conflict : dict of str to float
        The moments and constraints that take part in the proof, the heaviest first, with their share in it.
    uniform : SmallestTolerance or None
        For all moments at once; None where no tolerance was part of the problem.
    per_block : tuple of SmallestTolerance
        For each block of moments alone, the others as they are.
    """

    status: str
    proved: bool
    conflict: dict[str, float]
    uniform: SmallestTolerance | None
    per_block: tuple[SmallestTolerance, ...]

    def __str__(self) -> str:
        what = {
            "empty": "No set of the points has this mean: there is a direction along which all of them lie beyond it.",
            "infeasible": "No membership meets all moments and constraints: their weighted sum is a contradiction.",
        }.get(self.status, "There is an answer: nothing to explain.")
        lines = [f"{self.status.upper()}: {what} ({'proved' if self.proved else 'not proved'})"]
        if self.conflict:
            shown = list(self.conflict.items())[:6]
            more = f", and {len(self.conflict) - len(shown)} more" if len(self.conflict) > len(shown) else ""
            lines.append("In conflict: " + ", ".join(f"{name} ({share:.0%})" for name, share in shown) + more)
        for title, found in [
            ("all moments", self.uniform),
            *((f"block {n} alone", b) for n, b in enumerate(self.per_block, 1)),
        ]:
            if found is None:
                continue
            if found.value is None:
                lines.append(f"Smallest tolerance for {title}: none helps")
            else:
                confirmed = "" if found.objective is None else f" (gives a set of weight {found.objective:.6g})"
                lines.append(f"Smallest tolerance for {title}: {found.value:.6g} on the {found.on}{confirmed}")
        return "\n".join(lines)


def explain(solution: Solution, solve: Solver) -> Explanation:
    """Explain an EMPTY or INFEASIBLE solution; see :meth:`momentlp.Solution.explain`.

    Parameters
    ----------
    solution : Solution
    solve : callable
        Solves a problem and returns its solution.
    """
    problem, y = solution.problem, solution.multipliers
    if solution.status not in (Status.EMPTY, Status.INFEASIBLE):
        return Explanation(solution.status.value, solution.certificate.holds(), {}, None, ())
    empty = solution.status is Status.EMPTY
    usable = problem.caps > 0
    proved = bool((problem.A @ y)[usable].min(initial=np.inf) > 0) if empty else proves_infeasible(problem, y, 1e-9)
    weight = dict(zip(problem.names, (np.abs(y) * problem.scale).tolist(), strict=True))
    conflict = {name: weight[name] / sum(weight.values()) for name in solution.conflict()}
    blocks = [number for number, block in enumerate(problem.blocks) if block.tolerance_on]
    uniform = _smallest(solution, blocks, empty, solve) if blocks else None
    each = tuple(_smallest(solution, [number], empty, solve) for number in blocks) if len(blocks) > 1 else ()
    return Explanation(solution.status.value, proved, conflict, uniform, each)


def _smallest(solution: Solution, blocks: list[int], empty: bool, solve: Solver) -> SmallestTolerance:
    problem = solution.problem
    kinds = {problem.blocks[number].tolerance_on for number in blocks}
    kind = "mean" if "mean" in kinds else "sum"
    linear = empty or kind == "sum"
    value = _by_program(solution, blocks, kind, empty, solve) if linear else _by_bisection(solution, blocks, solve)
    if value is None:
        return SmallestTolerance(None, kind, None)
    confirmed = solve(_widened(problem, blocks, value * (1 + ROOM) + 1e-12))
    return SmallestTolerance(value, kind, confirmed.objective if confirmed.status is Status.OPTIMAL else None)


def _by_program(solution: Solution, blocks: list[int], kind: str, empty: bool, solve: Solver) -> float | None:
    """Minimise rho in one linear program: a further point with weight -1 that widens every chosen row."""
    problem = solution.problem
    pieces, signs = [], []
    for number, block in enumerate(problem.blocks):
        if number in blocks:
            pieces.append(_one_sided(block))
            signs += [-1.0] * block.origin.size + [1.0] * block.origin.size
        else:
            pieces.append(block)
            signs += [0.0] * block.n_moments
    nothing = np.zeros(problem.n_points)
    program = Problem(tuple(pieces), nothing, problem.caps)
    if empty and kind == "mean":  # any multiple of a set has its mean: take the one of size 1, whatever the caps
        program = replace(program, caps=(problem.caps > 0).astype(np.float64))
        program = program.with_rows(sp.csr_array((problem.n_points, 1)), 1.0, 1.0, ["size one"], shift=1.0)
        signs.append(0.0)
    elif empty:
        full = (problem.weights * problem.caps)[problem.caps > 0]
        program = program.with_rows(problem.weights[:, None], float(full.min(initial=np.inf)), np.inf, ["one whole point"])
        signs.append(0.0)
    room = 1.0 + max(float(problem.blocks[number].magnitude(problem.caps).max()) for number in blocks)
    row = sp.csr_array(np.array(signs)[None, :] * 1.0)
    found = solve(append_points(program, row, np.array([-1.0]), np.array([room])))
    return -found.objective if found.certificate.holds(1e-6) else None


def _one_sided(block: MomentBlock) -> MomentBlock:
    """Return two rows per feature, ``dev - rho <= 0`` and ``dev + rho >= 0``, without the rho."""
    k = block.origin.size
    identity = sp.eye_array(k)
    return MomentBlock(
        features=block.features,
        origin=block.origin,
        transform=sp.csc_array(sp.hstack([identity, identity])),
        shift=np.zeros(2 * k),
        lower=np.concatenate([np.full(k, -np.inf), np.zeros(k)]),
        upper=np.concatenate([np.zeros(k), np.full(k, np.inf)]),
        names=tuple(f"{label}:{side}" for side in ("high", "low") for label in block.labels),
    )


def _by_bisection(solution: Solution, blocks: list[int], solve: Solver) -> float | None:
    """Narrow rho down where its rows are products of rho and the size of the set."""
    problem = solution.problem
    high = 1e-9 + max(_furthest(problem.blocks[number]) for number in blocks)

    def works(rho: float) -> bool:
        return solve(_widened(problem, blocks, rho)).status is not Status.INFEASIBLE

    if not works(high):
        return None
    low = 0.0
    for _ in range(STEPS):
        if high - low <= 1e-9 * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def _furthest(block: MomentBlock) -> float:
    """Return the largest deviation of any point from the mean: no mean of points is further off."""
    deviations = block.with_uniform_tolerance(0.0)
    return float(np.abs(deviations.rows(slice(None))).max())


def _widened(problem: Problem, blocks: list[int], rho: float) -> Problem:
    return replace(
        problem,
        blocks=tuple(b.with_uniform_tolerance(rho) if number in blocks else b for number, b in enumerate(problem.blocks)),
    )
