"""The score plot: the distribution of the scores, and the cut-off."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.plots.axes import add_legend, has_own_figure, hide_frame, new_axes
from momentlp.plots.plotted_points import Subject, get_classifier, is_detector
from momentlp.points.arrays import FloatArray

__all__ = ["score_plot"]

N_BINS = 60
# If the lowest score is more than this many times as far from the cut-off as the highest, the axis is cut at half of that.
MAX_REACH = 8


def score_plot(model: Any, X: Any, axes: Any = None) -> Any:
    """Draw a histogram of the scores of labelled and unlabelled points, with the cut-off of the class.

    A clearly separated class has few points near the cut-off, and its labelled points have the same scores as the points
    found. The axis of counts is logarithmic, because the class may be a small part of all points. Scores far below the
    cut-off are counted in the first bar; the label of the axis says so.

    Parameters
    ----------
    model : MomentClassifier, MomentClassifierCV or MomentOutlierDetector
        A fitted estimator.
    X : array, frame or sparse matrix, shape (N, d)
        The points on which it was fitted.
    axes : matplotlib Axes, optional
        Default: a new pyplot figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        If X has another shape or other columns, or ``model`` is no estimator of this package.
    NotFittedError
        If the model was not fitted.
    ExtraMissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np, momentlp as mlp
    >>> from momentlp.plots import new_axes, score_plot
    >>> from momentlp.synthetic import make_gaussian
    >>> case = make_gaussian(0)
    >>> y = np.isin(np.arange(len(case.X)), case.labelled).astype(int)
    >>> model = mlp.MomentClassifier("quadratic").fit(case.X, y)
    >>> axes = score_plot(model, case.X, new_axes(use_pyplot=False))
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['unlabelled, out', 'unlabelled, found', 'labelled']
    """
    classifier = get_classifier(model)
    subject = Subject.from_source(model, X)
    cut = subject.offset
    offsets, edges, is_cut = _bin_scores(subject.score(subject.points) - cut, subject.inside)
    axes = new_axes(axes, (6.4, 4.2))
    for group in subject.groups:
        if group.mask.any():
            width = 0.5 if group.is_labelled else 1.0
            name = group.name if group.is_labelled or is_detector(model) else f"unlabelled, {group.name}"
            axes.hist(cut + offsets[group.mask], cut + edges, color=group.colour, rwidth=width, label=name)
    axes.axvline(cut, color="black", linewidth=1.2)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    label = f"score; {'inliers' if is_detector(model) else 'members'} are above {cut:.3g}"
    if is_cut and has_own_figure(axes):
        label += f", all below {cut + edges[1]:.2g} are in the first bar"
    elif is_cut:  # a longer label would reach into neighbouring axes
        label = f"score (first bar: below {cut + edges[1]:.2g})"
    axes.set_xlabel(label)
    axes.set_ylabel("points")
    title = f"class prior: {classifier.class_prior_:.1%} of the unlabelled points"
    if is_detector(model):
        title = f"outliers: {1 - subject.inside.mean():.1%} of the points"
    axes.set_title(title, fontsize=10, pad=24 if has_own_figure(axes) else None)
    hide_frame(axes)
    add_legend(axes)
    if not has_own_figure(axes):
        axes.get_legend().set_loc("upper center")  # between members and others: "best" avoids lines and points, but not bars
    return axes


def _bin_scores(offsets: FloatArray, inside: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray, bool]:
    """Return the offsets from the cut-off as drawn, the edges of the bars, and whether the first bar holds the rest.

    A point on the cut-off, up to rounding, is drawn on the side to which it was assigned.
    """
    offsets = np.where(np.abs(offsets) < 1e-9, np.where(inside, 1e-9, -1e-9), offsets)
    below, above = max(-float(offsets.min()), 0.0), max(float(offsets.max()), 0.0)
    is_cut = 1e-6 * below < above < below / MAX_REACH
    if is_cut:
        below = MAX_REACH / 2 * above
    width = (below + above) / N_BINS
    edges = width * np.arange(-np.ceil(below / width), np.ceil(above / width) + 1)
    return np.maximum(offsets, edges[0]), edges, is_cut
