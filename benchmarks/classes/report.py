"""Make the tables and the picture from the results of ``benchmarks.classes.run``.

Run ``python -m benchmarks.classes.report --results classes.csv`` to print the page. With ``--docs
docs/results/benchmarks`` it writes ``classes.md``, ``classes.png`` and ``classes.csv`` (the means) there.
"""

from __future__ import annotations

import argparse
import csv
import math
import platform
import statistics
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

import numpy as np

from benchmarks.classes.cases import CHOSEN_ON, DATASETS, LABELS, MAX_POINTS, MIN_LEFT, REPORTED_ON
from benchmarks.classes.draw import draw
from benchmarks.classes.methods import METHODS, OURS, PRIORS
from benchmarks.classes.results import Result, Results
from benchmarks.classes.summary import OWN, Row, Value, gather_rows, mean_over_sets, rank_methods
from benchmarks.common.report import format_markdown, package_version

ABOUT = f"""A class is to be found from a few labelled members, and nothing else: no negatives, no share of the class. No
method sees the truth. F1 is over the unlabelled points.

There are fifteen data sets, in two halves. Everything that could be chosen, for momentlp and for the peers, was chosen on
one half: {", ".join(CHOSEN_ON)}. The other half shows whether it
holds elsewhere: {", ".join(REPORTED_ON)}. From each set {MAX_POINTS:,} points are drawn
(all, if there are fewer) and {", ".join(map(str, LABELS[:-1]))} or {LABELS[-1]} members labelled; rows
that would leave less than {MIN_LEFT} members to find are left out. Figures are means over {{splits}}; a mean over data sets
counts each data set once."""
F1 = attrgetter("f1")
MEANS = (
    "precision",
    "recall",
    "f1",
    "average_precision",
    "share",
    "true_share",
    "prior",
    "low",
    "high",
    "calibration",
    "seconds",
)
PACKAGES = ("momentlp", "scikit-learn", "pulearn", "numpy", "scipy")


def build_page(results: Sequence[Result], picture: str) -> str:
    """Return the page as Markdown."""
    rows = gather_rows(results)
    names = rank_methods(rows)
    chosen, reported = _half(rows, CHOSEN_ON), _half(rows, REPORTED_ON)
    sections = [
        ("", ABOUT.format(splits=_draws(chosen, reported))),
        ("In short", _summarise(reported)),
        ("Mean F1", f"![F1 against the number of labels]({picture})\n\n{_table_of_means(chosen, reported, names, F1)}"),
        ("Wins, ties and losses", _table_of_outcomes(rows)),
        ("Average precision", _table_of_means(chosen, reported, names, attrgetter("average_precision"))),
        ("How large is the class?", _table_of_priors(chosen, reported)),
        ("F1 on each data set", _table_of_sets(rows, names)),
        ("Where momentlp is behind", _table_of_losses(rows)),
        ("The methods", _table_of_methods(results, names)),
    ]
    text = ["# Find a class from a few labels", *(f"## {head}\n\n{body}" if head else body for head, body in sections)]
    return "\n\n".join([*text, _describe_origin()]) + "\n"


def _draws(chosen: Sequence[Row], reported: Sequence[Row]) -> str:
    """Return the number of draws in words: one number, or one for each half."""
    numbers = [max((row.splits for row in half), default=0) for half in (chosen, reported)]
    words = ["one draw" if number == 1 else f"{number} draws" for number in numbers]
    if numbers[0] == numbers[1] or not all(numbers):
        return words[int(numbers[1] > 0)]
    return f"{words[1]} on the half that is reported on, and {words[0]} on the other"


def _half(rows: Sequence[Row], names: Sequence[str], n_known: int | None = None) -> list[Row]:
    return [row for row in rows if row.case.dataset in names and n_known in (None, row.case.n_known)]


def _summarise(reported: Sequence[Row]) -> str:
    """Compare momentlp with the best single peer, on the half that nothing was chosen on."""
    lines = []
    for n_known in LABELS:
        rows = [row for row in reported if row.case.n_known == n_known]
        if not rows:
            continue
        means = {name: mean_over_sets(rows, name, F1) for name in METHODS if name not in OWN}
        best = max((name for name in means if not math.isnan(means[name])), key=means.__getitem__)
        ours = mean_over_sets(rows, OURS, F1)
        lines.append(
            f"- {n_known} labels: momentlp {ours:.3f}, the best peer ({METHODS[best].title}) {means[best]:.3f}, "
            f"difference {ours - means[best]:+.3f}."
        )
    counts = Counter(row.outcome() for row in reported)
    near = counts["win"] + counts["tie"]
    lines.append(
        f"- Of {len(reported)} rows momentlp is ahead of all {len(METHODS) - len(OWN)} peers in {counts['win']}, and first "
        f"or within one standard error of the first in {near} ({near / max(1, len(reported)):.0%})."
    )
    return "On the half of the data sets that nothing was chosen on:\n\n" + "\n".join(lines)


def _table_of_means(chosen: Sequence[Row], reported: Sequence[Row], names: Sequence[str], value: Value) -> str:
    columns = {
        f"{title}, {n_known}": [row for row in rows if row.case.n_known == n_known]
        for title, rows in (("reported on", reported), ("chosen on", chosen))
        for n_known in LABELS
    }
    columns = {head: rows for head, rows in columns.items() if rows}
    figures = {name: {head: mean_over_sets(rows, name, value) for head, rows in columns.items()} for name in names}
    best = {head: max(round(row[head], 3) for row in figures.values() if not math.isnan(row[head])) for head in columns}
    table = [
        {"method": METHODS[name].title} | {head: _mark(figures[name][head], best[head]) for head in columns}
        for name in names
    ]
    return format_markdown(table)


def _mark(value: float, best: float) -> str:
    return "-" if math.isnan(value) else f"**{value:.3f}**" if round(value, 3) == best else f"{value:.3f}"


def _table_of_outcomes(rows: Sequence[Row]) -> str:
    table = []
    for title, names in (("reported on", REPORTED_ON), ("chosen on", CHOSEN_ON)):
        for n_known in LABELS:
            counts = Counter(row.outcome() for row in _half(rows, names, n_known))
            if counts:
                head = {"half": title, "labels": str(n_known)}
                table.append(head | {kind: str(counts[kind]) for kind in ("win", "tie", "loss")})
    return (
        "Against the best of all peers, row by row. *Tie*: behind by at most one standard error of the best peer's F1.\n\n"
        + format_markdown(table)
    )


def _table_of_priors(chosen: Sequence[Row], reported: Sequence[Row]) -> str:
    """Return the mean absolute error of the class prior, and how often our intervals cover it."""
    columns = [(f"{title}, {n_known}", [row for row in rows if row.case.n_known == n_known])
               for title, rows in (("reported on", reported), ("chosen on", chosen)) for n_known in LABELS]  # fmt: skip
    columns = [(head, rows) for head, rows in columns if rows]
    table = []
    for name, method in ({OURS: METHODS[OURS]} | PRIORS | {"graph": METHODS["graph"]}).items():
        cells = {head: mean_over_sets(rows, name, lambda r: abs(r.prior - r.true_share)) for head, rows in columns}
        table.append({"estimate": method.title} | {head: "-" if math.isnan(v) else f"{v:.3f}" for head, v in cells.items()})
    covered = {
        head: np.mean([r.low <= r.true_share <= r.high for row in rows for r in row.results[OURS]]) for head, rows in columns
    }
    table.append({"estimate": "90% intervals of momentlp that cover"} | {head: f"{v:.0%}" for head, v in covered.items()})
    calibration = {head: mean_over_sets(rows, OURS, attrgetter("calibration")) for head, rows in columns}
    table.append(
        {"estimate": "calibration error of `predict_proba`"} | {head: f"{v:.3f}" for head, v in calibration.items()}
    )
    return (
        "Mean absolute error of the share of the class among the unlabelled points. The calibration error is the "
        "mean distance between probabilities and shares of members, in ten bins of probabilities.\n\n"
        + format_markdown(table)
    )


def _table_of_sets(rows: Sequence[Row], names: Sequence[str]) -> str:
    table = []
    for dataset in DATASETS:
        for n_known in LABELS:
            chosen = _half(rows, (dataset,), n_known)
            if chosen:
                figures = {name: mean_over_sets(chosen, name, F1) for name in names}
                best = max(round(value, 3) for value in figures.values() if not math.isnan(value))
                half = "reported on" if dataset in REPORTED_ON else "chosen on"
                head = {"data": dataset, "half": half, "labels": str(n_known), "classes": str(len(chosen))}
                table.append(head | {METHODS[name].title: _mark(figures[name], best) for name in names})
    return format_markdown(table)


def _table_of_losses(rows: Sequence[Row]) -> str:
    table = []
    for row in rows:
        best = row.best_peer()
        behind = row.f1[best] - row.f1[OURS]
        if row.outcome() == "loss" and behind > 0.03:
            table.append(
                {
                    "data": row.case.dataset, "class": row.case.target, "labels": str(row.case.n_known),
                    "momentlp": f"{row.f1[OURS]:.3f}", "best peer": METHODS[best].title, "its F1": f"{row.f1[best]:.3f}",
                    "why": _explain(row, best),
                }
            )  # fmt: skip
    text = (
        "Rows in which the best of all peers, chosen afterwards, is ahead by more than 0.03 and by more than its standard "
        "error. *Why*: the cut, if momentlp ranks as well as the peer (its average precision is no more than 0.02 lower); "
        "otherwise the ranking.\n\n"
    )
    return text + format_markdown(table) if table else "Nowhere."


def _explain(row: Row, best: str) -> str:
    ours, theirs = (row.mean(name, attrgetter("average_precision")) for name in (OURS, best))
    shares = row.mean(OURS, attrgetter("share")), row.mean(OURS, attrgetter("true_share"))
    cut = f"found {shares[0]:.3f} of the points, true {shares[1]:.3f}"
    return f"the cut: {cut}" if ours >= theirs - 0.02 else f"the ranking: average precision {ours:.2f}, not {theirs:.2f}"


def _table_of_methods(results: Sequence[Result], names: Sequence[str]) -> str:
    table = []
    for name, method in (METHODS | PRIORS).items():
        seconds = [result.seconds for result in results if result.method == name]
        if seconds and (name in names or name in PRIORS):
            table.append(
                {"method": method.title, "what it is": method.remark, "seconds": f"{statistics.median(seconds):.1f}"}
            )
    return "*Seconds* is the median of one fit, on one thread of a machine that did other work too.\n\n" + format_markdown(
        table
    )


def _describe_origin() -> str:
    versions = ", ".join(f"{package} {package_version(package)}" for package in PACKAGES)
    return (
        "Made by `python -m benchmarks.classes.run` and `python -m benchmarks.classes.report --docs "
        f"docs/results/benchmarks` with Python {platform.python_version()}, {versions}."
    )


def _write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write the means behind the tables, one line for each row and method."""
    with path.open("w", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(["dataset", "class", "labels", "method", "splits", *MEANS])
        for row in rows:
            for name in row.results:
                means = [row.mean(name, attrgetter(head)) for head in MEANS]
                head = [row.case.dataset, row.case.target, row.case.n_known, name, row.splits]
                table.writerow([*head, *("" if math.isnan(mean) else f"{mean:.4f}" for mean in means)])


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, nargs="+", default=[Path("classes.csv")], help="files that run.py wrote")
    parser.add_argument("--splits", type=int, help="how many splits, from the first on; default: all")
    parser.add_argument("--docs", type=Path, help="folder to write to; without it, the page is printed")
    options = parser.parse_args()
    results = [result for path in options.results for result in Results(path).read()]
    results = [result for result in results if options.splits is None or result.split < options.splits]
    if not results:
        parser.error(f"no results in {', '.join(map(str, options.results))}: run python -m benchmarks.classes.run first")
    text = build_page(results, "classes.png")
    if options.docs is None:
        print(text)
        return
    options.docs.mkdir(parents=True, exist_ok=True)
    (options.docs / "classes.md").write_text(text)
    _write_rows(options.docs / "classes.csv", gather_rows(results))
    draw(options.docs / "classes.png", gather_rows(results))
    print(f"written: classes.md, classes.csv and classes.png in {options.docs}")


if __name__ == "__main__":
    main()
