"""Measure every target of speed in one run. Nothing is asserted: the table says "reached" or "missed".

Run ``python -m benchmarks.speed.targets`` (``--only a,b`` for some targets, ``--quick`` for fewer rounds). It writes
``docs/results/benchmarks/targets.md`` and ``targets.csv``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import momentlp as mlp
from benchmarks.common.folders import RESULTS, SCRATCH
from benchmarks.common.measure import Measurement, measure_side_by_side
from benchmarks.common.peers import PEERS, REFERENCE
from benchmarks.common.problems import is_certified, make_case, make_paper_problem
from benchmarks.common.report import Row, format_markdown, format_number, format_seconds, print_table, write_page
from benchmarks.common.timing import median_ratio, time_interleaved
from benchmarks.speed.targets_large import from_disk, many_passes, over_workers
from momentlp.errors import DataError

MAX_RUN_SECONDS, MAX_PEER_SECONDS = 900.0, 120.0  # for one run of a peer, and for all its rounds


class Verdict(NamedTuple):
    """One line of the table. ``reached`` is None where this run could not measure it."""

    target: str
    figure: str
    reached: bool | None
    remark: str = ""


def usps_peers(options: argparse.Namespace) -> Iterator[Verdict]:
    """Compare on the USPS problem of the paper, eps = 30."""
    wanted = {"highspy": 10.0, "scipy linprog": 30.0, "Pyomo": 80.0}
    yield from _compare_speed("USPS, eps = 30", "usps", {"eps": 30.0}, wanted, options.rounds)


def usps_true_mean(options: argparse.Namespace) -> Iterator[Verdict]:
    """Compare with the true mean and a tolerance near zero."""
    yield from _compare_speed("USPS, true mean, eps = 1e-6", "usps true mean", {}, {"highspy": 5.0}, options.rounds)


def many_points(options: argparse.Namespace) -> Iterator[Verdict]:
    """Compare on 100,000 points."""
    numbers = {"n": 100_000 // options.shrink, "m": 32}
    yield from _compare_speed(f"N = {numbers['n']:,}, m = 32", "gaussians", numbers, {"highspy": 30.0}, options.rounds)


def whole_path(options: argparse.Namespace) -> Iterator[Verdict]:
    """Solve for 40 tolerances along a path, against one cold solve at the last of them."""
    tolerances = np.geomspace(200.0, 5.0, 40)
    last = make_case("usps", eps=5.0)
    arrays, proofs = last.arrays(), []

    def path() -> None:
        solutions = mlp.path(last.compile(), tolerances).solutions
        proofs.append(len(solutions) == len(tolerances) and all(one.certificate.holds() for one in solutions))

    functions = {"path": path, "highspy": lambda: PEERS["highspy"].run(*arrays)}
    seconds = time_interleaved(functions, options.rounds, MAX_PEER_SECONDS)
    times = median_ratio(seconds["path"], seconds["highspy"])
    remark = f"{format_seconds(statistics.median(seconds['path']))}; {'all' if all(proofs) else 'NOT all'} 40 certified"
    text = f"{format_number(times)} times as long"
    yield Verdict(
        "USPS: 40 tolerances, 200 to 5, at most 3 times one cold highspy", text, times <= 3 and all(proofs), remark
    )


def paper(options: argparse.Namespace) -> Iterator[Verdict]:
    """Solve all problems of the paper's experiment: 20 sizes of the sample, 100 splits each."""
    make_paper_problem(25, 0)  # raises here, before anything starts, if the digits are missing
    splits = 2 if options.quick else 100
    problems = [partial(make_paper_problem, size, seed) for size in range(25, 501, 25) for seed in range(splits)]
    started = time.perf_counter()
    certified = sum(one is True for one in mlp.solve_many(problems, n_jobs=2, keep=is_certified))
    took = time.perf_counter() - started
    seconds_for_all, remark = took * 100 / splits, f"{certified:,} of {len(problems):,} certified"
    if splits < 100:
        remark += f"; {len(problems)} took {format_seconds(took)}, and all 2,000 at that pace the time shown"
    reached = seconds_for_all < 600 and certified == len(problems)
    yield Verdict("the paper's 2,000 problems, 2 processes, under 10 min", format_seconds(seconds_for_all), reached, remark)


def kernel(options: argparse.Namespace) -> Iterator[Verdict]:
    """Compare on a problem with as many moments as points."""
    yield from _compare_speed("kernel, N = m = 1050", "ring", {}, {"highspy": 1.0}, options.rounds)


def _compare_speed(
    heading: str, case: str, numbers: dict[str, Any], wanted: dict[str, float], rounds: int
) -> Iterator[Verdict]:
    make_case(case, **numbers)  # raises here, before anything starts, if the digits are missing
    found = measure_side_by_side(
        [REFERENCE, *wanted], case, numbers, limit=MAX_RUN_SECONDS, rounds=rounds, budget=MAX_PEER_SECONDS
    )
    ours = found[REFERENCE]
    for peer, minimum in wanted.items():
        target = f"{heading}: solve at least {minimum:g} times as fast as {peer}"
        yield _judge(target, minimum, ours, found[peer])


def _judge(target: str, minimum: float, ours: Measurement, theirs: Measurement) -> Verdict:
    """Compare the time of ``solve`` with the whole time of the peer; the remark has the ratio with ``compile`` too."""
    if ours.process.gave_up or not (ours.seconds and theirs.seconds):
        why = f"{REFERENCE}: {ours.process.gave_up}" if ours.process.gave_up else f"{theirs.peer}: {theirs.process.gave_up}"
        return Verdict(target, "-", None, why)
    times, compiled = median_ratio(theirs.seconds, ours.solving), median_ratio(theirs.seconds, ours.seconds)
    objectives = [one.process.runs[-1]["objective"] for one in (theirs, ours)]
    remark = (
        f"{format_seconds(statistics.median(ours.solving))} against {format_seconds(statistics.median(theirs.seconds))}; "
        f"compile included {format_number(compiled)}; objectives differ by {abs(objectives[0] - objectives[1]):.0e}; "
        f"rounds {len(ours.seconds)} and {len(theirs.seconds)}"
    )
    return Verdict(target, f"{format_number(times)} times", times >= minimum, remark)


def _large(function: Callable[..., Any], options: argparse.Namespace) -> Iterator[Verdict]:
    for line in function(str(options.scratch.resolve()), options.shrink):
        yield Verdict(*line)


TARGETS: dict[str, Callable[[argparse.Namespace], Iterator[Verdict]]] = {
    "a": usps_peers,
    "b": usps_true_mean,
    "c": many_points,
    "d": partial(_large, many_passes),
    "e": whole_path,
    "f": paper,
    "g": partial(_large, from_disk),
    "h": partial(_large, over_workers),
    "i": kernel,
}


def _row(letter: str, line: Verdict) -> Row:
    verdict = {True: "reached", False: "missed", None: "not measured"}[line.reached]
    return {"": letter, "target": line.target, "figure": line.figure, "verdict": verdict, "remark": line.remark}


def main() -> None:
    """Measure and print each target, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(TARGETS), help="letters, separated by commas")
    parser.add_argument("--quick", action="store_true", help="two rounds instead of nine; 2 splits of 100 in f")
    parser.add_argument("--shrink", type=int, default=1, help="divide N of c, d, g, h by this number, to try the script")
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="folder for the data files (2.2 GB)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the table (%(default)s)")
    options = parser.parse_args()
    options.rounds = 2 if options.quick else 9
    rows: list[Row] = []
    for letter in options.only.split(","):
        try:
            found = [_row(letter, line) for line in TARGETS[letter](options)]
        except (DataError, ImportError) as error:
            found = [_row(letter, Verdict(_describe_target(letter), "-", None, f"something is missing: {error}"))]
        except Exception as error:  # noqa: BLE001  a target that fails must not hide the others
            found = [_row(letter, Verdict(_describe_target(letter), "-", None, f"{type(error).__name__}: {error}"))]
        print_table(found)
        rows += found
    sections = [("", format_markdown(rows))]
    if options.shrink > 1:
        sections.insert(0, ("", f"**N was divided by {options.shrink} to try the script: these are not the targets.**"))
    write_page(options.out, "targets", "The targets, and what was reached", sections, [dict(row) for row in rows])


def _describe_target(letter: str) -> str:
    target = TARGETS[letter]
    text = (target.args[0] if isinstance(target, partial) else target).__doc__ or ""
    return text.splitlines()[0].rstrip(".")


if __name__ == "__main__":
    main()
