"""Constraints: what else is known about the class, beside its mean."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from momentlp.errors import CompileError, DataError
from momentlp.features import FeatureMap, FittedMap, depends_on_labels
from momentlp.kinds import Kind
from momentlp.points.arrays import FloatArray, IndexArray, Matrix
from momentlp.points.chunked import Chunked
from momentlp.points.validation import as_indices, as_vector
from momentlp.problem.moment_block import MomentBlock
from momentlp.spec.tolerances import Target, Tolerance

if TYPE_CHECKING:
    from momentlp.problem.problem import Problem

__all__ = ["Constraint", "Data", "GroupShare", "Known", "Moment", "Share"]


@dataclass(frozen=True, eq=False)
class Data:
    """The data that a spec is compiled with, as a constraint sees it.

    Attributes
    ----------
    points : array, csr_array or Chunked, shape (N, d)
    columns : tuple of str, or None
        Names of the columns of ``points``, if they have any.
    present : array of int, or None
        The points that have a weight, if not all do: maps learn from those alone.
    """

    points: Matrix
    columns: tuple[str, ...] | None = None
    present: IndexArray | None = None

    @property
    def n_points(self) -> int:
        """N."""
        return int(self.points.shape[0])

    def column(self, name: str | int, owner: str) -> FloatArray:
        """Return one column of the points, by name or by number."""
        names = self.columns or tuple(f"x{number}" for number in range(self.points.shape[1]))
        if name in names:
            at = names.index(str(name))
        elif isinstance(name, int) and 0 <= name < len(names):
            at = name
        else:
            raise CompileError(f"{owner} names column {name!r}, but the points have {', '.join(names[:8])}.")
        if isinstance(self.points, Chunked):
            return self.points.column(at)
        values = self.points[:, [at]]
        return np.ravel(values.toarray() if sp.issparse(values) else values).astype(np.float64)

    def fit(self, part: FeatureMap) -> tuple[FittedMap, Matrix | Chunked]:
        """Fit a map to the points, and return it with the features of all of them."""
        if isinstance(self.points, Chunked):
            return part.fit_chunks(self.points)
        rows = self.points if self.present is None else self.points[self.present]
        fitted = part.fit(rows, self.columns)
        features = part.training(rows, fitted)
        return fitted, self.completed(features, fitted)

    def completed(self, features: Matrix, fitted: FittedMap) -> Matrix:
        """Return the features of all points, given those of the points that have a weight."""
        if self.present is None:
            return features
        absent = np.setdiff1d(np.arange(self.n_points), self.present)
        others = fitted(self.points[absent])
        order = np.argsort(np.concatenate([self.present, absent]), kind="stable")
        together = [features, others]
        return (sp.vstack(together, format="csr") if sp.issparse(others) else np.vstack(together))[order]


class Constraint(Kind):
    """Base of all constraints: a step from one problem to a narrower one.

    A constraint of your own is a subclass with a ``kind`` and :meth:`apply`, which adds rows
    (:meth:`Problem.with_rows <momentlp.Problem.with_rows>`), blocks of moments, or lowers caps (``dataclasses.replace``).
    (:func:`momentlp.constraint` makes one from a function.)
    """

    group: ClassVar[str] = "momentlp.constraints"

    @abstractmethod
    def apply(self, problem: Problem, data: Data) -> Problem:
        """Return the problem with this constraint in it."""

    def contradicts(self, other: Constraint) -> str | None:
        """Say why this and another constraint cannot both hold, whatever the data; None if they might."""
        return None


Fraction = Annotated[float, Field(ge=0, le=1)]


class Share(Constraint):
    """The share of all points, by weight, that belong to the class (the class prior): ``low <= sum(h) / N <= high``.

    Parameters
    ----------
    low, high : float
        Between 0 and 1. What is left out bounds nothing.
    """

    kind: Literal["share"] = "share"
    low: Fraction = 0.0
    high: Fraction = 1.0

    if TYPE_CHECKING:

        def __init__(self, low: float = 0.0, high: float = 1.0) -> None: ...

    @model_validator(mode="after")
    def _ordered(self) -> Share:
        if self.low > self.high:
            raise ValueError(f"low is {self.low:g} and high is {self.high:g}: low must not exceed high.")
        return self

    def contradicts(self, other: Constraint) -> str | None:
        """Compare with another share."""
        if isinstance(other, Share) and self.low > other.high:
            return f"a share of at least {self.low:g} and of at most {other.high:g}"
        return None

    def apply(self, problem: Problem, data: Data) -> Problem:
        """Add one row: the size of the set."""
        nothing, total = sp.csr_array((problem.n_points, 1)), problem.total
        return problem.with_rows(nothing, self.low * total, self.high * total, ["share"], shift=1.0)


def _plain_indices(value: Any) -> Any:
    """Turn an array or mask into plain indices, so that a spec can be written to a file."""
    array = np.asarray(value)
    if array.dtype == bool:
        array = np.flatnonzero(array)
    return tuple(array.tolist()) if array.ndim == 1 else value


Indices = Annotated[tuple[int, ...], BeforeValidator(_plain_indices)]


class Known(Constraint):
    """Points that are known to be in the class, or out of it.

    Parameters
    ----------
    positives, negatives : indices or boolean mask into X
        Points that are in the class, and points that are outside. At least one of them names a point.
    n_points : int, optional
        How many points there must be. A mask says it by its length.
    """

    kind: Literal["known"] = "known"
    positives: Indices = ()
    negatives: Indices = ()
    n_points: Annotated[int, Field(ge=1)] | None = None

    if TYPE_CHECKING:

        def __init__(self, positives: Any = (), negatives: Any = (), n_points: int | None = None) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _measured(cls, fields: Any) -> Any:
        """Keep the length of masks, which their indices do not tell."""
        if not isinstance(fields, dict):
            return fields
        arrays = {name: np.asarray(fields[name]) for name in ("positives", "negatives") if name in fields}
        lengths = {name: array.size for name, array in arrays.items() if array.dtype == bool and array.ndim == 1}
        for name, length in lengths.items():
            if fields.get("n_points") not in (None, length):
                raise ValueError(f"{name} is a mask of {length} points, but there are {fields['n_points']} to choose from.")
            fields = {**fields, "n_points": length}
        return fields

    @model_validator(mode="after")
    def _apart(self) -> Known:
        if both := set(self.positives) & set(self.negatives):
            raise ValueError(f"point {min(both)} is both in positives and in negatives: keep it in one.")
        if not self.positives and not self.negatives:
            raise ValueError("neither positives nor negatives names a point: give at least one.")
        return self

    def contradicts(self, other: Constraint) -> str | None:
        """Compare with other known points."""
        if isinstance(other, Known) and (both := set(self.positives) & set(other.negatives)):
            return f"point {min(both)} is among the positives of one and the negatives of the other"
        return None

    def apply(self, problem: Problem, data: Data) -> Problem:
        """Set the caps of known negatives to zero; one row keeps all known positives at their caps."""
        n = problem.n_points
        if self.n_points not in (None, n):
            raise DataError(f"Known was given for {self.n_points} points, the length of its mask, but there are {n} points.")
        if self.negatives:
            caps = problem.caps.copy()
            caps[as_indices(list(self.negatives), n, "Known.negatives")] = 0.0
            problem = replace(problem, caps=caps)
        if self.positives:
            chosen = as_indices(list(self.positives), n, "Known.positives")
            member = sp.csr_array((np.ones(chosen.size), (chosen, np.zeros(chosen.size, dtype=int))), shape=(n, 1))
            problem = problem.with_rows(member, float(problem.caps[chosen].sum()), np.inf, ["known positives"])
        return problem


class GroupShare(Constraint):
    """The share of the class that each group makes up: ``low_g <= sum_{i in g} h_i / sum(h) <= high_g``.

    Parameters
    ----------
    groups : str, int or sequence
        A column of X, by name or number, whose values are the groups; or one label per point.
    low, high : mapping of label to share
        Groups that are not named are free. Labels are compared as text, so ``1``, ``1.0`` and ``"1"`` are one group.
    """

    kind: Literal["group_share"] = "group_share"
    groups: str | int | tuple[str, ...]
    low: dict[str, Fraction] = Field(default_factory=dict)
    high: dict[str, Fraction] = Field(default_factory=dict)

    if TYPE_CHECKING:

        def __init__(self, groups: Any, low: Any = None, high: Any = None) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _as_text(cls, fields: Any) -> Any:
        if isinstance(fields, dict):
            for side in ("low", "high"):
                if isinstance(fields.get(side), dict):
                    fields = {**fields, side: {_text(label): share for label, share in fields[side].items()}}
                elif fields.get(side, 0) is None:
                    fields = {**fields, side: {}}
            groups = fields.get("groups")
            if (isinstance(groups, Sequence) or hasattr(groups, "__array__")) and not isinstance(groups, str):
                fields = {**fields, "groups": tuple(_text(label) for label in groups)}
        return fields

    @model_validator(mode="after")
    def _ordered(self) -> GroupShare:
        if not self.low and not self.high:
            raise ValueError("neither low nor high names a group: give at least one.")
        for group in self.low.keys() & self.high.keys():
            if self.low[group] > self.high[group]:
                raise ValueError(f"group {group!r} has low {self.low[group]:g} above high {self.high[group]:g}.")
        if sum(self.low.values()) > 1 + 1e-12:
            raise ValueError(f"the low shares add up to {sum(self.low.values()):g}, more than 1.")
        return self

    def apply(self, problem: Problem, data: Data) -> Problem:
        """Add ``sum (1_g - low) h >= 0`` and ``sum (1_g - high) h <= 0``."""
        labels, place = self._labels(data)
        known = sorted(set(labels))
        wanted = sorted(self.low.keys() | self.high.keys())
        for group in wanted:
            if group not in known:
                raise CompileError(f"GroupShare names group {group!r}, but the groups are {', '.join(known[:8])}.")
        column = np.array([wanted.index(label) if label in wanted else -1 for label in labels])[place]
        chosen = np.flatnonzero(column >= 0)
        features = sp.csr_array((np.ones(chosen.size), (chosen, column[chosen])), shape=(data.n_points, len(wanted)))
        sides = [(g, "low") for g in wanted if g in self.low] + [(g, "high") for g in wanted if g in self.high]
        columns = [wanted.index(group) for group, _ in sides]
        block = MomentBlock(
            features=features,
            origin=np.zeros(len(wanted)),
            transform=sp.csc_array((np.ones(len(sides)), (columns, np.arange(len(sides)))), shape=(len(wanted), len(sides))),
            shift=-np.array([getattr(self, side)[group] for group, side in sides]),
            lower=np.array([0.0 if side == "low" else -np.inf for _, side in sides]),
            upper=np.array([0.0 if side == "high" else np.inf for _, side in sides]),
            names=tuple(f"group {group}:{side}" for group, side in sides),
        )
        return problem.with_block(block)

    def _labels(self, data: Data) -> tuple[list[str], IndexArray]:
        """Return the labels there are, and which of them each point has."""
        if isinstance(self.groups, (str, int)) and not isinstance(self.groups, bool):
            values, place = np.unique(data.column(self.groups, "GroupShare.groups"), return_inverse=True)
            return [_text(value) for value in values.tolist()], place
        if not isinstance(self.groups, tuple) or len(self.groups) != data.n_points:
            length = len(self.groups) if isinstance(self.groups, tuple) else 1
            raise CompileError(
                f"GroupShare.groups holds {length} label(s), but there are {data.n_points} points: give one each."
            )
        number = {label: at for at, label in enumerate(dict.fromkeys(self.groups))}
        return [_text(label) for label in number], np.array([number[label] for label in self.groups])


def _text(label: Any) -> str:
    if isinstance(label, (bool, np.bool_)) or (isinstance(label, (float, np.floating)) and float(label).is_integer()):
        label = int(label)
    return str(label)


class Moment(Constraint):
    """A further block of moments, with a target and a tolerance of its own.

    Parameters
    ----------
    features : FeatureMap
    target : float or sequence of float
        The mean that the class has there, one per feature of the map.
    tolerance : Tolerance
    name : str
        Stands before the names of its moments.
    """

    kind: Literal["moment"] = "moment"
    features: Annotated[SerializeAsAny[FeatureMap], BeforeValidator(FeatureMap.parse)]
    target: float | tuple[float, ...]
    tolerance: Annotated[SerializeAsAny[Tolerance], BeforeValidator(Tolerance.parse)]
    name: str = "moment"

    if TYPE_CHECKING:

        def __init__(self, features: FeatureMap, target: Any, tolerance: Tolerance, name: str = "moment") -> None: ...

    def apply(self, problem: Problem, data: Data) -> Problem:
        """Fit the map, and add the rows that its tolerance makes."""
        for number, part in enumerate(self.features.parts()):
            if number:
                raise CompileError("Moment.features must be one map, not a Concat: use one Moment for each.")
            if depends_on_labels(part):
                raise CompileError("Moment.features depends on which points are labelled: put the map into Spec.features.")
            fitted, features = data.fit(part)
            names = tuple(f"{self.name}: {name}" for name in fitted.names)
            mean = as_vector(self.target, len(names), "Moment.target")
            (tolerance,) = self.tolerance.split((len(names),))
            block = tolerance.block(Target(features, mean, names, fitted, weights=problem.caps))
            problem = problem.with_block(replace(block, fixed=True))
        return problem
