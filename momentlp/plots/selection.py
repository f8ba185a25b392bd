"""How features and tolerance were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from momentlp.errors import DataError
from momentlp.features import FeatureMap
from momentlp.plots.axes import BLUE, GREY, RED, bare, legend_above, new_axes, tolerance_axis
from momentlp.plots.subject import classifier_of
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.spec.tolerances import StandardError

__all__ = ["selection_plot"]

COLOURS = (BLUE, "#edae49", "#00a08a", "#6a4c93", "#7a4419", GREY)
APART = 0.01  # between lines that would stand on one another, as a share of the axis
CRITERIA = {"lee-liu": "recall² / share found", "difference": "recall - share found"}


def selection_plot(model: Any, axes: Any = None) -> Any:
    """Draw the criterion along the tolerance, a line for every feature map, with the best and the choice marked.

    The bars are one standard error over the folds. Hollow points found less than half of what was held out, which rules them
    out; they have no bars and no line. What had no answer in some fold is not drawn. Lines are drawn a little apart so that
    no bar hides another.

    Parameters
    ----------
    model : MomentClassifierCV
        A fitted one.
    axes : matplotlib Axes, optional

    Raises
    ------
    DataError
        If the model is of another kind.
    NotFittedError
        If it was not fitted.
    """
    from momentlp.estimator import MomentClassifierCV
    from momentlp.estimator.criteria import MIN_RECALL, is_eligible

    if not isinstance(model, MomentClassifierCV):
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise DataError(f"model must be a fitted MomentClassifierCV, not {given}: only that one chooses.")
    classifier_of(model)
    tried = model.cv_results_
    mean, error, tolerance = tried["mean_test_score"], tried["standard_error"], tried["param_tolerance"]
    allowed = is_eligible(tried["mean_recall"], mean)
    groups = _groups(tried["param_features"], tolerance)
    names = _names([tried["param_features"][group[0]] for group in groups])
    axes = new_axes(axes, (6.4, 4.4))
    positive = tolerance[tolerance > 0]
    span = max(2.0, positive.max() / positive.min()) if positive.size else 2.0
    places, legend = np.empty(mean.size), []
    for number, (group, name) in enumerate(zip(groups, names, strict=True)):
        places[group] = tolerance[group] * span ** (APART * (number - (len(groups) - 1) / 2))
        style = {"color": COLOURS[number % len(COLOURS)], "markersize": 4}
        kept, hollow = group[allowed[group]], group[~allowed[group]]
        axes.plot(places[group], np.where(allowed, mean, np.nan)[group], linewidth=1.2, **style)
        axes.plot(places[hollow], mean[hollow], "o", markerfacecolor="white", **style)
        bars = {"fmt": "o", "capsize": 2, "elinewidth": 1, "label": name}
        legend.append(axes.errorbar(places[kept], mean[kept], error[kept], **bars, **style))
    best, chosen = int(np.argmax(np.where(allowed, mean, -np.inf))), model.best_index_
    ring = {"facecolors": "none", "linewidths": 1.6, "zorder": 5, "s": 80}
    legend.append(axes.scatter(places[best], mean[best], edgecolors="black", label="best", **ring))
    legend.append(axes.scatter(places[chosen], mean[chosen], edgecolors=RED, marker="D", label="chosen", **ring))
    dashes = {"color": "black", "linewidth": 0.8, "linestyle": (0, (4, 3))}
    legend.append(axes.axhline(model.one_standard_error_, label="best less one standard error", **dashes))
    if (~allowed & np.isfinite(mean)).any():
        hollow_ring = {"color": "black", "markerfacecolor": "white", "markersize": 4}
        legend += axes.plot([], [], "o", label=f"ruled out: recall below {MIN_RECALL:g}", **hollow_ring)
    tolerance_axis(axes, tolerance, log=True)
    in_errors = any(model.tolerance == one for one in (None, 1.0, StandardError(1.0)))
    axes.set_xlabel("tolerance, in standard errors" if in_errors else "multiple of the tolerance")
    named = model.criterion if isinstance(model.criterion, str) else getattr(model.criterion, "__name__", "criterion")
    axes.set_ylabel(CRITERIA.get(named, named))
    bare(axes)
    legend_above(axes, handles=legend)
    return axes


def _groups(features: Sequence[Any], tolerance: FloatArray) -> list[IndexArray]:
    """Return the entries of every feature map: within one, tolerances fall."""
    begins = [
        tolerance[place] > tolerance[place - 1]
        or (tolerance[place] == tolerance[place - 1] and not _same(features[place], features[place - 1]))
        for place in range(1, tolerance.size)
    ]
    return np.split(np.arange(tolerance.size), np.flatnonzero(begins) + 1)


def _same(one: Any, other: Any) -> bool:
    return one is other or bool(one == other)


def _names(maps: Sequence[Any]) -> list[str]:
    """Name feature maps by their kind, and by what sets them apart from others of that kind."""
    names = []
    for one in maps:
        if not isinstance(one, FeatureMap):
            names.append(str(one))
            continue
        others = [other for other in maps if isinstance(other, FeatureMap) and other.kind == one.kind]
        fields = [
            f"{field.replace('_', ' ')} {_short(getattr(one, field))}"
            for field in type(one).model_fields
            if any(not _same(getattr(one, field, None), getattr(other, field, None)) for other in others)
        ]
        names.append(", ".join([one.kind, *fields]))
    return names


def _short(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."
