"""Constraints: further knowledge about the class, beside its mean.

A constraint turns one problem into another with more rows ``lower <= A^T h <= upper`` or with lower caps ``h <= caps``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from momentlp.errors import CompileError, DataError, MomentLPError
from momentlp.features import FeatureMap, depends_on_labels
from momentlp.kinds import Kind
from momentlp.points.arrays import IndexArray
from momentlp.points.validation import as_indices, as_vector
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem
from momentlp.spec.data import Data
from momentlp.spec.tolerances import Target, Tolerance

__all__ = ["Constraint", "GroupShare", "Known", "Moment", "Share", "apply_constraint"]


WRONG_POINTS = (TypeError, ValueError, LookupError, AttributeError)  # what indexing points of another kind raises


class Constraint(Kind):
    """Base of all constraints.

    To write a constraint, subclass this class, give it a ``kind`` and define :meth:`apply`, or decorate a function with
    :func:`momentlp.constraint`.

    Examples
    --------
    >>> import momentlp as mlp
    >>> class AtMost(mlp.Constraint):
    ...     kind: str = "example-at-most"
    ...     size: float
    ...
    ...     def apply(self, problem, data):
    ...         return problem.with_rows(np.zeros((data.n_points, 1)), -np.inf, self.size, ["at most"], shift=1.0)
    >>> spec = mlp.Spec(tolerance=mlp.Absolute(9.0), constraints=[AtMost(size=1.5)])
    >>> mlp.solve(spec.compile([[1.0], [2.0], [3.0]], labelled=[0])).objective
    1.5
    """

    group: ClassVar[str] = "momentlp.constraints"

    @abstractmethod
    def apply(self, problem: Problem, data: Data) -> Problem:
        """Return the problem with this constraint.

        Parameters
        ----------
        problem : Problem
            The moments of the spec, and the constraints before this one.
        data : Data
            The points that the spec is compiled with.

        Returns
        -------
        Problem
            With more rows (:meth:`Problem.with_rows <momentlp.Problem.with_rows>`), more blocks
            (:meth:`Problem.with_block <momentlp.Problem.with_block>`) or lower caps (``dataclasses.replace``).

        Raises
        ------
        CompileError, DataError
            If the constraint does not fit the points: it names a column, group or row index that they do not have.
        """

    def contradicts(self, other: Constraint) -> str | None:
        """Return why this constraint and ``other`` cannot both hold, whatever the data; None if they can.

        Examples
        --------
        >>> Share(low=0.5).contradicts(Share(high=0.2))
        'a share of at least 0.5 and of at most 0.2'
        """
        return None


def apply_constraint(constraint: Constraint, problem: Problem, data: Data) -> Problem:
    """Apply a constraint; if a user's own constraint cannot handle the points, raise an error that names the constraint.

    Other errors of a user's constraint (MemoryError, ImportError, classes of the user) are raised as they are, with a note.

    Raises
    ------
    DataError, CompileError
        If the constraint cannot handle the points or does not return a problem.
    """
    name = type(constraint).__name__
    hint = (
        f"Read a column of the points with data.column(name, {name!r}): "
        "that works for points that are dense, sparse or read in chunks."
    )
    try:
        narrowed = constraint.apply(problem, data)
    except (DataError, CompileError) as error:
        if type(constraint).apply.__module__ == __name__:  # the constraints of this module word their own errors
            raise
        raise type(error)(f"constraint {name} failed: {error} {hint}") from error
    except MomentLPError:
        raise
    except WRONG_POINTS as error:
        reason = f"{type(error).__name__}: {error}".rstrip(".")
        raise CompileError(f"constraint {name} failed: {reason}. {hint}") from error
    except Exception as error:
        error.add_note(f"Raised by constraint {name}.")
        raise
    if not isinstance(narrowed, Problem):
        raise CompileError(f"{name}.apply must return a Problem, not {type(narrowed).__name__}.")
    return narrowed


Fraction = Annotated[float, Field(ge=0, le=1)]


class Share(Constraint):
    """Bounds on the share of all points, by weight, that belong to the class: ``low <= sum(h) / N <= high``.

    That share is the class prior. The constraint is one row, named ``share``.

    Parameters
    ----------
    low, high : float
        Between 0 and 1. The defaults, 0 and 1, bound nothing.

    Raises
    ------
    SpecError
        If a share is outside 0 to 1, or ``low`` exceeds ``high``.

    Examples
    --------
    >>> import momentlp as mlp
    >>> spec = mlp.Spec(tolerance=mlp.Absolute(9.0), constraints=[mlp.Share(high=0.5)])
    >>> mlp.solve(spec.compile([[1.0], [2.0], [3.0], [4.0]], labelled=[0])).objective
    2.0
    """

    kind: Literal["share"] = "share"
    low: Fraction = 0.0
    high: Fraction = 1.0

    if TYPE_CHECKING:

        def __init__(self, low: float = 0.0, high: float = 1.0) -> None: ...

    @model_validator(mode="after")
    def _check_order(self) -> Share:
        if self.low > self.high:
            raise ValueError(f"low is {self.low:g} and high is {self.high:g}: low must not exceed high.")
        return self

    def contradicts(self, other: Constraint) -> str | None:
        """Return why this share and ``other``, if it is a share too, cannot both hold."""
        if isinstance(other, Share) and self.low > other.high:
            return f"a share of at least {self.low:g} and of at most {other.high:g}"
        return None

    def apply(self, problem: Problem, data: Data) -> Problem:
        """Add one row, ``low * total <= sum(h) <= high * total``."""
        no_entries, total = sp.csr_array((problem.n_points, 1)), problem.total
        return problem.with_rows(no_entries, self.low * total, self.high * total, ["share"], shift=1.0)


def _to_indices(value: Any) -> Any:
    """Turn an array or mask into a tuple of int, so that a spec can be written to a file."""
    array = np.asarray(value)
    if array.dtype == bool:
        array = np.flatnonzero(array)
    return tuple(array.tolist()) if array.ndim == 1 else value


Indices = Annotated[tuple[int, ...], BeforeValidator(_to_indices)]


class Known(Constraint):
    """Points that are known to be in the class, or outside it.

    The caps of the negatives become 0. One row, named ``known positives``, keeps the positives at their caps::

        sum_{i in positives} h_i  >=  sum_{i in positives} u_i

    Parameters
    ----------
    positives, negatives : indices or boolean mask into X
        Points in the class, and points outside it. At least one of the two must name a point.
    n_points : int, optional
        How many points X must have. A mask sets it to its length.

    Raises
    ------
    SpecError
        If no point is named, a point is in both, or the lengths of masks differ.

    Examples
    --------
    >>> import momentlp as mlp
    >>> spec = mlp.Spec(tolerance=mlp.Absolute(9.0), constraints=[mlp.Known(negatives=[1])])
    >>> mlp.solve(spec.compile([[1.0], [2.0], [3.0]], labelled=[0])).membership
    array([1., 0., 1.])
    """

    kind: Literal["known"] = "known"
    positives: Indices = ()
    negatives: Indices = ()
    n_points: Annotated[int, Field(ge=1)] | None = None

    if TYPE_CHECKING:

        def __init__(self, positives: Any = (), negatives: Any = (), n_points: int | None = None) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _keep_mask_length(cls, fields: Any) -> Any:
        """Store the length of masks in ``n_points``: their indices do not tell it."""
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
    def _check_disjoint(self) -> Known:
        if both := set(self.positives) & set(self.negatives):
            raise ValueError(f"point {min(both)} is both in positives and in negatives: keep it in one.")
        if not self.positives and not self.negatives:
            raise ValueError("neither positives nor negatives names a point: give at least one.")
        return self

    def contradicts(self, other: Constraint) -> str | None:
        """Return why these points and ``other``, if it is Known too, cannot both hold."""
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
    """Bounds on the share of the class that belongs to each group: ``low_g <= sum_{i in g} h_i / sum(h) <= high_g``.

    Multiplied by ``sum(h)`` each bound is one linear row, with ``1_g`` the indicator of group g::

        sum_i (1_g(i) - low_g) h_i  >=  0        sum_i (1_g(i) - high_g) h_i  <=  0

    Parameters
    ----------
    groups : str, int or sequence
        A column of X, by name or number, whose values are the groups; or one label per point.
    low, high : mapping of label to share
        Bounds between 0 and 1. A group that is not named has no bound. Labels are compared as text, so ``1``, ``1.0`` and
        ``"1"`` are one group.

    Raises
    ------
    SpecError
        If no group is named, ``low`` exceeds ``high``, or the low shares add up to more than 1.

    Examples
    --------
    >>> import momentlp as mlp
    >>> limit = mlp.GroupShare(["a", "a", "b"], high={"a": 0.5})
    >>> spec = mlp.Spec(tolerance=mlp.Absolute(9.0), constraints=[limit])
    >>> mlp.solve(spec.compile([[1.0], [2.0], [3.0]], labelled=[0])).objective
    2.0
    """

    kind: Literal["group_share"] = "group_share"
    groups: str | int | tuple[str, ...]
    low: dict[str, Fraction] = Field(default_factory=dict)
    high: dict[str, Fraction] = Field(default_factory=dict)

    if TYPE_CHECKING:

        def __init__(self, groups: Any, low: Any = None, high: Any = None) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _labels_to_text(cls, fields: Any) -> Any:
        if isinstance(fields, dict):
            for side in ("low", "high"):
                if isinstance(fields.get(side), dict):
                    fields = {**fields, side: {_label_text(label): share for label, share in fields[side].items()}}
                elif fields.get(side, 0) is None:
                    fields = {**fields, side: {}}
            groups = fields.get("groups")
            if (isinstance(groups, Sequence) or hasattr(groups, "__array__")) and not isinstance(groups, str):
                fields = {**fields, "groups": tuple(_label_text(label) for label in groups)}
        return fields

    @model_validator(mode="after")
    def _check_order(self) -> GroupShare:
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
        labels, label_of_point = self._labels(data)
        known = sorted(set(labels))
        wanted = sorted(self.low.keys() | self.high.keys())
        for group in wanted:
            if group not in known:
                raise CompileError(f"GroupShare names group {group!r}, but the groups are {', '.join(known[:8])}.")
        column = np.array([wanted.index(label) if label in wanted else -1 for label in labels])[label_of_point]
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
        """Return the distinct labels, and for each point the position of its label among them."""
        if isinstance(self.groups, (str, int)) and not isinstance(self.groups, bool):
            values, inverse = np.unique(data.column(self.groups, "GroupShare.groups"), return_inverse=True)
            return [_label_text(value) for value in values.tolist()], inverse
        if not isinstance(self.groups, tuple) or len(self.groups) != data.n_points:
            length = len(self.groups) if isinstance(self.groups, tuple) else 1
            raise CompileError(
                f"GroupShare.groups holds {length} label(s), but there are {data.n_points} points: give one each."
            )
        position = {label: number for number, label in enumerate(dict.fromkeys(self.groups))}
        return [_label_text(label) for label in position], np.array([position[label] for label in self.groups])


def _label_text(label: Any) -> str:
    """Return a label as text; True and 1.0 as ``"1"``."""
    if isinstance(label, (bool, np.bool_)) or (isinstance(label, (float, np.floating)) and float(label).is_integer()):
        label = int(label)
    return str(label)


class Moment(Constraint):
    """A further block of moments, with a target and a tolerance of its own.

    Parameters
    ----------
    features : FeatureMap
        One map, not a ``Concat``, that does not depend on the labelled points.
    target : float or sequence of float
        The mean of the class in these features: one number for all features or one per feature.
    tolerance : Tolerance
        How far the mean of the set may lie from the target. It stays as it is along a path of tolerances.
    name : str
        Prefix of the names of the moments.

    Examples
    --------
    >>> import momentlp as mlp
    >>> second = mlp.Moment(mlp.Quadratic(), target=[0.0, 1.0], tolerance=mlp.Relative(0.5), name="second")
    >>> mlp.Spec(constraints=[second]).compile([[-1.0], [0.0], [1.0]], mean=[0.0]).names[1:3]
    ('second: x0:high', 'second: x0^2:high')
    """

    kind: Literal["moment"] = "moment"
    features: Annotated[SerializeAsAny[FeatureMap], BeforeValidator(FeatureMap.parse)]
    target: float | tuple[float, ...]
    tolerance: Annotated[SerializeAsAny[Tolerance], BeforeValidator(Tolerance.parse)]
    name: str = "moment"

    if TYPE_CHECKING:

        def __init__(self, features: FeatureMap, target: Any, tolerance: Tolerance, name: str = "moment") -> None: ...

    def apply(self, problem: Problem, data: Data) -> Problem:
        """Fit the map to the points and add the rows of the tolerance."""
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
