"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

__all__ = ["markdown_table"]


def _is_number(cell: Any) -> bool:
    return isinstance(cell, Real)


def markdown_table(rows: Sequence[Mapping[str, Any]], is_number: Callable[[Any], bool] = _is_number) -> str:
    """Return a table in Markdown. Columns of numbers are aligned to the right; floats have three decimals.

    Parameters
    ----------
    rows : sequence of mapping
        At least one. The keys of the first row are the headings; all rows must have them.
    is_number : callable
        Says whether a cell is a number. By default integers and floats are numbers, and text is not.

    Examples
    --------
    >>> print(markdown_table([{"case": "ring", "recall": 0.95}]))
    | case | recall |
    |---|---:|
    | ring | 0.950 |
    """
    headings = list(rows[0])
    alignment = ["---:" if all(is_number(row[heading]) for row in rows) else "---" for heading in headings]
    lines = ["| " + " | ".join(headings) + " |", "|" + "|".join(alignment) + "|"]
    return "\n".join(lines + ["| " + " | ".join(_format_cell(row[heading]) for heading in headings) + " |" for row in rows])


def _format_cell(cell: Any) -> str:
    if isinstance(cell, bool) or not isinstance(cell, float):
        return str(cell)
    return f"{cell:.3f}" if abs(cell) < 1000 else f"{cell:.1f}"
