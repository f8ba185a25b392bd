"""Run every peer on two problems: time with and without modelling, peak memory, distance from the certified optimum.

Run ``python -m benchmarks.speed.peers_table``. It writes ``docs/results/benchmarks/peers.md`` and ``peers.csv``.
"""

from __future__ import annotations

import argparse
import math
import statistics
from pathlib import Path
from typing import Any

from benchmarks.common.folders import RESULTS
from benchmarks.common.measure import Measurement, measure_side_by_side
from benchmarks.common.peers import PEERS, REFERENCE
from benchmarks.common.problems import describe_case
from benchmarks.common.report import Row, format_bytes, format_markdown, format_number, print_table, write_page
from benchmarks.common.timing import median_ratio
from benchmarks.common.usps_digits import reason_without_usps

ABOUT = f"""All peers take turns, each in a process of its own. Times are medians over the rounds (and their range), ratios
medians over the rounds of the ratio within a round: how many times as long as {REFERENCE}, with and without modelling.
*Modelling* is the time until a solver has the problem. *Solving* is the rest; for momentlp it includes the certificate. The
peers are given the moment matrix ready made; momentlp starts from the points, and compiling them is its modelling. *Memory*
is the peak of the first run beyond data and imports. *Off* is the relative difference to the objective that {REFERENCE}
certifies."""
HEADS = ("way", "together s", "modelling s", "solving s", "ratio", "ratio, solving", "memory", "objective", "off", "rounds")


def measure(case: str, numbers: dict[str, Any], options: argparse.Namespace) -> tuple[list[Row], list[dict[str, Any]]]:
    """Run all peers on one case, and return the rows to print and the records to keep."""
    chosen = [peer for peer in PEERS if not options.only or peer in (REFERENCE, *options.only.split(","))]
    found = measure_side_by_side(chosen, case, numbers, limit=options.limit, rounds=options.rounds, budget=options.budget)
    reference = found[REFERENCE]
    ordered = sorted(found.values(), key=lambda measured: statistics.median(measured.seconds or [math.inf]))
    return [_row(measured, reference) for measured in ordered], [
        _record(measured, case, numbers, reference) for measured in ordered
    ]


def _row(measured: Measurement, reference: Measurement) -> Row:
    peer, seconds = PEERS[measured.peer], measured.seconds
    if not seconds:
        return dict.fromkeys(HEADS, "-") | {"way": measured.peer, "remark": measured.process.gave_up}
    middle, low, high = map(format_number, (statistics.median(seconds), min(seconds), max(seconds)))
    return {
        "way": measured.peer,
        "together s": f"{middle} ({low}-{high})",
        "modelling s": format_number(measured.modelling),
        "solving s": format_number(statistics.median(measured.solving)),
        "ratio": format_number(median_ratio(seconds, reference.seconds)),
        "ratio, solving": format_number(median_ratio(measured.solving, reference.solving)),
        "memory": format_bytes(measured.process.memory),
        "objective": f"{measured.process.runs[-1]['objective']:.6f}",
        "off": f"{_relative_difference(measured, reference):.0e}".replace("0e+00", "0") if peer.same_problem else "-",
        "rounds": str(len(seconds)),
        "remark": peer.remark + (f"; then {measured.process.gave_up}" if measured.process.gave_up else ""),
    }


def _record(measured: Measurement, case: str, numbers: dict[str, Any], reference: Measurement) -> dict[str, Any]:
    last = measured.process.runs[-1] if measured.process.runs else {}
    return {
        "case": describe_case(case, **numbers),
        "way": measured.peer,
        "seconds": statistics.median(measured.seconds or [math.nan]),
        "least": min(measured.seconds, default=math.nan),
        "most": max(measured.seconds, default=math.nan),
        "modelling": measured.modelling,
        "ratio": median_ratio(measured.seconds, reference.seconds),
        "ratio_solving": median_ratio(measured.solving, reference.solving),
        "memory": measured.process.memory,
        "objective": last.get("objective", math.nan),
        "off": _relative_difference(measured, reference),
        "rounds": len(measured.seconds),
        "gave_up": measured.process.gave_up,
    }


def _relative_difference(measured: Measurement, reference: Measurement) -> float:
    if not (measured.process.runs and reference.process.runs):
        return math.nan
    certified = reference.process.runs[-1]["objective"]
    return float((measured.process.runs[-1]["objective"] - certified) / max(1.0, abs(certified)))


def main() -> None:
    """Print and write the table of each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20_000, help="points of the synthetic problem")
    parser.add_argument("--m", type=int, default=32, help="its moments")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a peer is ended")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds after which a peer skips further rounds")
    parser.add_argument("--only", default="", help="peers, separated by commas")
    parser.add_argument("--no-usps", action="store_true", help="leave out the USPS digits")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the table (%(default)s)")
    options = parser.parse_args()
    cases: list[tuple[str, dict[str, Any]]] = [("usps", {"eps": 30.0}), ("gaussians", {"n": options.n, "m": options.m})]
    sections, records = [("", ABOUT)], []
    for case, numbers in cases:
        heading = describe_case(case, **numbers)
        print(f"\n{heading}")
        if case == "usps" and (missing := "left out, as asked" if options.no_usps else reason_without_usps()):
            print(missing)
            sections.append((heading, f"Not measured: {missing}"))
            continue
        rows, own_records = measure(case, numbers, options)
        print_table(rows)
        sections.append((heading, format_markdown(rows)))
        records += own_records
    write_page(options.out, "peers", "momentlp beside its peers", sections, records)


if __name__ == "__main__":
    main()
