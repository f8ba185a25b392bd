"""Run every backend over the corpus of hard problems and judge every solution in exact arithmetic.

Run ``python -m benchmarks.corpus.run``. It prints how many solutions of each backend are right, open and wrong. Exit status
1 means that a backend proved something false, or proved too few problems.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

import momentlp as mlp
from benchmarks.corpus.judge import Truth
from benchmarks.corpus.problems import FAMILIES, Hard, corpus
from momentlp.backend.registry import get_backend
from momentlp.runtime.text_table import align_columns

PROVED = (mlp.Status.OPTIMAL, mlp.Status.EMPTY, mlp.Status.INFEASIBLE)
MIN_PROVED_SHARE = 0.95  # a backend that never claims anything is never wrong, so a share must be proved
LEVELS = (1e-4, 1e-6, 1e-9)
CLAIMS = {mlp.Outcome.OPTIMAL: mlp.Status.OPTIMAL, mlp.Outcome.INFEASIBLE: mlp.Status.INFEASIBLE}


@dataclass
class Tally:
    """The counts of one backend: with momentlp, of its first answer, and of the solver alone."""

    problems: int = 0
    solved: int = 0
    certified: Counter[float] = field(default_factory=Counter)
    repairs: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    first: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    alone_by_family: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: float = 0.0


def main() -> int:
    """Run the corpus and print the tables."""
    parser = argparse.ArgumentParser(description="Run every backend over the corpus of hard problems.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", action="append", choices=list(FAMILIES))
    parser.add_argument("--backend", action="append", choices=[info.name for info in mlp.backends()])
    arguments = parser.parse_args()
    for category in (mlp.OnlyLabelledWarning, mlp.SentinelWarning):
        warnings.simplefilter("ignore", category)
    names = arguments.backend or [info.name for info in mlp.backends() if info.available]
    tallies = {name: Tally() for name in names}
    made: Counter[str] = Counter()
    unjudged = 0
    for number, hard in enumerate(corpus(arguments.seed, arguments.family)):
        if sys.stderr.isatty():
            print(f"\r{number:4d} {hard.family:40s}", end="", file=sys.stderr, flush=True)
        truth = Truth.of(hard)
        unjudged += truth is None
        for name, tally in tallies.items():
            _run_one(hard, truth, name, tally, f"{hard.family} #{number}")
        made[hard.family] += 1
    print(_format_proved(tallies))
    print(_format_alone(tallies))
    print(_format_by_family(tallies, made))
    for name, tally in tallies.items():
        for line in tally.wrong:
            print(f"WRONG {name}: {line}")
        for line in tally.open:
            print(f"open  {name}: {line}")
    print(f"{made.total()} problems of {len(made)} families, {unjudged} of them unjudged")
    return int(any(tally.wrong or tally.solved < MIN_PROVED_SHARE * tally.problems for tally in tallies.values()))


def _run_one(hard: Hard, truth: Truth | None, name: str, tally: Tally, title: str) -> None:
    started = time.perf_counter()
    solution = mlp.solve(hard.problem, name)
    tally.seconds += time.perf_counter() - started
    tally.problems += 1
    proved = solution.status in PROVED
    tally.solved += proved
    tally.repairs.update(set(solution.repairs))
    for level in LEVELS:
        tally.certified[level] += proved and (solution.status is not mlp.Status.OPTIMAL or solution.certificate.holds(level))
    if not proved:
        tally.open.append(f"{title}: {solution.message}")
    if truth is None:
        return
    objection = truth.objection(solution.status, solution.membership)
    if objection:
        tally.wrong.append(f"{title}: {solution.status.name}, but {objection}")
    first = mlp.solve(hard.problem, name, repair=False)
    tally.first[
        "wrong" if truth.objection(first.status, first.membership) else "right" if first.status in PROVED else "open"
    ] += 1
    verdict = _judge_solver_alone(hard.problem, truth, name)
    tally.alone[verdict] += 1
    tally.alone_by_family.setdefault(hard.family, Counter())[verdict] += 1


def _judge_solver_alone(problem: mlp.Problem, truth: Truth, name: str) -> str:
    """Pass the unscaled problem to the solver, and judge the answer by what the solver itself claims."""
    try:
        answer = get_backend(name).run(problem, mlp.Options())
    except Exception:  # noqa: BLE001  solvers raise many kinds of errors on such numbers
        return "open"
    if answer.outcome not in CLAIMS:
        return "open"
    if answer.outcome is mlp.Outcome.INFEASIBLE:
        return "wrong" if truth.optimum is not None else "right"
    h = np.clip(np.nan_to_num(answer.membership), 0.0, problem.caps)
    return "wrong" if truth.objection(mlp.Status.OPTIMAL, h) else "right"


def _format_proved(tallies: dict[str, Tally]) -> str:
    head = [
        "backend",
        "problems",
        "solved",
        *(f"at {level:g}" for level in LEVELS),
        "wrong",
        "asked again",
        "polished",
        "exactly",
        "seconds",
    ]
    rows = [
        [
            name,
            str(tally.problems),
            _share(tally.solved, tally),
            *(_share(tally.certified[level], tally) for level in LEVELS),
            str(len(tally.wrong)),
            *(str(tally.repairs[kind]) for kind in ("asked again", "polished", "solved exactly")),
            f"{tally.seconds:.0f}",
        ]
        for name, tally in tallies.items()
    ]
    return (
        "With momentlp: share proved, certified at each tolerance; false proofs; what had to be repaired\n"
        + align_columns([head, *rows])
        + "\n"
    )


def _format_alone(tallies: dict[str, Tally]) -> str:
    head = ["backend", "right", "open", "wrong", "first answer right", "open", "wrong"]
    rows = [
        [name, *(str(counts[kind]) for counts in (tally.alone, tally.first) for kind in ("right", "open", "wrong"))]
        for name, tally in tallies.items()
    ]
    return (
        "The solver alone, on the numbers as they stand; and its first answer to the scaled problem, certified\n"
        + align_columns([head, *rows])
        + "\n"
    )


def _format_by_family(tallies: dict[str, Tally], made: Counter[str]) -> str:
    rows = [
        [
            family,
            str(count),
            *(
                f"{tally.alone_by_family[family]['wrong']} / {tally.alone_by_family[family]['open']}"
                for tally in tallies.values()
            ),
        ]
        for family, count in made.items()
        if all(family in tally.alone_by_family for tally in tallies.values())
    ]
    title = "The solver alone, by family: answers that are wrong / left open\n"
    return title + align_columns([["family", "problems", *tallies], *rows]) + "\n"


def _share(part: int, tally: Tally) -> str:
    return f"{100 * part / max(1, tally.problems):.1f}%"


if __name__ == "__main__":
    sys.exit(main())
