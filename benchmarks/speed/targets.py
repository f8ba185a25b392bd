"""Every target with the figure that was reached, in one run. Nothing is asserted: the table says "reached" or "missed".

Run ``python benchmarks/targets.py --scratch /tmp/momentlp`` (``--only a,b`` for some of them, ``--quick`` for fewer rounds).
Writes ``docs/benchmarks/targets.md`` and ``targets.csv``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import momentlp as mlp
from benchmarks.common.measure import Measured, side_by_side
from benchmarks.common.peers import PEERS, REFERENCE
from benchmarks.common.problems import make, paper_problem
from benchmarks.common.report import DOCS, Row, figure, markdown, print_table, seconds_of, write
from benchmarks.common.timing import interleaved, ratio
from benchmarks.speed.targets_large import from_disk, many_passes, over_workers
from momentlp.errors import DataError

LIMIT, BUDGET = 900.0, 120.0  # seconds: for one run of a way, and for all its rounds


class Told(NamedTuple):
    """One line of the table. ``reached`` is None where this run cannot say."""

    target: str
    figure: str
    reached: bool | None
    remark: str = ""


def usps_peers(options: argparse.Namespace) -> Iterator[Told]:
    """Compare on the USPS problem of the paper, eps = 30."""
    wanted = {"highspy": 10.0, "scipy linprog": 30.0, "Pyomo": 80.0}
    yield from _times_as_fast("USPS, eps = 30", "usps", {"eps": 30.0}, wanted, options.rounds)


def usps_true_mean(options: argparse.Namespace) -> Iterator[Told]:
    """Compare where the mean is the true one and the tolerance nearly nothing."""
    yield from _times_as_fast("USPS, true mean, eps = 1e-6", "usps true mean", {}, {"highspy": 5.0}, options.rounds)


def many_points(options: argparse.Namespace) -> Iterator[Told]:
    """Compare on 100,000 points."""
    numbers = {"n": 100_000 // options.shrink, "m": 32}
    yield from _times_as_fast(f"N = {numbers['n']:,}, m = 32", "gaussians", numbers, {"highspy": 30.0}, options.rounds)


def whole_path(options: argparse.Namespace) -> Iterator[Told]:
    """Solve for 40 tolerances along a path, against one cold solve at the last of them."""
    tolerances = np.geomspace(200.0, 5.0, 40)
    last = make("usps", eps=5.0)
    arrays, proofs = last.arrays(), []

    def path() -> None:
        solutions = mlp.path(last.compile(), tolerances).solutions
        proofs.append(len(solutions) == len(tolerances) and all(one.certificate.holds() for one in solutions))

    ways = {"path": path, "highspy": lambda: PEERS["highspy"].run(*arrays)}
    seconds = interleaved(ways, options.rounds, BUDGET)
    times = ratio(seconds["path"], seconds["highspy"])
    remark = f"{seconds_of(statistics.median(seconds['path']))}; {'all' if all(proofs) else 'NOT all'} 40 certified"
    said = f"{figure(times)} times as long"
    yield Told("USPS: 40 tolerances, 200 to 5, at most 3 times one cold highspy", said, times <= 3 and all(proofs), remark)


def _keep(solution: Any) -> bool:
    return bool(solution.certificate.holds())


def paper(options: argparse.Namespace) -> Iterator[Told]:
    """Solve all problems of the paper's experiment: 20 sizes of the sample, 100 splits each."""
    paper_problem(25, 0)  # so that missing digits are told before anything starts
    splits = 2 if options.quick else 100
    problems = [partial(paper_problem, size, seed) for size in range(25, 501, 25) for seed in range(splits)]
    started = time.perf_counter()
    certified = sum(one is True for one in mlp.solve_many(problems, n_jobs=2, keep=_keep))
    took = time.perf_counter() - started
    all_of_them, remark = took * 100 / splits, f"{certified:,} of {len(problems):,} certified"
    if splits < 100:
        remark += f"; {len(problems)} took {seconds_of(took)}, and all 2,000 at that pace the time shown"
    reached = all_of_them < 600 and certified == len(problems)
    yield Told("the paper's 2,000 problems, 2 processes, under 10 min", seconds_of(all_of_them), reached, remark)


def kernel(options: argparse.Namespace) -> Iterator[Told]:
    """Compare where there are as many moments as points."""
    yield from _times_as_fast("kernel, N = m = 1050", "ring", {}, {"highspy": 1.0}, options.rounds)


def _times_as_fast(
    heading: str, case: str, numbers: dict[str, Any], wanted: dict[str, float], rounds: int
) -> Iterator[Told]:
    make(case, **numbers)  # so that missing digits are told before anything starts
    found = side_by_side([REFERENCE, *wanted], case, numbers, limit=LIMIT, rounds=rounds, budget=BUDGET)
    ours = found[REFERENCE]
    for peer, least in wanted.items():
        target = f"{heading}: solve at least {least:g} times as fast as {peer}"
        yield _verdict(target, least, ours, found[peer])


def _verdict(target: str, least: float, ours: Measured, theirs: Measured) -> Told:
    """Judge ``solve`` against the whole of the peer's time; the remark has it with ``compile``, and the times."""
    if ours.way.gave_up or not (ours.seconds and theirs.seconds):
        why = f"{REFERENCE}: {ours.way.gave_up}" if ours.way.gave_up else f"{theirs.peer}: {theirs.way.gave_up}"
        return Told(target, "-", None, why)
    times, compiled = ratio(theirs.seconds, ours.solving), ratio(theirs.seconds, ours.seconds)
    objectives = [one.way.runs[-1]["objective"] for one in (theirs, ours)]
    remark = (
        f"{seconds_of(statistics.median(ours.solving))} against {seconds_of(statistics.median(theirs.seconds))}; "
        f"compile included {figure(compiled)}; objectives differ by {abs(objectives[0] - objectives[1]):.0e}; "
        f"rounds {len(ours.seconds)} and {len(theirs.seconds)}"
    )
    return Told(target, f"{figure(times)} times", times >= least, remark)


def _large(function: Callable[..., Any], options: argparse.Namespace) -> Iterator[Told]:
    for reported in function(str(options.scratch), options.shrink):
        yield Told(*reported)


TARGETS: dict[str, Callable[[argparse.Namespace], Iterator[Told]]] = {
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


def _row(letter: str, reported: Told) -> Row:
    verdict = {True: "reached", False: "missed", None: "not measured"}[reported.reached]
    return {"": letter, "target": reported.target, "figure": reported.figure, "verdict": verdict, "remark": reported.remark}


def main() -> None:
    """Print each target as it is measured, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(TARGETS), help="letters, separated by commas")
    parser.add_argument("--quick", action="store_true", help="two rounds instead of nine; 2 splits of 100 in f")
    parser.add_argument("--shrink", type=int, default=1, help="divide N of c, d, g, h by this, to try the script")
    parser.add_argument("--scratch", type=Path, default=Path("/tmp/momentlp-bench"), help="where the data files go (2.2 GB)")
    parser.add_argument("--out", type=Path, default=DOCS)
    options = parser.parse_args()
    options.rounds = 2 if options.quick else 9
    # Workers of other processes find the modules of this folder too.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")])
    rows: list[Row] = []
    for letter in options.only.split(","):
        try:
            found = [_row(letter, reported) for reported in TARGETS[letter](options)]
        except (DataError, ImportError) as error:
            found = [_row(letter, Told(_about(letter), "-", None, f"something is missing: {error}"))]
        except Exception as error:  # noqa: BLE001  one target that breaks does not hide the others
            found = [_row(letter, Told(_about(letter), "-", None, f"{type(error).__name__}: {error}"))]
        print_table(found)
        rows += found
    sections = [("", markdown(rows))]
    if options.shrink > 1:
        sections.insert(0, ("", f"**N was divided by {options.shrink} to try the script: these are not the targets.**"))
    write(options.out, "targets", "The targets, and what was reached", sections, [dict(row) for row in rows])


def _about(letter: str) -> str:
    target = TARGETS[letter]
    said = (target.args[0] if isinstance(target, partial) else target).__doc__ or ""
    return said.splitlines()[0].rstrip(".")


if __name__ == "__main__":
    main()
