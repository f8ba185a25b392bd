"""Find a class from a few labels: every method on every case, each answer appended to a CSV as it comes.

Run ``python benchmarks/classes/run.py --data FOLDER`` with the folder of the USPS digits (or set ``MOMENTLP_USPS``);
without it, the other data is run. What is in the CSV already is not run again: a run that was killed goes on where it was,
and ``--redo momentlp`` runs one method afresh beside the old results of the others. If that is killed, go on without
``--redo``. Then ``python benchmarks/classes/report.py`` makes the tables.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.classes.cases import DATASETS, LABELS, LEAST_LEFT, SPLITS, Case, cases, split
from benchmarks.classes.methods import METHODS, OURS, Found
from benchmarks.classes.results import Key, Result, Results
from momentlp.errors import DataError

ALIASES = {"all": list(METHODS), "peers": [name for name in METHODS if name != OURS]}
OUT = Path("classes.csv")


def main() -> int:
    """Run what is missing, and say how it went."""
    options = _options()
    results = Results(options.out)
    wanted = _wanted(options)
    if options.redo:
        again = {key for key in wanted if key[2] in options.redo}
        print(f"{results.drop(lambda result: result.key in again)} results dropped, to be done again")
    done = {result.key for result in results.read()}
    tasks = [key for key in wanted if key not in done]
    print(f"{len(wanted) - len(tasks)} results are there, {len(tasks)} to go", flush=True)
    started, failed = time.perf_counter(), 0
    work = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    for number, (key, outcome) in enumerate(work(delayed(_one)(key, options.data) for key in tasks), start=1):
        if isinstance(outcome, Result):
            results.append(outcome)
        else:
            failed += 1
        _tell(number, len(tasks), key, outcome, time.perf_counter() - started)
    print(f"{len(tasks) - failed} results added to {options.out}" + (f", {failed} failed" if failed else ""))
    return int(failed > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = partial(str.split, sep=",")
    parser.add_argument("--data", type=Path, help="folder of the USPS digits; default: MOMENTLP_USPS")
    parser.add_argument("--out", type=Path, default=OUT, help="the CSV (%(default)s)")
    parser.add_argument("--methods", type=listed, default=["all"], help=f"of all, peers, {', '.join(METHODS)}")
    parser.add_argument(
        "--cases", type=listed, default=list(DATASETS), help=f"of {', '.join(DATASETS)}, or usps-0 and so on"
    )
    parser.add_argument("--labels", type=lambda text: [int(part) for part in text.split(",")], default=list(LABELS))
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--redo", type=listed, default=[], help="methods whose results are dropped first")
    options = parser.parse_args()
    options.methods = [name for given in options.methods for name in ALIASES.get(given, [given])]
    for name in {*options.methods, *options.redo} - set(METHODS):
        parser.error(f"there is no method {name!r}: choose of {', '.join(METHODS)}, peers, all")
    known = {*DATASETS, *(case.name for case in cases(list(DATASETS), [1]))}
    for name in set(options.cases) - known:
        parser.error(f"there is no case {name!r}: choose of {', '.join(sorted(known))}")
    if set(options.redo) - set(options.methods):
        parser.error("--redo names a method that --methods leaves out")
    return options


def _wanted(options: argparse.Namespace) -> list[Key]:
    """Return all that was asked for and can be run, method by method in their order; say what cannot."""
    possible = list(_possible(options))
    methods = []
    for name, method in METHODS.items():
        if name in options.methods:
            missing = method.missing()
            if missing:
                print(f"{name} is left out: {missing}")
            else:
                methods.append(name)
    return [(case, number, name) for name in methods for number in range(options.splits) for case in possible]


def _possible(options: argparse.Namespace) -> Iterator[Case]:
    no_usps = False
    for case in cases(options.cases, options.labels):
        if case.dataset == "usps" and no_usps:
            continue
        try:
            given = split(case, 0, options.data)
        except DataError as error:
            no_usps = True
            print(f"USPS is left out: {error}")
            continue
        if given is None:
            print(
                f"{case.name} with {case.n_known} labels is left out: less than {LEAST_LEFT} members would be left to find"
            )
        else:
            yield case


def _one(key: Key, usps: Path | None) -> tuple[Key, Result | str]:
    """Run one method on one split, on one thread; return why not where it raises, so that the others go on."""
    case, number, name = key
    given = split(case, number, usps)
    assert given is not None
    try:
        with threadpool_limits(1):
            started = time.perf_counter()
            found = METHODS[name].find(given.unlabelled, given.sample, number)
            seconds = time.perf_counter() - started
    except Exception as error:  # noqa: BLE001  told, not written: the next run tries again
        return key, f"{type(error).__name__}: {error}"
    return key, _judge(key, found, given.truth, seconds)


def _judge(key: Key, found: Found, truth: np.ndarray, seconds: float) -> Result:
    case, number, name = key
    right = int((found.membership & truth).sum())
    precision, recall = right / max(1, int(found.membership.sum())), right / int(truth.sum())
    f1 = 2 * right / int(found.membership.sum() + truth.sum())
    return Result(
        case.dataset, case.target, case.n_known, number, name, precision, recall, f1,
        float(found.membership.mean()), float(truth.mean()), found.prior, seconds,
    )  # fmt: skip


def _tell(number: int, total: int, key: Key, outcome: Result | str, passed: float) -> None:
    case, split_number, name = key
    said = f"F1 {outcome.f1:.3f}  {outcome.seconds:5.2f} s" if isinstance(outcome, Result) else f"failed: {outcome}"
    title = f"{name:16} {case.name:9} {case.n_known:4} labels, split {split_number}"
    left = passed / number * (total - number) / 60
    print(f"{number:5}/{total}  {title}  {said}  (at this pace {left:.0f} min left)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
