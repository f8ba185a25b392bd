"""Decorators that turn a function into a feature map or a constraint.

The parameters of the function, after the data, become fields of a new kind: they are validated by their annotations and
written to spec files.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Literal, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import create_model

from momentlp.errors import SpecError
from momentlp.features import FeatureMap, FittedMap
from momentlp.kinds import Kind
from momentlp.points.arrays import Matrix, is_sparse
from momentlp.problem.problem import Problem
from momentlp.spec.constraints import Constraint
from momentlp.spec.data import Data

__all__ = ["constraint", "feature_map"]


class _FunctionMap(FeatureMap):
    function: ClassVar[Callable[..., Any]]

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Name the features after the columns if there is one feature per column, by number if not."""
        first = self.transform(X[:1], FittedMap(self, inputs, (), {}))
        width = first.shape[1] if getattr(first, "ndim", 0) == 2 else 1
        return tuple(f"{self.kind}({name})" for name in (inputs if width == len(inputs) else map(str, range(width)))), {}

    def rows_to_learn(self) -> int:
        """Return 1: only the number of features has to be learned."""
        return 1

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Call the function; a one-dimensional result is one feature."""
        features = type(self).function(X, **_field_values(self))
        features = features if is_sparse(features) else np.asarray(features)
        return features[:, None] if getattr(features, "ndim", 0) == 1 else features


class _FunctionConstraint(Constraint):
    function: ClassVar[Callable[..., Any]]

    def apply(self, problem: Problem, data: Data) -> Problem:
        """Call the function."""
        narrowed: Problem = type(self).function(problem, data, **_field_values(self))
        return narrowed


def feature_map(kind: str) -> Callable[[Callable[..., Any]], Any]:
    """Turn a function ``f(X, **parameters) -> features`` into a feature map.

    The function must work point by point: row i of its result depends on row i of X alone.

    Parameters
    ----------
    kind : str
        The name of the map in spec files. No other feature map may have it.

    Returns
    -------
    callable
        A decorator. It returns a subclass of :class:`~momentlp.FeatureMap` with the parameters of the function as fields.

    Raises
    ------
    SpecError
        If the kind is taken, the function takes ``*args`` or ``**kwargs``, or a parameter has the name of a method.

    Examples
    --------
    >>> import momentlp as mlp
    >>> @mlp.feature_map("power")
    ... def power(X, exponent: float = 3.0):
    ...     return X**exponent
    >>> spec = mlp.Spec(features=power(exponent=2.0), tolerance=mlp.Absolute(1.0))
    >>> spec.compile([[1.0, 2.0], [3.0, 4.0]], labelled=[0]).names
    ('power(x0)', 'power(x1)')
    >>> mlp.Spec.from_json(spec.to_json()) == spec
    True
    """
    return lambda function: _build_kind(function, kind, _FunctionMap, n_data=1)


def constraint(kind: str) -> Callable[[Callable[..., Any]], Any]:
    """Turn a function ``f(problem, data, **parameters) -> problem`` into a constraint.

    ``problem`` is the :class:`~momentlp.Problem` so far and ``data`` the :class:`~momentlp.Data`. Read columns of the points
    with ``data.column``, which works for dense and sparse points and for points that are read in chunks.

    Parameters
    ----------
    kind : str
        The name of the constraint in spec files. No other constraint may have it.

    Returns
    -------
    callable
        A decorator. It returns a subclass of :class:`~momentlp.Constraint` with the parameters of the function as fields.

    Raises
    ------
    SpecError
        If the kind is taken, the function takes ``*args`` or ``**kwargs``, or a parameter has the name of a method.

    Examples
    --------
    >>> import numpy as np, momentlp as mlp
    >>> @mlp.constraint("at-most")
    ... def at_most(problem, data, size: float):
    ...     return problem.with_rows(np.zeros((data.n_points, 1)), -np.inf, size, ["at most"], shift=1.0)
    >>> spec = mlp.Spec(tolerance=mlp.Absolute(9.0), constraints=[at_most(size=1.5)])
    >>> mlp.solve(spec.compile([[1.0], [2.0], [3.0]], labelled=[0])).objective
    1.5
    """
    return lambda function: _build_kind(function, kind, _FunctionConstraint, n_data=2)


def _build_kind(function: Callable[..., Any], kind: str, base: type[Kind], n_data: int) -> Any:
    """Build the kind of a function whose first ``n_data`` parameters are the data."""
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())[n_data:]
    fields: dict[str, Any] = {"kind": (Literal[kind], kind)}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise SpecError(f"{function.__name__} takes *{parameter.name}: give each parameter a name of its own.")
        if hasattr(base, parameter.name):
            raise SpecError(f"{function.__name__} has a parameter {parameter.name!r}, a name that is taken: choose another.")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints.get(parameter.name, Any), default)
    model: Any = create_model(
        function.__name__, __base__=base, __module__=function.__module__, __doc__=function.__doc__, **fields
    )
    model.function = staticmethod(function)
    return model


def _field_values(instance: Kind) -> dict[str, Any]:
    return {name: getattr(instance, name) for name in type(instance).model_fields if name != "kind"}
