"""Estimators of scikit-learn as tables of plain values: how a spec file names them, and what a file may name.

A table holds the name of a class of scikit-learn and the parameters that differ from its defaults; a pipeline is a list of
such tables. Only classes that scikit-learn itself lists can be built from a table, so that reading a file never imports or
runs what the file names.
"""

from __future__ import annotations

import math
from typing import Any, Literal

__all__ = ["comparison_key", "from_table", "to_table"]

PLAIN_TYPES = (str, int, float, bool, type(None))  # the values that JSON holds
Role = Literal["transformer", "classifier"]


def known_classes(role: Role) -> dict[str, type]:
    """Return the classes of scikit-learn by name: the only ones that a file can name."""
    from sklearn.utils import all_estimators

    return dict(all_estimators(type_filter=role))


def to_table(estimator: Any, role: Role) -> dict[str, Any]:
    """Return an estimator as its name and its changed parameters; a pipeline as its steps.

    Parameters
    ----------
    estimator : object
    role : {"transformer", "classifier"}
        What it is, or what the last step of a pipeline is.

    Raises
    ------
    ValueError
        If it is not a class of scikit-learn, or a parameter is not a plain value.
    """
    from sklearn.pipeline import Pipeline

    if isinstance(estimator, Pipeline):
        *first, last = [step for _, step in estimator.steps]
        return {"steps": [*(to_table(step, "transformer") for step in first), to_table(last, role)]}
    cls = type(estimator)
    if known_classes(role).get(cls.__name__) is not cls:
        raise ValueError(f"{cls.__name__} is not a {role} of scikit-learn, so it cannot be written to a file.")
    changed = _changed_parameters(estimator)
    for name, value in changed.items():
        if not all(_is_plain(entry) for entry in (value if isinstance(value, (list, tuple)) else [value])):
            raise ValueError(f"parameter {name} of {cls.__name__} is not a plain value, so it cannot be written to a file.")
    return {"name": cls.__name__, "parameters": {k: list(v) if isinstance(v, tuple) else v for k, v in changed.items()}}


def from_table(value: dict[str, Any], role: Role) -> Any:
    """Build an estimator of scikit-learn from a table that :func:`to_table` made.

    Raises
    ------
    ValueError
        If the table names something else, or parameters that the class does not take.
    """
    if isinstance(value.get("steps"), list) and value["steps"]:
        from sklearn.pipeline import make_pipeline

        tables = value["steps"]
        if not all(isinstance(table, dict) for table in tables):
            raise ValueError("every step of a pipeline must be a table.")
        return make_pipeline(*(from_table(table, "transformer") for table in tables[:-1]), from_table(tables[-1], role))
    name, parameters, classes = value.get("name"), value.get("parameters", {}), known_classes(role)
    if not isinstance(name, str) or name not in classes:
        raise ValueError(f"{name!r} is not the name of a {role} of scikit-learn.")
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
        return classes[name](
            **{key: tuple(entry) if isinstance(entry, list) else entry for key, entry in parameters.items()}
        )
    except TypeError as error:
        raise ValueError(f"{name} does not take these parameters: {error}.") from None


def comparison_key(estimator: Any) -> tuple[Any, ...]:
    """Return what two estimators have in common if they do the same: class and parameters, step by step."""
    from sklearn.pipeline import Pipeline

    if isinstance(estimator, Pipeline):
        return tuple(comparison_key(step) for _, step in estimator.steps)
    return type(estimator), sorted((name, repr(value)) for name, value in estimator.get_params().items())


def _is_plain(value: Any) -> bool:
    """Return whether JSON can hold a value: it has no NaN and no infinity."""
    return isinstance(value, PLAIN_TYPES) and not (isinstance(value, float) and not math.isfinite(value))


def _changed_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that differ from its defaults."""
    import inspect

    defaults = {name: entry.default for name, entry in inspect.signature(type(estimator)).parameters.items()}
    parameters = estimator.get_params(deep=False)
    return {
        name: value
        for name, value in parameters.items()
        if name not in defaults or (value is not defaults[name] and repr(value) != repr(defaults[name]))
    }
