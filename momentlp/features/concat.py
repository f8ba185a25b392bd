"""Several feature maps side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, SerializeAsAny

from momentlp.arrays import Matrix
from momentlp.errors import CompileError
from momentlp.features.base import FeatureMap, FittedMap

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

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Never called: each part is fitted by itself."""
        raise CompileError("Concat is fitted part by part: use its parts().")

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Never called: each part maps by itself."""
        raise CompileError("Concat maps part by part: use its parts().")
