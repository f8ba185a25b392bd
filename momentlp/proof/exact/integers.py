"""A problem in integers: every float is an integer times a power of two, so nothing is rounded.

Each moment, the weights and the caps have a unit of their own, in which all their numbers are integers. The moments
``A = (Phi - 1 a^T) T + 1 t^T`` are multiplied out exactly from the stored features, mean and transform, not taken from the
rounded entries that a solver gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, is_sparse
from momentlp.points.chunked import load_in_memory
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem

__all__ = ["IntegerProgram", "Integers", "format_fraction", "iterate_moments_of_block", "to_decimal", "to_integers"]

Integers = NDArray[Any]  # of dtype object, holding Python's int, which never overflows


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """``maximise w . h`` subject to ``L <= M h <= U``, ``0 <= h <= u``, all in integers.

    A moment without a bound on one side gets a bound there that no memberships can reach. This changes no answer, and every
    row has two finite bounds.

    Attributes
    ----------
    M : array, shape (m, N)
    lower, upper : array, shape (m,)
    weights, caps : array, shape (N,)
    row_units : tuple of Fraction
        The number of the problem that the integer 1 stands for, in each row.
    weight_unit, cap_unit : Fraction
        The same in weights and in caps.
    names : tuple of str
    open_below, open_above : array of bool, shape (m,)
        Which bounds only stand for a side without a bound.
    """

    M: Integers
    lower: Integers
    upper: Integers
    weights: Integers
    caps: Integers
    row_units: tuple[Fraction, ...]
    weight_unit: Fraction
    cap_unit: Fraction
    names: tuple[str, ...]
    open_below: NDArray[np.bool_]
    open_above: NDArray[np.bool_]

    @classmethod
    def of(cls, problem: Problem) -> IntegerProgram:
        """Convert a problem to integers; features that are read in chunks are loaded into memory."""
        weights, weight_exponent = to_integers(problem.weights)
        caps, cap_exponent = to_integers(problem.caps)
        M = np.zeros((problem.n_moments, problem.n_points), dtype=object)
        lower, upper = np.zeros(problem.n_moments, dtype=object), np.zeros(problem.n_moments, dtype=object)
        units = []
        for j, (entries, exponent) in enumerate(_iterate_moments(problem)):
            # One unit of the row: fine enough for its entries times a cap and for both of its bounds.
            bounds = [value for value in (problem.lower[j], problem.upper[j]) if np.isfinite(value)]
            fine = min([exponent + cap_exponent, *(to_integers(np.array([value]))[1] for value in bounds if value)])
            row = entries << (exponent + cap_exponent - fine)
            low, high = (
                None if np.isinf(v) else int(Fraction(v) / _power_of_two(fine)) for v in (problem.lower[j], problem.upper[j])
            )
            common = gcd(*row.tolist(), low or 0, high or 0) or 1
            M[j] = row // common
            lower[j] = int(np.minimum(M[j], 0) @ caps) - 1 if low is None else low // common
            upper[j] = int(np.maximum(M[j], 0) @ caps) + 1 if high is None else high // common
            units.append(common * _power_of_two(fine))
        return cls(
            M,
            lower,
            upper,
            weights,
            caps,
            tuple(units),
            _power_of_two(weight_exponent),
            _power_of_two(cap_exponent),
            problem.names,
            np.isinf(problem.lower),
            np.isinf(problem.upper),
        )

    @property
    def unit(self) -> Fraction:
        """The weight that the integer 1 stands for in the objective."""
        return self.weight_unit * self.cap_unit

    def weigh(self, h: Sequence[Fraction]) -> Fraction:
        """Return ``w . h``."""
        return sum((int(w) * value for w, value in zip(self.weights, h, strict=True) if value), Fraction(0))

    def bound(self, y: Sequence[Fraction], weights: Integers) -> Fraction:
        """Return ``sum u max(0, w - M^T y) + sum (U max(y, 0) + L min(y, 0))``, which no feasible h exceeds in weight."""
        numerators, common = _with_common_denominator(y)
        scores = weights * common - numerators @ self.M
        facing = np.where(numerators > 0, self.upper, self.lower)
        return Fraction(int(np.maximum(scores, 0) @ self.caps) + int(facing @ numerators), common)

    def excess(self, h: Sequence[Fraction]) -> list[Fraction]:
        """Return by how much each moment is beyond a bound, in units of the problem; negative if it is inside."""
        numerators, common = _with_common_denominator(h)
        activity = self.M @ numerators
        over = np.maximum(activity - self.upper * common, self.lower * common - activity)
        return [unit * Fraction(int(value), common) for unit, value in zip(self.row_units, over, strict=True)]

    def describe_violation(self, h: Sequence[Fraction]) -> str:
        """Return which bound h violates most, and by how much; an empty text if it violates none."""
        out = [max(value - int(cap), -value) for value, cap in zip(h, self.caps, strict=True)]
        i = max(range(len(out)), key=out.__getitem__)
        if out[i] > 0:
            return f"point {i} would need a membership of {format_fraction(self.cap_unit * h[i])}"
        over = self.excess(h)
        j = max(range(len(over)), key=over.__getitem__)
        return f"moment {self.names[j]!r} misses its bound by {format_fraction(over[j])}" if over[j] > 0 else ""

    def without_open_sides(self, y: Sequence[Fraction]) -> list[Fraction]:
        """Set multipliers to zero that point at a side without a bound.

        A proof that no h is feasible may use the bound that stands for an open side. Without such multipliers the proof is
        stronger, because no moment reaches that bound.
        """
        wrong = [
            (v > 0 and above) or (v < 0 and below)
            for v, below, above in zip(y, self.open_below, self.open_above, strict=True)
        ]
        return [Fraction(0) if open_side else value for value, open_side in zip(y, wrong, strict=True)]

    def multipliers(self, y: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return multipliers in units of the problem."""
        return tuple(value * self.unit / unit for value, unit in zip(y, self.row_units, strict=True))


def to_integers(values: FloatArray) -> tuple[Integers, int]:
    """Return floats as integers and one exponent: ``values = integers * 2**exponent``."""
    fractions, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    mantissas = (fractions * 2.0**53).astype(np.int64)
    trailing = np.where(mantissas == 0, 0, np.frexp((mantissas & -mantissas).astype(np.float64))[1] - 1)
    exponents = np.where(mantissas == 0, 0, exponents - 53 + trailing)
    minimum = int(exponents.min(where=mantissas != 0, initial=2000))  # a float64 has no exponent above 1023
    minimum = 0 if minimum == 2000 else minimum
    shifts = np.where(mantissas == 0, 0, exponents - minimum).astype(object)
    return (mantissas >> trailing).astype(object) << shifts, minimum


def format_fraction(value: Fraction) -> str:
    """Return a fraction as text: as it is if it is short, rounded to a decimal if not."""
    if value.numerator.bit_length() + value.denominator.bit_length() <= 64:
        return str(value)
    return f"{to_decimal(value).normalize():g}"


def to_decimal(value: Fraction) -> Decimal:
    """Return a fraction rounded to 12 decimal digits, however large or small it is."""
    return Context(prec=12).divide(Decimal(value.numerator), Decimal(value.denominator))


def _iterate_moments(problem: Problem) -> Iterator[tuple[Integers, int]]:
    """Yield the entries of every moment, as integers and an exponent of 2."""
    for block in problem.blocks:
        yield from iterate_moments_of_block(block, range(block.n_moments))


def iterate_moments_of_block(block: MomentBlock, moments: Iterable[int]) -> Iterator[tuple[Integers, int]]:
    """Yield the entries of some moments of a block, as integers and an exponent of 2 per moment.

    Parameters
    ----------
    block : MomentBlock
        Features that are read in chunks are loaded into memory.
    moments : iterable of int
        Positions within the block.

    Yields
    ------
    (array of int, int)
        ``integers`` of shape (N,) and ``exponent``: the column of A is ``integers * 2**exponent``.
    """
    features = load_in_memory(block.features, "exact arithmetic")
    features = np.asarray(features.toarray() if is_sparse(features) else features, dtype=np.float64)

    @cache
    def centred(k: int) -> tuple[Integers, int]:
        integers, exponent = to_integers(np.append(features[:, k], block.origin[k]))
        return integers[:-1] - integers[-1], exponent

    for j in moments:
        if block.transform is None:
            terms = [centred(int(j))]
        else:
            column = block.transform[:, [j]].tocoo()
            pairs = zip(column.coords[0].tolist(), column.data.tolist(), strict=True)
            terms = [_multiply_by_float(centred(k), value) for k, value in pairs]
        shift, exponent = to_integers(block.shift[[j]])
        yield _add_terms([*terms, (np.repeat(shift, block.n_points), exponent)])


def _multiply_by_float(number: tuple[Integers, int], factor: float) -> tuple[Integers, int]:
    integers, exponent = to_integers(np.array([factor]))
    return number[0] * integers[0], number[1] + exponent


def _add_terms(terms: Iterable[tuple[Integers, int]]) -> tuple[Integers, int]:
    terms = list(terms)
    minimum = min(exponent for _, exponent in terms)
    return np.sum([integers << (exponent - minimum) for integers, exponent in terms], axis=0), minimum


def _with_common_denominator(values: Sequence[Fraction]) -> tuple[Integers, int]:
    """Return the numerators of fractions over their common denominator, and that denominator."""
    common = lcm(*(value.denominator for value in values))
    return np.array([value.numerator * (common // value.denominator) for value in values], dtype=object), common


def _power_of_two(exponent: int) -> Fraction:
    return Fraction(2) ** exponent
