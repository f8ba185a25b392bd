"""What an experiment leaves behind: tables as CSV and Markdown, figures as PNG and SVG, and claims set beside each other.

The same results give the same files, to the last byte.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from momentlp.runtime.atomic_files import write_atomically
from momentlp.runtime.markdown_table import markdown_table

__all__ = ["Claim", "Report", "Table", "mean_rows"]

Row = dict[str, Any]
DPI = 130


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, or that is asked of us, and what came out here.

    ``holds`` is None where there is nothing to hold: a figure for comparison. ``rounded`` says that it holds in the digits
    that the paper gives, and not to the letter.
    """

    what: str
    paper: str
    ours: str
    holds: bool | None = None
    rounded: bool = False

    @property
    def verdict(self) -> str:
        """Whether it holds, in a word or two."""
        return "-" if self.holds is None else "no" if not self.holds else "yes, rounded" if self.rounded else "yes"

    def row(self) -> Row:
        """Return it as the row of a table."""
        return {"what": self.what, "paper": self.paper, "here": self.ours, "holds": self.verdict}


@dataclass(frozen=True)
class Table:
    """Rows that share their columns, and a line that says what they are."""

    name: str
    title: str
    rows: Sequence[Row]

    def text(self) -> str:
        """Return it as Markdown."""
        return f"{self.title}\n\n{markdown_table(self.rows)}\n"


@dataclass(frozen=True)
class Report:
    """Everything that is told of an experiment."""

    tables: Sequence[Table]
    claims: Sequence[Claim] = ()
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)  # file name and what draws the figure
    remarks: Sequence[str] = ()

    def undecided(self) -> Report:
        """Return the report with no claim held or missed: what the paper says is not about these data."""
        return replace(self, claims=[replace(claim, holds=None) for claim in self.claims])

    def write(self, folder: Path) -> list[Path]:
        """Write all files to a folder and return their paths."""
        paths = []

        def save(name: str, write: Callable[[IO[bytes]], Any]) -> None:
            write_atomically(folder / name, write)
            paths.append(folder / name)

        for table in self.tables:
            for ending, text in ((".csv", comma_separated(table.rows)), (".md", table.text())):
                save(table.name + ending, partial(_put, text))
        for name, draw in self.figures.items():
            figure = draw()
            for kind in ("png", "svg"):
                save(f"{name}.{kind}", partial(save_figure, figure, kind))
        return paths

    def text(self, title: str, folder: str = ".") -> str:
        """Return it as a section in Markdown, with pictures from a folder."""
        parts = [f"## {title}"]
        parts += [f"![{name}]({folder}/{name}.png)" for name in self.figures]
        parts += [markdown_table([claim.row() for claim in self.claims])] if self.claims else []
        parts += [table.text().rstrip() for table in self.tables]
        return "\n\n".join([*parts, *self.remarks]) + "\n"


def mean_rows(records: Iterable[Row], by: Sequence[str], figures: Sequence[str], *, quantiles: bool = False) -> list[Row]:
    """Return one row for each group of records: the means of some figures, and their 10% and 90% quantiles if asked for.

    Examples
    --------
    >>> mean_rows([{"l": 1, "x": 2.0}, {"l": 1, "x": 4.0}, {"l": 5, "x": 1.0}], ["l"], ["x"])
    [{'l': 1, 'x': 3.0, 'n': 2}, {'l': 5, 'x': 1.0, 'n': 1}]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for record in records:
        groups.setdefault(tuple(record[name] for name in by), []).append(record)
    rows = []
    for key, group in groups.items():
        row: Row = dict(zip(by, key, strict=True))
        for name in figures:
            values = np.array([record[name] for record in group], dtype=np.float64)
            row[name] = float(values.mean())
            if quantiles:
                row[f"{name} 10%"], row[f"{name} 90%"] = (float(np.quantile(values, level)) for level in (0.1, 0.9))
        rows.append({**row, "n": len(group)})
    return rows


def comma_separated(rows: Sequence[Row]) -> str:
    """Write rows as CSV, with all digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _put(text: str, stream: IO[bytes]) -> None:
    stream.write(text.encode())


def save_figure(figure: Any, kind: str, stream: IO[bytes]) -> None:
    """Save a figure such that the same figure gives the same file: SVG would name the day and draw its names by lot."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "momentlp"}):
        figure.savefig(stream, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
