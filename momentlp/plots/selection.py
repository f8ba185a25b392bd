"""The selection plot: how the cross-validation chose features and tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from momentlp.errors import DataError
from momentlp.features import FeatureMap
from momentlp.plots.axes import BLUE, GREY, RED, add_legend, hide_frame, new_axes, set_tolerance_axis, shorten
from momentlp.plots.plotted_points import get_classifier
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.spec.tolerances import StandardError

__all__ = ["selection_plot"]

COLOURS = (BLUE, "#edae49", "#00a08a", "#6a4c93", "#7a4419", GREY)
LINE_SHIFT = 0.01  # between lines that would cover each other, as a share of the axis
MAX_VALUE_LENGTH = 40  # characters of a parameter's value in the legend
CRITERION_LABELS = {"lee-liu": "recall² / share found", "difference": "recall - share found"}


def selection_plot(model: Any, axes: Any = None) -> Any:
    """Draw the criterion along the tolerance, one line per feature map, with the best and the chosen candidate marked.

    The bars are one standard error over the folds. Hollow marks are candidates that found less than half of the points held
    out. They cannot be chosen, and have no bar and no line. Candidates without an answer in some fold are not drawn. Lines
    are shifted a little so that no bar hides another.

    Parameters
    ----------
    model : MomentClassifierCV
        A fitted estimator.
    axes : matplotlib Axes, optional
        Default: a new pyplot figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        If ``model`` is something else.
    NotFittedError
        If the model was not fitted.
    ExtraMissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np, momentlp as mlp
    >>> from momentlp.plots import new_axes, selection_plot
    >>> from momentlp.synthetic import make_gaussian
    >>> case = make_gaussian(0)
    >>> y = np.isin(np.arange(len(case.X)), case.labelled).astype(int)
    >>> model = mlp.MomentClassifierCV("quadratic", cv=3, random_state=0).fit(case.X, y)
    >>> axes = selection_plot(model, new_axes(use_pyplot=False))
    >>> axes.get_xlabel()
    'tolerance, in standard errors'
    """
    from momentlp.estimator import MomentClassifierCV
    from momentlp.estimator.criteria import MIN_RECALL, is_eligible

    if not isinstance(model, MomentClassifierCV):
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise DataError(
            f"model must be a fitted MomentClassifierCV, not {given}: only that one chooses features and a tolerance."
        )
    get_classifier(model)  # raises if it was not fitted
    results = model.cv_results_
    mean, error, tolerance = results["mean_test_score"], results["standard_error"], results["param_tolerance"]
    eligible = is_eligible(results["mean_recall"], mean)
    groups = _group_by_features(results["param_features"], tolerance)
    names = _name_maps([results["param_features"][group[0]] for group in groups])
    axes = new_axes(axes, (6.4, 4.4))
    positive = tolerance[tolerance > 0]
    span = max(2.0, positive.max() / positive.min()) if positive.size else 2.0
    x, legend = np.empty(mean.size), []
    for number, (group, name) in enumerate(zip(groups, names, strict=True)):
        x[group] = tolerance[group] * span ** (LINE_SHIFT * (number - (len(groups) - 1) / 2))
        style = {"color": COLOURS[number % len(COLOURS)], "markersize": 4}
        filled, hollow = group[eligible[group]], group[~eligible[group]]
        axes.plot(x[group], np.where(eligible, mean, np.nan)[group], linewidth=1.2, **style)
        axes.plot(x[hollow], mean[hollow], "o", markerfacecolor="white", **style)
        bars = {"fmt": "o", "capsize": 2, "elinewidth": 1, "label": name}
        legend.append(axes.errorbar(x[filled], mean[filled], error[filled], **bars, **style))
    best, chosen = int(np.argmax(np.where(eligible, mean, -np.inf))), model.best_index_
    ring = {"facecolors": "none", "linewidths": 1.6, "zorder": 5, "s": 80}
    legend.append(axes.scatter(x[best], mean[best], edgecolors="black", label="best", **ring))
    legend.append(axes.scatter(x[chosen], mean[chosen], edgecolors=RED, marker="D", label="chosen", **ring))
    dashes = {"color": "black", "linewidth": 0.8, "linestyle": (0, (4, 3))}
    legend.append(axes.axhline(model.one_standard_error_, label="best less one standard error", **dashes))
    if (~eligible & np.isfinite(mean)).any():
        hollow_ring = {"color": "black", "markerfacecolor": "white", "markersize": 4}
        legend += axes.plot([], [], "o", label=f"not eligible: recall below {MIN_RECALL:g}", **hollow_ring)
    set_tolerance_axis(axes, tolerance, log=True)
    is_standard_error = any(model.tolerance == value for value in (None, 1.0, StandardError(1.0)))
    axes.set_xlabel("tolerance, in standard errors" if is_standard_error else "multiple of the tolerance")
    criterion = model.criterion if isinstance(model.criterion, str) else getattr(model.criterion, "__name__", "criterion")
    axes.set_ylabel(CRITERION_LABELS.get(criterion, criterion))
    hide_frame(axes)
    add_legend(axes, handles=legend)
    return axes


def _group_by_features(features: Sequence[Any], tolerance: FloatArray) -> list[IndexArray]:
    """Return the positions of the candidates of each feature map. Within one map the tolerances fall."""
    is_first = [
        tolerance[index] > tolerance[index - 1]
        or (tolerance[index] == tolerance[index - 1] and not _is_same(features[index], features[index - 1]))
        for index in range(1, tolerance.size)
    ]
    return np.split(np.arange(tolerance.size), np.flatnonzero(is_first) + 1)


def _is_same(left: Any, right: Any) -> bool:
    return left is right or bool(left == right)


def _name_maps(maps: Sequence[Any]) -> list[str]:
    """Name feature maps by their kind, and by the fields in which maps of the same kind differ."""
    names = []
    for features in maps:
        if not isinstance(features, FeatureMap):
            names.append(str(features))
            continue
        others = [other for other in maps if isinstance(other, FeatureMap) and other.kind == features.kind]
        fields = [
            f"{field.replace('_', ' ')} {_format_value(getattr(features, field))}"
            for field in type(features).model_fields
            if any(not _is_same(getattr(features, field, None), getattr(other, field, None)) for other in others)
        ]
        names.append(", ".join([features.kind, *fields]))
    return names


def _format_value(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return shorten(text, MAX_VALUE_LENGTH)
