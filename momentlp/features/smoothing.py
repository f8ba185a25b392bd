"""Averages of values over neighbourhoods, for maps that know which points are neighbours."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from momentlp.features.base import FittedMap
from momentlp.points.arrays import FloatArray, Matrix

__all__ = ["SmoothingMap", "interpolate_values", "smooth_values"]


@runtime_checkable
class SmoothingMap(Protocol):
    """A feature map that can average values over neighbourhoods of the points it was fitted on."""

    def smooth(self, values: FloatArray, fitted: FittedMap, restart: float) -> FloatArray:
        """Return the average of ``values`` over the neighbourhood of each point that the map was fitted on."""

    def interpolate(self, values: FloatArray, X: Matrix, fitted: FittedMap) -> FloatArray:
        """Return values at new points, given those at the points that the map was fitted on."""


def smooth_values(fitted: FittedMap, values: FloatArray, restart: float) -> FloatArray | None:
    """Average values over neighbourhoods; return None if the map is not a :class:`SmoothingMap`.

    Parameters
    ----------
    fitted : FittedMap
    values : array, shape (N,)
        One for each point that the map was fitted on.
    restart : float
        In (0, 1]. The smaller it is, the wider the neighbourhood; 1 leaves the values as they are.
    """
    declared = fitted.declared
    return declared.smooth(values, fitted, restart) if isinstance(declared, SmoothingMap) else None


def interpolate_values(fitted: FittedMap, values: FloatArray, X: Matrix) -> FloatArray:
    """Return at new points the values that :func:`smooth_values` gave at the points the map was fitted on.

    Parameters
    ----------
    fitted : FittedMap
        Of a :class:`SmoothingMap`.
    values : array, shape (N,)
        One for each point that the map was fitted on.
    X : array or csr_array, shape (n, d)
        New points.

    Raises
    ------
    TypeError
        If the map is not a :class:`SmoothingMap`.
    """
    declared = fitted.declared
    if not isinstance(declared, SmoothingMap):
        raise TypeError(f"{type(declared).__name__} has no method interpolate: it knows no neighbours of a point.")
    return declared.interpolate(values, X, fitted)
