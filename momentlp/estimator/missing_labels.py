"""None and NaN in y: points without a label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError

__all__ = ["fill_missing_labels", "is_missing"]

MISSING_TYPES = ("NAType", "NaTType")  # of pandas, which need not be installed
MAX_VALUES_SHOWN = 5


def fill_missing_labels(y: Any) -> tuple[Any, Any]:
    """Replace None and NaN in y by a value of their own, for unlabelled points.

    Parameters
    ----------
    y : array, shape (N,)

    Returns
    -------
    y : array, shape (N,)
        As it was, if nothing is missing. Otherwise the missing values are 0 beside numbers (-1 beside the number 0), False
        beside True, and "not spam" beside the word "spam".
    pos_label : scalar or None
        The value of the labelled members; None if nothing is missing.

    Raises
    ------
    DataError
        If y holds more than one value beside the missing ones.

    Examples
    --------
    >>> fill_missing_labels([1, None, None])
    (array([1, 0, 0]), 1)
    >>> fill_missing_labels(np.array(["spam", None, "spam"], dtype=object))
    (array(['spam', 'not spam', 'spam'], dtype='<U8'), 'spam')
    """
    if y is None or not hasattr(y, "__len__"):
        return y, None
    values = (
        np.asarray(y, dtype=object if isinstance(y, list | tuple) else None) if not hasattr(y, "to_numpy") else y.to_numpy()
    )
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    missing = _find_missing(values)
    if missing is None or not missing.any():
        return y, None
    if missing.all():
        raise DataError("y holds nothing but None or NaN: no point is labelled. Mark labelled members, by 1 for instance.")
    known = list(dict.fromkeys(values[~missing].tolist()))
    if len(known) > 1:
        dots = ", ..." if len(known) > MAX_VALUES_SHOWN else ""
        shown = ", ".join(repr(value) for value in known[:MAX_VALUES_SHOWN]) + dots
        raise DataError(
            f"y holds None or NaN for unlabelled points, and {len(known)} other values: {shown}. Keep one, that of the "
            "labelled members. Rows that are known to be outside the class go into a constraint: "
            "MomentClassifier(constraints=[momentlp.Known(negatives=rows)])."
        )
    value = _as_plain_number(known[0])
    other: Any
    if isinstance(value, bool):
        other = not value
    elif isinstance(value, int | float):
        other = 0 if value != 0 else -1
    elif isinstance(value, str):
        other = f"not {value}"
    else:
        raise DataError(
            f"y holds None or NaN for unlabelled points, beside {value!r}: mark members with a number or a word."
        )
    return np.where(missing, np.array(other), np.array(value)), value


def _find_missing(values: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Return which values are None or NaN; None if the array cannot hold any, or is no vector."""
    if values.ndim != 1:
        return None
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind != "O":
        return None
    return np.array([is_missing(value) for value in values], dtype=bool)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or one that pandas has for the same purpose."""
    is_nan = isinstance(value, float | np.floating) and bool(np.isnan(value))
    return value is None or is_nan or type(value).__name__ in MISSING_TYPES


def _as_plain_number(value: Any) -> Any:
    """Return 1 for 1.0: a column of integers with a missing value is one of floats."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value
