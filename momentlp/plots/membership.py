"""The points that were found, those that were not, and the curve between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.plots.axes import bare, is_own, legend_above, new_axes
from momentlp.plots.subject import Subject
from momentlp.points.arrays import FloatArray, Matrix, is_sparse

__all__ = ["membership_plot"]

GRID = 300
FEW = 80  # labelled points that are drawn larger


def membership_plot(solution: Any, X: Any, axes: Any = None) -> Any:
    """Draw the memberships of points, and in one or two dimensions the curve that separates them.

    Points of more columns are drawn by their first two principal components, without a curve: what divides them in all
    columns leaves no line in two.

    Parameters
    ----------
    solution : Solution or fitted estimator
    X : array, frame or sparse matrix, shape (N, d)
        The points that the problem was compiled with, or that the estimator was fitted on.
    axes : matplotlib Axes, optional

    Raises
    ------
    DataError
        If X is another set of points, or ``solution`` is neither of the two.
    """
    subject = Subject.of(solution, X)
    width = subject.points.shape[1]
    axes = new_axes(axes)
    if width == 1:
        _draw_line(axes, subject)
    elif width == 2:
        _draw_plane(axes, subject)
    else:
        _draw_components(axes, subject)
    bare(axes)
    legend_above(axes)
    return axes


def _scatter(axes: Any, subject: Subject, places: FloatArray) -> None:
    """Draw the points at their places, shape (N, 2), smaller where there are many."""
    small = float(np.clip(14 * 2000 / len(places), 2, 14))
    for group in subject.groups:
        count = int(group.mask.sum())
        few = {"s": 30, "linewidths": 1.2} if count <= FEW else {"s": 20, "linewidths": 0.7}
        style = {"marker": "x", **few} if group.known else {"marker": "o", "s": small, "linewidths": 0}
        if count:
            axes.scatter(*places[group.mask].T, color=group.colour, label=group.name, **style)


def _draw_line(axes: Any, subject: Subject) -> None:
    points = _dense(subject.points)
    _scatter(axes, subject, np.column_stack([points[:, 0], subject.membership]))
    x = np.linspace(points.min(), points.max(), GRID)
    for place in np.flatnonzero(np.diff(subject.score(x[:, None]) > subject.offset)):
        axes.axvline((x[place] + x[place + 1]) / 2, color="black", linewidth=1.2)
    axes.set_xlabel(subject.columns[0])
    axes.set_ylabel("membership")


def _draw_plane(axes: Any, subject: Subject) -> None:
    points = _dense(subject.points)
    _scatter(axes, subject, points)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(a - m, b + m, GRID) for a, b, m in zip(low, high, margin, strict=True))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    score = subject.score(grid).reshape(GRID, GRID) - subject.offset
    if score.min() < 0 < score.max():
        axes.contour(x, y, score, levels=[0.0], colors="black", linewidths=1.2)
    axes.set_xlabel(subject.columns[0])
    axes.set_ylabel(subject.columns[1])


def _draw_components(axes: Any, subject: Subject) -> None:
    places, shares = _components(subject.points)
    _scatter(axes, subject, places)
    for which, share, label in (("first", shares[0], axes.set_xlabel), ("second", shares[1], axes.set_ylabel)):
        label(f"{which} principal component ({share:.0%}{' of the variance' if is_own(axes) else ''})")


def _components(points: Matrix) -> tuple[FloatArray, FloatArray]:
    """Return the first two principal components and their share of the variance. Sparse points are not made dense."""
    from sklearn.decomposition import PCA

    if is_sparse(points) and min(points.shape) <= 3:
        points = points.toarray()
    solver = "arpack" if is_sparse(points) else "auto"
    analysis = PCA(2, svd_solver=solver, random_state=0)
    with np.errstate(invalid="ignore", divide="ignore"):  # where all points are one
        places = analysis.fit_transform(points)
    return places, np.nan_to_num(analysis.explained_variance_ratio_)


def _dense(points: Matrix) -> FloatArray:
    return np.asarray(points.toarray() if is_sparse(points) else points)
