"""The linear program of raw inputs in fractions, from the formulas of the documentation and not from the package.

Floats are exact numbers. The mean of labelled points is the exact rational mean, and widths that need a square root are
correct to thirty digits. What the package may round differently is described by :class:`Mean` and by the relaxation below.

Relaxation
----------
Every entry ``A_ij`` counts as known up to ``r_ij = 8 * 2^-52 * (o_j + min(|A_ij|, 2^20 t_j))`` per unit of membership. Here
``o_j`` is the size of the mean that is subtracted in moment j, plus its width if the width bounds the mean (zero for rows of
constraints and of matrices), and ``t_j`` is the median absolute nonzero entry of the moment. Bounds count as known up to
``8 * 2^-52`` of their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isinf, isqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from .exact_lp import ExactLP
from .raw_problem import RawMatrix, RawProblem, RawSpec, RawTolerance

__all__ = ["ExactProgram", "Mean", "Row", "build_program", "exact_mean", "exact_widths"]

ROUNDING = Fraction(8, 2**52)
MAX_ENTRY = 2**20  # typical entries, above which an entry is not rounded further
ROOT_BITS = 240  # under a square root
CONSTANT = Fraction(1e-12)  # a column whose standard deviation is below this part of its largest entry does not vary


@dataclass(frozen=True)
class Row:
    """One row ``lower <= sum_i entries_i h_i <= upper``; ``offset`` is o_j.

    ``is_mean`` is False for rows that do not bound a mean; ``column`` is the column of X of a row that does.
    """

    entries: list[Fraction]
    lower: Fraction | None
    upper: Fraction | None
    offset: Fraction = Fraction(0)
    is_mean: bool = False
    column: int = -1

    @cached_property
    def typical(self) -> Fraction:
        """t_j, the median absolute nonzero entry; zero if all are zero."""
        sizes = sorted(abs(entry) for entry in self.entries if entry)
        middle = len(sizes) // 2
        if len(sizes) % 2:
            return sizes[middle]
        return (sizes[middle - 1] + sizes[middle]) / 2 if sizes else Fraction(0)

    @cached_property
    def rounding(self) -> list[Fraction]:
        """r_ij for every point i."""
        known = self.offset + self.typical
        return [ROUNDING * (known + min(abs(entry), MAX_ENTRY * self.typical)) for entry in self.entries]

    def relaxed(self, factor: int) -> list[Row]:
        """Return the sides of the row, each relaxed by ``factor`` times the rounding of entries and bounds."""
        sides = []
        if self.upper is not None:
            entries = [entry - factor * r for entry, r in zip(self.entries, self.rounding, strict=True)]
            sides.append(replace(self, entries=entries, lower=None, upper=self.upper + factor * ROUNDING * abs(self.upper)))
        if self.lower is not None:
            entries = [entry + factor * r for entry, r in zip(self.entries, self.rounding, strict=True)]
            sides.append(replace(self, entries=entries, lower=self.lower - factor * ROUNDING * abs(self.lower), upper=None))
        return sides


@dataclass(frozen=True)
class ExactProgram:
    """Rows, weights and caps in fractions."""

    rows: list[Row]
    weights: list[Fraction]
    caps: list[Fraction]

    def relaxed(self, factor: int) -> ExactProgram:
        """Return P+, every row relaxed by ``factor`` times its rounding."""
        return replace(self, rows=[side for row in self.rows for side in row.relaxed(factor)])

    def means_alone(self) -> ExactProgram:
        """Return the program without the rows of constraints; caps stay."""
        return replace(self, rows=[row for row in self.rows if row.is_mean])

    def lp(self) -> ExactLP:
        """Return the linear program."""
        rows = self.rows
        return ExactLP(
            [row.entries for row in rows], [row.lower for row in rows], [row.upper for row in rows], self.weights, self.caps
        )

    def excess(self, h: Sequence[Fraction]) -> list[Fraction]:
        """Return by how much h violates each row; zero or less where it does not."""
        found = []
        for row in self.rows:
            activity = sum((entry * value for entry, value in zip(row.entries, h, strict=True) if value), Fraction(0))
            over = [] if row.upper is None else [activity - row.upper]
            under = [] if row.lower is None else [row.lower - activity]
            found.append(max(over + under, default=Fraction(0)))
        return found

    def nearest_point(self, h: Sequence[Fraction]) -> ExactLP:
        """Return the program whose optimum is minus the smallest ``sum |d_i| / u_i`` such that h + d is feasible.

        The variables are the increases p and the decreases q of every membership, d = p - q. Points without a cap stay.
        """
        inside = [min(max(value, Fraction(0)), cap) for value, cap in zip(h, self.caps, strict=True)]
        start = [
            sum((entry * value for entry, value in zip(row.entries, inside, strict=True) if value), Fraction(0))
            for row in self.rows
        ]
        price = [-1 / cap if cap else Fraction(0) for cap in self.caps]
        return ExactLP(
            [[*row.entries, *(-entry for entry in row.entries)] for row in self.rows],
            [None if row.lower is None else row.lower - at for row, at in zip(self.rows, start, strict=True)],
            [None if row.upper is None else row.upper - at for row, at in zip(self.rows, start, strict=True)],
            price * 2,
            [*(cap - value for cap, value in zip(self.caps, inside, strict=True)), *inside],
        )


@dataclass(frozen=True)
class Mean:
    """The mean and the widths of the moments of a spec: exact, or as the package rounded them."""

    mean: list[Fraction]
    widths: list[Fraction]


def build_program(raw: RawProblem, mean: Mean | None = None) -> ExactProgram:
    """Return the program of raw inputs; with the exact mean and widths unless others are given."""
    if isinstance(raw, RawMatrix):
        return _matrix_program(raw)
    assert isinstance(raw, RawSpec)
    X = _columns(raw.X)
    n = len(X[0])
    caps = _sample_weights(raw, n)
    mean = mean or Mean(exact_mean(raw), exact_widths(raw))
    rows = _mean_rows(X, mean, on_sum=raw.tolerance.kind == "absolute")
    total = sum(caps)
    for name, arguments in raw.constraints:
        if name == "Known":
            caps = [Fraction(0) if i in arguments.get("negatives", ()) else cap for i, cap in enumerate(caps)]
        rows.extend(_constraint_rows(name, arguments, X, caps, total))
    return ExactProgram(rows, [Fraction(1)] * n, caps)


def _matrix_program(raw: RawMatrix) -> ExactProgram:
    columns = _columns(raw.A)
    n, m = len(columns[0]), len(columns)
    lower, upper = (np.broadcast_to(np.asarray(b, dtype=float), m).tolist() for b in (raw.lower, raw.upper))
    weights, caps = (np.broadcast_to(np.asarray(v, dtype=float), n).tolist() for v in (raw.weights, raw.caps))
    rows = [
        Row(column, None if isinf(low) else Fraction(low), None if isinf(high) else Fraction(high))
        for column, low, high in zip(columns, lower, upper, strict=True)
    ]
    return ExactProgram(rows, [Fraction(w) for w in weights], [Fraction(u) for u in caps])


def _columns(X: Any) -> list[list[Fraction]]:
    """Return the columns of an array, exactly."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    return [[Fraction(value) for value in column] for column in dense.T.tolist()]


def _sample_weights(raw: RawSpec, n: int) -> list[Fraction]:
    return [Fraction(1)] * n if raw.sample_weight is None else [Fraction(w) for w in np.asarray(raw.sample_weight).tolist()]


def _members(raw: RawSpec) -> tuple[list[list[Fraction]], list[Fraction]]:
    """Return the columns of the labelled points or of the sample, and how often each point counts."""
    if raw.sample is not None:
        columns = _columns(raw.sample)
        return columns, [Fraction(1)] * len(columns[0])
    assert raw.labelled is not None
    X = _columns(raw.X)
    caps = _sample_weights(raw, len(X[0]))
    return [[column[i] for i in raw.labelled] for column in X], [caps[i] for i in raw.labelled]


def exact_mean(raw: RawSpec) -> list[Fraction]:
    """Return the mean of the class: as given, or the weighted mean of its labelled points."""
    if raw.mean is not None:
        return [Fraction(value) for value in np.asarray(raw.mean, dtype=float).tolist()]
    columns, counts = _members(raw)
    return [_mean(column, counts) for column in columns]


def exact_widths(raw: RawSpec) -> list[Fraction]:
    """Return the width of every moment, in the units of its column."""
    tolerance, X = raw.tolerance, _columns(raw.X)
    widths = _given_widths(tolerance, len(X))
    caps = _sample_weights(raw, len(X[0]))
    if tolerance.kind != "standard_error":
        spreads = [_spread(column, caps, Fraction(1)) for column in X] if tolerance.standardised else [Fraction(1)] * len(X)
        return [width * spread for width, spread in zip(widths, spreads, strict=True)]
    columns, counts = _members(raw)
    size = sum(counts)
    found = []
    for width, column, everywhere in zip(widths, columns, X, strict=True):
        centre = _mean(column, counts)
        spread = _root(sum(c * (x - centre) ** 2 for c, x in zip(counts, column, strict=True)) / (size - 1))
        if spread <= CONSTANT * max(map(abs, column)):
            spread = _spread(everywhere, caps, Fraction(0)) / _root(size)
        found.append(width * spread / _root(size))
    return found


def _given_widths(tolerance: RawTolerance, n_features: int) -> list[Fraction]:
    return [Fraction(w) for w in np.broadcast_to(np.asarray(tolerance.width, dtype=float), n_features).tolist()]


def _mean(column: Sequence[Fraction], counts: Sequence[Fraction]) -> Fraction:
    return sum((c * x for c, x in zip(counts, column, strict=True)), Fraction(0)) / sum(counts)


def _spread(column: Sequence[Fraction], counts: Sequence[Fraction], constant: Fraction) -> Fraction:
    """Return the standard deviation of a column over points that count; ``constant`` if the column does not vary."""
    centre = _mean(column, counts)
    spread = _root(sum(c * (x - centre) ** 2 for c, x in zip(counts, column, strict=True)) / sum(counts))
    return spread if spread > CONSTANT * max(abs(x) for x, c in zip(column, counts, strict=True) if c) else constant


def _root(value: Fraction) -> Fraction:
    """Return the square root, correct to about ``ROOT_BITS / 2`` bits."""
    shift = max(0, ROOT_BITS - value.numerator.bit_length() + value.denominator.bit_length())
    shift += shift % 2
    return Fraction(isqrt((value.numerator << shift) // value.denominator), 1 << (shift // 2))


def _mean_rows(X: list[list[Fraction]], mean: Mean, *, on_sum: bool) -> list[Row]:
    """Return the rows of a tolerance on the sum or on the mean."""
    rows = []
    for j, (column, a, width) in enumerate(zip(X, mean.mean, mean.widths, strict=True)):
        centred = [x - a for x in column]
        if on_sum or width == 0:
            rows.append(Row(centred, -width, width, abs(a), is_mean=True, column=j))
        else:
            rows.append(Row([x - width for x in centred], None, Fraction(0), abs(a) + width, is_mean=True, column=j))
            rows.append(Row([x + width for x in centred], Fraction(0), None, abs(a) + width, is_mean=True, column=j))
    return rows


def _constraint_rows(
    name: str, arguments: dict[str, Any], X: list[list[Fraction]], caps: list[Fraction], total: Fraction
) -> list[Row]:
    n = len(caps)
    if name == "Share":
        low, high = (Fraction(arguments.get(side, default)) for side, default in (("low", 0.0), ("high", 1.0)))
        return [Row([Fraction(1)] * n, low * total, high * total)]
    if name == "Known":
        positives = set(arguments.get("positives", ()))
        full = sum((caps[i] for i in positives), Fraction(0))
        return [Row([Fraction(int(i in positives)) for i in range(n)], full, None)] if positives else []
    if name == "GroupShare":
        groups, zero = arguments["groups"], Fraction(0)
        sides = [(g, Fraction(share), True) for g, share in arguments.get("low", {}).items()]
        sides += [(g, Fraction(share), False) for g, share in arguments.get("high", {}).items()]
        return [
            Row([int(label == g) - share for label in groups], zero if is_low else None, None if is_low else zero)
            for g, share, is_low in sides
        ]
    assert name == "Moment", name
    tolerance = arguments["tolerance"]
    target = [Fraction(v) for v in np.broadcast_to(np.asarray(arguments["target"], dtype=float), len(X)).tolist()]
    return _mean_rows(X, Mean(target, _given_widths(tolerance, len(X))), on_sum=tolerance.kind == "absolute")
