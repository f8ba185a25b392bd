"""Parameters of the estimators, looked at before anything is computed: what is wrong is told by name, with what to do."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from momentlp.errors import OptionError, SpecError
from momentlp.features import FeatureMap
from momentlp.kinds import short_repr
from momentlp.spec.constraints import Constraint

__all__ = ["check_interval", "check_parameters"]


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Look at the types of all parameters that an estimator has. What they say is checked where it is used.

    Parameters
    ----------
    parameters : mapping
        What ``get_params(deep=False)`` returns. Several feature maps are allowed where there are ``tolerances``, for only
        :class:`~momentlp.MomentClassifierCV` has those, and chooses.

    Raises
    ------
    OptionError
        If one is of a type that cannot be used.
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
        (_several_maps if "tolerances" in parameters else _one_map)(parameters["features"])
    for name, check in CHECKS.items():
        if name in parameters:
            check(name, parameters[name])


def check_interval(level: Any, n_resamples: Any, progress: Any) -> None:
    """Look at the types of what ``class_prior_interval`` takes."""
    if isinstance(level, bool) or not isinstance(level, numbers.Real):
        raise OptionError(f"level must be a number between 0 and 1, such as 0.9, not {short_repr(level)}.")
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, numbers.Integral):
        raise OptionError(f"n_resamples must be a whole number, such as 200, not {short_repr(n_resamples)}.")
    _progress("progress", progress)


def _one_map(value: Any) -> None:
    if isinstance(value, (str, FeatureMap)):
        return
    if not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "transform"):
        raise SpecError(
            f"features is a {type(value).__name__}, which is no feature map: wrap it: mlp.Transformer({short_repr(value)})."
        )
    try:
        FeatureMap.parse(value)
    except SpecError as error:
        raise SpecError(f"features: {error} The name of a kind will do too, such as 'quadratic'.") from None


def _several_maps(value: Any) -> None:
    if isinstance(value, (str, FeatureMap)):
        return
    if isinstance(value, Mapping) or not hasattr(value, "__iter__") or not hasattr(value, "__len__"):
        if hasattr(value, "transform"):
            _one_map(value)
        raise OptionError(
            "features must be a feature map or the name of a kind, or a list of them to choose from, such as "
            f"['linear', mlp.Quadratic()], not {short_repr(value)}."
        )
    for each in value:
        _one_map(each)


def _constraints(name: str, value: Any) -> None:
    if isinstance(value, Constraint):
        raise OptionError(f"{name} is one {type(value).__name__}: put it in a list: {name}=[mlp.{short_repr(value)}].")
    one = isinstance(value, (str, Mapping))
    if one or not hasattr(value, "__iter__") or not hasattr(value, "__len__"):
        raise OptionError(
            f"{name} must be a list of constraints, such as [mlp.Share(0.1, 0.3)], or empty for none, not {short_repr(value)}."
        )


def _solve_params(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Mapping):
        raise OptionError(
            f"{name} must be a dictionary of what momentlp.solve takes, such as {{'threads': 1}}, or None, "
            f"not {short_repr(value)}."
        )


def _yes_or_no(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{name} must be True or False, not {short_repr(value)}.")


def _progress(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)) and not callable(value):
        raise OptionError(
            f"{name} must be True, False or a function of how many are done and how many there are, not {short_repr(value)}."
        )


def _tolerances(name: str, value: Any) -> None:
    try:
        if isinstance(value, str):
            raise TypeError  # numpy would read the number in it
        np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be numbers, such as (1.6, 0.8, 0.4), not {short_repr(value)}.") from None


def _criterion(name: str, value: Any) -> None:
    if not isinstance(value, str) and not callable(value):
        raise OptionError(
            f"{name} must be 'lee-liu', 'difference' or a function of recall and share, not {short_repr(value)}."
        )


CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    "constraints": _constraints,
    "solve_params": _solve_params,
    "probability": _yes_or_no,
    "one_standard_error": _yes_or_no,
    "progress": _progress,
    "tolerances": _tolerances,
    "criterion": _criterion,
}
