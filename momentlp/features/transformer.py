"""Transformers and pipelines of scikit-learn as feature maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, PlainSerializer

from momentlp.errors import CompileError
from momentlp.features.base import FeatureMap, FittedMap
from momentlp.features.sklearn_tables import comparison_key, from_table, to_table
from momentlp.points.arrays import Matrix

__all__ = ["Transformer"]


def _from_table(value: Any) -> Any:
    """Return a transformer as it is, or build one of scikit-learn from its name and parameters."""
    if isinstance(value, dict):
        return from_table(value, "transformer")
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "transform")):
        raise ValueError(f"expected a transformer, an object with fit and transform, but got {value!r}.")
    return value


def _to_table(transformer: Any) -> dict[str, Any]:
    return to_table(transformer, "transformer")


class Transformer(FeatureMap):
    """Any scikit-learn transformer or pipeline, fitted to the points.

    A transformer that is part of scikit-learn and has plain parameters can be written to a spec file and read back. A
    problem that holds a fitted transformer cannot be saved, since that would need a pickle. Where points are read in
    chunks, the transformer is fitted to a sample of them, and its ``transform`` must work row by row, as those of
    scikit-learn do.

    Parameters
    ----------
    transformer : object with ``fit`` and ``transform``
        It is cloned before it is fitted.

    Raises
    ------
    SpecError
        If the object is not a transformer, or a file names one that is not part of scikit-learn.
    CompileError
        When fitted or called, if the transformer raises an error.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> Transformer(PCA(n_components=2)).model_dump(mode="json")
    {'kind': 'transformer', 'transformer': {'name': 'PCA', 'parameters': {'n_components': 2}}}
    """

    kind: Literal["transformer"] = "transformer"
    is_savable: ClassVar[bool] = False
    transformer: Annotated[Any, BeforeValidator(_from_table), PlainSerializer(_to_table, when_used="json")]

    if TYPE_CHECKING:

        def __init__(self, transformer: Any) -> None: ...

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Transformer):
            return NotImplemented
        return comparison_key(self.transformer) == comparison_key(other.transformer)

    __hash__ = None  # type: ignore[assignment]  # transformers have parameters that change

    def fit(self, X: Matrix, inputs: tuple[str, ...] | None = None) -> FittedMap:
        """Fit a clone of the transformer."""
        from sklearn.base import clone

        columns = inputs or tuple(f"x{column}" for column in range(X.shape[1]))
        try:
            model = clone(self.transformer).fit(X)
        except Exception as error:  # noqa: BLE001  a transformer of the user may raise anything
            raise CompileError(f"{type(self.transformer).__name__} cannot be fitted to these points: {error}") from None
        try:
            names = tuple(str(name) for name in model.get_feature_names_out(np.array(columns, dtype=object)))
        except (AttributeError, ValueError):
            width = self.transform(X[:1], FittedMap(self, columns, (), {}, model=model)).shape[1]
            names = tuple(f"{type(self.transformer).__name__.lower()}{number}" for number in range(width))
        return FittedMap(self, columns, names, {}, named_inputs=inputs is not None, model=model)

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Return the names and an empty state: the fitted clone is kept as the model, see :meth:`fit`."""
        return self.fit(X, inputs).names, {}

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Map points with the fitted clone."""
        try:
            return fitted.model.transform(X)
        except Exception as error:
            raise CompileError(f"{type(self.transformer).__name__} cannot map these points: {error}") from error
