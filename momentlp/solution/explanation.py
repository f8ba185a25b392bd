"""Why a problem has no set: the proof, and the smallest tolerance at which there is one.

If the status is EMPTY, the multipliers are a direction along which every point lies beyond the mean. If it is INFEASIBLE,
they are a Farkas proof. Both are checked here, and the moments and constraints that take part in the proof are named.

The smallest tolerance rho comes from one more linear program. If the status is EMPTY, it looks for a set with the weight of
one full point and every deviation within rho::

    minimise  rho   subject to   -rho <= sum_i (phi_ij - alpha_j) h_i <= rho,   w . h = 1,   0 <= h <= caps

(For a set of weight 1, a tolerance on the sum and one on the mean are the same.) If the status is INFEASIBLE, constraints
decide the size. A tolerance on the sum is still found by a linear program, and one on the mean by bisection. In both cases
the problem is then solved with the tolerance found, to confirm it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import scipy.sparse as sp

from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem
from momentlp.problem.sentinels import sentinels_reported
from momentlp.proof.infeasibility import append_points, proves_infeasible
from momentlp.status import Status

if TYPE_CHECKING:
    from momentlp.solution.solution import Solution

__all__ = ["Explanation", "SmallestTolerance", "explain"]

CONFIRMATION_MARGIN = (
    1e-6  # relative: the confirming solve gets a tolerance so much larger, since the one found is a limit case
)
MAX_BISECTIONS = 60
BISECTION_TOLERANCE = 1e-9  # relative to the tolerance found
MAX_NAMES = 6  # in the text of an explanation

Solver: TypeAlias = "Callable[[Problem], Solution]"


@dataclass(frozen=True)
class SmallestTolerance:
    """The smallest tolerance, the same for all moments of some blocks, at which the problem has a set.

    Attributes
    ----------
    value : float or None
        The tolerance; None if no tolerance of these moments is enough.
    on : {"sum", "mean"}
        Whether it is a tolerance on the sum, as in ``Absolute``, or on the mean, as in ``Relative``.
    objective : float or None
        The weight of the set found with this tolerance, which confirms it; None if the confirming solve did not prove one.

    Examples
    --------
    >>> import momentlp as mlp
    >>> mlp.solve(mlp.Spec().compile([[0.0], [1.0]], mean=[5.0])).explain().uniform.value
    4.0
    """

    value: float | None
    on: str
    objective: float | None


@dataclass(frozen=True)
class Explanation:
    """Why a problem has no set, and with which tolerance it has one. ``str`` gives a text of a few lines.

    Attributes
    ----------
    status : str
        The status of the solution that is explained.
    proved : bool
        Whether momentlp confirmed the proof.
    conflict : dict of str to float
        The moments and constraints that take part in the proof, with their shares in it, the largest first.
    uniform : SmallestTolerance or None
        For all moments at once; None if the problem has no tolerance.
    per_block : tuple of SmallestTolerance
        For each block of moments alone, while the others keep their tolerance. Empty if there is only one block.

    Examples
    --------
    >>> import momentlp as mlp
    >>> reason = mlp.solve(mlp.Spec().compile([[0.0], [1.0]], mean=[5.0])).explain()
    >>> reason.status, reason.proved, reason.conflict
    ('empty', True, {'x0': 1.0})
    """

    status: str
    proved: bool
    conflict: dict[str, float]
    uniform: SmallestTolerance | None
    per_block: tuple[SmallestTolerance, ...]

    def __str__(self) -> str:
        meaning = {
            "empty": "No set of the points has this mean: there is a direction along which all points lie beyond it.",
            "infeasible": "No memberships meet all moments and constraints: a weighted sum of them is a contradiction.",
        }.get(self.status, "There is nothing to explain: the problem is neither empty nor infeasible.")
        lines = [f"{self.status.upper()}: {meaning} ({'proved' if self.proved else 'not proved'})"]
        if self.conflict:
            shown = list(self.conflict.items())[:MAX_NAMES]
            more = f", and {len(self.conflict) - len(shown)} more" if len(self.conflict) > len(shown) else ""
            lines.append("In conflict: " + ", ".join(f"{name} ({share:.0%})" for name, share in shown) + more)
        for title, found in [
            ("all moments", self.uniform),
            *((f"block {n} alone", b) for n, b in enumerate(self.per_block, 1)),
        ]:
            if found is None:
                continue
            if found.value is None:
                lines.append(f"Smallest tolerance for {title}: no tolerance is large enough")
            else:
                confirmed = "" if found.objective is None else f" (gives a set of weight {found.objective:.6g})"
                lines.append(f"Smallest tolerance for {title}: {found.value:.6g} on the {found.on}{confirmed}")
        return "\n".join(lines)


@sentinels_reported()
def explain(solution: Solution, solve: Solver) -> Explanation:
    """Explain an EMPTY or INFEASIBLE solution; see :meth:`momentlp.Solution.explain`.

    Parameters
    ----------
    solution : Solution
    solve : callable
        Takes a problem and returns its solution.
    """
    problem, y = solution.problem, solution.multipliers
    if solution.status not in (Status.EMPTY, Status.INFEASIBLE):
        return Explanation(solution.status.value, solution.certificate.holds(), {}, None, ())
    empty = solution.status is Status.EMPTY
    usable = problem.caps > 0
    proved = bool((problem.A @ y)[usable].min(initial=np.inf) > 0) if empty else proves_infeasible(problem, y)
    parts = dict(zip(problem.names, (np.abs(y) * problem.scale).tolist(), strict=True))
    conflict = {name: parts[name] / sum(parts.values()) for name in solution.conflict()}
    blocks = [number for number, block in enumerate(problem.blocks) if block.tolerance_on]
    uniform = _find_smallest(problem, blocks, empty, solve) if blocks else None
    per_block = tuple(_find_smallest(problem, [number], empty, solve) for number in blocks) if len(blocks) > 1 else ()
    return Explanation(solution.status.value, proved, conflict, uniform, per_block)


def _find_smallest(problem: Problem, blocks: list[int], empty: bool, solve: Solver) -> SmallestTolerance:
    """Find the smallest tolerance of the blocks with the given numbers, and confirm it by a solve."""
    kinds = {problem.blocks[number].tolerance_on for number in blocks}
    kind = "mean" if "mean" in kinds else "sum"
    linear = empty or kind == "sum"
    value = _find_by_program(problem, blocks, kind, empty, solve) if linear else _find_by_bisection(problem, blocks, solve)
    if value is None:
        return SmallestTolerance(None, kind, None)
    confirmed = solve(_with_tolerance(problem, blocks, value * (1 + CONFIRMATION_MARGIN) + 1e-12))
    return SmallestTolerance(value, kind, confirmed.objective if confirmed.status is Status.OPTIMAL else None)


def _find_by_program(problem: Problem, blocks: list[int], kind: str, empty: bool, solve: Solver) -> float | None:
    """Minimise rho in one linear program, in which rho is one more point, with weight -1."""
    pieces, signs = [], []
    for number, block in enumerate(problem.blocks):
        if number in blocks:
            pieces.append(_split_sides(block))
            signs += [-1.0] * block.origin.size + [1.0] * block.origin.size
        else:
            pieces.append(block)
            signs += [0.0] * block.n_moments
    program = Problem(tuple(pieces), np.zeros(problem.n_points), problem.caps)
    if empty and kind == "mean":  # any multiple of a set has the same mean: take the one of size 1 and ignore the caps
        program = replace(program, caps=(problem.caps > 0).astype(np.float64))
        program = program.with_rows(sp.csr_array((problem.n_points, 1)), 1.0, 1.0, ["size one"], shift=1.0)
        signs.append(0.0)
    elif empty:
        full = (problem.weights * problem.caps)[problem.caps > 0]
        program = program.with_rows(problem.weights[:, None], float(full.min(initial=np.inf)), np.inf, ["one full point"])
        signs.append(0.0)
    max_rho = 1.0 + max(float(problem.blocks[number].magnitude(problem.caps).max()) for number in blocks)
    row = sp.csr_array(np.array(signs)[None, :] * 1.0)
    found = solve(append_points(program, row, np.array([-1.0]), np.array([max_rho])))
    return -found.objective if found.certificate.holds(1e-6) else None


def _split_sides(block: MomentBlock) -> MomentBlock:
    """Return two rows per feature, for ``deviation - rho <= 0`` and ``deviation + rho >= 0``, without the terms in rho.

    The row of a side that the tolerance does not bound has no bound.
    """
    k = block.origin.size
    identity = sp.eye_array(k)
    high, low = (np.zeros(k) if block.side in ("both", side) else np.full(k, np.inf) for side in ("upper", "lower"))
    return MomentBlock(
        features=block.features,
        origin=block.origin,
        transform=sp.csc_array(sp.hstack([identity, identity])),
        shift=np.zeros(2 * k),
        lower=np.concatenate([np.full(k, -np.inf), -low]),
        upper=np.concatenate([high, np.full(k, np.inf)]),
        names=tuple(f"{label}:{side}" for side in ("high", "low") for label in block.labels),
    )


def _find_by_bisection(problem: Problem, blocks: list[int], solve: Solver) -> float | None:
    """Find rho by bisection, where its rows are not linear: they hold products of rho and the size of the set."""
    high = 1e-9 + max(_largest_deviation(problem.blocks[number]) for number in blocks)

    def is_feasible(rho: float) -> bool:
        return solve(_with_tolerance(problem, blocks, rho)).status is not Status.INFEASIBLE

    if not is_feasible(high):
        return None
    low = 0.0
    for _ in range(MAX_BISECTIONS):
        if high - low <= BISECTION_TOLERANCE * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if is_feasible(middle) else (middle, high)
    return high


def _largest_deviation(block: MomentBlock) -> float:
    """Return the largest deviation of any point from the mean. No mean of points deviates more."""
    deviations = block.with_uniform_tolerance(0.0)
    return float(np.abs(deviations.rows(slice(None))).max())


def _with_tolerance(problem: Problem, blocks: list[int], rho: float) -> Problem:
    """Return the problem with the tolerance rho in the blocks with the given numbers."""
    return replace(
        problem,
        blocks=tuple(b.with_uniform_tolerance(rho) if number in blocks else b for number, b in enumerate(problem.blocks)),
    )
