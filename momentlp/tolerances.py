"""Tolerances: how far the mean of the set found may lie from the mean asked for.

Each turns a :class:`Target` (features, and the mean they should have) into rows ``lower <= A^T h <= upper``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import BeforeValidator

from momentlp.arrays import FloatArray, Matrix
from momentlp.errors import CompileError
from momentlp.features import FittedMap
from momentlp.kinds import Kind
from momentlp.moments import MomentBlock

__all__ = ["Absolute", "Relative", "Target", "Tolerance"]


@dataclass(frozen=True, eq=False)
class Target:
    """The features of all points and the mean that the class has there.

    ``sample`` holds the features of the labelled points (None where only the mean was given): what is needed to say how
    well the mean is known.
    """

    features: Matrix
    mean: FloatArray
    names: tuple[str, ...]
    fitted: FittedMap | None = None
    sample: Matrix | None = None


def _check_width(value: Any) -> float | tuple[float, ...]:
    """Accept one number or a flat sequence of them, none negative or NaN."""
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) and np.ndim(value) == 1:
        return tuple(_check_one(entry, f"entry {position}") for position, entry in enumerate(value))
    return _check_one(value, "it")


def _check_one(value: Any, what: str) -> float:
    if isinstance(value, (str, bool, np.bool_)) or value is None:
        raise ValueError(f"must be a number, or one number per moment, but {what} is {value!r}.")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"must be a number, or one number per moment, but {what} is {value!r}.") from None
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"must be finite and not negative, but {what} is {number}.")
    return number


Widths: TypeAlias = float | Sequence[float] | NDArray[np.floating[Any]]
Width = Annotated[float | tuple[float, ...], BeforeValidator(_check_width)]


class Tolerance(Kind):
    """Base of all tolerances. One of your own is a subclass with a ``kind`` and :meth:`block`."""

    group: ClassVar[str] = "momentlp.tolerances"

    @abstractmethod
    def block(self, target: Target) -> MomentBlock:
        """Return the rows that keep the mean of the set near the target."""

    def spread(self, width: float | tuple[float, ...], names: tuple[str, ...]) -> FloatArray:
        """Give every moment its width: the one number for all, or one each."""
        if isinstance(width, float):
            return np.full(len(names), width)
        if len(width) != len(names):
            raise CompileError(
                f"{type(self).__name__} holds {len(width)} values, but the features give {len(names)} moments "
                f"({', '.join(names[:4])}{', ...' if len(names) > 4 else ''}): give one number, or one per moment."
            )
        return np.array(width)


class Absolute(Tolerance):
    """The tolerance of the paper, on the sum: ``-eps <= sum_i (phi(x_i) - alpha) h_i <= eps``.

    Parameters
    ----------
    eps : float or sequence of float
        In units of the feature times a number of points: ``eps=30`` lets the mean of 1000 points be off by 0.03.

    Examples
    --------
    >>> Absolute(30.0)
    Absolute(kind='absolute', eps=30.0)
    >>> Absolute(-1.0)
    Traceback (most recent call last):
        ...
    momentlp.errors.SpecError: Absolute.eps: must be finite and not negative, but it is -1.0.
    """

    kind: Literal["absolute"] = "absolute"
    eps: Width

    if TYPE_CHECKING:

        def __init__(self, eps: Widths) -> None: ...

    def block(self, target: Target) -> MomentBlock:
        """Return one row per feature, bounded on both sides."""
        eps = self.spread(self.eps, target.names)
        return MomentBlock(
            features=target.features,
            origin=target.mean,
            transform=None,
            shift=np.zeros(eps.size),
            lower=-eps,
            upper=eps.copy(),
            names=target.names,
            fitted=target.fitted,
        )


class Relative(Tolerance):
    """A tolerance on the mean itself: ``|mu(h) - alpha| <= delta``, whatever the size of the set.

    Multiplied by the size it is linear in h: ``sum (phi - alpha - delta) h <= 0`` and ``sum (phi - alpha + delta) h >= 0``.
    A moment with ``delta > 0`` gives these two rows, named ``<name>:high`` and ``<name>:low``; one with ``delta = 0`` gives
    a single equation.

    Parameters
    ----------
    delta : float or sequence of float
        In units of the feature.
    """

    kind: Literal["relative"] = "relative"
    delta: Width

    if TYPE_CHECKING:

        def __init__(self, delta: Widths) -> None: ...

    def block(self, target: Target) -> MomentBlock:
        """Return the rows, all built from the one feature matrix by a selection of its columns."""
        delta = self.spread(self.delta, target.names)
        loose = np.flatnonzero(delta > 0)
        columns = np.concatenate([np.arange(delta.size), loose])
        selection = sp.csc_array(
            (np.ones(columns.size), (columns, np.arange(columns.size))), shape=(delta.size, columns.size)
        )
        high = [f"{name}:high" if width > 0 else name for name, width in zip(target.names, delta, strict=True)]
        return MomentBlock(
            features=target.features,
            origin=target.mean,
            transform=None if not loose.size else selection,
            shift=np.concatenate([-delta, delta[loose]]),
            lower=np.concatenate([np.where(delta > 0, -np.inf, 0.0), np.zeros(loose.size)]),
            upper=np.concatenate([np.zeros(delta.size), np.full(loose.size, np.inf)]),
            names=(*high, *(f"{target.names[column]}:low" for column in loose)),
            fitted=target.fitted,
        )
