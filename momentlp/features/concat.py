"""Several feature maps side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, SerializeAsAny

from momentlp.features.base import FeatureMap, FittedMap
from momentlp.points.arrays import Matrix, is_sparse

__all__ = ["Concat"]

Part = Annotated[SerializeAsAny[FeatureMap], BeforeValidator(FeatureMap.parse)]


class Concat(FeatureMap):
    """Several feature maps side by side. Each is its own block of moments and may have its own tolerance.

    Parameters
    ----------
    maps : sequence of FeatureMap
        At least one. A Concat inside is taken apart.

    Examples
    --------
    >>> import numpy as np
    >>> from momentlp import Linear
    >>> Concat([Linear(), Linear(standardise=True)]).fit(np.eye(2)).names
    ('1.x0', '1.x1', '2.x0', '2.x1')
    """

    kind: Literal["concat"] = "concat"
    is_savable: ClassVar[bool] = False
    maps: Annotated[tuple[Part, ...], Field(min_length=1)]

    if TYPE_CHECKING:

        def __init__(self, maps: Any) -> None: ...

    def parts(self) -> tuple[FeatureMap, ...]:
        """Return the maps; a Concat among them is replaced by its own maps."""
        return tuple(part for map_ in self.maps for part in map_.parts())

    def fit(self, X: Matrix, inputs: tuple[str, ...] | None = None) -> FittedMap:
        """Fit every map. This is for a Concat used by itself: a problem is compiled part by part."""
        fitted = tuple(part.fit(X, inputs) for part in self.parts())
        names = tuple(f"{number}.{name}" for number, part in enumerate(fitted, 1) for name in part.names)
        return FittedMap(self, fitted[0].inputs, names, {}, named_inputs=inputs is not None, model=fitted)

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Return the names and an empty state: the fitted maps are kept as the model, see :meth:`fit`."""
        return self.fit(X, inputs).names, {}

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the features of all maps side by side."""
        features = [part.declared.transform(X, part) for part in fitted.model]
        return sp.hstack(features, format="csr") if any(map(is_sparse, features)) else np.hstack(features)
