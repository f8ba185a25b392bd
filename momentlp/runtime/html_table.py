"""Small tables in HTML, for notebooks. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["MAX_ROWS", "html_table", "shorten_rows"]

MAX_ROWS = 20  # of a longer table, only the first and the last rows are shown


def html_table(title: str, rows: Iterable[Sequence[object]], heading: Sequence[str] = ()) -> str:
    """Return a table in HTML.

    Parameters
    ----------
    title : str
    rows : iterable of sequences
        The first cell of each row is its heading. A row of one cell spans all columns.
    heading : sequence of str
        The headings of the columns; by default there are none.

    Examples
    --------
    >>> html_table("a < b", [("size", 3)])
    '<table><caption><b>a &lt; b</b></caption><tbody><tr><th>size</th><td>3</td></tr></tbody></table>'
    """
    rows = [tuple(row) for row in rows]
    width = max((len(row) for row in rows), default=1)
    head = "".join(f"<th>{escape(name)}</th>" for name in heading)
    body = "".join(f"<tr>{_format_cells(row, width)}</tr>" for row in rows)
    return (
        f"<table><caption><b>{escape(title)}</b></caption>"
        + (f"<thead><tr>{head}</tr></thead>" if head else "")
        + f"<tbody>{body}</tbody></table>"
    )


def shorten_rows(rows: Sequence[Sequence[object]]) -> list[tuple[object, ...]]:
    """Replace the middle rows of a long table by one row that says how many rows are missing."""
    n_missing, half = len(rows) - MAX_ROWS, MAX_ROWS // 2
    kept = [tuple(row) for row in rows]
    return [*kept[:half], (f"... {n_missing} more ...",), *kept[-half:]] if n_missing > 1 else kept


def _format_cells(row: Sequence[object], width: int) -> str:
    if len(row) == 1:
        return f'<th colspan="{width}">{escape(str(row[0]))}</th>'
    return f"<th>{escape(str(row[0]))}</th>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row[1:])
