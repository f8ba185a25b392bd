"""Feature maps: which functions of a point have their mean fixed.

A :class:`FeatureMap` is the declaration; fitting it to points gives a :class:`FittedMap`, which can map points never seen
before, so that the separating hyperplane answers for them too.
"""

from momentlp.features.base import FeatureMap, FittedMap
from momentlp.features.concat import Concat
from momentlp.features.kernel import Kernel
from momentlp.features.polynomial import Linear, Quadratic
from momentlp.features.spectral import Spectral
from momentlp.features.transformer import Transformer

__all__ = ["Concat", "FeatureMap", "FittedMap", "Kernel", "Linear", "Quadratic", "Spectral", "Transformer"]
