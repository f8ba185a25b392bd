"""The scores of all points, and where the class begins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.plots.axes import bare, is_own, legend_above, new_axes
from momentlp.plots.subject import Subject, classifier_of, is_detector
from momentlp.points.arrays import FloatArray

__all__ = ["score_plot"]

BINS = 60
REACH = 8  # times as far down as up from the cut-off, and scores are gathered from half of that


def score_plot(model: Any, X: Any, axes: Any = None) -> Any:
    """Draw how the scores of labelled and of unlabelled points are spread, with the cut-off between in and out.

    A clear-cut class leaves few points near the cut-off, and its labelled points stand where the points found stand. Counts
    are on a logarithmic axis, for the class may be a small part of all points. Scores far below the cut-off are gathered in
    the first bar, and the axis says so.

    Parameters
    ----------
    model : MomentClassifier, MomentClassifierCV or MomentOutlierDetector
        A fitted one.
    X : array, frame or sparse matrix, shape (N, d)
        The points that it was fitted on.
    axes : matplotlib Axes, optional

    Raises
    ------
    DataError
        If X is another set of points, or ``model`` is no estimator of this package.
    NotFittedError
        If the model was not fitted.
    """
    classifier = classifier_of(model)
    subject = Subject.of(model, X)
    cut = subject.offset
    offsets, edges, gathered = _binned(subject.score(subject.points) - cut, subject.inside)
    axes = new_axes(axes, (6.4, 4.2))
    for group in subject.groups:
        if group.mask.any():
            width = 0.5 if group.known else 1.0
            name = group.name if group.known or is_detector(model) else f"unlabelled, {group.name}"
            axes.hist(cut + offsets[group.mask], cut + edges, color=group.colour, rwidth=width, label=name)
    axes.axvline(cut, color="black", linewidth=1.2)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    label = f"score; {'inliers' if is_detector(model) else 'members'} are above {cut:.3g}"
    if gathered and is_own(axes):
        label += f", and all below {cut + edges[1]:.2g} are in the first bar"
    elif gathered:  # a longer one would reach into the axes beside these
        label = f"score (first bar: below {cut + edges[1]:.2g})"
    axes.set_xlabel(label)
    axes.set_ylabel("points")
    title = f"class prior: {classifier.class_prior_:.1%} of the unlabelled points"
    if is_detector(model):
        title = f"outliers: {1 - subject.inside.mean():.1%} of the points"
    axes.set_title(title, fontsize=10, pad=24 if is_own(axes) else None)
    bare(axes)
    legend_above(axes)
    if not is_own(axes):
        axes.get_legend().set_loc("upper center")  # between the two heaps: "best" looks at lines and points, not at bars
    return axes


def _binned(offsets: FloatArray, inside: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray, bool]:
    """Return the scores, counted from the cut-off, as they are drawn, the edges of the bars, and whether any were gathered.

    Where rounding decides on which side a point lies it is drawn on the side where it was put.
    """
    offsets = np.where(np.abs(offsets) < 1e-9, np.where(inside, 1e-9, -1e-9), offsets)
    below, above = max(-float(offsets.min()), 0.0), max(float(offsets.max()), 0.0)
    far = 1e-6 * below < above < below / REACH
    if far:
        below = REACH / 2 * above
    width = (below + above) / BINS
    edges = width * np.arange(-np.ceil(below / width), np.ceil(above / width) + 1)
    return np.maximum(offsets, edges[0]), edges, far
