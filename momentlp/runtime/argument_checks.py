"""Checks of single arguments: numbers, integers, switches, functions.

Each takes the name of the argument and its value, returns the value as a plain Python object, and raises
:class:`~momentlp.errors.OptionError` with a sentence that names both.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from momentlp.errors import OptionError

__all__ = ["check_bool", "check_function", "check_integer", "check_number", "check_progress"]


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    infinite: bool = False,
    hint: str = "",
) -> float:
    """Return a real number as a float.

    Parameters
    ----------
    name : str
        The argument, for the message.
    value : object
    above, minimum, maximum : float, optional
        The range: ``above`` is excluded, ``minimum`` and ``maximum`` are included.
    infinite : bool
        Whether infinity is allowed.
    hint : str
        What to do instead, as a sentence that follows the message.

    Raises
    ------
    OptionError
        If it is no real number (True and NaN are none), or outside the range.

    Examples
    --------
    >>> check_number("tol", 1, above=0)
    1.0
    >>> check_number("level", 2.0, above=0, maximum=1)
    Traceback (most recent call last):
        ...
    momentlp.errors.OptionError: level must be a number above 0 and at most 1, not 2.0.
    """
    is_switch = isinstance(value, (bool, np.bool_))
    number = float(value) if not is_switch and isinstance(value, Real) else math.nan
    in_range = (
        (above is None or number > above)
        and (minimum is None or number >= minimum)
        and (maximum is None or number <= maximum)
        and (infinite or math.isfinite(number))
    )
    if math.isnan(number) or not in_range:
        limits = _limits(above, minimum, maximum)
        raise OptionError(f"{name} must be a number{limits}, not {value!r}.{f' {hint}' if hint else ''}")
    return number


def check_integer(name: str, value: Any, *, minimum: int | None = None, maximum: int | None = None, hint: str = "") -> int:
    """Return an integer as an int.

    Parameters
    ----------
    name : str
        The argument, for the message.
    value : object
    minimum, maximum : int, optional
        The range, ends included.
    hint : str
        What to do instead, as a sentence that follows the message.

    Raises
    ------
    OptionError
        If it is no integer (True is none), or outside the range.

    Examples
    --------
    >>> check_integer("repeat", 3, minimum=1)
    3
    >>> check_integer("repeat", 2.5, minimum=1)
    Traceback (most recent call last):
        ...
    momentlp.errors.OptionError: repeat must be an integer of at least 1, not 2.5.
    """
    is_switch = isinstance(value, (bool, np.bool_))
    if (
        is_switch
        or not isinstance(value, Integral)
        or (minimum is not None and value < minimum)
        or (maximum is not None and value > maximum)
    ):
        if minimum is not None and maximum is not None:
            limits = f" from {minimum} to {maximum}"
        else:
            limits = (
                f" of at least {minimum}" if minimum is not None else f" of at most {maximum}" if maximum is not None else ""
            )
        raise OptionError(f"{name} must be an integer{limits}, not {value!r}.{f' {hint}' if hint else ''}")
    return int(value)


def check_bool(name: str, value: Any) -> bool:
    """Return a switch as it is; raise OptionError if it is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{name} must be True or False, not {value!r}.")
    return bool(value)


def check_function(name: str, value: Any, takes: str) -> Any:
    """Return a function as it is; raise OptionError if it cannot be called. ``takes`` says what it is called with."""
    if not callable(value):
        raise OptionError(f"{name} must be a function of {takes}, not {value!r}.")
    return value


def check_progress(name: str, value: Any) -> Any:
    """Return a request for progress: True, False, or a function of the number done and the number in all."""
    if not isinstance(value, (bool, np.bool_)) and not callable(value):
        raise OptionError(f"{name} must be True, False or a function of two numbers (done, in all), not {value!r}.")
    return value


def _limits(above: float | None, minimum: float | None, maximum: float | None) -> str:
    parts = []
    if above is not None:
        parts.append(f"above {above:g}")
    if minimum is not None:
        parts.append(f"of at least {minimum:g}")
    if maximum is not None:
        parts.append(f"at most {maximum:g}" if parts else f"of at most {maximum:g}")
    return f" {' and '.join(parts)}" if parts else ""
