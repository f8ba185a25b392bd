"""Problems as MPS files, for solvers without a backend.

The format is free-format MPS. Numbers are written so that reading them gives the same float. MPS has no portable way to say
"maximise" (GLPK refuses the ``OBJSENSE`` section), so the objective row ``minus_size`` is minimised. Memberships that must
be whole stand between integer markers.

A row with two bounds is written as one bound and a range. The range has all the digits of the difference, so that a reader
that subtracts digits, such as :meth:`Problem.from_mps`, gets the other bound exactly, and all others within its last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal
from pathlib import Path
from typing import IO

import numpy as np

from momentlp.problem.linear_program import LinearProgram
from momentlp.problem.problem import Problem
from momentlp.runtime.atomic_files import write_atomically

__all__ = ["write_mps"]

OBJECTIVE = "minus_size"  # the name of the objective row
SIZE_ROW = "count"  # the name of the row that ties the size n to the memberships
INTEGERS_BEGIN, INTEGERS_END = "'INTORG'", "'INTEND'"  # the columns between these markers are integers
MAX_NAME_LENGTH = 200  # bytes; GLPK reads names of up to 255
RANGE_DIGITS = Context(prec=60)


def write_mps(problem: Problem, path: Path) -> None:
    """Write a problem as a free-format MPS file; an interrupted write leaves no partial file."""

    def write(stream: IO[bytes]) -> None:
        stream.writelines(f"{line}\n".encode() for line in _format_lines(problem))

    write_atomically(path, write)


def _format_lines(problem: Problem) -> Iterator[str]:
    program = problem.linear_program()
    rows = _row_names(problem.names) + ([SIZE_ROW] if program.has_size_column else [])
    columns = [f"h{point}" for point in range(program.n_points)] + (["n"] if program.has_size_column else [])
    bounds = list(zip(rows, program.row_lower, program.row_upper, strict=True))
    yield f"NAME momentlp_{program.n_points}x{program.n_moments} FREE"
    yield "ROWS"
    yield f" N {OBJECTIVE}"
    for name, low, high in bounds:
        yield f" {_row_type(low, high)} {name}"
    yield "COLUMNS"
    yield from _format_columns(program, columns, rows)
    yield "RHS"
    for name, low, high in bounds:
        if np.isfinite(high) or np.isfinite(low):
            yield f" RHS {name} {float(low if _row_type(low, high) == 'G' else high)!r}"
    yield "RANGES"
    for name, low, high in bounds:
        if np.isfinite(low) and np.isfinite(high) and low < high:
            yield f" RNG {name} {_format_range(low, high)}"
    yield "BOUNDS"
    for name, low, high in zip(columns, program.col_lower, program.col_upper, strict=True):
        yield f" UP BND {name} {float(high)!r}" if np.isfinite(low) else f" FR BND {name}"
    yield "ENDATA"


def _format_columns(program: LinearProgram, columns: list[str], rows: list[str]) -> Iterator[str]:
    """Yield the entries, column by column; a marker stands before the first and after the last of some integer columns."""
    indptr, indices, data = program.matrix.indptr, program.matrix.indices, program.matrix.data
    is_integer = [False] * len(columns) if program.integer is None else program.integer.tolist()
    for column, (name, now, before) in enumerate(zip(columns, is_integer, [False, *is_integer], strict=False)):
        if now != before:
            yield f" MARKER{column} 'MARKER' {INTEGERS_BEGIN if now else INTEGERS_END}"
        yield f" {name} {OBJECTIVE} {-float(program.cost[column])!r}"
        for entry in range(indptr[column], indptr[column + 1]):
            yield f" {name} {rows[indices[entry]]} {float(data[entry])!r}"
    if is_integer[-1]:
        yield f" MARKER{len(columns)} 'MARKER' {INTEGERS_END}"


def _row_type(low: float, high: float) -> str:
    """Return the letter of a row: E for an equation, L for an upper bound, G for a lower one, N for none.

    Of two bounds the smaller one in size is written: the range then needs the fewest digits.
    """
    if low == high:
        return "E"
    if np.isfinite(high) and not abs(low) < abs(high):
        return "L"
    return "G" if np.isfinite(low) else "N"


def _format_range(low: float, high: float) -> str:
    """Return ``high - low`` with all its digits, as far as they matter."""
    width = RANGE_DIGITS.subtract(Decimal(repr(float(high))), Decimal(repr(float(low))))
    return str(float(width)) if Decimal(repr(float(width))) == width else str(width)


def _row_names(names: tuple[str, ...]) -> list[str]:
    """Turn the names of moments into names that MPS allows: printable, without white space, short, and each only once."""
    taken = {OBJECTIVE, SIZE_ROW}
    result = []
    for position, name in enumerate(names):
        plain = "_".join(name.split()) or "moment"
        is_printable = plain.isprintable() and plain != "'MARKER'"
        if plain in taken or plain.startswith(("*", "$")) or not is_printable or len(plain.encode()) > MAX_NAME_LENGTH:
            plain = f"moment{position}_{len(taken)}"
        taken.add(plain)
        result.append(plain)
    return result
