"""Checks of single arguments: numbers, integers, switches, functions.

Each function takes the name of an argument and its value, and returns the value as a plain Python object. If the value is
wrong, it raises :class:`~momentlp.errors.OptionError` with a message that names the argument and the value.
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
        The name of the argument, for the message.
    value : object
    above, minimum, maximum : float, optional
        The range: ``above`` is excluded, ``minimum`` and ``maximum`` are included.
    infinite : bool
        Whether infinity is allowed.
    hint : str
        A sentence that is added to the message and says what to do instead.

    Raises
    ------
    OptionError
        If it is not a real number (True and NaN are not), or if it is outside the range.

    Examples
    --------
    >>> check_number("tol", 1, above=0)
    1.0
    >>> check_number("level", 2.0, above=0, maximum=1)
    Traceback (most recent call last):
        ...
    momentlp.errors.OptionError: level must be a number above 0 and at most 1, not 2.0.
    """
    number = float(value) if isinstance(value, Real) and not _is_switch(value) else math.nan
    in_range = (
        (above is None or number > above)
        and (minimum is None or number >= minimum)
        and (maximum is None or number <= maximum)
        and (infinite or math.isfinite(number))
    )
    if math.isnan(number) or not in_range:
        limits = _describe_range(above, minimum, maximum)
        raise OptionError(f"{name} must be a number{limits}, not {value!r}.{f' {hint}' if hint else ''}")
    return number


def check_integer(name: str, value: Any, *, minimum: int | None = None, maximum: int | None = None, hint: str = "") -> int:
    """Return an integer as an int.

    Parameters
    ----------
    name : str
        The name of the argument, for the message.
    value : object
    minimum, maximum : int, optional
        The range, ends included.
    hint : str
        A sentence that is added to the message and says what to do instead.

    Raises
    ------
    OptionError
        If it is not an integer (True is not, nor is 2.0), or if it is outside the range.

    Examples
    --------
    >>> check_integer("repeat", 3, minimum=1)
    3
    >>> check_integer("repeat", 2.5, minimum=1)
    Traceback (most recent call last):
        ...
    momentlp.errors.OptionError: repeat must be an integer of at least 1, not 2.5.
    """
    is_integer = isinstance(value, Integral) and not _is_switch(value)
    number = int(value) if is_integer else 0
    if not is_integer or (minimum is not None and number < minimum) or (maximum is not None and number > maximum):
        limits = _describe_integer_range(minimum, maximum)
        raise OptionError(f"{name} must be an integer{limits}, not {value!r}.{f' {hint}' if hint else ''}")
    return number


def check_bool(name: str, value: Any) -> bool:
    """Return a switch as a bool; raise OptionError if it is neither True nor False."""
    if not _is_switch(value):
        raise OptionError(f"{name} must be True or False, not {value!r}.")
    return bool(value)


def check_function(name: str, value: Any, takes: str) -> Any:
    """Return a function unchanged; raise OptionError if it cannot be called.

    ``takes`` describes its arguments, for the message.
    """
    if not callable(value):
        raise OptionError(f"{name} must be a function of {takes}, not {value!r}.")
    return value


def check_progress(name: str, value: Any) -> Any:
    """Return the value of ``progress``: True, False, or a function of the number done and the total."""
    if not _is_switch(value) and not callable(value):
        raise OptionError(f"{name} must be True, False or a function of two numbers (done, in all), not {value!r}.")
    return value


def _is_switch(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _describe_range(above: float | None, minimum: float | None, maximum: float | None) -> str:
    parts = []
    if above is not None:
        parts.append(f"above {above:g}")
    if minimum is not None:
        parts.append(f"of at least {minimum:g}")
    if maximum is not None:
        parts.append(f"at most {maximum:g}" if parts else f"of at most {maximum:g}")
    return f" {' and '.join(parts)}" if parts else ""


def _describe_integer_range(minimum: int | None, maximum: int | None) -> str:
    if minimum is not None and maximum is not None:
        return f" from {minimum} to {maximum}"
    if minimum is not None:
        return f" of at least {minimum}"
    return f" of at most {maximum}" if maximum is not None else ""
