"""Run hostile problems on every backend and judge every answer in exact arithmetic.

    python -m tests.adversary.run                                        every family and backend
    python -m tests.adversary.run --problems 20000 --seed 2 --jobs 2     more problems, in two processes
    python -m tests.adversary.run --family sentinels --only 17 --backends glpk    one answer again, as a finding names it

Problems run in worker processes. A solve that hangs or crashes is a finding, and the run continues. The exit status is 1 if
an answer is wrong, or if 0.5 % or more of the answers outside the impossible families are FAILED.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable

import momentlp as mlp

from .families import FAMILIES
from .workers import Outcome, Task, run_tasks

MAX_FAILED = 0.005
SLOW_SECONDS = 30.0
PROVED = ("OPTIMAL", "EMPTY", "INFEASIBLE")
COLUMNS = (
    "family", "problems", "solves", "proved", "EMPTY", "INFEASIBLE", "FAILED", "refused", "unjudged", "wrong",
    "worst seconds",
)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for, print the table and return the exit status."""
    options = _parser().parse_args(arguments)
    backends = _backends(options.backends)
    names = list(FAMILIES) if options.family is None else [options.family]
    numbers = range(-(-options.problems // len(names))) if options.only is None else [options.only]
    tasks = [Task(name, options.seed, number, backends) for number in numbers for name in names]
    if options.only is None:
        tasks = tasks[: options.problems]
    started = time.perf_counter()
    outcomes = []
    for outcome in run_tasks(tasks, options.jobs, options.time_limit):
        outcomes.append(outcome)
        if is_finding(outcome):
            print(describe(outcome, options.seed), flush=True)
    seconds = time.perf_counter() - started
    print(f"\n{len(tasks)} problems, {len(outcomes)} answers, {seconds:.0f} seconds, seed {options.seed}")
    print(_align([COLUMNS, *(summary(name, outcomes) for name in names)]))
    possible = [outcome for outcome in outcomes if not FAMILIES[outcome.family].impossible]
    failed = sum(outcome.status == "FAILED" for outcome in possible)
    wrong = sum(bool(outcome.objection) for outcome in outcomes)
    print(f"\n{wrong} wrong; {failed} of {len(possible)} FAILED outside the impossible families (marked *)")
    return int(wrong > 0 or failed >= MAX_FAILED * max(len(possible), 1))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Run hostile problems on every backend and judge the answers exactly.")
    parser.add_argument("--problems", type=int, default=5000, help="over all families, about 25 ms each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backends", default="all", help="all, or names with commas between them")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--family", choices=FAMILIES, help="one family alone")
    parser.add_argument("--only", type=int, help="one problem alone, by its number")
    parser.add_argument("--time-limit", type=float, default=40.0, help="seconds for one solve; a longer one is stopped")
    return parser


def _backends(names: str) -> tuple[str, ...]:
    available = tuple(info.name for info in mlp.backends() if info.available)
    chosen = available if names == "all" else tuple(names.split(","))
    if missing := [name for name in chosen if name not in available]:
        raise SystemExit(f"backend {missing[0]!r} is not available here: choose among {', '.join(available)}.")
    return chosen


def is_finding(outcome: Outcome) -> bool:
    """Whether an outcome is printed: it is wrong, or it took long."""
    return bool(outcome.objection) or outcome.seconds > SLOW_SECONDS


def describe(outcome: Outcome, seed: int) -> str:
    """Return the line of a finding, with the options that run it again."""
    reason = outcome.objection or f"took {outcome.seconds:.0f} seconds"
    backend = f" --backends {outcome.backend}" if outcome.backend else ""
    return f"WRONG  --family {outcome.family} --seed {seed} --only {outcome.number}{backend}: {reason}"


def summary(name: str, outcomes: Iterable[Outcome]) -> list[str]:
    """Return the row of one family in the table."""
    own = [outcome for outcome in outcomes if outcome.family == name]
    count = Counter(outcome.status for outcome in own)
    numbers = [
        len({outcome.number for outcome in own}), len(own), sum(count[status] for status in PROVED), count["EMPTY"],
        count["INFEASIBLE"], count["FAILED"], count["REFUSED"], count["UNJUDGED"], sum(bool(o.objection) for o in own),
    ]  # fmt: skip
    worst = max((outcome.seconds for outcome in own), default=0.0)
    return [name + "*" * FAMILIES[name].impossible, *map(str, numbers), f"{worst:.1f}"]


def _align(rows: list[Iterable[str]]) -> str:
    table = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)


if __name__ == "__main__":
    sys.exit(main())
