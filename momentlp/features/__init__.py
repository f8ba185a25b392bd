"""Feature maps: which functions of a point have their mean fixed.

A :class:`FeatureMap` is the declaration. Fitting it to points gives a :class:`FittedMap`, which can also map new points, so
that the separating hyperplane decides about them too. Maps whose features depend on all points together are
:class:`TransductiveMap`.
"""

from momentlp.features.base import FeatureMap, FittedMap
from momentlp.features.concat import Concat
from momentlp.features.kernel import Kernel
from momentlp.features.learned import Learned
from momentlp.features.polynomial import Linear, Quadratic
from momentlp.features.smoothing import SmoothingMap, interpolate_values, smooth_values
from momentlp.features.spectral import Spectral
from momentlp.features.state import StateArray, check_state_array, state_shapes
from momentlp.features.transductive import TransductiveMap, depends_on_labels
from momentlp.features.transformer import Transformer

__all__ = [
    "Concat",
    "FeatureMap",
    "FittedMap",
    "Kernel",
    "Learned",
    "Linear",
    "Quadratic",
    "SmoothingMap",
    "Spectral",
    "StateArray",
    "TransductiveMap",
    "Transformer",
    "check_state_array",
    "depends_on_labels",
    "interpolate_values",
    "smooth_values",
    "state_shapes",
]
