"""Make the tables and the picture from the results of ``benchmarks.classes.run``.

Run ``python -m benchmarks.classes.report --results classes.csv`` to print the page. With ``--docs
docs/results/benchmarks`` it writes ``classes.md``, ``classes.png`` and ``classes.csv`` (the means) there. Several files of
results are taken together. ``--splits 3`` compares the first three splits only, for methods that ran on no more.
"""

from __future__ import annotations

import argparse
import csv
import math
import platform
import statistics
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from benchmarks.classes.cases import DATASETS, MIN_LEFT, TITLES
from benchmarks.classes.draw import draw
from benchmarks.classes.methods import METHODS, OURS
from benchmarks.classes.results import Result, Results
from benchmarks.classes.summary import Row, gather_rows, mean_over, rank_methods
from benchmarks.common.report import format_markdown, package_version

ABOUT = f"""A class is to be found among unlabelled points from a few known members, and nothing else: no negatives, no share
of the class. Every method is at its defaults or selects its settings without negatives, by Lee and Liu's criterion: (recall
of known members that were left out) squared over the share that is found. None sees the truth. What a peer
leaves open (a base estimator, scaling, the minimum recall of a cut) was chosen on other splits than these.

USPS: each digit against the rest, 6198 images unlabelled, the known ones drawn from the other 3100. Other data: the known
members are drawn from the class, all other rows are unlabelled; the columns of breast cancer and wine are standardised for
everyone, and cases that would leave less than {MIN_LEFT} members to find are left out (most of wine). A row is a class and
a number of labels; its figures are means over {{splits}} random splits, the same for all methods, ± their standard error."""
RULE = """*Packaged peers* are all methods but the graph walk. *Within one standard error of first* means: the mean F1 of
momentlp is no more than one standard error of the mean of the best method below that mean."""
REASONS = """*Why* is what the figures say: momentlp misses more members than the method that is first, or takes in more
others. Our reading of it: the set is held to the labelled mean of some smooth functions of the graph, so a part of the class
that those hardly see may be left out, and a neighbour that they hardly distinguish taken in. The walk and the bagged machine
go by nearness to labelled points alone.

"""
MEANS = ("precision", "recall", "share", "true_share", "prior", "seconds")
PACKAGES = ("momentlp", "scikit-learn", "pulearn", "numpy", "scipy")


def build_page(results: Sequence[Result], picture: str) -> str:
    """Return the page as Markdown."""
    rows = gather_rows(results)
    names = rank_methods(rows)
    sections = [
        ("", ABOUT.format(splits=_count_splits(rows))),
        ("In short", _summarise(rows)),
        ("Mean F1 over the classes", f"![F1 against the number of labels]({picture})\n\n{_table_of_means(rows, names)}"),
        ("USPS zeros", "Precision / recall, means over the splits.\n\n" + _table_of_zeros(rows, names)),
        ("How large is the class?", _table_of_shares(rows, names)),
        ("Where momentlp is not first", _table_of_losses(rows)),
        *((f"{TITLES[dataset]}, F1 of every row", _table_of_f1(rows, names, dataset)) for dataset in _datasets(rows)),
        ("The methods", _table_of_methods(results, names)),
    ]
    text = ["# Find a class from a few labels", *(f"## {head}\n\n{body}" if head else body for head, body in sections)]
    return "\n\n".join([*text, _describe_origin()]) + "\n"


def _count_splits(rows: Sequence[Row]) -> str:
    counts = sorted({row.splits for row in rows})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _summarise(rows: Sequence[Row]) -> str:
    lines = []
    for title, chosen in (("USPS", [row for row in rows if row.case.dataset == "usps"]), ("all data", rows)):
        ours = [row for row in chosen if OURS in row.f1]
        if not ours:
            lines.append(f"- {title}: momentlp was not run.")
            continue
        ahead, first, near = (
            sum(map(test, ours)) for test in (Row.is_ahead, lambda row: row.first() == OURS, Row.is_near_first)
        )
        lines.append(
            f"- {title}, {len(ours)} rows: momentlp is ahead of every packaged peer in {ahead}; with the graph walk "
            f"counted, it is first in {first}, and first or within one standard error of first in {near}."
        )
    return "\n".join([*lines, *_list_incomplete(rows), "", RULE])


def _list_incomplete(rows: Sequence[Row]) -> Iterator[str]:
    """Name the methods that did not run on all rows, so that readers do not think that they were worse."""
    for name, method in METHODS.items():
        n_rows = sum(name in row.f1 for row in rows)
        if n_rows < len(rows):
            yield f"- Not complete: {method.title} ran on all splits of {n_rows} rows of {len(rows)} only."


def _table_of_means(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return mean F1 by data set and number of labels."""
    table = []
    for dataset in _datasets(rows):
        for n_known in _labels(rows, dataset):
            chosen = _rows(rows, dataset, n_known)
            figures = {name: mean_over(chosen, name, attrgetter("f1")) for name in names}
            head = {"data": TITLES[dataset], "classes": str(len(chosen)), "labels": str(n_known)}
            table.append(head | _mark_best({name: (figures[name], f"{figures[name]:.3f}") for name in names}))
    return format_markdown(table)


def _table_of_f1(rows: Sequence[Row], names: Sequence[str], dataset: str) -> str:
    table = []
    for row in rows:
        if row.case.dataset == dataset:
            head = {"class": str(row.case.target), "labels": str(row.case.n_known)}
            cells = {name: (row.f1[name], f"{row.f1[name]:.3f} ± {row.error(name):.3f}") for name in names if name in row.f1}
            table.append(head | _mark_best({name: cells.get(name, (math.nan, "-")) for name in names}))
    return format_markdown(table)


def _table_of_zeros(rows: Sequence[Row], names: Sequence[str]) -> str:
    zeros = [row for row in rows if (row.case.dataset, row.case.target) == ("usps", 0)]
    if not zeros:
        return "USPS was not run."
    table = []
    for name in names:
        pairs = {row.case.n_known: [row.mean(name, attrgetter(kind)) for kind in ("precision", "recall")] for row in zeros}
        cells = {f"{n_known} labels": " / ".join(map(_three_decimals, pair)) for n_known, pair in pairs.items()}
        table.append({"method": METHODS[name].title} | cells)
    return format_markdown(table)


def _table_of_shares(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return how far the share that is found is from the true one."""
    kinds: list[tuple[str, str, Callable[[Result], float]]] = [
        (METHODS[name].title, name, lambda result: abs(result.share - result.true_share)) for name in names
    ]
    if OURS in names:
        kinds.insert(1, ("momentlp, `class_prior_`", OURS, lambda result: abs(result.prior - result.true_share)))
    table = [
        {"method": title}
        | {TITLES[data]: _three_decimals(mean_over(_rows(rows, data), name, value)) for data in _datasets(rows)}
        for title, name, value in kinds
    ]
    return "Mean distance between the share of the unlabelled points that is found and the true one.\n\n" + format_markdown(
        table
    )


def _table_of_losses(rows: Sequence[Row]) -> str:
    table = []
    for row in rows:
        first = row.first()
        if OURS not in row.f1 or first == OURS:
            continue
        table.append(
            {
                "data": TITLES[row.case.dataset],
                "class": str(row.case.target),
                "labels": str(row.case.n_known),
                "momentlp": f"{row.f1[OURS]:.3f}",
                "first": METHODS[first].title,
                "its F1": f"{row.f1[first]:.3f}",
                "behind": f"{row.f1[first] - row.f1[OURS]:.3f}",
                "why": _explain(row, first),
                "error of its mean": f"{row.error(first):.3f}",
                "error of the paired difference": f"{row.paired_error(first):.3f}",
                "within one error of its mean": "yes" if row.is_near_first() else "no",
            }
        )
    return (
        REASONS + format_markdown(table)
        if table
        else "Nowhere."
        if any(OURS in row.f1 for row in rows)
        else "momentlp was not run."
    )


def _explain(row: Row, first: str) -> str:
    """Say whether momentlp misses more members than the method that is first, or takes in more others."""
    ours, theirs = ([row.mean(name, attrgetter(kind)) for kind in ("precision", "recall")] for name in (OURS, first))
    kind = 0 if theirs[0] - ours[0] > theirs[1] - ours[1] else 1
    reason, metric = ("takes in more", "misses more")[kind], ("precision", "recall")[kind]
    return f"{reason}: {metric} {ours[kind]:.3f}, not {theirs[kind]:.3f}"


def _table_of_methods(results: Sequence[Result], names: Sequence[str]) -> str:
    table = []
    for name in names:
        seconds = [result.seconds for result in results if result.method == name and result.dataset == "usps"]
        median = f"{statistics.median(seconds):.2f}" if seconds else "-"
        title = METHODS[name].title + ("" if METHODS[name].packaged else " (not packaged)")
        table.append({"method": title, "what it is": METHODS[name].remark, "seconds": median})
    return (
        "*Seconds* is the median for one class of USPS, on one thread of a machine that did other work too.\n\n"
        + format_markdown(table)
    )


def _mark_best(cells: dict[str, tuple[float, str]]) -> dict[str, str]:
    """Name the columns by the titles of the methods; the largest figure, as printed, is bold."""
    best = max((round(value, 3) for value, _ in cells.values() if not math.isnan(value)), default=math.nan)
    return {
        METHODS[name].title: "-" if math.isnan(value) else f"**{text}**" if round(value, 3) == best else text
        for name, (value, text) in cells.items()
    }


def _datasets(rows: Sequence[Row]) -> Iterator[str]:
    return (dataset for dataset in DATASETS if _rows(rows, dataset))


def _labels(rows: Sequence[Row], dataset: str) -> list[int]:
    return sorted({row.case.n_known for row in _rows(rows, dataset)})


def _rows(rows: Sequence[Row], dataset: str, n_known: int | None = None) -> list[Row]:
    return [row for row in rows if row.case.dataset == dataset and n_known in (None, row.case.n_known)]


def _three_decimals(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


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
        table.writerow(["dataset", "class", "labels", "method", "splits", "f1", "error", *MEANS])
        for row in rows:
            for name in row.results:
                means = [row.f1[name], row.error(name), *(row.mean(name, attrgetter(head)) for head in MEANS)]
                head = [row.case.dataset, row.case.target, row.case.n_known, name, row.splits]
                table.writerow([*head, *(f"{mean:.5f}" for mean in means)])


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
