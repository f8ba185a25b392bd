"""The paper's main figure: precision and recall by the size of the labelled sample.

Every split sets 3100 images apart and draws samples of 25 to 500 zeros from them. The mean of each sample is used to
find the zeros among the other 6198 images.

Both rules of :mod:`~momentlp.experiments.paper.set_rules` turn the solution into a set, each with one epsilon for all sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.experiments.engine.digit_images import split
from momentlp.experiments.engine.journal import Record
from momentlp.experiments.engine.metrics import precision_recall_f1
from momentlp.experiments.engine.report import Claim, Report, Table, mean_rows
from momentlp.experiments.engine.runner import Experiment, Settings, Task
from momentlp.experiments.paper.set_rules import HALF_RULE, MARGIN, MARGIN_RULE, RULES, apply_rule
from momentlp.plots import BLUE, GREY, RED
from momentlp.points.arrays import FloatArray
from momentlp.solving.solve_problem import solve
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import Absolute

__all__ = ["USPS_CURVES", "draw_curve", "lowest_mean_from", "style_axes"]

FIGURES = ("precision", "recall")
LEVEL = 0.9
EPSILON_FACTORS = {HALF_RULE: 1.0, MARGIN_RULE: 2.1}  # by rule: what epsilon is multiplied by
FIRST_SIZES = {"precision": 100, "recall": 300}  # number of labels from which on the paper's curves are at 90%


def measure(
    X: FloatArray, labels: NDArray[np.int64], n_apart: int, sizes: Sequence[int], eps: float, number: int
) -> list[Record]:
    """Find the zeros of one split from samples of every size."""
    records = []
    for size in sizes:
        unlabelled, truth, sample = split(X, labels, size, n_apart, number)
        about = {"split": number, "labels": size, "drawn": len(sample), "zeros": int(truth.sum())}
        solution = None
        for rule, factor in EPSILON_FACTORS.items():
            problem = Spec(tolerance=Absolute(factor * eps)).compile(unlabelled, sample=sample)
            solution = solve(problem, start=solution)
            proof = {"objective": solution.objective, "gap": solution.certificate.gap, "status": solution.status.value}
            records.append({"reading": rule, **about, **precision_recall_f1(apply_rule(solution, rule), truth), **proof})
    return records


def tasks(settings: Settings) -> Iterator[Task]:
    """One task for each split."""
    data = settings.digits
    for number in settings.split_numbers():
        yield Task(f"split {number}", partial(measure, data.X, data.labels, data.n_apart, data.sizes, settings.eps, number))


def report(settings: Settings, records: list[Record]) -> Report:
    """Average over the splits, and compare with the levels of the paper."""
    data, eps = settings.digits, settings.eps
    rows = mean_rows(records, ["reading", "labels"], FIGURES, quantiles=True)
    own = {rule: [row for row in rows if row["reading"] == rule] for rule in EPSILON_FACTORS}
    claims = [
        Claim("zeros among the unlabelled images, mean", "1046", f"{np.mean([record['zeros'] for record in records]):.0f}")
    ]
    for rule, factor in EPSILON_FACTORS.items():
        stated = f"eps = {factor * eps:g}, {RULES[rule]}"
        for figure in FIGURES:
            start = data.nearest_size(FIRST_SIZES[figure])
            lowest = lowest_mean_from(own[rule], figure, start)
            here = f"at least {lowest:.1%} ({stated})"
            holds, rounded = round(lowest, 2) >= LEVEL, lowest < LEVEL
            claims.append(Claim(f"{figure} from {start} labels on", f"{LEVEL:.0%}", here, holds, rounded))
        last = own[rule][-1]
        here = f"{last['precision']:.1%} / {last['recall']:.1%} ({stated})"
        claims.append(Claim(f"precision / recall at {last['labels']} labels", "91% / 93%", here))
    proved = sum(record["status"] == "optimal" for record in records)
    short = len({record["split"] for record in records if record["drawn"] < record["labels"]})
    title = (
        f"{data.title}, as it stands with eps = {eps:g} on the sum, and with eps = {EPSILON_FACTORS[MARGIN_RULE] * eps:g} "
        f"and a margin of {MARGIN:g}: means over {rows[0]['n']} splits with their 10% and 90% quantiles. {proved} of "
        f"{len(records)} linear programs are proved to be optimal."
    )
    remark = (
        f"In {short} of {rows[0]['n']} splits fewer zeros are set apart than the largest sample has; there all of them are "
        "labelled. The paper does not say what it did. Its levels are read off curves and given in whole percent: a claim "
        "holds if ours rounds to it."
    )
    figures = {figure: partial(_draw, own, figure) for figure in FIGURES}
    return Report([Table("usps-curves", title, rows)], claims, figures, [remark])


def lowest_mean_from(rows: Sequence[Record], figure: str, start: int) -> float:
    """Return the lowest mean over all sizes of at least ``start`` labels."""
    return min(float(row[figure]) for row in rows if row["labels"] >= start)


def draw_curve(axes: Any, rows: Sequence[Record], figure: str, colour: str, label: str, *, band: bool = True) -> None:
    """Draw means against the number of labels, and the band between the 10% and 90% quantiles."""
    labels = [row["labels"] for row in rows]
    axes.plot(labels, [row[figure] for row in rows], color=colour, marker="o", markersize=3.5, linewidth=1.6, label=label)
    if band:
        axes.fill_between(
            labels, [row[f"{figure} 10%"] for row in rows], [row[f"{figure} 90%"] for row in rows],
            color=colour, alpha=0.15, linewidth=0,
        )  # fmt: skip


def style_axes(axes: Any, figure: str, labels: Sequence[int]) -> None:
    """Set labels, ticks, grid and limits of the axes."""
    axes.set_xlabel("labelled zeros")
    axes.set_ylabel(figure)
    axes.set_xlim(0, max(labels) * 1.02)
    axes.set_xticks(np.linspace(0, max(labels), 6))
    axes.grid(color="#e8ebee", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _draw(own: Mapping[str, Sequence[Record]], figure: str) -> Any:
    from matplotlib.figure import Figure

    drawn: Any = Figure(figsize=(6.0, 4.2), layout="constrained")
    axes = drawn.subplots()
    for (rule, rows), colour in zip(own.items(), (GREY, BLUE if figure == "precision" else RED), strict=True):
        draw_curve(axes, rows, figure, colour, f"{rule}: mean, and 10% to 90% of the splits")
    style_axes(axes, figure, [row["labels"] for row in rows])
    axes.axhline(LEVEL, color="black", linewidth=0.8, linestyle=":")
    axes.set_ylim(min(0.5, *(row[f"{figure} 10%"] for rows in own.values() for row in rows)), 1.0)
    axes.legend(loc="lower right", frameon=False, fontsize=9)
    return drawn


USPS_CURVES = Experiment(
    "usps-curves", "Precision and recall by the number of labels (figure 2)", tasks, report, needs_epsilon=True
)
