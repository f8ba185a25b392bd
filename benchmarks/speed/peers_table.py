"""Every peer on two problems: time with and without modelling, peak memory, and how far from the certified optimum.

Run ``python benchmarks/peers_table.py``. Writes ``docs/benchmarks/peers.md`` and ``peers.csv``.
"""

from __future__ import annotations

import argparse
import math
import statistics
from pathlib import Path
from typing import Any

from benchmarks.common.measure import Measured, side_by_side
from benchmarks.common.peers import PEERS, REFERENCE
from benchmarks.common.problems import describe
from benchmarks.common.report import DOCS, Row, bytes_of, figure, markdown, print_table, write
from benchmarks.common.timing import ratio, usps
from momentlp.errors import DataError

ABOUT = f"""All ways take turns, each in a process of its own. Times are medians over the rounds (and their range), ratios
medians over the rounds of the ratio within a round: how many times as long as {REFERENCE}, with and without modelling.
*Modelling* is the time until a solver has the problem, *solving* the rest, which for momentlp includes the certificate. The
peers are given the moment matrix ready made; momentlp starts from the points, and compiling them is its modelling. *Memory*
is the peak of the first run beyond data and imports. *Off* is the relative difference to the objective that {REFERENCE}
certifies."""
HEADS = ("way", "together s", "modelling s", "solving s", "ratio", "ratio, solving", "memory", "objective", "off", "rounds")


def measure(case: str, numbers: dict[str, Any], options: argparse.Namespace) -> tuple[list[Row], list[dict[str, Any]]]:
    """Run all ways on one case and return the rows to show and the figures to keep."""
    chosen = [peer for peer in PEERS if not options.only or peer in (REFERENCE, *options.only.split(","))]
    found = side_by_side(chosen, case, numbers, limit=options.limit, rounds=options.rounds, budget=options.budget)
    reference = found[REFERENCE]
    reported = sorted(found.values(), key=lambda one: statistics.median(one.seconds or [math.inf]))
    return [_row(one, reference) for one in reported], [_record(one, case, numbers, reference) for one in reported]


def _row(one: Measured, reference: Measured) -> Row:
    peer, seconds = PEERS[one.peer], one.seconds
    if not seconds:
        return dict.fromkeys(HEADS, "-") | {"way": one.peer, "remark": one.way.gave_up}
    return {
        "way": one.peer,
        "together s": f"{figure(statistics.median(seconds))} ({figure(min(seconds))}-{figure(max(seconds))})",
        "modelling s": figure(one.modelling),
        "solving s": figure(statistics.median(one.solving)),
        "ratio": figure(ratio(seconds, reference.seconds)),
        "ratio, solving": figure(ratio(one.solving, reference.solving)),
        "memory": bytes_of(one.way.memory),
        "objective": f"{one.way.runs[-1]['objective']:.6f}",
        "off": f"{_off(one, reference):.0e}".replace("0e+00", "0") if peer.comparable else "-",
        "rounds": str(len(seconds)),
        "remark": peer.remark + (f"; then {one.way.gave_up}" if one.way.gave_up else ""),
    }


def _record(one: Measured, case: str, numbers: dict[str, Any], reference: Measured) -> dict[str, Any]:
    last = one.way.runs[-1] if one.way.runs else {}
    return {
        "case": describe(case, **numbers),
        "way": one.peer,
        "seconds": statistics.median(one.seconds or [math.nan]),
        "least": min(one.seconds, default=math.nan),
        "most": max(one.seconds, default=math.nan),
        "modelling": one.modelling,
        "ratio": ratio(one.seconds, reference.seconds),
        "ratio_solving": ratio(one.solving, reference.solving),
        "memory": one.way.memory,
        "objective": last.get("objective", math.nan),
        "off": _off(one, reference),
        "rounds": len(one.seconds),
        "gave_up": one.way.gave_up,
    }


def _off(one: Measured, reference: Measured) -> float:
    if not (one.way.runs and reference.way.runs):
        return math.nan
    certified = reference.way.runs[-1]["objective"]
    return float((one.way.runs[-1]["objective"] - certified) / max(1.0, abs(certified)))


def main() -> None:
    """Print and write the table of each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20_000, help="points of the synthetic problem")
    parser.add_argument("--m", type=int, default=32, help="its moments")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a way is ended")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds after which a way sits out further rounds")
    parser.add_argument("--only", default="", help="ways, separated by commas")
    parser.add_argument("--no-usps", action="store_true", help="leave out the USPS digits")
    parser.add_argument("--out", type=Path, default=DOCS)
    options = parser.parse_args()
    cases: list[tuple[str, dict[str, Any]]] = [("usps", {"eps": 30.0}), ("gaussians", {"n": options.n, "m": options.m})]
    sections, records = [("", ABOUT)], []
    for case, numbers in cases:
        heading = describe(case, **numbers)
        print(f"\n{heading}")
        if case == "usps" and (missing := "left out, as asked" if options.no_usps else _missing()):
            print(missing)
            sections.append((heading, f"Not measured: {missing}"))
            continue
        rows, reported = measure(case, numbers, options)
        print_table(rows)
        sections.append((heading, markdown(rows)))
        records += reported
    write(options.out, "peers", "momentlp beside its peers", sections, records)


def _missing() -> str:
    try:
        usps()
    except DataError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main()
