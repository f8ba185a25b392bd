r"""The minimum change of memberships that brings all violated moments back at once: a small linear program.

With shares ``h_i / u_i``, and a change of ``d_i`` points at each of some points::

    minimise  sum_i c_i |d_i|    subject to   -below_j <= sum_i A_ij u_i d_i <= above_j,    -h_i/u_i <= d_i <= 1 - h_i/u_i

``below`` and ``above`` are the distances of A^T h to its bounds, one of them negative where a bound is violated. The cost
``c_i = 1 + |w_i| u_i / weight`` counts the change itself and what it does to the objective.

The program is solved in units of the violation, so the tolerance of the solver is far below what matters. What it leaves is
removed by solving again for the rest. Whatever the solver says, the result is checked by a product with A.

First only points that are strictly between 0 and their cap may change: at a vertex there are as many of them as active
moments, and they are enough. If they are not, the points nearest to the hyperplane join them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.problem.entry_sizes import quantile_of_positive
from momentlp.problem.problem import Problem

__all__ = ["JointChange", "find_joint_change"]

MAX_ENTRIES = 4_000_000  # of A, at the points that may change: 32 MiB as float64
N_MORE_POINTS = 1000  # points that may change, in addition to four per moment
MAX_ROUNDS = 3
MAX_SECONDS = 5.0  # for one small program
SMALL_CHANGE = 3e-8  # in points; a change this small is taken at once, a larger one is compared with that of other points
FAR = 1e9  # in units of the violation; a bound this far away cannot matter
SOLVER_TOLERANCE = 1e-10  # the smallest that HiGHS takes
LEFT_OVER = 1 / 8  # of the rounding that is forgiven: a violation that may remain at the end


@dataclass(frozen=True)
class JointChange:
    """A change of memberships after which all moments are within their bounds.

    Attributes
    ----------
    points : array of int, shape (r,)
        The points that change.
    change : array, shape (r,)
        By how much, in points: relative to their caps.
    size : float
        The sum of the changes in points, or what they cost of the objective in its unit, whichever is larger.
    """

    points: IndexArray
    change: FloatArray
    size: float

    def apply(self, problem: Problem, h: FloatArray) -> FloatArray:
        """Return the memberships after the change, within their bounds."""
        changed = h.copy()
        changed[self.points] += self.change * problem.caps[self.points]
        return np.clip(changed, 0.0, problem.caps)


def find_joint_change(
    problem: Problem,
    h: FloatArray,
    y: FloatArray,
    below: FloatArray,
    above: FloatArray,
    allowed: FloatArray,
    weight: float,
) -> JointChange | None:
    """Return a small change of memberships that brings all moments back; None if none was found.

    Parameters
    ----------
    problem : Problem
    h : array, shape (N,)
    y : array, shape (m,)
    below, above : array, shape (m,)
        The distances of A^T h to the lower and upper bounds; negative where a bound is violated.
    allowed : array, shape (m,)
        The rounding that is already contained in these distances.
    weight : float
        The unit of the objective.

    Returns
    -------
    JointChange or None
    """
    best: JointChange | None = None
    for points in _choose_points(problem, h, y):
        change = _find_change(problem, h, points, below, above, allowed, weight)
        if change is not None and (best is None or change.size < best.size):
            best = change
        if best is not None and best.size <= SMALL_CHANGE:
            break
    return best


def _choose_points(problem: Problem, h: FloatArray, y: FloatArray) -> Iterator[IndexArray]:
    """Yield the points that may change: those strictly inside their bounds, then also the nearest to the hyperplane."""
    max_points = min(N_MORE_POINTS + 4 * problem.n_moments, max(100, MAX_ENTRIES // problem.n_moments))
    inside = np.minimum(h, problem.caps - h)
    fractional = np.flatnonzero(inside > 0)
    if fractional.size > max_points:
        fractional = fractional[np.argsort(-inside[fractional], kind="stable")[:max_points]]
    if fractional.size:
        yield fractional
    if problem.A.table is not None or fractional.size == problem.n_points:
        return
    scores = np.abs(problem.weights - problem.A @ y) * problem.caps
    scores[fractional] = -1.0
    n_chosen = min(problem.n_points, max_points)
    chosen = np.argpartition(scores, n_chosen - 1)[:n_chosen]
    yield chosen[problem.caps[chosen] > 0]


def _find_change(
    problem: Problem,
    h: FloatArray,
    points: IndexArray,
    below: FloatArray,
    above: FloatArray,
    allowed: FloatArray,
    weight: float,
) -> JointChange | None:
    """Solve for the change at some points, again for what is left, and check it."""
    caps = problem.caps[points]
    entries = problem.A.rows(points) * caps[:, None]
    if not np.isfinite(entries).all():
        return None
    effect = problem.weights[points] * caps / weight
    share = np.clip(h[points] / np.where(caps > 0, caps, 1.0), 0.0, 1.0)
    total = np.zeros(points.size)
    for _ in range(MAX_ROUNDS):
        step = _solve_in_units_of_violation(entries, share + total, 1.0 + np.abs(effect), below, above)
        if step is None:
            return None
        total += step
        moved = entries.T @ step
        below, above = below + moved, above - moved
        if (np.minimum(below, above) >= -LEFT_OVER * allowed).all():
            beyond = np.maximum(share + total - 1.0, -(share + total))
            size = max(np.abs(total).sum(), abs(effect @ total)) + np.maximum(beyond, 0.0).sum()
            return JointChange(points, total, float(size))
    return None


def _solve_in_units_of_violation(
    entries: FloatArray, share: FloatArray, costs: FloatArray, below: FloatArray, above: FloatArray
) -> FloatArray | None:
    """Return the change per point that removes all violations; None if there is none."""
    from scipy.optimize import linprog  # takes a tenth of a second to import, and most answers do not need it

    typical = quantile_of_positive(np.abs(entries), 2)
    row_unit = np.where(typical > 0, typical, 1.0)
    unit = float((-np.minimum(below, above) / row_unit).max())
    if not 0 < unit < np.inf:
        return None
    scaled = entries / row_unit
    size = np.maximum(np.abs(scaled).max(axis=1), 1.0)  # of each point: a sentinel gets a unit of its own
    scaled = (scaled / size[:, None]).T
    up, down = (1.0 - share) * size / unit, share * size / unit
    rows, limits = [], []
    for sign, room in ((1.0, above), (-1.0, below)):
        near = room / (row_unit * unit) < FAR
        rows.append(sign * scaled[near])
        limits.append(room[near] / (row_unit[near] * unit))
    matrix, limit = np.vstack(rows), np.concatenate(limits)
    if not (np.isfinite(matrix).all() and np.isfinite(limit).all()):  # violations or entries near the largest float
        return None
    bounds = [(0.0, value if value < FAR else None) for value in np.maximum(np.concatenate([up, down]), 0.0).tolist()]
    result = linprog(
        np.tile(costs / size, 2) / np.median(costs / size),
        A_ub=np.hstack([matrix, -matrix]),
        b_ub=limit,
        bounds=bounds,
        method="highs-ds",
        options={"primal_feasibility_tolerance": SOLVER_TOLERANCE, "time_limit": MAX_SECONDS},
    )
    if result.x is None or result.status != 0:
        return None
    plus, minus = np.split(result.x, 2)
    return np.asarray((plus - minus) * unit / size)
