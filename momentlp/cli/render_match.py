"""Print a match. Needs rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from momentlp.cli.render import out
from momentlp.matching import Match, MatchBalance
from momentlp.status import Status

__all__ = ["describe_as_json", "print_match"]

MAX_ROWS = 40  # of the balance table on the screen
N_FIGURES = 6  # columns of the balance table after the means
MEANING = {
    Status.OPTIMAL: ("green", "proved: no larger match exists"),
    Status.LIMIT: ("yellow", "every tolerance holds, but a larger match may exist"),
    Status.EMPTY: ("yellow", "no row can be chosen with this tolerance"),
    Status.INFEASIBLE: ("red", "proved: no match meets all that was asked"),
    Status.FAILED: ("red", "nothing could be proved"),
}


def print_match(match: Match, explanation: str, files: Sequence[str]) -> None:
    """Print the size, the bound, the balance, the strata that were skipped, and the text for a methods section."""
    colour, meaning = MEANING[match.status]
    if match.status is Status.LIMIT and not match.size:
        meaning = "no match was found before a limit, but one may exist"
    out.print(f"[bold {colour}]{match.status.name}[/]  {meaning}")
    for name, text in _figures(match):
        out.print(f"{name:<20}  {text}", markup=False, emoji=False, soft_wrap=True)
    for path in files:
        out.print(f"{'written to':<20}  {path}", markup=False, emoji=False, soft_wrap=True)
    if explanation:
        out.print(f"\n{explanation}", markup=False, emoji=False, soft_wrap=True)
    else:
        out.print()
        _print_balance(match.balance())
    if match.skipped:
        out.print("\n[bold]Strata that were skipped[/]")
        for label, reason in match.skipped.items():
            out.print(f"{label}: {reason}", markup=False, emoji=False, soft_wrap=True)
    out.print("\n[bold]For a methods section[/]")
    out.print(match.describe(), markup=False, emoji=False, soft_wrap=True)


def describe_as_json(match: Match, explanation: str) -> dict[str, Any]:
    """Return a match as values for JSON, with the rows chosen."""
    columns = match.columns()
    return {
        "status": match.status.value,
        "size": match.size,
        "bound": match.bound,
        "groups": match.groups,
        "effective_sample_size": match.effective_sample_size,
        "unit": match.data.about["unit"],
        "balance": match.balance().records(),
        "skipped": dict(match.skipped),
        "rows": {name: values.tolist() for name, values in columns.items()},
        "description": match.describe(),
        "explanation": explanation,
    }


def _figures(match: Match) -> Iterator[tuple[str, str]]:
    yield "size", f"{match.size:.6g} of {float(match.data.caps.sum()):.6g} rows"
    yield "bound", f"{match.bound:.6g} (proved: no match is larger)"
    if len(match.data.groups) > 1:
        yield "groups", ", ".join(f"{size:.6g} of {name}" for name, size in match.groups.items())
    if match.data.is_stratified:
        yield "strata", f"{len(match.data.strata) - len(match.skipped)} matched, {len(match.skipped)} skipped"
    if match.size:
        yield "largest difference", f"{match.balance().largest_difference:.3f} {match.data.about['unit']}"


def _print_balance(balance: MatchBalance) -> None:
    rows = balance.table()
    if _width(rows) > out.width:  # leave out the means
        rows = [[cells[0], *cells[-N_FIGURES:]] for cells in rows]
    heading, *body = rows
    table = Table(box=None, pad_edge=False, header_style="bold")
    for position, name in enumerate(heading):
        table.add_column(name, justify="right" if position else "left", overflow="fold", no_wrap=position > 0)
    for cells in body[:MAX_ROWS]:
        table.add_row(*(escape(cell) for cell in cells))
    out.print(table)
    if len(body) > MAX_ROWS:
        out.print(f"... and {len(body) - MAX_ROWS} more moments: --json has them all.")
    out.print(balance.summary(), markup=False, soft_wrap=True)


def _width(rows: Sequence[Sequence[str]]) -> int:
    """Return how many characters a table takes, with two between its columns."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return sum(widths) + 2 * (len(widths) - 1)
