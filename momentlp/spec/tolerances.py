"""Tolerances: how far the mean of the set may lie from its target, and how that becomes rows of the linear program.

A tolerance turns a :class:`Target` (the features phi of all points and the mean alpha of the class) into rows
``lower <= A^T h <= upper``. There are two forms, for every feature j::

    on the sum    -eps_j <= sum_i (phi_ij - alpha_j) h_i <= eps_j                       one row with two bounds

    on the mean   |sum_i phi_ij h_i / sum_i h_i - alpha_j| <= delta_j                   multiplied by sum_i h_i:
                  sum_i (phi_ij - alpha_j - delta_j) h_i <= 0                           one row, "<name>:high"
                  sum_i (phi_ij - alpha_j + delta_j) h_i >= 0                           one row, "<name>:low"

=================  ==================================================  ========
tolerance          width                                               form
=================  ==================================================  ========
``Absolute``       ``eps``                                             the sum
``Relative``       ``delta``                                           the mean
``StandardError``  ``delta_j = z s_j / sqrt(l)``, from l labelled      the mean
                   points with standard deviation ``s_j``
=================  ==================================================  ========

:meth:`MomentBlock.near <momentlp.MomentBlock.near>` builds the rows.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, SerializerFunctionWrapHandler, model_serializer

from momentlp.errors import CompileError
from momentlp.features import FittedMap
from momentlp.kinds import Kind
from momentlp.points.arrays import FloatArray, Matrix, is_sparse
from momentlp.points.statistics import column_spread
from momentlp.problem.moment_block import MomentBlock

__all__ = ["Absolute", "Relative", "StandardError", "Target", "Tolerance"]

MIN_SPREAD = 1e-12  # of labelled points, relative to the largest of them: with less they agree but for rounding


@dataclass(frozen=True, eq=False)
class Target:
    """The features of all points and the mean of the class in these features.

    Attributes
    ----------
    features : array, csr_array or Chunked, shape (N, k)
    mean : array, shape (k,)
        The mean that the class should have.
    names : tuple of str
        The names of the features.
    fitted : FittedMap or None
        Maps new points to features.
    sample : array or csr_array of shape (l, k), or None
        The features of the labelled points, which tell how well the mean is known; None if only the mean was given.
    counts : array of shape (l,), or None
        How often each labelled point counts; None if each counts once.
    weights : array of shape (N,), or None
        How many points each row of ``features`` stands for; None if each stands for one.

    Examples
    --------
    >>> target = Target(np.array([[0.0], [2.0]]), np.array([0.5]), names=("x",))
    >>> target.near(np.array([0.1]), "mean").names
    ('x:high', 'x:low')
    """

    features: Matrix
    mean: FloatArray
    names: tuple[str, ...]
    fitted: FittedMap | None = None
    sample: Matrix | None = None
    counts: FloatArray | None = None
    weights: FloatArray | None = None

    def spread(self, constant: float = 1.0) -> FloatArray:
        """Return the standard deviation of each feature over all points, shape (k,); ``constant`` if it does not vary."""
        return column_spread(self.features, constant, self.weights)

    def near(
        self, width: FloatArray, tolerance_on: Literal["sum", "mean"], side: Literal["both", "lower", "upper"] = "both"
    ) -> MomentBlock:
        """Build the rows that keep the mean near the target; see :meth:`MomentBlock.near <momentlp.MomentBlock.near>`.

        Parameters
        ----------
        width : array, shape (k,)
            The tolerance of each feature.
        tolerance_on : {"sum", "mean"}
            Whether ``width`` bounds the sum of the deviations or their mean.
        side : {"both", "lower", "upper"}
            Keep both bounds, or one of them.

        Returns
        -------
        MomentBlock

        Examples
        --------
        >>> target = Target(np.array([[0.0], [2.0]]), np.array([0.5]), names=("x",))
        >>> target.near(np.array([0.1]), "sum").upper
        array([0.1])
        """
        return MomentBlock.near(
            self.features, self.mean, width, labels=self.names, tolerance_on=tolerance_on, fitted=self.fitted, side=side
        )


def _check_width(value: Any) -> float | tuple[float, ...]:
    """Accept one number or a flat sequence of them, none negative or NaN."""
    if (isinstance(value, Sequence) or hasattr(value, "__array__")) and not isinstance(value, str) and np.ndim(value) == 1:
        return tuple(
            _check_entry(entry, f"entry {position}")
            for position, entry in enumerate(np.asarray(value, dtype=object).tolist())
        )
    return _check_entry(value, "it")


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _check_entry(value: Any, what: str) -> float:
    if isinstance(value, (str, bool, np.bool_)) or value is None:
        raise ValueError(f"must be a number, or one number per moment, but {what} is {_shorten(value)}.")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"must be a number, or one number per moment, but {what} is {_shorten(value)}.") from None
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"must be finite and not negative, but {what} is {number}.")
    return number


Widths: TypeAlias = float | Sequence[float] | NDArray[np.floating[Any]]
Width = Annotated[float | tuple[float, ...], BeforeValidator(_check_width)]


class Tolerance(Kind):
    """Base of all tolerances. To write one, subclass it, give it a ``kind`` and define :meth:`block`.

    Examples
    --------
    >>> import momentlp as mlp
    >>> class TenthOfSpread(mlp.Tolerance):
    ...     kind: str = "example-tenth"
    ...
    ...     def block(self, target):
    ...         return target.near(0.1 * target.spread(), "mean")
    >>> mlp.Spec(tolerance=TenthOfSpread()).compile([[0.0], [2.0]], mean=[1.0]).names
    ('x0:high', 'x0:low')
    """

    group: ClassVar[str] = "momentlp.tolerances"

    @abstractmethod
    def block(self, target: Target) -> MomentBlock:
        """Return the rows that keep the mean of the set near the target.

        Parameters
        ----------
        target : Target
            The features of the points and the mean of the class.

        Returns
        -------
        MomentBlock

        Raises
        ------
        CompileError
            If the target does not hold what the tolerance needs, such as labelled points.
        """

    def split(self, counts: tuple[int, ...]) -> tuple[Tolerance, ...]:
        """Return the tolerance of each part of a feature map.

        Parameters
        ----------
        counts : tuple of int
            The number of features of each part.

        Returns
        -------
        tuple of Tolerance
            One per part.

        Raises
        ------
        CompileError
            If the tolerance holds several numbers, and neither one per feature nor one per part.

        Examples
        --------
        >>> [part.eps for part in Absolute([1.0, 2.0, 3.0]).split((2, 1))]
        [(1.0, 2.0), (3.0,)]
        """
        return (self,) * len(counts)


Side: TypeAlias = Literal["both", "lower", "upper"]


class _Width(Tolerance):
    """A tolerance given by one number, one number per moment, or one per part of a :class:`~momentlp.Concat`."""

    field: ClassVar[str]

    @model_serializer(mode="wrap")
    def _without_default_side(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the side if it is the default, so that files can be read by versions that know no sides."""
        fields: dict[str, Any] = handler(self)
        if fields.get("side") == "both":
            del fields["side"]
        return fields

    def split(self, counts: tuple[int, ...]) -> tuple[Tolerance, ...]:
        """Give each part its own number, or the numbers of its moments."""
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
        """Return the width of every feature of ``target``, in units of the feature; shape (k,)."""
        width = np.broadcast_to(np.asarray(getattr(self, self.field), dtype=np.float64), len(target.names)).copy()
        return width * target.spread() if getattr(self, "standardised", False) else width


class Absolute(_Width):
    """The tolerance of the paper, on the sum: ``-eps <= sum_i (phi(x_i) - alpha) h_i <= eps``.

    Every moment is one row with these two bounds.

    Parameters
    ----------
    eps : float or sequence of float
        In units of the feature times a number of points: ``eps=30`` allows the mean of 1000 points to be off by 0.03. One
        number for all moments, one per moment, or one per part of a ``Concat``.
    standardised : bool
        Whether ``eps`` is in standard deviations of each feature over all points instead.
    side : {"both", "lower", "upper"}
        Which bounds to keep. ``"lower"`` demands only that the mean is not much smaller than its target: right for a score
        that is larger for members, since then no member is left out because it scores too well.

    Raises
    ------
    SpecError
        If a number is negative, infinite or NaN.

    Examples
    --------
    >>> Absolute(30.0)
    Absolute(kind='absolute', eps=30.0, standardised=False, side='both')
    >>> Absolute(-1.0)
    Traceback (most recent call last):
        ...
    momentlp.errors.SpecError: Absolute.eps: must be finite and not negative, but it is -1.0.
    """

    kind: Literal["absolute"] = "absolute"
    eps: Width
    standardised: bool = False
    side: Side = "both"
    field: ClassVar[str] = "eps"

    if TYPE_CHECKING:

        def __init__(self, eps: Widths, standardised: bool = False, side: Side = "both") -> None: ...

    def block(self, target: Target) -> MomentBlock:
        """Return one row per feature, bounded on both sides."""
        return target.near(self.widths(target), "sum", self.side)


class Relative(_Width):
    """A tolerance on the mean: ``|mu(h) - alpha| <= delta`` with ``mu(h) = sum_i phi(x_i) h_i / sum_i h_i``.

    Multiplied by ``sum_i h_i`` it is linear in h: ``sum (phi - alpha - delta) h <= 0`` and
    ``sum (phi - alpha + delta) h >= 0``. A moment with ``delta > 0`` becomes these two rows, named ``<name>:high`` and
    ``<name>:low``. A moment with ``delta = 0`` becomes one equation.

    Parameters
    ----------
    delta : float or sequence of float
        In units of the feature. One number for all moments, one per moment, or one per part of a ``Concat``.
    standardised : bool
        Whether ``delta`` is in standard deviations of each feature over all points instead.
    side : {"both", "lower", "upper"}
        Which bounds to keep. ``"lower"`` demands only that the mean is not much smaller than its target: right for a score
        that is larger for members, since then no member is left out because it scores too well.

    Raises
    ------
    SpecError
        If a number is negative, infinite or NaN.

    Examples
    --------
    >>> import momentlp as mlp
    >>> problem = mlp.Spec(tolerance=mlp.Relative(0.5)).compile([[0.0], [2.0]], mean=[1.0])
    >>> problem.names, problem.A.toarray()
    (('x0:high', 'x0:low'), array([[-1.5, -0.5],
           [ 0.5,  1.5]]))
    """

    kind: Literal["relative"] = "relative"
    delta: Width
    standardised: bool = False
    side: Side = "both"
    field: ClassVar[str] = "delta"

    if TYPE_CHECKING:

        def __init__(self, delta: Widths, standardised: bool = False, side: Side = "both") -> None: ...

    def block(self, target: Target) -> MomentBlock:
        """Return two rows per feature, or one where ``delta`` is zero."""
        return target.near(self.widths(target), "mean", self.side)


class StandardError(_Width):
    """A tolerance on the mean in standard errors of the labelled sample: ``delta_j = z s_j / sqrt(l)``.

    The mean of l labelled points is known to about one standard error. A feature with standard deviation ``s_j`` among
    them gets the rows of ``Relative(delta_j)``: a wide tolerance if they differ much, a narrow one if they agree.

    If all labelled points have the same value (say, none of l documents has a word), the class may still vary. Then
    ``s_j`` is the standard deviation over all points divided by ``sqrt(l)``, as if one more labelled point could have been
    any point.

    Parameters
    ----------
    z : float or sequence of float
        The number of standard errors. One number for all moments, one per moment, or one per part of a ``Concat``.
    side : {"both", "lower", "upper"}
        Which bounds to keep. ``"lower"`` demands only that the mean is not much smaller than its target: right for a score
        that is larger for members, since then no member is left out because it scores too well.

    Raises
    ------
    SpecError
        If a number is negative, infinite or NaN.

    Examples
    --------
    >>> import momentlp as mlp
    >>> spec = mlp.Spec(tolerance=mlp.StandardError(1.0))
    >>> spec.compile([[0.0], [2.0], [5.0]], labelled=[0, 1]).blocks[0].width
    array([1.])
    """

    kind: Literal["standard_error"] = "standard_error"
    z: Width
    side: Side = "both"
    field: ClassVar[str] = "z"

    if TYPE_CHECKING:

        def __init__(self, z: Widths, side: Side = "both") -> None: ...

    def block(self, target: Target) -> MomentBlock:
        """Return the rows of ``Relative(z s / sqrt(l))``."""
        counts = np.ones(0 if target.sample is None else target.sample.shape[0]) if target.counts is None else target.counts
        size = float(counts.sum())
        if target.sample is None or size <= 1 or np.count_nonzero(counts) < 2:
            got = "only the mean was given" if target.sample is None else f"those given count as {size:g}"
            advice = "give more, or a tolerance such as mlp.Relative(0.1)."
            if np.count_nonzero(counts) >= 2:
                advice = (
                    "a weight is the number of points that a row stands for, so weights must not be scaled to a sum of 1."
                )
            raise CompileError(
                "at least two labelled points are needed to see how much they differ (StandardError, the default of the "
                f"estimators), but {got}: {advice}"
            )
        sample = target.sample.toarray() if is_sparse(target.sample) else np.asarray(target.sample, dtype=np.float64)
        deviation = sample - counts @ sample / size
        spread = np.sqrt(counts @ deviation**2 / (size - 1))
        overall = target.spread(constant=0.0)
        agree = spread <= MIN_SPREAD * np.abs(sample).max(axis=0)
        spread = np.where(~agree, spread, overall / np.sqrt(size))
        return target.near(self.widths(target) * spread / np.sqrt(size), "mean", self.side)
