"""The report of an experiment: tables as CSV and Markdown, figures as PNG and SVG, and claims compared with the paper.

The same results give the same files, byte for byte.
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
    """A statement of the paper, or a goal of our own, and what was measured here.

    Attributes
    ----------
    what : str
        What is stated.
    paper, ours : str
        The value of the paper, and the measured one.
    holds : bool or None
        None for a value that is only compared.
    rounded : bool
        Whether it holds only after rounding to the digits that the paper gives.
    """

    what: str
    paper: str
    ours: str
    holds: bool | None = None
    rounded: bool = False

    @property
    def verdict(self) -> str:
        """Whether the claim holds: yes, no, "yes, rounded", or a dash."""
        return "-" if self.holds is None else "no" if not self.holds else "yes, rounded" if self.rounded else "yes"

    def to_row(self) -> Row:
        """Return the claim as a row of a table."""
        return {"what": self.what, "paper": self.paper, "here": self.ours, "holds": self.verdict}


@dataclass(frozen=True)
class Table:
    """Rows with the same columns, a file name, and a title that explains them."""

    name: str
    title: str
    rows: Sequence[Row]

    def to_markdown(self) -> str:
        """Return title and table as Markdown."""
        return f"{self.title}\n\n{markdown_table(self.rows)}\n"


@dataclass(frozen=True)
class Report:
    """All results of an experiment: tables, claims, figures (a function that draws, by file name) and remarks."""

    tables: Sequence[Table]
    claims: Sequence[Claim] = ()
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    def without_verdicts(self) -> Report:
        """Return the report with no verdict on the claims: the paper does not speak of these data."""
        return replace(self, claims=[replace(claim, holds=None) for claim in self.claims])

    def write(self, folder: Path) -> list[Path]:
        """Write all files to a folder and return their paths."""
        paths = []

        def save(name: str, write: Callable[[IO[bytes]], Any]) -> None:
            write_atomically(folder / name, write)
            paths.append(folder / name)

        for table in self.tables:
            for ending, text in ((".csv", format_csv(table.rows)), (".md", table.to_markdown())):
                save(table.name + ending, partial(_write_text, text))
        for name, draw in self.figures.items():
            figure = draw()
            for kind in ("png", "svg"):
                save(f"{name}.{kind}", partial(save_figure, figure, kind))
        return paths

    def to_markdown(self, title: str, folder: str = ".") -> str:
        """Return the report as a section in Markdown, with the pictures of a folder."""
        parts = [f"## {title}"]
        parts += [f"![{name}]({folder}/{name}.png)" for name in self.figures]
        parts += [markdown_table([claim.to_row() for claim in self.claims])] if self.claims else []
        parts += [table.to_markdown().rstrip() for table in self.tables]
        return "\n\n".join([*parts, *self.remarks]) + "\n"


def mean_rows(records: Iterable[Row], by: Sequence[str], figures: Sequence[str], *, quantiles: bool = False) -> list[Row]:
    """Average records by group.

    Parameters
    ----------
    records : iterable of dict
    by : sequence of str
        Keys that define the groups.
    figures : sequence of str
        Keys of the numbers to average.
    quantiles : bool
        Whether to add their 10% and 90% quantiles.

    Returns
    -------
    list of dict
        One row for each group: its keys, the means, and the number ``n`` of records.

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


def format_csv(rows: Sequence[Row]) -> str:
    """Return rows as CSV, with all digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _write_text(text: str, stream: IO[bytes]) -> None:
    stream.write(text.encode())


def save_figure(figure: Any, kind: str, stream: IO[bytes]) -> None:
    """Save a figure so that equal figures give equal files: without a fixed salt and date, SVG files differ."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "momentlp"}):
        figure.savefig(stream, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
