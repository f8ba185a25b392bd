"""Checks of the estimators' parameters, and what their default values stand for.

All parameters are checked before anything is computed. A message names the parameter and its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from momentlp.errors import OptionError, SpecError
from momentlp.estimator.defaults import NON_GRAPH_WIDTH, SCORE_WIDTH, is_auto
from momentlp.estimator.graph_constants import WIDTH
from momentlp.features import FeatureMap, Spectral
from momentlp.kinds import short_repr
from momentlp.runtime.argument_checks import check_bool, check_integer, check_number, check_progress
from momentlp.spec.constraints import Constraint
from momentlp.spec.tolerances import StandardError, Tolerance

__all__ = [
    "check_interval_arguments",
    "check_margin",
    "check_parameters",
    "check_smoothing",
    "check_solve_params",
    "resolve_tolerance",
]

MIN_RESAMPLES = 10  # bootstrap samples; fewer say nothing about the spread


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Check the types and ranges of the parameters of an estimator.

    Parameters
    ----------
    parameters : mapping
        What ``get_params(deep=False)`` returns. A list of feature maps is allowed only beside ``tolerances``: these are
        the parameters of :class:`~momentlp.MomentClassifierCV`, which chooses one.

    Raises
    ------
    OptionError
        If a parameter has a type or a value that cannot be used.
    SpecError
        If ``features`` is no feature map.

    Examples
    --------
    >>> check_parameters({"probability": "yes"})
    Traceback (most recent call last):
        ...
    momentlp.errors.OptionError: probability must be True or False, not 'yes'.
    """
    if "features" in parameters:
        (_check_feature_maps if "tolerances" in parameters else _check_feature_map)(parameters["features"])
    for name, check in CHECKS.items():
        if name in parameters:
            check(name, parameters[name])
    for name, usual in (("smoothing", ("auto", None)), ("margin", ("auto", 0))):
        if is_auto(parameters.get("features")) and parameters.get(name, "auto") not in usual:
            raise OptionError(
                f"{name} is {parameters[name]!r}, but it needs features that have neighbourhoods: use features='spectral', "
                f"or leave {name} out."
            )
    if is_auto(parameters.get("features")) and parameters.get("bagging"):
        raise OptionError(
            f"bagging is {parameters['bagging']!r}, but the scores of features='auto' are averages over bags already: leave "
            "bagging at 0."
        )


def check_interval_arguments(level: Any, n_resamples: Any, progress: Any) -> tuple[float, int]:
    """Check the arguments of ``class_prior_interval``; return ``level`` and ``n_resamples`` as plain numbers."""
    hint = "Use 0.9, for instance."
    level = check_number("level", level, above=0, hint=hint)
    if level >= 1:
        raise OptionError(f"level must be a number above 0 and below 1, not {level!r}. {hint}")
    n_resamples = check_integer("n_resamples", n_resamples, minimum=MIN_RESAMPLES, hint="200 is usual.")
    check_progress("progress", progress)
    return level, n_resamples


def resolve_tolerance(value: Any, features: Any) -> Tolerance:
    """Return the tolerance that a parameter stands for.

    A number counts standard errors. The default is wider for a graph, because smoothing over the graph removes the points
    that a wide tolerance lets in. The scores of ``"auto"`` are larger for members, so they have a lower bound only.
    """
    if isinstance(value, Tolerance):
        return value
    hint = "A number counts standard errors; or give a Tolerance, such as mlp.Relative(0.1)."
    width = None if value is None else check_number("tolerance", value, minimum=0, hint=hint)
    if is_auto(features):
        return StandardError(SCORE_WIDTH if width is None else width, side="lower")
    if width is None:
        width = WIDTH if isinstance(features, Spectral) else NON_GRAPH_WIDTH
    return StandardError(width)


def check_smoothing(value: Any) -> float | str | None:
    """Return ``smoothing`` as a float, ``"auto"`` or None."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    return check_number("smoothing", value, above=0, maximum=1, hint="Use 'auto' for the default, or None for no smoothing.")


def check_margin(value: Any) -> float | str:
    """Return ``margin`` as a float, or ``"auto"``."""
    if isinstance(value, str) and value == "auto":
        return value
    return check_number("margin", value, minimum=0, hint="Use 'auto' for the default.")


def check_solve_params(value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return ``solve_params`` as a dictionary without what has a parameter of its own.

    The same option in two places could contradict itself, and a saved model keeps the parameter only.
    """
    params = dict(value or {})
    for name in ("tol", "time_limit", "backend"):
        if name in params:
            raise OptionError(f"solve_params holds {name!r}: use the parameter {name}={params[name]!r} of the estimator.")
    if "start" in params:
        raise OptionError("solve_params holds 'start', but the estimator makes its own starts: leave it out.")
    return params


def _check_feature_map(value: Any) -> None:
    if isinstance(value, (str, FeatureMap)):
        return
    if not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "transform"):
        raise SpecError(
            f"features is a {type(value).__name__}, which is no feature map: wrap it: mlp.Transformer({short_repr(value)})."
        )
    try:
        FeatureMap.parse(value)
    except SpecError as error:
        raise SpecError(f"features: {error} The name of a kind is allowed too, such as 'quadratic'.") from None


def _check_feature_maps(value: Any) -> None:
    if any(map(is_auto, [value] if isinstance(value, str) or not _is_list(value) else value)):
        raise OptionError(
            "features is 'auto', which leaves nothing to choose by cross-validation: its scores are learned, "
            "and it has a cut of its own. Use MomentClassifier() with it."
        )
    if isinstance(value, (str, FeatureMap)):
        return
    if not _is_list(value):
        if hasattr(value, "transform"):
            _check_feature_map(value)
        raise OptionError(
            "features must be a feature map or the name of a kind, or a list of them to choose from, such as "
            f"['linear', mlp.Quadratic()], not {short_repr(value)}."
        )
    for feature_map in value:
        _check_feature_map(feature_map)


def _check_constraints(name: str, value: Any) -> None:
    if isinstance(value, Constraint):
        raise OptionError(f"{name} is one {type(value).__name__}: put it in a list: {name}=[mlp.{short_repr(value)}].")
    if isinstance(value, str) or not _is_list(value):
        raise OptionError(
            f"{name} must be a list of constraints, such as [mlp.Share(0.1, 0.3)], or empty for none, "
            f"not {short_repr(value)}."
        )


def _is_list(value: Any) -> bool:
    return not isinstance(value, Mapping) and hasattr(value, "__iter__") and hasattr(value, "__len__")


def _check_is_mapping(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Mapping):
        raise OptionError(
            f"{name} must be a dictionary of what momentlp.solve takes, such as {{'threads': 1}}, or None, "
            f"not {short_repr(value)}."
        )


def _check_tolerances(name: str, value: Any) -> None:
    try:
        if isinstance(value, str):
            raise TypeError  # numpy would read the number in it
        np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be numbers, such as (1.6, 0.8, 0.4), not {short_repr(value)}.") from None


def _check_criterion(name: str, value: Any) -> None:
    if not isinstance(value, str) and not callable(value):
        raise OptionError(
            f"{name} must be 'lee-liu', 'difference' or a function of recall and share, not {short_repr(value)}."
        )


CHECKS: Mapping[str, Callable[[str, Any], object]] = {
    "constraints": _check_constraints,
    "solve_params": _check_is_mapping,
    "probability": check_bool,
    "verbose": check_bool,
    "one_standard_error": check_bool,
    "progress": check_progress,
    "tolerances": _check_tolerances,
    "criterion": _check_criterion,
    "tolerance": lambda _, value: resolve_tolerance(value, None),
    "smoothing": lambda _, value: check_smoothing(value),
    "margin": lambda _, value: check_margin(value),
    "bagging": lambda name, value: check_integer(name, value, minimum=0),
}
