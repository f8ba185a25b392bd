"""Several feature maps side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, SerializeAsAny

from momentlp.features.base import FeatureMap, FittedMap
from momentlp.points.arrays import Matrix, is_sparse

__all__ = ["Concat"]

Part = Annotated[SerializeAsAny[FeatureMap], BeforeValidator(FeatureMap.parse)]


class Concat(FeatureMap):
    """Several feature maps side by side. Each is a block of moments of its own, and may have a tolerance of its own."""

    kind: Literal["concat"] = "concat"
    maps: Annotated[tuple[Part, ...], Field(min_length=1)]

    if TYPE_CHECKING:

        def __init__(self, maps: Any) -> None: ...

    def parts(self) -> tuple[FeatureMap, ...]:
        """Return the maps, those of a Concat inside included."""
        return tuple(part for map_ in self.maps for part in map_.parts())

    def fit(self, X: Matrix, inputs: tuple[str, ...] | None = None) -> FittedMap:
        """Fit every part; a problem is compiled part by part, so this is for a Concat used by itself."""
        fitted = tuple(part.fit(X, inputs) for part in self.parts())
        names = tuple(f"{number}.{name}" for number, part in enumerate(fitted, 1) for name in part.names)
        return FittedMap(self, fitted[0].inputs, names, {}, named_inputs=inputs is not None, model=fitted)

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Return the names alone: what was learned is the fitted parts, see :meth:`fit`."""
        return self.fit(X, inputs).names, {}

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the features of all parts side by side."""
        features = [part.declared.transform(X, part) for part in fitted.model]
        return sp.hstack(features, format="csr") if any(map(is_sparse, features)) else np.hstack(features)
