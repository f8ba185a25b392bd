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
from numpy.typing import NDArray
from pydantic import BeforeValidator

from momentlp.errors import CompileError
from momentlp.features import FittedMap
from momentlp.kinds import Kind
from momentlp.points.arrays import FloatArray, Matrix, is_sparse
from momentlp.points.statistics import column_spread
from momentlp.problem.moment_block import MomentBlock

__all__ = ["Absolute", "Relative", "StandardError", "Target", "Tolerance"]


@dataclass(frozen=True, eq=False)
class Target:
    """The features of all points and the mean that the class has there.

    ``sample`` holds the features of the labelled points (None where only the mean was given): what is needed to say how
    well the mean is known, and ``counts`` how often each of them counts. ``weights``
    says how many points each row of the features stands for.
    """

    features: Matrix
    mean: FloatArray
    names: tuple[str, ...]
    fitted: FittedMap | None = None
    sample: Matrix | None = None
    counts: FloatArray | None = None
    weights: FloatArray | None = None

    def spread(self, constant: float = 1.0) -> FloatArray:
        """Return the standard deviation of each feature over all points; ``constant`` where it does not vary."""
        return column_spread(self.features, constant, self.weights)

    def near(self, width: FloatArray, tolerance_on: Literal["sum", "mean"]) -> MomentBlock:
        """Return the rows that keep the mean within ``width`` of the target, on the sum or on the mean itself."""
        return MomentBlock.near(
            self.features, self.mean, width, labels=self.names, tolerance_on=tolerance_on, fitted=self.fitted
        )


def _check_width(value: Any) -> float | tuple[float, ...]:
    """Accept one number or a flat sequence of them, none negative or NaN."""
    if (isinstance(value, Sequence) or hasattr(value, "__array__")) and not isinstance(value, str) and np.ndim(value) == 1:
        return tuple(
            _check_one(entry, f"entry {position}") for position, entry in enumerate(np.asarray(value, dtype=object).tolist())
        )
    return _check_one(value, "it")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _check_one(value: Any, what: str) -> float:
    if isinstance(value, (str, bool, np.bool_)) or value is None:
        raise ValueError(f"must be a number, or one number per moment, but {what} is {_short(value)}.")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"must be a number, or one number per moment, but {what} is {_short(value)}.") from None
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

    def split(self, counts: tuple[int, ...]) -> tuple[Tolerance, ...]:
        """Return the tolerance of each part of a feature map whose parts have so many features."""
        return (self,) * len(counts)


class _Width(Tolerance):
    """A tolerance that is one number, or one per moment, or one per part of a :class:`~momentlp.Concat`."""

    field: ClassVar[str]

    def split(self, counts: tuple[int, ...]) -> tuple[Tolerance, ...]:
        """Hand each part its own number, or its own stretch of the numbers."""
        width = getattr(self, self.field)
        if isinstance(width, float):
            return (self,) * len(counts)
        if len(width) == len(counts) > 1:
            pieces: list[Any] = list(width)
        elif len(width) == sum(counts):
            ends = np.cumsum(counts)
            pieces = [width[end - count : end] for end, count in zip(ends, counts, strict=True)]
        else:
            parts = f", or {len(counts)}, one per part" if len(counts) > 1 else ""
            raise CompileError(
                f"{type(self).__name__} holds {len(width)} values, but the features give {sum(counts)} moments: "
                f"give one number, or {sum(counts)}, one per moment{parts}."
            )
        return tuple(self.model_copy(update={self.field: piece}) for piece in pieces)

    def widths(self, target: Target) -> FloatArray:
        """Give every feature its width, in its own units."""
        width = np.broadcast_to(np.asarray(getattr(self, self.field), dtype=np.float64), len(target.names)).copy()
        return width * target.spread() if getattr(self, "standardised", False) else width


class Absolute(_Width):
    """The tolerance of the paper, on the sum: ``-eps <= sum_i (phi(x_i) - alpha) h_i <= eps``.

    Parameters
    ----------
    eps : float or sequence of float
        In units of the feature times a number of points: ``eps=30`` lets the mean of 1000 points be off by 0.03. One for
        all, one per moment, or one per part of a ``Concat``.
    standardised : bool
        Whether ``eps`` is in standard deviations of each feature over the points instead.

    Examples
    --------
    >>> Absolute(30.0)
    Absolute(kind='absolute', eps=30.0, standardised=False)
    >>> Absolute(-1.0)
    Traceback (most recent call last):
        ...
    momentlp.errors.SpecError: Absolute.eps: must be finite and not negative, but it is -1.0.
    """

    kind: Literal["absolute"] = "absolute"
    eps: Width
    standardised: bool = False
    field: ClassVar[str] = "eps"

    if TYPE_CHECKING:

        def __init__(self, eps: Widths, standardised: bool = False) -> None: ...

    def block(self, target: Target) -> MomentBlock:
        """Return one row per feature, bounded on both sides."""
        return target.near(self.widths(target), "sum")


class Relative(_Width):
    """A tolerance on the mean itself: ``|mu(h) - alpha| <= delta``, whatever the size of the set.

    Multiplied by the size it is linear in h: ``sum (phi - alpha - delta) h <= 0`` and ``sum (phi - alpha + delta) h >= 0``.
    A moment with ``delta > 0`` gives these two rows, named ``<name>:high`` and ``<name>:low``; one with ``delta = 0`` gives
    a single equation.

    Parameters
    ----------
    delta : float or sequence of float
        In units of the feature. One for all, one per moment, or one per part of a ``Concat``.
    standardised : bool
        Whether ``delta`` is in standard deviations of each feature over the points instead.
    """

    kind: Literal["relative"] = "relative"
    delta: Width
    standardised: bool = False
    field: ClassVar[str] = "delta"

    if TYPE_CHECKING:

        def __init__(self, delta: Widths, standardised: bool = False) -> None: ...

    def block(self, target: Target) -> MomentBlock:
        """Return the rows, all built from the one feature matrix by a selection of its columns."""
        return target.near(self.widths(target), "mean")


class StandardError(_Width):
    """A tolerance on the mean in standard errors of the labelled sample: ``delta_j = z s_j / sqrt(l)``.

    The mean of l labelled points is known to about one standard error; a feature in which they differ much is held loosely,
    one in which they agree is held tightly. Where they agree altogether (a word that none of l documents has), that is no
    proof that the class does: there ``s_j`` is the standard deviation over all points divided by ``sqrt(l)``, as if one more
    labelled point might have been any point.

    Parameters
    ----------
    z : float or sequence of float
        How many standard errors. One for all, one per moment, or one per part of a ``Concat``.
    """

    kind: Literal["standard_error"] = "standard_error"
    z: Width
    field: ClassVar[str] = "z"

    if TYPE_CHECKING:

        def __init__(self, z: Widths) -> None: ...

    def block(self, target: Target) -> MomentBlock:
        """Return the rows of ``Relative(z s / sqrt(l))``."""
        counts = np.ones(0 if target.sample is None else target.sample.shape[0]) if target.counts is None else target.counts
        size = float(counts.sum())
        if target.sample is None or size <= 1 or np.count_nonzero(counts) < 2:
            got = "only the mean was given" if target.sample is None else f"those given count as {size:g}"
            raise CompileError(
                f"StandardError needs at least two labelled points to see how much they differ, but {got}: give more, or a "
                "tolerance such as mlp.Relative(0.1)."
            )
        sample = target.sample.toarray() if is_sparse(target.sample) else np.asarray(target.sample, dtype=np.float64)
        off = sample - counts @ sample / size
        spread = np.sqrt(counts @ off**2 / (size - 1))
        agree = spread <= 1e-12 * np.abs(sample).max(axis=0)
        spread = np.where(~agree, spread, target.spread(constant=0.0) / np.sqrt(size))
        return target.near(self.widths(target) * spread / np.sqrt(size), "mean")
