"""Find a class from a few labels: run every method on every case and append each result to a CSV file.

Run ``python -m benchmarks.classes.run --data FOLDER`` with the folder of the data sets (or set ``MOMENTLP_CLASSES``), and
with ``MOMENTLP_USPS`` set to that of the USPS digits. Data sets that are missing are named and left out. Results that the
CSV already holds are not computed again, so a run that was killed can be continued. ``--redo momentlp`` runs one method
again beside the old results of the others; if that run is killed, continue it without ``--redo``. Then
``python -m benchmarks.classes.report`` makes the tables.
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
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from benchmarks.classes.cases import DATASETS, LABELS, MIN_LEFT, SPLITS, Case, Split, cases, find_split
from benchmarks.classes.methods import METHODS, OURS, PRIORS, Found
from benchmarks.classes.results import Key, Result, Results
from momentlp.errors import DataError

EVERYTHING = METHODS | PRIORS
ALIASES = {"all": list(EVERYTHING), "peers": [name for name in METHODS if name != OURS], "priors": list(PRIORS)}
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
    parser.add_argument("--data", type=Path, help="folder of the data sets; default: MOMENTLP_CLASSES")
    parser.add_argument("--out", type=Path, default=OUT, help="the CSV (%(default)s)")
    parser.add_argument("--methods", type=listed, default=["all"], help=f"of {', '.join([*ALIASES, *EVERYTHING])}")
    parser.add_argument(
        "--cases", type=listed, default=list(DATASETS), help=f"of {', '.join(DATASETS)}, or usps-0 and so on"
    )
    parser.add_argument("--labels", type=lambda text: [int(part) for part in text.split(",")], default=list(LABELS))
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--redo", type=listed, default=[], help="methods whose results are dropped first")
    options = parser.parse_args()
    options.methods = [name for given in options.methods for name in ALIASES.get(given, [given])]
    for name in {*options.methods, *options.redo} - set(EVERYTHING):
        parser.error(f"there is no method {name!r}: choose from {', '.join([*ALIASES, *EVERYTHING])}")
    for name in options.cases:
        if name.partition("-")[0] not in DATASETS:
            parser.error(f"there is no data set {name!r}: choose from {', '.join(DATASETS)}")
    if set(options.redo) - set(options.methods):
        parser.error("--redo names a method that --methods leaves out")
    return options


def _list_tasks(options: argparse.Namespace) -> list[Key]:
    """Return the tasks that were asked for and can be run, case by case; print which cannot."""
    methods = []
    for name in options.methods:
        reason = EVERYTHING[name].reason_missing()
        if reason:
            print(f"{name} is left out: {reason}")
        else:
            methods.append(name)
    possible = list(_list_cases(options))
    return [(case, number, name) for number in range(options.splits) for case in possible for name in methods]


def _list_cases(options: argparse.Namespace) -> Iterator[Case]:
    for name in dict.fromkeys(options.cases):
        try:
            wanted = list(cases([name], options.labels, options.data))
        except DataError as error:
            print(f"left out: {error}")
            continue
        for case in wanted:
            if find_split(case, 0, options.data) is None:
                print(f"{case.name} with {case.n_known} labels is left out: fewer than {MIN_LEFT} members would be left")
            else:
                yield case


def _run_one(key: Key, folder: Path | None) -> tuple[Key, Result | str]:
    """Run one method on one split, on one thread. If it raises, return the reason, so that the others continue."""
    case, number, name = key
    given = find_split(case, number, folder)
    if given is None:
        return key, f"fewer than {MIN_LEFT} members are left to find"
    try:
        with threadpool_limits(1):
            started = time.perf_counter()
            found = EVERYTHING[name].find(given.X, given.known, number)
            seconds = time.perf_counter() - started
    except Exception as error:  # noqa: BLE001  printed, not written: the next run tries again
        return key, f"{type(error).__name__}: {error}"
    return key, _judge(key, found, given, seconds)


def _judge(key: Key, found: Found, given: Split, seconds: float) -> Result:
    case, number, name = key
    rest = given.unlabelled
    truth = given.truth[rest]
    precision = recall = f1 = share = average = float("nan")
    if found.members is not None:
        members = found.members[rest]
        right = int((members & truth).sum())
        precision, recall = right / max(1, int(members.sum())), right / int(truth.sum())
        f1, share = 2 * right / int(members.sum() + truth.sum()), float(members.mean())
    if found.scores is not None:
        average = float(average_precision_score(truth, found.scores[rest]))
    calibration = float("nan")
    if found.probability is not None:
        calibration = _calibration_error(found.probability[rest], truth)
    return Result(
        case.dataset, case.target, case.n_known, number, name, precision, recall, f1, average, share,
        float(truth.mean()), len(truth), found.prior, found.low, found.high, calibration,
        seconds,
    )  # fmt: skip


def _calibration_error(probability: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean distance between the probabilities and the share of members, in ten bins of probabilities."""
    bins = np.minimum((probability * 10).astype(int), 9)
    gaps = [abs(probability[bins == number].mean() - truth[bins == number].mean()) for number in np.unique(bins)]
    return float(np.average(gaps, weights=np.bincount(bins)[np.unique(bins)]))


def _print_progress(number: int, total: int, key: Key, outcome: Result | str, passed: float) -> None:
    case, split_number, name = key
    text = (
        f"F1 {outcome.f1:.3f}  prior {outcome.prior:.3f}  {outcome.seconds:5.2f} s"
        if isinstance(outcome, Result)
        else f"failed: {outcome}"
    )
    title = f"{name:16} {case.name:16} {case.n_known:4} labels, split {split_number}"
    left = passed / number * (total - number) / 60
    print(f"{number:5}/{total}  {title}  {text}  (at this pace {left:.0f} min left)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
