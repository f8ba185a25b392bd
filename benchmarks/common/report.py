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

from benchmarks.common.folders import ROOT
from momentlp.runtime.markdown_table import markdown_table

__all__ = [
    "Row",
    "describe_origin",
    "format_bytes",
    "format_markdown",
    "format_number",
    "format_seconds",
    "package_version",
    "print_table",
    "write_page",
]

SOLVERS = ("highspy", "swiglpk", "pyomo", "cvxpy", "linopy", "ortools")
PACKAGES = ("momentlp", "numpy", "scipy", "scikit-learn", "dask", *SOLVERS)

Row = dict[str, str]


def _command() -> str:
    """Return the command that is running, as it is typed in the root of the project."""
    script = Path(sys.argv[0]).resolve()
    module = ".".join(script.relative_to(ROOT).with_suffix("").parts) if script.is_relative_to(ROOT) else script.name
    return shlex.join(["python", "-m", module, *sys.argv[1:]])


def _machine() -> str:
    """Describe the machine: cores, processor, memory, Python, and the versions of the packages."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    parts = [f"{os.cpu_count()} cores ({_processor()})", f"{pages / 2**30:.0f} GB of memory", platform.system()]
    parts.append(f"Python {platform.python_version()}")
    parts += [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.endswith("_NUM_THREADS")]
    return ", ".join(parts + [f"{package} {package_version(package)}" for package in PACKAGES])


def describe_origin() -> str:
    """Return the line under every table and picture: the command that made it, and the machine."""
    return f"Made by `{_command()}` on {_machine()}."


def format_markdown(rows: Sequence[Row]) -> str:
    """Return rows of text as a Markdown table, columns of numbers to the right."""
    return markdown_table(rows, is_number=_is_number)


def print_table(rows: Sequence[Row]) -> None:
    """Print rows in columns."""
    widths = {head: max(len(head), *(len(row[head]) for row in rows)) for head in rows[0]}
    for row in [dict(zip(rows[0], rows[0], strict=True)), *rows]:
        print("  ".join(row[head].ljust(width) for head, width in widths.items()).rstrip())


def write_page(
    folder: Path, name: str, title: str, sections: Sequence[tuple[str, str]], records: Sequence[dict[str, Any]]
) -> None:
    """Write ``name.md`` from (heading, text) pairs, and the unrounded values behind it to ``name.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    text = [f"# {title}", *(f"## {heading}\n\n{body}" if heading else body for heading, body in sections)]
    text += [describe_origin()]
    (folder / f"{name}.md").write_text("\n\n".join(text) + "\n")
    if records:
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            table = csv.DictWriter(stream, list(records[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(records)
    print(f"written: {folder / name}.md")


def format_number(value: float, digits: int = 3) -> str:
    """Return a number with ``digits`` significant digits; a dash for NaN."""
    if math.isnan(value):
        return "-"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(places, 6)}f}"


def format_seconds(value: float) -> str:
    """Return a time with its unit, for a sentence."""
    if value < 1:
        return f"{format_number(1000 * value, 2)} ms"
    return f"{format_number(value, 2)} s" if value < 120 else f"{format_number(value / 60, 2)} min"


def format_bytes(value: float) -> str:
    """Return a size with its unit, for a sentence."""
    return f"{format_number(value / 1e9, 2)} GB" if value >= 1e9 else f"{format_number(value / 1e6, 2)} MB"


def _is_number(text: str) -> bool:
    return text in ("-", "") or text.replace(",", "").replace(".", "").lstrip("+-").replace("e-", "").isdigit()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def package_version(package: str) -> str:
    """Return the installed version of a package; "missing" if there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
