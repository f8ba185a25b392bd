"""Small tables in HTML, for notebooks. Every value is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["MAX_ROWS", "html_table", "shorten_rows"]

MAX_ROWS = 20  # a longer table shows its first and last rows


def html_table(title: str, rows: Iterable[Sequence[object]], heading: Sequence[str] = ()) -> str:
    """Return a table in HTML. The first cell of a row is its heading; a row of one cell spans the table.

    Examples
    --------
    >>> html_table("a < b", [("size", 3)])
    '<table><caption><b>a &lt; b</b></caption><tbody><tr><th>size</th><td>3</td></tr></tbody></table>'
    """
    rows = [tuple(row) for row in rows]
    width = max((len(row) for row in rows), default=1)
    head = "".join(f"<th>{escape(name)}</th>" for name in heading)
    body = "".join(f"<tr>{_cells(row, width)}</tr>" for row in rows)
    return (
        f"<table><caption><b>{escape(title)}</b></caption>"
        + (f"<thead><tr>{head}</tr></thead>" if head else "")
        + f"<tbody>{body}</tbody></table>"
    )


def shorten_rows(rows: Sequence[Sequence[object]]) -> list[tuple[object, ...]]:
    """Leave out the middle of a long table, with a row that says how many rows are missing."""
    left_out, half = len(rows) - MAX_ROWS, MAX_ROWS // 2
    kept = [tuple(row) for row in rows]
    return [*kept[:half], (f"... {left_out} more ...",), *kept[-half:]] if left_out > 1 else kept


def _cells(row: Sequence[object], width: int) -> str:
    if len(row) == 1:
        return f'<th colspan="{width}">{escape(str(row[0]))}</th>'
    return f"<th>{escape(str(row[0]))}</th>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row[1:])
