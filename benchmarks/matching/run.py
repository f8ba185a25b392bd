"""Choose whole sets by every contestant: size, violation, time, and what was proved.

Run ``python -m benchmarks.matching.run``. It writes ``docs/results/matching/matching.md`` and ``matching.csv``.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.common.folders import ROOT
from benchmarks.common.report import (
    Row,
    format_markdown,
    format_number,
    format_seconds,
    package_version,
    print_table,
    write_page,
)
from benchmarks.matching.cases import CASES, GROUP_CASES, MatchingCase, MissingDataError
from benchmarks.matching.contestants import CONTESTANTS, LINEAR_PROGRAM
from benchmarks.matching.measure import GRACE, Measurement, measure
from momentlp.errors import DataError

TITLE = "Whole sets and matching beside the peers"
RESULTS = ROOT / "docs" / "results" / "matching"
PACKAGES = ("pymatchit-causal", "StatsPAI", "causaldata")

ABOUT = """Every contestant gets the same arrays and chooses the largest set that it can find. Each runs in a process of its
own, with a limit of {seconds:g} s ("momentlp, 5 s": 5 s). A process that has not answered {grace:g} s after the limit is
ended.

- *Size* is the number of rows chosen. It is in brackets if the set violates a tolerance: such a set is not a solution.
- *Violation* is how far the worst moment is beyond its tolerance, in units of the tolerance, measured on the set itself.
  Less than 1e-9 is rounding and counts as 0.
- *Seconds* run from the arrays in memory to the set, without imports. Each is one run, so small differences mean nothing.
- *Bound*: no set is larger. "Proved" follows from the multipliers of the linear program: anyone can check it with two
  products of a matrix and a vector. "Claimed" is the word of branch and bound.

How the contestants are set up:

- momentlp and HiGHS run through the same functions of momentlp (`backend="auto"` and `"highs"`), so both solve the linear
  program first.
- CP-SAT gets integer coefficients of up to 1e6, rounded so that every set it accepts is within the tolerance.
- "Rounded at 1/2" takes all points of membership above 1/2 in the linear program.
- The packages for matching are called as their documentation says. The remark names the method, and where its options
  cannot express the task."""

GROUPS_ABOUT = """As many treated as controls are chosen, and their means differ by at most 0.1 pooled standard deviations.
*Size* counts the rows of both groups."""
PYBALANCE = "MOMENTLP_PYBALANCE"  # the interpreter of an environment with pybalance, which pins other versions of packages


def measure_case(case: MatchingCase, options: argparse.Namespace) -> tuple[str, list[dict[str, Any]]]:
    """Run the contestants on one case, print the table, and return it as text with the records behind it."""
    print(f"\n{case.title}", flush=True)
    try:
        task = case.make()
    except (MissingDataError, DataError) as error:
        print(f"left out: {error}")
        return f"Not measured: {error}", []
    pythons = {"pybalance": os.environ.get(PYBALANCE)}
    found = []
    for name in _chosen(CONTESTANTS, options.contestants):
        found.append(measure(name, task, options.seconds, pythons.get(name)))
        print(f"  {name}: {found[-1].size} in {found[-1].seconds:.2f} s {found[-1].remark}", flush=True)
    rows = [_row(one) for one in found if one.contestant != LINEAR_PROGRAM]
    if rows:
        print_table(rows)
    records = [{"case": case.title, **asdict(one)} for one in found]
    parts = [_describe_relaxed(one) for one in found if one.contestant == LINEAR_PROGRAM]
    return "\n\n".join([*parts, format_markdown(rows)] if rows else parts), records


def _row(one: Measurement) -> Row:
    is_solution = one.excess == 0
    nothing = one.size in (None, 0)
    return {
        "contestant": one.contestant,
        "size": "-" if nothing else f"{one.size:,}" if is_solution else f"({one.size:,})",
        "violation": "-" if nothing else "0" if is_solution else format_number(one.excess, 2),
        "seconds": format_number(one.seconds, 2),
        "bound": "-" if math.isnan(one.bound) else f"{one.bound:,.0f}",
        "which is": one.proof if not math.isnan(one.bound) else "-",
        "remark": "no set; " * (one.size == 0) + one.remark,
    }


def _describe_relaxed(one: Measurement) -> str:
    if math.isnan(one.seconds):
        return f"The linear program: {one.remark}."
    return f"The linear program: {one.value:,.2f} in {format_seconds(one.seconds)}; {one.remark}."


def _chosen(known: Mapping[str, Any], wanted: str) -> list[str]:
    names = [name.strip() for name in wanted.split(";") if name.strip()]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"unknown: {unknown[0]!r}. Known are: {'; '.join(known)}")
    return [name for name in known if not names or name in names]


def main() -> None:
    """Print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help=f"cases, separated by semicolons: {'; '.join([*CASES, *GROUP_CASES])}")
    parser.add_argument("--contestants", default="", help="contestants, separated by semicolons")
    parser.add_argument("--seconds", type=float, default=30.0, help="limit of one contestant on one case (%(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the tables (%(default)s)")
    options = parser.parse_args()
    wanted = _chosen({**CASES, **GROUP_CASES}, options.only)
    tables: dict[str, str] = {}
    records: list[dict[str, Any]] = []
    for name, case in {**GROUP_CASES, **CASES}.items():
        if name in wanted:
            tables[name], own = measure_case(case, options)
            records += own
            write_page(options.out, "matching", TITLE, _sections(tables, options), records)


def _sections(tables: Mapping[str, str], options: argparse.Namespace) -> list[tuple[str, str]]:
    """Return the parts of the page, as far as they are measured."""
    sections = [("", ABOUT.format(seconds=options.seconds, grace=GRACE))]
    for heading, text, cases in (("Whole sets", "", CASES), ("Cardinality matching", GROUPS_ABOUT, GROUP_CASES)):
        parts = [f"### {cases[name].title}\n\n{tables[name]}" for name in cases if name in tables]
        if parts:
            sections.append((heading, "\n\n".join([text, *parts] if text else parts)))
    versions = ", ".join(f"{name} {package_version(name)}" for name in PACKAGES)
    return [*sections, ("", f"The packages for matching: {versions}.")]


if __name__ == "__main__":
    main()
