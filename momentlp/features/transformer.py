"""Transformers and pipelines of scikit-learn as feature maps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, PlainSerializer

from momentlp.errors import CompileError
from momentlp.features.base import FeatureMap, FittedMap
from momentlp.points.arrays import Matrix

__all__ = ["Transformer"]

PLAIN_TYPES = (str, int, float, bool, type(None))  # the values that JSON holds


def _sklearn_transformers() -> dict[str, type]:
    """Return the transformers of scikit-learn by name: the only ones that a file can name."""
    from sklearn.utils import all_estimators

    return dict(all_estimators(type_filter="transformer"))


def _to_table(transformer: Any) -> dict[str, Any]:
    """Return a transformer as its name and its changed parameters; a pipeline as its steps."""
    from sklearn.pipeline import Pipeline

    if isinstance(transformer, Pipeline):
        return {"steps": [_to_table(step) for _, step in transformer.steps]}
    cls = type(transformer)
    if _sklearn_transformers().get(cls.__name__) is not cls:
        raise ValueError(f"{cls.__name__} is not a transformer of scikit-learn, so it cannot be written to a file.")
    changed = _changed_parameters(transformer)
    for name, value in changed.items():
        if not all(_is_plain(entry) for entry in (value if isinstance(value, (list, tuple)) else [value])):
            raise ValueError(f"parameter {name} of {cls.__name__} is not a plain value, so it cannot be written to a file.")
    return {"name": cls.__name__, "parameters": {k: list(v) if isinstance(v, tuple) else v for k, v in changed.items()}}


def _from_table(value: Any) -> Any:
    """Return a transformer as it is, or build one of scikit-learn from its name and parameters."""
    if not isinstance(value, dict):
        if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "transform")):
            raise ValueError(f"expected a transformer, an object with fit and transform, but got {value!r}.")
        return value
    if isinstance(value.get("steps"), list):
        from sklearn.pipeline import make_pipeline

        return make_pipeline(*(_from_table(step) for step in value["steps"]))
    name, parameters, transformers = value.get("name"), value.get("parameters", {}), _sklearn_transformers()
    if not isinstance(name, str) or name not in transformers:
        raise ValueError(f"{name!r} is not the name of a transformer of scikit-learn.")
    if not isinstance(parameters, dict):
        raise ValueError(f"parameters of {name} must be a table.")  # noqa: TRY004  pydantic collects ValueErrors
    for key, entry in parameters.items():
        if isinstance(entry, float) and not math.isfinite(entry):
            raise ValueError(f"parameter {key} of {name} is {entry}, which a file cannot hold.")
    if parameters.get("memory") is not None:
        raise ValueError(
            f"parameter memory of {name} names a folder of pickles, which is not allowed in a file: leave it out."
        )
    try:
        return transformers[name](
            **{key: tuple(entry) if isinstance(entry, list) else entry for key, entry in parameters.items()}
        )
    except TypeError as error:
        raise ValueError(f"{name} does not take these parameters: {error}.") from None


def _is_plain(value: Any) -> bool:
    """Return whether JSON can hold a value: it has no NaN and no infinity."""
    return isinstance(value, PLAIN_TYPES) and not (isinstance(value, float) and not math.isfinite(value))


def _changed_parameters(transformer: Any) -> dict[str, Any]:
    """Return the parameters of a transformer that differ from its defaults."""
    import inspect

    defaults = {name: entry.default for name, entry in inspect.signature(type(transformer)).parameters.items()}
    parameters = transformer.get_params(deep=False)
    return {
        name: value
        for name, value in parameters.items()
        if name not in defaults or (value is not defaults[name] and repr(value) != repr(defaults[name]))
    }


def _comparison_key(transformer: Any) -> tuple[Any, ...]:
    from sklearn.pipeline import Pipeline

    if isinstance(transformer, Pipeline):
        return tuple(_comparison_key(step) for _, step in transformer.steps)
    return type(transformer), sorted((name, repr(value)) for name, value in transformer.get_params().items())


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
        return _comparison_key(self.transformer) == _comparison_key(other.transformer)

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
