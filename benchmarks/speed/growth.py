"""How time and memory grow with the number of points and with the number of moments, for every way, until it is too slow.

Run ``python benchmarks/growth.py --scratch /tmp/momentlp``: the files of the largest sizes are written there, and kept. A
way that was ended at one size is not tried at larger ones. Writes ``growth.md``, ``growth.csv`` and pictures beside them.
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
from benchmarks.common.measure import side_by_side
from benchmarks.common.peers import PEERS, REFERENCE
from benchmarks.common.report import DOCS, Row, bytes_of, figure, made, markdown, print_table, seconds_of, write

IN_MEMORY = 1_000_000  # points from which on they stay on disk
Record = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """How a figure is drawn and spoken of."""

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
        "A line ends at the last size that its way solved in time.",
        "long", "fastest", seconds_of,
    ),
    "memory": Unit(
        "megabytes", 1e6, "Peak memory of the first run, beyond data and imports.", "much memory", "leanest", bytes_of,
    ),
}  # fmt: skip


def grow(along: str, sizes: list[int], options: argparse.Namespace) -> list[Record]:
    """Run every way at every size until it is ended, and return one record for each."""
    going = [peer for peer in PEERS if not options.only or peer in (REFERENCE, *options.only.split(","))]
    records: list[Record] = []
    for size in sizes:
        n, m = (size, options.m) if along == "n" else (options.n, size)
        case, numbers = "gaussians", {"n": n, "m": m}
        if n > options.in_memory:  # only momentlp takes data from disk, and it has the time it needs
            case, numbers, going = "gaussians on disk", {**numbers, "scratch": str(options.scratch)}, [REFERENCE]
        limit = options.limit if case == "gaussians" else options.long
        found = side_by_side(going, case, numbers, limit=limit, rounds=options.rounds, budget=options.budget)
        rows = [_record(along, n, m, case, peer, one) for peer, one in found.items()]
        print(f"\nn = {n:,}, m = {m}")
        print_table([_row(record) for record in rows])
        going = [record["way"] for record in rows if not record["gave_up"]]
        records += rows
    return records


def _record(along: str, n: int, m: int, case: str, peer: str, one: Any) -> Record:
    return {
        "along": along,
        "n": n,
        "m": m,
        "case": case,
        "way": peer,
        "seconds": statistics.median(one.seconds or [math.nan]),
        "modelling": one.modelling,
        "memory": one.way.memory,
        "objective": one.way.runs[-1]["objective"] if one.way.runs else math.nan,
        "rounds": len(one.seconds),
        "gave_up": one.way.gave_up,
    }


def _row(record: Record) -> Row:
    return {
        "points": f"{record['n']:,}" + ("" if record["case"] == "gaussians" else " (on disk)"),
        "moments": str(record["m"]),
        "way": record["way"],
        "seconds": figure(record["seconds"]),
        "modelling s": figure(record["modelling"]),
        "memory": "-" if math.isnan(record["memory"]) else bytes_of(record["memory"]),
        "share found": figure(record["objective"] / record["n"]),
        "rounds": str(record["rounds"]),
        "remark": record["gave_up"],
    }


def _draw(records: list[Record], options: argparse.Namespace, under: str) -> list[tuple[str, str]]:
    sections = []
    for along, noun, fixed in (("n", "points", f"{options.m} moments"), ("m", "moments", f"{options.n:,} points")):
        own = [record for record in records if record["along"] == along]
        body = []
        for what, unit in UNITS.items():
            lines = _lines(own, along, what)
            if REFERENCE not in lines:
                print(f"no picture of {what} against {noun}: {REFERENCE} solved none")
                continue
            title = f"{fixed}: {_finding(lines, noun, what)}"
            path, timed = options.out / f"growth-{along}-{what}.png", what == "seconds"
            limit = options.limit if timed else math.inf
            draw_growth(path, lines, title=title, xlabel=noun, ylabel=unit.label, limit=limit, foot=f"{unit.foot} {under}")
            body += [f"{title[0].upper()}{title[1:]}.", f"![{title}]({path.name})"]
        if own:
            body.append(markdown([_row(record) for record in own]))
            sections.append((f"Growth with the number of {noun}", "\n\n".join(body)))
    return sections


def _lines(records: list[Record], along: str, what: str) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        if record[what] > 0:  # and not NaN
            lines.setdefault(record["way"], []).append((record[along], record[what] / UNITS[what].size))
    return lines


def _finding(lines: dict[str, list[tuple[float, float]]], noun: str, what: str) -> str:
    """Say what a picture shows, from its figures: momentlp beside the best peer, at the largest size that both reached."""
    unit, tables = UNITS[what], {peer: dict(line) for peer, line in lines.items()}
    ours, last = tables[REFERENCE], lines[REFERENCE][-1]
    peers = {peer: table for peer, table in tables.items() if PEERS[peer].comparable and not peer.startswith(REFERENCE)}
    sizes = [size for table in peers.values() for size in table if size in ours]
    beyond = f"momentlp takes {unit.say(last[1] * unit.size)} for {last[0]:,.0f} {noun}"
    if not sizes:
        return beyond
    size = max(sizes)
    theirs, peer = min((table[size], peer) for peer, table in peers.items() if size in table)
    pair = ["momentlp", f"the {unit.best} peer ({peer})"]
    more, less = pair if ours[size] > theirs else pair[::-1]
    times = figure(max(ours[size], theirs) / min(ours[size], theirs), 2)
    said = f"with {size:,.0f} {noun} {more} takes {times} times as {unit.measure} as {less}"
    return f"{said}; {beyond}" if last[0] > size else said


def _again(path: Path) -> list[Record]:
    """Read the records of an earlier run."""
    numbers = {"n": int, "m": int, "rounds": int, "seconds": float, "modelling": float, "memory": float, "objective": float}
    with path.open(newline="") as stream:
        return [{key: numbers.get(key, str)(value) for key, value in row.items()} for row in csv.DictReader(stream)]


def main() -> None:
    """Measure, print, write, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = {"type": lambda text: [int(float(part)) for part in text.split(",")]}
    parser.add_argument("--points", **sizes, default=[1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000])
    parser.add_argument("--moments", **sizes, default=[8, 16, 32, 64, 128, 256, 512, 1024])
    parser.add_argument("--n", type=int, default=10_000, help="points while the moments grow")
    parser.add_argument("--m", type=int, default=32, help="moments while the points grow")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a way is ended")
    parser.add_argument("--long", type=float, default=1800.0, help="the same, for data on disk")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds after which a way sits out further rounds")
    parser.add_argument("--in-memory", type=int, default=IN_MEMORY, help="points from which on they stay on disk")
    parser.add_argument("--scratch", type=Path, default=Path("/tmp/momentlp-bench"), help="where the data files go")
    parser.add_argument("--only", default="", help="ways, separated by commas")
    parser.add_argument("--redraw", action="store_true", help="draw the figures of the last run again")
    parser.add_argument("--out", type=Path, default=DOCS)
    options = parser.parse_args()
    if options.redraw:
        _draw(_again(options.out / "growth.csv"), options, (options.out / "growth.md").read_text().splitlines()[-1])
        return
    records = grow("n", options.points, options) + grow("m", options.moments, options)
    about = " ".join(unit.foot for unit in UNITS.values())
    write(options.out, "growth", "How time and memory grow", [("", about), *_draw(records, options, made())], records)


if __name__ == "__main__":
    main()
