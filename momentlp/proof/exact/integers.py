"""A problem in whole numbers: every float is a whole number times a power of two, so nothing is rounded.

Each moment, the weights and the caps get a unit of their own, in which all their numbers are whole. The moments
``A = (Phi - 1 a^T) T + 1 t^T`` are multiplied out from the stored features, mean and transform as they are, not from the
rounded entries that a solver is handed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, is_sparse
from momentlp.points.chunked import load_in_memory
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem

__all__ = ["IntegerProgram", "Integers", "rounded", "shown", "to_integers"]

Integers = NDArray[Any]  # of Python's own whole numbers, which have no largest


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """``maximise w . h`` subject to ``L <= M h <= U``, ``0 <= h <= u``, all in whole numbers.

    A side without a bound gets one that the moment cannot reach, whatever the memberships: it changes nothing, and every
    row has two.

    Attributes
    ----------
    M : array, shape (m, N)
    lower, upper : array, shape (m,)
    weights, caps : array, shape (N,)
    row_units : tuple of Fraction
        What one unit of each row stands for.
    weight_unit, cap_unit : Fraction
    names : tuple of str
    open_below, open_above : array of bool, shape (m,)
        Where a bound only stands in for an open side.
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
        """Write a problem out in whole numbers."""
        weights, weight_exponent = to_integers(problem.weights)
        caps, cap_exponent = to_integers(problem.caps)
        M = np.zeros((problem.n_moments, problem.n_points), dtype=object)
        lower, upper = np.zeros(problem.n_moments, dtype=object), np.zeros(problem.n_moments, dtype=object)
        units = []
        for j, (entries, exponent) in enumerate(_moments(problem)):
            # One unit of the row: fine enough for its entries times a cap and for both of its bounds.
            bounds = [value for value in (problem.lower[j], problem.upper[j]) if np.isfinite(value)]
            fine = min([exponent + cap_exponent, *(to_integers(np.array([value]))[1] for value in bounds if value)])
            row = entries << (exponent + cap_exponent - fine)
            low, high = (
                None if np.isinf(v) else int(Fraction(v) / _power(fine)) for v in (problem.lower[j], problem.upper[j])
            )
            common = gcd(*row.tolist(), low or 0, high or 0) or 1
            M[j] = row // common
            lower[j] = int(np.minimum(M[j], 0) @ caps) - 1 if low is None else low // common
            upper[j] = int(np.maximum(M[j], 0) @ caps) + 1 if high is None else high // common
            units.append(common * _power(fine))
        return cls(
            M,
            lower,
            upper,
            weights,
            caps,
            tuple(units),
            _power(weight_exponent),
            _power(cap_exponent),
            problem.names,
            np.isinf(problem.lower),
            np.isinf(problem.upper),
        )

    @property
    def unit(self) -> Fraction:
        """What one unit of the objective stands for."""
        return self.weight_unit * self.cap_unit

    def weigh(self, h: Sequence[Fraction]) -> Fraction:
        """Return ``w . h``."""
        return sum((int(w) * value for w, value in zip(self.weights, h, strict=True) if value), Fraction(0))

    def bound(self, y: Sequence[Fraction], weights: Integers) -> Fraction:
        """Return ``sum u max(0, w - M^T y) + sum (U max(y, 0) + L min(y, 0))``, which no feasible h exceeds in weight."""
        whole, common = _over_one_denominator(y)
        scores = weights * common - whole @ self.M
        faced = np.where(whole > 0, self.upper, self.lower)
        return Fraction(int(np.maximum(scores, 0) @ self.caps) + int(faced @ whole), common)

    def excess(self, h: Sequence[Fraction]) -> list[Fraction]:
        """Return by how much each moment is beyond a bound, in units of the problem; below zero where it is inside."""
        whole, common = _over_one_denominator(h)
        activity = self.M @ whole
        over = np.maximum(activity - self.upper * common, self.lower * common - activity)
        return [unit * Fraction(int(value), common) for unit, value in zip(self.row_units, over, strict=True)]

    def fault(self, h: Sequence[Fraction]) -> str:
        """Name a bound that h breaks, and by how much; nothing if it breaks none."""
        out = [max(value - int(cap), -value) for value, cap in zip(h, self.caps, strict=True)]
        i = max(range(len(out)), key=out.__getitem__)
        if out[i] > 0:
            return f"point {i} would need a membership of {shown(self.cap_unit * h[i])}"
        over = self.excess(h)
        j = max(range(len(over)), key=over.__getitem__)
        return f"moment {self.names[j]!r} misses its bound by {shown(over[j])}" if over[j] > 0 else ""

    def without_open_sides(self, y: Sequence[Fraction]) -> list[Fraction]:
        """Set multipliers to zero that point at a side without a bound.

        In a proof that no h is feasible they may rest on the bound that stands in for it. The proof is stronger without
        them, because a moment never comes up to such a bound.
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
    """Return floats as whole numbers and an exponent: ``values = whole * 2**exponent``."""
    fractions, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    mantissas = (fractions * 2.0**53).astype(np.int64)
    trailing = np.where(mantissas == 0, 0, np.frexp((mantissas & -mantissas).astype(np.float64))[1] - 1)
    exponents = np.where(mantissas == 0, 0, exponents - 53 + trailing)
    least = int(exponents.min(where=mantissas != 0, initial=2000))
    least = 0 if least == 2000 else least
    shifts = np.where(mantissas == 0, 0, exponents - least).astype(object)
    return (mantissas >> trailing).astype(object) << shifts, least


def shown(value: Fraction) -> str:
    """Write a fraction for people: as it is where it is short, else rounded."""
    if value.numerator.bit_length() + value.denominator.bit_length() <= 64:
        return str(value)
    return f"{rounded(value).normalize():g}"


def rounded(value: Fraction) -> Decimal:
    """Return a fraction as a decimal of some digits, however large or small it is."""
    return Context(prec=12).divide(Decimal(value.numerator), Decimal(value.denominator))


def _moments(problem: Problem) -> Iterator[tuple[Integers, int]]:
    """Return the entries of every moment, as whole numbers and an exponent."""
    for block in problem.blocks:
        yield from _moments_of(block)


def _moments_of(block: MomentBlock) -> Iterator[tuple[Integers, int]]:
    features = load_in_memory(block.features, "exact arithmetic")
    features = np.asarray(features.toarray() if is_sparse(features) else features, dtype=np.float64)
    centred = []
    for k in range(block.origin.size):
        whole, exponent = to_integers(np.append(features[:, k], block.origin[k]))
        centred.append((whole[:-1] - whole[-1], exponent))
    for j in range(block.n_moments):
        if block.transform is None:
            terms = [centred[j]]
        else:
            column = block.transform[:, [j]].tocoo()
            terms = [_times(centred[k], value) for k, value in zip(column.coords[0], column.data, strict=True)]
        shift, exponent = to_integers(block.shift[[j]])
        yield _sum([*terms, (np.repeat(shift, block.n_points), exponent)])


def _times(number: tuple[Integers, int], factor: float) -> tuple[Integers, int]:
    whole, exponent = to_integers(np.array([factor]))
    return number[0] * whole[0], number[1] + exponent


def _sum(terms: Iterable[tuple[Integers, int]]) -> tuple[Integers, int]:
    terms = list(terms)
    least = min(exponent for _, exponent in terms)
    return np.sum([whole << (exponent - least) for whole, exponent in terms], axis=0), least


def _over_one_denominator(values: Sequence[Fraction]) -> tuple[Integers, int]:
    common = lcm(*(value.denominator for value in values))
    return np.array([value.numerator * (common // value.denominator) for value in values], dtype=object), common


def _power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent
