"""What an MPS file says, before it becomes a problem."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from decimal import Context, Decimal

import numpy as np

from momentlp.errors import FileFormatError
from momentlp.points.arrays import FloatArray

__all__ = ["OBJECTIVE", "MpsModel"]

EXACT = Context(prec=80)  # digits of sums of a right side and a range: rounding to a float is the only rounding
OBJECTIVE = -1  # the row index of the objective


@dataclass
class MpsModel:
    """The content of an MPS file.

    Attributes
    ----------
    maximise, has_objective : bool
    rows, columns : dict
        The index of every name; the objective has the index -1.
    row_types : list of str
        ``N``, ``L``, ``G`` or ``E``, without the objective.
    rhs, ranges : dict of Decimal
        By row, as far as the file gives them.
    cost : array
        The entry of every column in the objective.
    indptr, indices, values : array
        The entries by column.
    integer : bytearray
        1 for every column that must be an integer.
    lower, upper : dict of float
        By column, as far as the file gives them.
    column_lines, bound_lines
        The line where a column begins, and of its last bound.
    """

    maximise: bool = False
    has_objective: bool = False
    rows: dict[str, int] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)
    row_types: list[str] = field(default_factory=list)
    rhs: dict[int, Decimal] = field(default_factory=dict)
    ranges: dict[int, Decimal] = field(default_factory=dict)
    cost: array[float] = field(default_factory=lambda: array("d"))
    indptr: array[int] = field(default_factory=lambda: array("q"))
    indices: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    integer: bytearray = field(default_factory=bytearray)
    lower: dict[int, float] = field(default_factory=dict)
    upper: dict[int, float] = field(default_factory=dict)
    column_lines: array[int] = field(default_factory=lambda: array("q"))
    bound_lines: dict[int, int] = field(default_factory=dict)

    def row_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper bound of every row.

        With right side b and range r a row lies between these bounds::

            L  [b - |r|, b]      G  [b, b + |r|]      E  [b, b + r] if r > 0,  [b + r, b] if r < 0

        They are computed from the digits in the file and rounded once: 0.3 - 0.1 is 0.2.
        """
        lower, upper = np.full(len(self.row_types), -np.inf), np.full(len(self.row_types), np.inf)
        for row, kind in enumerate(self.row_types):
            if kind == "N":
                continue
            rhs, width = self.rhs.get(row, Decimal(0)), self.ranges.get(row)
            at, other = float(rhs), None
            if width is not None:
                signed = {"L": width.copy_abs().copy_negate(), "G": width.copy_abs(), "E": width}[kind]
                other = _add(rhs, signed)
            if kind == "E":
                lower[row], upper[row] = (at, at) if other is None else (min(at, other), max(at, other))
            elif kind == "L":
                lower[row], upper[row] = -np.inf if other is None else other, at
            else:
                lower[row], upper[row] = at, np.inf if other is None else other
        return lower, upper


def _add(rhs: Decimal, width: Decimal) -> float:
    total = float(EXACT.add(rhs, width))
    if not np.isfinite(total):
        raise FileFormatError(
            f"the right side {float(rhs)!r} and the range {float(width)!r} of a row are too large for a float"
        )
    return total
