"""The membership plot: the points found, those not found, and the curve between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.plots.axes import add_legend, has_own_figure, hide_frame, new_axes
from momentlp.plots.plotted_points import Subject
from momentlp.points.arrays import FloatArray, Matrix, is_sparse

__all__ = ["membership_plot"]

N_GRID = 300  # columns and rows of the grid of scores from which the curve is drawn
MAX_LARGE_MARKS = 80  # if there are more labelled points, their marks are small


def membership_plot(solution: Any, X: Any, axes: Any = None) -> Any:
    """Draw the memberships of points, and in one or two dimensions the curve that separates them.

    Points with more than two columns are drawn by their first two principal components, without a curve: the surface that
    separates them is no curve in two components.

    Parameters
    ----------
    solution : Solution or fitted estimator
    X : array, frame or sparse matrix, shape (N, d)
        The points of the problem, or those on which the estimator was fitted.
    axes : matplotlib Axes, optional
        Default: a new pyplot figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        If X has another shape or other columns, or ``solution`` is neither of the two.
    NotFittedError
        If it is an estimator that was not fitted.
    ExtraMissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> import momentlp as mlp
    >>> from momentlp.plots import membership_plot, new_axes
    >>> from momentlp.synthetic import make_ring
    >>> case = make_ring(0)
    >>> solution = mlp.solve(mlp.Spec(features=mlp.Quadratic()).compile(case.X, labelled=case.labelled))
    >>> axes = membership_plot(solution, case.X, new_axes(use_pyplot=False))
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['out', 'found', 'labelled']
    """
    subject = Subject.from_source(solution, X)
    n_columns = subject.points.shape[1]
    axes = new_axes(axes)
    if n_columns == 1:
        _draw_one_column(axes, subject)
    elif n_columns == 2:
        _draw_two_columns(axes, subject)
    else:
        _draw_components(axes, subject)
    hide_frame(axes)
    add_legend(axes)
    return axes


def _scatter(axes: Any, subject: Subject, positions: FloatArray) -> None:
    """Draw the points at their positions, shape (N, 2), with smaller marks if there are many."""
    area = float(np.clip(14 * 2000 / len(positions), 2, 14))
    for group in subject.groups:
        count = int(group.mask.sum())
        size = {"s": 30, "linewidths": 1.2} if count <= MAX_LARGE_MARKS else {"s": 20, "linewidths": 0.7}
        style = {"marker": "x", **size} if group.is_labelled else {"marker": "o", "s": area, "linewidths": 0}
        if count:
            axes.scatter(*positions[group.mask].T, color=group.colour, label=group.name, **style)


def _draw_one_column(axes: Any, subject: Subject) -> None:
    points = _to_dense(subject.points)
    _scatter(axes, subject, np.column_stack([points[:, 0], subject.membership]))
    x = np.linspace(points.min(), points.max(), N_GRID)
    for step in np.flatnonzero(np.diff(subject.score(x[:, None]) > subject.offset)):
        axes.axvline((x[step] + x[step + 1]) / 2, color="black", linewidth=1.2)
    axes.set_xlabel(subject.columns[0])
    axes.set_ylabel("membership")


def _draw_two_columns(axes: Any, subject: Subject) -> None:
    points = _to_dense(subject.points)
    _scatter(axes, subject, points)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(a - m, b + m, N_GRID) for a, b, m in zip(low, high, margin, strict=True))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    score = subject.score(grid).reshape(N_GRID, N_GRID) - subject.offset
    if score.min() < 0 < score.max():
        axes.contour(x, y, score, levels=[0.0], colors="black", linewidths=1.2)
    axes.set_xlabel(subject.columns[0])
    axes.set_ylabel(subject.columns[1])


def _draw_components(axes: Any, subject: Subject) -> None:
    positions, shares = _principal_components(subject.points)
    _scatter(axes, subject, positions)
    for which, share, set_label in (("first", shares[0], axes.set_xlabel), ("second", shares[1], axes.set_ylabel)):
        set_label(f"{which} principal component ({share:.0%}{' of the variance' if has_own_figure(axes) else ''})")


def _principal_components(points: Matrix) -> tuple[FloatArray, FloatArray]:
    """Return the first two principal components, shape (N, 2), and their shares of the variance. Sparse stays sparse."""
    from sklearn.decomposition import PCA

    if is_sparse(points) and min(points.shape) <= 3:
        points = points.toarray()
    solver = "arpack" if is_sparse(points) else "auto"
    analysis = PCA(2, svd_solver=solver, random_state=0)
    with np.errstate(invalid="ignore", divide="ignore"):  # all points may be equal
        positions = analysis.fit_transform(points)
    return positions, np.nan_to_num(analysis.explained_variance_ratio_)


def _to_dense(points: Matrix) -> FloatArray:
    return np.asarray(points.toarray() if is_sparse(points) else points)
