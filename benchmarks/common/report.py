"""Tables as Markdown and as CSV, each with the command that made it and the machine it ran on."""

from __future__ import annotations

import csv
import math
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["DOCS", "Row", "bytes_of", "figure", "made", "markdown", "print_table", "seconds_of", "write"]

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs" / "benchmarks"
SOLVERS = ("highspy", "swiglpk", "pyomo", "cvxpy", "linopy", "ortools")
PACKAGES = ("momentlp", "numpy", "scipy", "scikit-learn", "dask", *SOLVERS)

Row = dict[str, str]


def _command() -> str:
    """Return the command that is running, as one would type it."""
    return shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])


def _machine() -> str:
    """Say what a figure depends on: cores, processor, memory, Python, and the versions of the packages."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    parts = [f"{os.cpu_count()} cores ({_processor()})", f"{pages / 2**30:.0f} GB of memory", platform.system()]
    parts.append(f"Python {platform.python_version()}")
    parts += [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.endswith("_NUM_THREADS")]
    return ", ".join(parts + [f"{package} {_version(package)}" for package in PACKAGES])


def made() -> str:
    """Return the line under every table and picture: the command that made it, and the machine."""
    return f"Made by `{_command()}` on {_machine()}."


def markdown(rows: Sequence[Row]) -> str:
    """Write rows as a Markdown table, figures to the right."""
    heads = list(rows[0])
    right = {head: all(_is_figure(row[head]) for row in rows) for head in heads}
    lines = ["| " + " | ".join(heads) + " |", "|" + "|".join("---:" if right[head] else "---" for head in heads) + "|"]
    lines += ["| " + " | ".join(row[head] for head in heads) + " |" for row in rows]
    return "\n".join(lines)


def print_table(rows: Sequence[Row]) -> None:
    """Print rows in columns."""
    widths = {head: max(len(head), *(len(row[head]) for row in rows)) for head in rows[0]}
    for row in [dict(zip(rows[0], rows[0], strict=True)), *rows]:
        print("  ".join(row[head].ljust(width) for head, width in widths.items()).rstrip())


def write(
    folder: Path, name: str, title: str, sections: Sequence[tuple[str, str]], records: Sequence[dict[str, Any]]
) -> None:
    """Write ``name.md`` from (heading, text) pairs, and the figures behind it, unrounded, to ``name.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    text = [f"# {title}", *(f"## {heading}\n\n{body}" if heading else body for heading, body in sections)]
    text += [made()]
    (folder / f"{name}.md").write_text("\n\n".join(text) + "\n")
    if records:
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            table = csv.DictWriter(stream, list(records[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(records)
    print(f"written: {folder / name}.md")


def figure(value: float, digits: int = 3) -> str:
    """Return a number with so many digits that count; a dash for none."""
    if math.isnan(value):
        return "-"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(places, 6)}f}"


def seconds_of(value: float) -> str:
    """Return a time with its unit, for a sentence."""
    if value < 1:
        return f"{figure(1000 * value, 2)} ms"
    return f"{figure(value, 2)} s" if value < 120 else f"{figure(value / 60, 2)} min"


def bytes_of(value: float) -> str:
    """Return a size with its unit, for a sentence."""
    return f"{figure(value / 1e9, 2)} GB" if value >= 1e9 else f"{figure(value / 1e6, 2)} MB"


def _is_figure(text: str) -> bool:
    return text in ("-", "") or text.replace(",", "").replace(".", "").lstrip("+-").replace("e-", "").isdigit()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
