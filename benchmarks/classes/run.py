"""Find a class from a few labels: run every method on every case and append each result to a CSV file.

Run ``python -m benchmarks.classes.run --data FOLDER`` with the folder of the USPS digits (or set ``MOMENTLP_USPS``). Without
it, only the other data sets are run. Results that the CSV already holds are not computed again, so a run that was killed can
be continued. ``--redo momentlp`` runs one method again beside the old results of the others; if that run is killed, continue
it without ``--redo``. Then ``python -m benchmarks.classes.report`` makes the tables.
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

from benchmarks.classes.cases import DATASETS, LABELS, MIN_LEFT, SPLITS, Case, cases, split
from benchmarks.classes.methods import METHODS, OURS, Found
from benchmarks.classes.results import Key, Result, Results
from momentlp.errors import DataError

ALIASES = {"all": list(METHODS), "peers": [name for name in METHODS if name != OURS]}
OUT = Path("classes.csv")


def main() -> int:
    """Run what is missing, print the progress, and return the exit status."""
    options = _parse_options()
    results = Results(options.out)
    wanted = _list_tasks(options)
    if options.redo:
        again = {key for key in wanted if key[2] in options.redo}
        print(f"{results.drop(lambda result: result.key in again)} results dropped; they are computed again")
    done = {result.key for result in results.read()}
    tasks = [key for key in wanted if key not in done]
    print(f"{len(wanted) - len(tasks)} results exist, {len(tasks)} are missing", flush=True)
    started, failed = time.perf_counter(), 0
    work = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    for number, (key, outcome) in enumerate(work(delayed(_run_one)(key, options.data) for key in tasks), start=1):
        if isinstance(outcome, Result):
            results.append(outcome)
        else:
            failed += 1
        _print_progress(number, len(tasks), key, outcome, time.perf_counter() - started)
    print(f"{len(tasks) - failed} results added to {options.out}" + (f", {failed} failed" if failed else ""))
    return int(failed > 0)


def _parse_options() -> argparse.Namespace:
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
        parser.error(f"there is no method {name!r}: choose from {', '.join(METHODS)}, peers, all")
    known = {*DATASETS, *(case.name for case in cases(list(DATASETS), [1]))}
    for name in set(options.cases) - known:
        parser.error(f"there is no case {name!r}: choose from {', '.join(sorted(known))}")
    if set(options.redo) - set(options.methods):
        parser.error("--redo names a method that --methods leaves out")
    return options


def _list_tasks(options: argparse.Namespace) -> list[Key]:
    """Return the tasks that were asked for and can be run, method by method; print which cannot."""
    possible = list(_list_cases(options))
    methods = []
    for name, method in METHODS.items():
        if name in options.methods:
            reason = method.reason_missing()
            if reason:
                print(f"{name} is left out: {reason}")
            else:
                methods.append(name)
    return [(case, number, name) for name in methods for number in range(options.splits) for case in possible]


def _list_cases(options: argparse.Namespace) -> Iterator[Case]:
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
            print(f"{case.name} with {case.n_known} labels is left out: fewer than {MIN_LEFT} members would be left to find")
        else:
            yield case


def _run_one(key: Key, usps: Path | None) -> tuple[Key, Result | str]:
    """Run one method on one split, on one thread. If it raises, return the reason, so that the others continue."""
    case, number, name = key
    given = split(case, number, usps)
    assert given is not None
    try:
        with threadpool_limits(1):
            started = time.perf_counter()
            found = METHODS[name].find(given.unlabelled, given.sample, number)
            seconds = time.perf_counter() - started
    except Exception as error:  # noqa: BLE001  printed, not written: the next run tries again
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


def _print_progress(number: int, total: int, key: Key, outcome: Result | str, passed: float) -> None:
    case, split_number, name = key
    text = f"F1 {outcome.f1:.3f}  {outcome.seconds:5.2f} s" if isinstance(outcome, Result) else f"failed: {outcome}"
    title = f"{name:16} {case.name:9} {case.n_known:4} labels, split {split_number}"
    left = passed / number * (total - number) / 60
    print(f"{number:5}/{total}  {title}  {text}  (at this pace {left:.0f} min left)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
