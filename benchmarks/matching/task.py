"""A task as every contestant gets it: moments, tolerances, and the integer program that they make.

A task is a file of arrays, so that a contestant runs in a process that holds nothing of momentlp. There are three kinds:

``"mean"``
    The mean of every moment over the rows chosen is within ``delta`` of ``center``.
``"sum"``
    The sum of every moment over the rows chosen is within ``delta`` of zero.
``"groups"``
    As many rows of group 1 as of group 0 are chosen, and the means of the groups differ by at most ``delta``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Task", "excess", "linear_program", "load_task", "save_task"]

Floats = NDArray[np.float64]
ROUNDING = 1e-9  # of the tolerance: what counts as no violation


@dataclass(frozen=True, eq=False)
class Task:
    """One task.

    Attributes
    ----------
    kind : {"mean", "sum", "groups"}
    moments : array, shape (N, m)
        The moments of the rows to choose from.
    target : array, shape (t, m)
        For ``"mean"`` the moments of the rows whose means are wanted, otherwise empty.
    center, delta : array, shape (m,)
    codes : array of int, shape (N,)
        The group of every row: 0 or 1; 0 where there are no groups.
    tolerance : float
        ``delta`` in standard deviations; NaN for ``"sum"``.
    """

    kind: str
    moments: Floats
    target: Floats
    center: Floats
    delta: Floats
    codes: NDArray[np.int64]
    tolerance: float


def save_task(task: Task, path: Path) -> None:
    """Write a task as ``.npz``."""
    arrays: dict[str, Any] = asdict(task)
    np.savez(path, **arrays)


def load_task(path: Path) -> Task:
    """Read a task."""
    with np.load(path) as file:
        fields = {name: file[name] for name in file.files}
    return Task(**{**fields, "kind": str(fields["kind"]), "tolerance": float(fields["tolerance"])})


def linear_program(task: Task) -> tuple[Floats, Floats, Floats]:
    """Return A, lower and upper of the task: ``lower <= A.T @ h <= upper``, the sum of h as large as possible.

    A tolerance on a mean is linear in h: ``|sum_i (x_ij - c_j) h_i| <= delta_j sum_i h_i`` is two inequalities with 0.
    """
    if task.kind == "sum":
        return task.moments, -task.delta, task.delta
    is_counted, side = np.ones(len(task.moments)), np.ones(len(task.moments))
    if task.kind == "groups":
        is_counted, side = (task.codes == 1).astype(float), np.where(task.codes == 1, 1.0, -1.0)
    away = side[:, None] * (task.moments - task.center)
    room = is_counted[:, None] * task.delta
    zero, infinite = np.zeros(task.delta.size), np.full(task.delta.size, np.inf)
    A, lower, upper = np.hstack([away - room, away + room]), np.append(-infinite, zero), np.append(zero, infinite)
    if task.kind == "groups":
        A, lower, upper = np.column_stack([A, side]), np.append(lower, 0.0), np.append(upper, 0.0)
    return np.ascontiguousarray(A), lower, upper


def excess(task: Task, chosen: NDArray[np.int64]) -> float:
    """Return by how much the worst moment of a set is beyond its tolerance, in units of the tolerance; 0 if none is.

    Examples
    --------
    >>> x = np.array([[0.0], [3.0]])
    >>> task = Task("mean", x, x[:1], np.zeros(1), np.ones(1), np.zeros(2, dtype=int), 0.1)
    >>> excess(task, np.array([0])), excess(task, np.array([0, 1]))
    (0.0, 0.5)
    """
    if not chosen.size:
        return 0.0
    rows = task.moments[chosen]
    if task.kind == "sum":
        away = rows.sum(axis=0)
    elif task.kind == "mean":
        away = (rows - task.center).mean(axis=0)
    else:
        groups = [rows[task.codes[chosen] == code] for code in (0, 1)]
        if not (len(groups[0]) and len(groups[1])):
            return float("inf")
        away = groups[1].mean(axis=0) - groups[0].mean(axis=0)
    worst = float((np.abs(away) / task.delta).max()) - 1.0
    return worst if worst > ROUNDING else 0.0
