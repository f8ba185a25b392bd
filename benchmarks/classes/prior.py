"""Measure the error of the class prior and the coverage of its interval: USPS zeros from 100 labels, many splits.

Run ``python -m benchmarks.classes.prior --data FOLDER`` with the folder of the USPS digits. Splits that the results already
hold are not run again. With ``--docs FOLDER`` it writes ``prior.md`` there.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from momentlp import MomentClassifier
from momentlp.datasets.usps import load_usps, usps_split
from momentlp.errors import DataError

FIELDS = ("digit", "n_known", "split", "resamples", "level", "truth", "estimate", "low", "high")


def measure(X: np.ndarray, labels: np.ndarray, split: int, options: argparse.Namespace) -> dict[str, float]:
    """Fit on one split and compute the interval of the class prior."""
    unlabelled, truth, sample = usps_split(X, labels, options.labels, split, options.digit)
    points = np.vstack([unlabelled, sample])
    y = np.repeat([0, 1], [len(unlabelled), len(sample)])
    model = MomentClassifier(random_state=split).fit(points, y)
    found = model.class_prior_interval(options.level, options.resamples, progress=False)
    return {
        "digit": options.digit, "n_known": options.labels, "split": split, "resamples": options.resamples,
        "level": options.level, "truth": float(truth.mean()), "estimate": model.class_prior_,
        "low": found.low, "high": found.high,
    }  # fmt: skip


def format_page(rows: list[dict[str, float]]) -> str:
    """Return the page."""
    truth, estimate, low, high = (np.array([float(row[name]) for row in rows]) for name in FIELDS[-4:])
    error = estimate - truth
    covered = int(((low <= truth) & (truth <= high)).sum())
    first = rows[0]
    return f"""# The class prior, and how sure it is

`python -m benchmarks.classes.prior`: USPS, digit {first["digit"]}, {first["n_known"]} labelled points, 6198 unlabelled;
`MomentClassifier()` at its defaults, intervals from {first["resamples"]} bootstrap samples.

| what | value |
|---|---|
| splits | {len(rows)} |
| true share, mean | {truth.mean():.4f} |
| mean absolute error of `class_prior_` | {np.abs(error).mean():.4f} |
| mean error (found less true) | {error.mean():+.4f} |
| largest absolute error | {np.abs(error).max():.4f} |
| intervals at {float(first["level"]):.0%} that cover the truth | {covered} of {len(rows)} |
| width of the intervals, median | {np.median(high - low):.4f} |
"""


def main() -> None:
    """Run the missing splits, print the page, and write it if --docs is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of the USPS digits; default: MOMENTLP_USPS")
    parser.add_argument("--out", type=Path, default=Path("prior.csv"), help="CSV of the results (%(default)s)")
    parser.add_argument("--docs", type=Path, help="folder to write prior.md to")
    parser.add_argument("--digit", type=int, default=0)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    try:
        X, labels = load_usps(options.data)
    except DataError as error:
        sys.exit(str(error))
    settings = ("digit", "n_known", "resamples", "level")
    asked = (options.digit, options.labels, options.resamples, options.level)
    rows = list(csv.DictReader(options.out.open())) if options.out.exists() else []
    rows = [row for row in rows if tuple(float(row[name]) for name in settings) == asked and row["high"]]
    left = sorted(set(range(options.splits)) - {int(row["split"]) for row in rows})
    with options.out.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        if not stream.tell():
            writer.writeheader()
        work = (delayed(measure)(X, labels, split, options) for split in left)
        for done, row in enumerate(Parallel(n_jobs=options.jobs, return_as="generator")(work), 1):
            writer.writerow(row)
            stream.flush()
            rows.append({name: str(value) for name, value in row.items()})
            interval = f"[{row['low']:.4f}, {row['high']:.4f}]"
            print(f"{done} of {len(left)}: {row['estimate']:.4f} in {interval}, true {row['truth']:.4f}", flush=True)
    page = format_page(rows)
    print(page)
    if options.docs:
        (options.docs / "prior.md").write_text(page)


if __name__ == "__main__":
    main()
