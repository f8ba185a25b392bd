"""Tables in plain text."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["align_columns"]


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text as a table whose columns are aligned to the left, two spaces apart.

    Examples
    --------
    >>> print(align_columns([["name", "size"], ["a", "10"]]))
    name  size
    a     10
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
