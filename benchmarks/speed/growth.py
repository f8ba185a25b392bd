"""Measure how time and memory grow with the number of points and of moments, for every peer, until it is too slow.

Run ``python -m benchmarks.speed.growth``. The points of the largest sizes are written to ``--scratch`` and kept. A peer that
was ended at one size is not tried at larger ones. It writes ``docs/results/benchmarks/growth.md``, ``growth.csv`` and the
pictures.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common.draw import draw_growth
from benchmarks.common.folders import RESULTS, SCRATCH
from benchmarks.common.measure import measure_side_by_side
from benchmarks.common.peers import PEERS, REFERENCE
from benchmarks.common.report import (
    Row,
    describe_origin,
    format_bytes,
    format_markdown,
    format_number,
    format_seconds,
    print_table,
    write_page,
)

MAX_POINTS_IN_MEMORY = 1_000_000  # more points stay on disk
Record = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """How a quantity is drawn and described: ``say`` formats a value with its unit."""

    label: str
    size: float
    foot: str
    measure: str
    best: str
    say: Callable[[float], str]


UNITS = {
    "seconds": Unit(
        "seconds", 1.0,
        "Time from the moment matrix (momentlp: from the points) to the answer, modelling included; median of the rounds. "
        "A line ends at the last size that its peer solved in time.",
        "long", "fastest", format_seconds,
    ),
    "memory": Unit(
        "megabytes", 1e6, "Peak memory of the first run, beyond data and imports.", "much memory", "leanest", format_bytes,
    ),
}  # fmt: skip


def measure_growth(along: str, sizes: list[int], options: argparse.Namespace) -> list[Record]:
    """Run every peer at every size until it is ended, and return one record for each run."""
    running = [peer for peer in PEERS if not options.only or peer in (REFERENCE, *options.only.split(","))]
    records: list[Record] = []
    for size in sizes:
        n, m = (size, options.m) if along == "n" else (options.n, size)
        case, numbers = "gaussians", {"n": n, "m": m}
        if n > options.in_memory:  # only momentlp reads data from disk
            case, numbers, running = "gaussians on disk", {**numbers, "scratch": str(options.scratch.resolve())}, [REFERENCE]
        limit = options.limit if case == "gaussians" else options.long
        found = measure_side_by_side(running, case, numbers, limit=limit, rounds=options.rounds, budget=options.budget)
        rows = [_record(along, n, m, case, peer, measured) for peer, measured in found.items()]
        print(f"\nn = {n:,}, m = {m}")
        print_table([_row(record) for record in rows])
        running = [record["way"] for record in rows if not record["gave_up"]]
        records += rows
    return records


def _record(along: str, n: int, m: int, case: str, peer: str, measured: Any) -> Record:
    return {
        "along": along,
        "n": n,
        "m": m,
        "case": case,
        "way": peer,
        "seconds": statistics.median(measured.seconds or [math.nan]),
        "modelling": measured.modelling,
        "memory": measured.process.memory,
        "objective": measured.process.runs[-1]["objective"] if measured.process.runs else math.nan,
        "rounds": len(measured.seconds),
        "gave_up": measured.process.gave_up,
    }


def _row(record: Record) -> Row:
    return {
        "points": f"{record['n']:,}" + ("" if record["case"] == "gaussians" else " (on disk)"),
        "moments": str(record["m"]),
        "way": record["way"],
        "seconds": format_number(record["seconds"]),
        "modelling s": format_number(record["modelling"]),
        "memory": "-" if math.isnan(record["memory"]) else format_bytes(record["memory"]),
        "share found": format_number(record["objective"] / record["n"]),
        "rounds": str(record["rounds"]),
        "remark": record["gave_up"],
    }


def _draw(records: list[Record], options: argparse.Namespace, under: str) -> list[tuple[str, str]]:
    sections = []
    for along, noun, fixed in (("n", "points", f"{options.m} moments"), ("m", "moments", f"{options.n:,} points")):
        own = [record for record in records if record["along"] == along]
        body = []
        for what, unit in UNITS.items():
            lines = _collect_lines(own, along, what)
            if REFERENCE not in lines:
                print(f"no picture of {what} against {noun}: {REFERENCE} solved none")
                continue
            title = f"{fixed}: {_describe_finding(lines, noun, what)}"
            path, timed = options.out / f"growth-{along}-{what}.png", what == "seconds"
            limit = options.limit if timed else math.inf
            draw_growth(path, lines, title=title, xlabel=noun, ylabel=unit.label, limit=limit, foot=f"{unit.foot} {under}")
            body += [f"{title[0].upper()}{title[1:]}.", f"![{title}]({path.name})"]
        if own:
            body.append(format_markdown([_row(record) for record in own]))
            sections.append((f"Growth with the number of {noun}", "\n\n".join(body)))
    return sections


def _collect_lines(records: list[Record], along: str, what: str) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        if record[what] > 0:  # and not NaN
            lines.setdefault(record["way"], []).append((record[along], record[what] / UNITS[what].size))
    return lines


def _describe_finding(lines: dict[str, list[tuple[float, float]]], noun: str, what: str) -> str:
    """Return the title of a picture: momentlp beside the best peer, at the largest size that both solved."""
    unit, tables = UNITS[what], {peer: dict(line) for peer, line in lines.items()}
    ours, last = tables[REFERENCE], lines[REFERENCE][-1]
    peers = {peer: table for peer, table in tables.items() if PEERS[peer].same_problem and not peer.startswith(REFERENCE)}
    sizes = [size for table in peers.values() for size in table if size in ours]
    beyond = f"momentlp takes {unit.say(last[1] * unit.size)} for {last[0]:,.0f} {noun}"
    if not sizes:
        return beyond
    size = max(sizes)
    theirs, peer = min((table[size], peer) for peer, table in peers.items() if size in table)
    pair = ["momentlp", f"the {unit.best} peer ({peer})"]
    more, less = pair if ours[size] > theirs else pair[::-1]
    times = format_number(max(ours[size], theirs) / min(ours[size], theirs), 2)
    text = f"with {size:,.0f} {noun} {more} takes {times} times as {unit.measure} as {less}"
    return f"{text}; {beyond}" if last[0] > size else text


def _read_records(path: Path) -> list[Record]:
    """Read the records of an earlier run."""
    numbers = {"n": int, "m": int, "rounds": int, "seconds": float, "modelling": float, "memory": float, "objective": float}
    with path.open(newline="") as stream:
        return [{key: numbers.get(key, str)(value) for key, value in row.items()} for row in csv.DictReader(stream)]


def main() -> None:
    """Measure, print, write the page and draw the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = {"type": lambda text: [int(float(part)) for part in text.split(",")]}
    parser.add_argument("--points", **sizes, default=[1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000])
    parser.add_argument("--moments", **sizes, default=[8, 16, 32, 64, 128, 256, 512, 1024])
    parser.add_argument("--n", type=int, default=10_000, help="points while the moments grow")
    parser.add_argument("--m", type=int, default=32, help="moments while the points grow")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a peer is ended")
    parser.add_argument("--long", type=float, default=1800.0, help="the same limit for data on disk")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds after which a peer skips further rounds")
    parser.add_argument("--in-memory", type=int, default=MAX_POINTS_IN_MEMORY, help="more points stay on disk")
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="folder for the data files")
    parser.add_argument("--only", default="", help="peers, separated by commas")
    parser.add_argument("--redraw", action="store_true", help="draw the results of the last run again")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for tables and pictures (%(default)s)")
    options = parser.parse_args()
    if options.redraw:
        _draw(_read_records(options.out / "growth.csv"), options, (options.out / "growth.md").read_text().splitlines()[-1])
        return
    records = measure_growth("n", options.points, options) + measure_growth("m", options.moments, options)
    about = " ".join(unit.foot for unit in UNITS.values())
    write_page(
        options.out,
        "growth",
        "How time and memory grow",
        [("", about), *_draw(records, options, describe_origin())],
        records,
    )


if __name__ == "__main__":
    main()
