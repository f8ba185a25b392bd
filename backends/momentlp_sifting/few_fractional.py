"""From memberships inside the set of optima to others with the same moments, of which only few are fractional.

If many points lie exactly on the hyperplane, there are many optima, and the interior-point method ends in the middle of
them, with all these points fractional. A vertex has no more fractional points than columns. There are always memberships
with the same moments of which no more are fractional: any more points than columns have a direction that changes no moment,
and along it h moves until one membership is at a bound.

With very many points that would take long, one point after another. So while there are many, half of them are rounded at
random, up or down with the probability of their membership. The error of that grows with the square root of their number,
and the other half can easily make up for it.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr

from momentlp.points.arrays import FloatArray, IndexArray
from momentlp_sifting.columns import Columns

__all__ = ["make_few_fractional", "move_to_bounds"]

MIN_LEFT, LEFT_PER_COLUMN = 1000, 40  # fractional points, or points per column, up to which none are rounded
MAX_COLUMNS = 300  # with more, null spaces take longer than another small program
MAX_CORRECTIONS = 8  # of the memberships that make up for the rounding of the others
MARGIN = 1e-6  # of the cap: memberships this close to a bound are rounded first
NO_DIRECTION = 1e-11  # the largest entry of a direction that is zero


def make_few_fractional(
    Z: Columns, columns: IndexArray, h: FloatArray, caps: FloatArray, random: np.random.Generator
) -> FloatArray:
    """Return memberships with nearly the same ``Z^T h`` in some columns, of which no more are fractional than these columns.

    Parameters
    ----------
    Z : Columns
    columns : array of int
        The columns whose sums stay the same.
    h, caps : array, shape (n,)
    random : Generator
        Rounds memberships up or down.

    Returns
    -------
    array, shape (n,)
        Unchanged if the points that are kept cannot make up for the rounding of the others, or there are too many columns.
    """
    if columns.size > MAX_COLUMNS:
        return h
    result = np.where(h > (1 - MARGIN) * caps, caps, np.where(h < MARGIN * caps, 0.0, h))
    fractional = np.flatnonzero((result > 0) & (result < caps))
    max_left = max(MIN_LEFT, LEFT_PER_COLUMN * columns.size)
    while fractional.size > max_left:
        left = np.sort(random.choice(fractional, max(max_left, fractional.size // 2), replace=False))
        rounded = np.setdiff1d(fractional, left)
        result[rounded] = np.where(h[rounded] > random.random(rounded.size) * caps[rounded], caps[rounded], 0.0)
        if not _make_up(Z, columns, h, result, caps, left):
            return h
        fractional = left[(result[left] > 0) & (result[left] < caps[left])]
    result[fractional] = move_to_bounds(Z.dense(fractional, columns), result[fractional], caps[fractional])
    return result


def _make_up(Z: Columns, columns: IndexArray, h: FloatArray, result: FloatArray, caps: FloatArray, left: IndexArray) -> bool:
    """Change some memberships by least squares so that ``Z^T result`` is ``Z^T h`` in some columns; return if they can.

    Memberships that would leave their bounds stay there, and the others make up for that too.
    """
    for _ in range(MAX_CORRECTIONS):
        missing = Z.multiply_transposed(h - result)[columns]
        room = np.minimum(result[left], caps[left] - result[left])
        rows = Z.dense(left, columns)
        weighted = rows * room[:, None]
        size = np.sqrt(np.einsum("ij,ij->j", weighted, rows))
        used = np.flatnonzero(size > 0)  # columns of zeros have nothing to make up for
        rows, weighted = rows[:, used] / size[used], weighted[:, used] / size[used]
        gram = weighted.T @ rows
        np.fill_diagonal(gram, 1 + 1e-10)
        try:
            factor = cho_factor(gram, check_finite=False)
        except LinAlgError:
            return False
        result[left] += weighted @ cho_solve(factor, missing[used] / size[used], check_finite=False)
        beyond = (result[left] < 0) | (result[left] > caps[left])
        result[left] = np.clip(result[left], 0.0, caps[left])
        if not beyond.any():
            return True
        left = left[~beyond]
    return False


def move_to_bounds(rows: FloatArray, h: FloatArray, caps: FloatArray) -> FloatArray:
    """Return memberships with the same ``rows^T h``, of which no more are fractional than there are columns.

    Parameters
    ----------
    rows : array, shape (n, q)
    h, caps : array, shape (n,)
        All memberships strictly between 0 and their cap.
    """
    h, q = h.copy(), rows.shape[1]
    fractional, start = np.zeros(0, dtype=np.intp), 0
    while start < h.size:
        step = max(q // 4, 32)  # few directions at a time take less work in all
        fractional = np.concatenate([fractional, np.arange(start, min(start + step, h.size))])
        start += step
        h[fractional] = _move_some(rows[fractional], h[fractional], caps[fractional])
        fractional = fractional[(h[fractional] > 0) & (h[fractional] < caps[fractional])]
    return h


def _move_some(rows: FloatArray, h: FloatArray, caps: FloatArray) -> FloatArray:
    """Move along every direction of the null space of ``rows^T``, each until one membership is at a bound."""
    if rows.shape[0] <= 1:
        return h
    directions, triangle, _ = qr(rows, mode="full", pivoting=True, check_finite=False)
    sizes = np.abs(np.diagonal(triangle))
    rank = int((sizes > 1e-12 * float(sizes.max(initial=0.0))).sum())
    null = directions[:, rank:]
    for column in range(null.shape[1]):
        direction = null[:, column]
        size = float(np.abs(direction).max(initial=0.0))
        if size < NO_DIRECTION:
            continue
        direction = direction / size
        with np.errstate(divide="ignore", invalid="ignore"):
            length = np.where(direction > 1e-9, (caps - h) / direction, np.where(direction < -1e-9, -h / direction, np.inf))
        at = int(np.argmin(length))
        h = np.clip(h + float(length[at]) * direction, 0.0, caps)
        h[at] = caps[at] if direction[at] > 0 else 0.0
        if column + 1 < null.shape[1]:  # that one must not move again
            null[:, column + 1 :] -= np.outer(direction / direction[at], null[at, column + 1 :])
            null[at, column + 1 :] = 0.0
    return np.asarray(h)
