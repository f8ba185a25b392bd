"""Which epsilon gives the paper's curves: on the sum, on the mean, in standard errors, and with a margin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.experiments.engine.digit_images import Digits, split
from momentlp.experiments.engine.journal import Record
from momentlp.experiments.engine.metrics import precision_recall_f1
from momentlp.experiments.engine.report import Claim, Report, Table, mean_rows
from momentlp.experiments.engine.runner import Experiment, Settings, Task
from momentlp.experiments.paper.sample_sizes import SPLITS, scale_sizes
from momentlp.points.arrays import FloatArray
from momentlp.solving.tolerance_path import path
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import Absolute, Relative, StandardError, Tolerance

__all__ = ["EPSILON"]

WIDTHS: dict[str, tuple[Tolerance, tuple[float, ...]]] = {  # on the paper's images; scaled for others
    "sum": (Absolute(1.0), (200.0, 100.0, 80.0, 60.0, 45.0, 35.0, 30.0, 25.0, 20.0, 10.0, 5.0)),
    "mean": (Relative(1.0), (0.2, 0.1, 0.06, 0.045, 0.035, 0.03, 0.025, 0.02, 0.01, 0.005)),
    "standard errors": (StandardError(1.0), (3.0, 2.0, 1.5, 1.2, 1.1, 1.0, 0.9, 0.8, 0.6, 0.4)),
}
MARGINS = (0.05, 0.1, 0.15, 0.2, 0.3)
TOLERANCE_KINDS = {"sum": "on the sum", "mean": "on the mean", "standard errors": "in standard errors"}
FIRST_SIZES = {"precision": 100, "recall": 300}  # labels from which on the paper's curves are at 90%


def sweep(X: FloatArray, labels: NDArray[np.int64], n_apart: int, size: int, scale: float, number: int) -> list[Record]:
    """Find the zeros of one split at every tolerance; each program starts from the solution of the one before."""
    unlabelled, truth, sample = split(X, labels, size, n_apart, number)
    records = []
    for kind, (tolerance, given) in WIDTHS.items():
        widths = tuple(round(width * scale, 6) for width in given) if kind == "sum" else given
        problem = Spec(tolerance=tolerance).compile(unlabelled, sample=sample)
        for width, solution in zip(widths, path(problem, widths, relative=True), strict=True):
            about = {"kind": kind, "tolerance": width, "labels": size, "split": number}
            records.append({**about, "margin": 0.0, **precision_recall_f1(solution.membership > 0.5, truth)})
            if kind == "sum":
                records += [{**about, "margin": cut, **precision_recall_f1(solution.scores > cut, truth)} for cut in MARGINS]
    return records


def sweep_tasks(settings: Settings) -> Iterator[Task]:
    """One task for each split and size."""
    data = settings.digits
    for number in settings.split_numbers(SPLITS):
        for size in scale_sizes(data):
            yield Task(
                f"{size} labels, split {number}",
                partial(sweep, data.X, data.labels, data.n_apart, size, data.epsilon / 30.0, number),
            )


def sweep_report(settings: Settings, records: list[Record]) -> Report:
    """Report which tolerance comes nearest to the paper's curves, and draw precision against recall."""
    data = settings.digits
    everything = mean_rows(records, ["kind", "tolerance", "margin", "labels"], ["precision", "recall"])
    means = [row for row in everything if row["margin"] == 0.0]
    sizes, table = scale_sizes(data), []
    for kind, tolerance in dict.fromkeys((row["kind"], row["tolerance"]) for row in means):
        own = {row["labels"]: row for row in means if (row["kind"], row["tolerance"]) == (kind, tolerance)}
        cells = {f"{size} labels": f"{own[size]['precision']:.3f} / {own[size]['recall']:.3f}" for size in sizes}
        short = max(0.9 - _lowest_mean(own, figure, data.nearest_size(FIRST_SIZES[figure])) for figure in FIRST_SIZES)
        table.append({"tolerance on": kind, "epsilon": f"{tolerance:g}", **cells, "short of 90%": max(0.0, short)})
    claims = []
    for kind in WIDTHS:
        best = min((row for row in table if row["tolerance on"] == kind), key=lambda row: row["short of 90%"])
        claims.append(
            Claim(
                f"epsilon {TOLERANCE_KINDS[kind]} that comes nearest to the paper's levels",
                "not given",
                f"{best['epsilon']}: short of them by {best['short of 90%']:.1%}",
            )
        )
    title = (
        f"{data.title}, precision / recall, means over {means[0]['n']} splits. The paper's levels are precision of 90% from "
        f"{data.nearest_size(100)} labels on and recall of 90% from {data.nearest_size(300)} on; the last column is by "
        "how much the worst of these means misses them."
    )
    margins = (
        f"{data.title}, tolerance on the sum: by how much the worst of the paper's levels is missed if only images with a "
        "score above a margin are taken (0.0: h above 1/2)."
    )
    tables = [Table("epsilon", title, table), Table("margins", margins, _margin_rows(data, everything))]
    return Report(tables, claims, {"epsilon": partial(_draw, means, sizes)})


def _margin_rows(data: Digits, means: Sequence[Record]) -> list[Record]:
    rows = []
    for tolerance in dict.fromkeys(row["tolerance"] for row in means if row["kind"] == "sum"):
        cells: Record = {"epsilon": f"{tolerance:g}"}
        for cut in (0.0, *MARGINS):
            chosen = [row for row in means if (row["kind"], row["tolerance"], row["margin"]) == ("sum", tolerance, cut)]
            own = {row["labels"]: row for row in chosen}
            worst = min(_lowest_mean(own, figure, data.nearest_size(FIRST_SIZES[figure])) for figure in FIRST_SIZES)
            cells[f"margin {cut:g}"] = max(0.0, 0.9 - worst)
        rows.append(cells)
    return rows


def _lowest_mean(own: dict[int, Record], figure: str, start: int) -> float:
    return min(float(row[figure]) for size, row in own.items() if size >= start)


def _draw(means: Sequence[Record], sizes: Sequence[int]) -> Any:
    """Draw precision against recall for all tolerances, a panel for each kind of tolerance."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(11.4, 4.2), layout="constrained")
    panels = figure.subplots(1, len(WIDTHS), sharex=True, sharey=True)
    colours = colormaps["viridis"](np.linspace(0.05, 0.85, len(sizes)))
    for axes, kind in zip(panels, WIDTHS, strict=True):
        for size, colour in zip(sizes, colours, strict=True):
            rows = [row for row in means if (row["kind"], row["labels"]) == (kind, size)]
            axes.plot(
                [row["recall"] for row in rows], [row["precision"] for row in rows],
                color=colour, marker="o", markersize=3.5, linewidth=1.3, label=f"{size} labels",
            )  # fmt: skip
            if size == sizes[-1]:
                for row in rows[::3]:
                    position = (row["recall"], row["precision"])
                    axes.annotate(f"{row['tolerance']:g}", position, (4, 4), textcoords="offset points", fontsize=8)
        axes.axhline(0.9, color="black", linewidth=0.7, linestyle=":")
        axes.axvline(0.9, color="black", linewidth=0.7, linestyle=":")
        axes.set_title(f"tolerance {TOLERANCE_KINDS[kind]}", fontsize=10)
        axes.set_xlabel("recall")
        axes.grid(color="#e8ebee", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("precision")
    panels[0].set_xlim(0.3, 1.0)  # lower values do not matter to users
    panels[0].set_ylim(0.6, 1.0)
    panels[0].legend(frameon=False, fontsize=9, loc="lower left")
    return figure


EPSILON = Experiment("epsilon", "Which epsilon?", sweep_tasks, sweep_report)
