"""The declarative spec, and the step from a spec and data to a problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, SerializeAsAny

from momentlp.arrays import FloatArray, as_indices, as_points, as_vector
from momentlp.constraints import Constraint
from momentlp.errors import CompileError, SpecError
from momentlp.features import FeatureMap, Linear
from momentlp.files import write_atomically
from momentlp.kinds import Declared
from momentlp.problem import Problem
from momentlp.tolerances import Absolute, Target, Tolerance

__all__ = ["Spec"]

SPEC_VERSION = 1


class Spec(Declared):
    """What is known about a class: which features have a fixed mean, how closely, and what else holds.

    Parameters
    ----------
    features : FeatureMap
        Default: the columns of X themselves.
    tolerance : Tolerance
        Default: none, ``Absolute(0.0)``: the exact problem of the theorem.
    constraints : sequence of Constraint

    Examples
    --------
    >>> spec = Spec(tolerance=Absolute(0.5))
    >>> Spec.from_json(spec.to_json()) == spec
    True
    >>> spec.compile([[0.0], [1.0], [5.0]], labelled=[0, 1])
    Problem(3 points, 1 moment: x0)
    """

    version: Literal[1] = 1
    features: Annotated[SerializeAsAny[FeatureMap], BeforeValidator(FeatureMap.parse)] = Linear()
    tolerance: Annotated[SerializeAsAny[Tolerance], BeforeValidator(Tolerance.parse)] = Absolute(0.0)
    constraints: tuple[Annotated[SerializeAsAny[Constraint], BeforeValidator(Constraint.parse)], ...] = ()

    def compile(self, X: Any, *, labelled: Any = None, sample: Any = None, mean: Any = None) -> Problem:
        """Put the spec and the data together. Exactly one of ``labelled``, ``sample`` and ``mean`` says what the class is.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (N, d)
            The points among which the class is sought.
        labelled : indices or boolean mask into X
            Points of X known to belong to the class.
        sample : array, frame or sparse matrix, shape (l, d)
            Known members of the class that are not part of X.
        mean : array, shape (k,)
            The mean of the class in feature space, where it is known.

        Raises
        ------
        DataError
            If an array cannot be used as it is.
        CompileError
            If the parts do not fit together.
        """
        given = {"labelled": labelled, "sample": sample, "mean": mean}
        chosen = [name for name, value in given.items() if value is not None]
        if len(chosen) != 1:
            got = " and ".join(chosen) or "none of them"
            raise CompileError(f"compile needs exactly one of labelled=, sample= and mean=, but got {got}.")
        points, columns = as_points(X, "X")
        fitted = self.features.fit(points, columns)
        features = self.features.transform(points, fitted)
        known = None
        if labelled is not None:
            known = features[as_indices(labelled, points.shape[0], "labelled")]
        elif sample is not None:
            known = fitted(sample, "sample")
        alpha = as_vector(mean, len(fitted.names), "mean") if known is None else _mean(known)
        target = Target(features, alpha, fitted.names, fitted, known)
        n_points = points.shape[0]
        problem = Problem((self.tolerance.block(target),), weights=np.ones(n_points), caps=np.ones(n_points))
        for constraint in self.constraints:
            problem = constraint.apply(problem, points)
        return problem

    def to_json(self) -> str:
        """Write the spec as JSON text."""
        return self.model_dump_json(indent=2)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a spec from JSON text. Only registered kinds are built; nothing that the text names is imported."""
        try:
            fields = json.loads(text)
        except json.JSONDecodeError as error:
            raise SpecError(f"the spec is not valid JSON: {error}.") from None
        if not isinstance(fields, dict):
            raise SpecError(f"a spec is a table of fields, but the text holds {type(fields).__name__}.")
        if fields.get("version", SPEC_VERSION) != SPEC_VERSION:
            raise SpecError(
                f"the spec has version {fields['version']!r}, but this momentlp reads version {SPEC_VERSION}: "
                "upgrade momentlp, or write the spec anew."
            )
        return cls(**fields)

    def save(self, path: str | Path) -> None:
        """Write the spec to a JSON file."""
        write_atomically(Path(path), lambda stream: stream.write(self.to_json().encode() + b"\n"))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a spec from a JSON file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(f"cannot read the spec {str(path)!r}: {error}.") from None
        return cls.from_json(text)


def _mean(features: Any) -> FloatArray:
    return np.ravel(np.asarray(features.mean(axis=0, dtype=np.float64))).astype(np.float64)
