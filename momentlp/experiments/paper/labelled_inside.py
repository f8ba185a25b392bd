"""What changes if the labelled images are part of X. In the paper they are not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from momentlp.experiments.engine.digit_images import split
from momentlp.experiments.engine.journal import Record
from momentlp.experiments.engine.metrics import precision_recall_f1
from momentlp.experiments.engine.report import Report, Table, mean_rows
from momentlp.experiments.engine.runner import Experiment, Settings, Task
from momentlp.experiments.paper.sample_sizes import SPLITS, scale_sizes
from momentlp.points.arrays import FloatArray
from momentlp.solving.solve_problem import solve
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import Absolute

__all__ = ["INSIDE"]


def measure(X: FloatArray, labels: NDArray[np.int64], n_apart: int, size: int, eps: float, number: int) -> list[Record]:
    """Find the zeros of one split with the labelled images left out of X, and with them in X."""
    unlabelled, truth, sample = split(X, labels, size, n_apart, number)
    spec, n = Spec(tolerance=Absolute(eps)), len(unlabelled)
    everything = np.vstack([unlabelled, sample])
    problems = {
        "apart": spec.compile(unlabelled, sample=sample),
        "inside": spec.compile(everything, labelled=np.arange(n, n + len(sample))),
    }
    return [
        {"where": where, "labels": size, "split": number, **precision_recall_f1(solve(problem).membership[:n] > 0.5, truth)}
        for where, problem in problems.items()
    ]


def inside_tasks(settings: Settings) -> Iterator[Task]:
    """One task for each split and size."""
    data = settings.digits
    for number in settings.split_numbers(SPLITS):
        for size in scale_sizes(data):
            yield Task(
                f"{size} labels, split {number}",
                partial(measure, data.X, data.labels, data.n_apart, size, settings.eps, number),
            )


def inside_report(settings: Settings, records: list[Record]) -> Report:
    """Compare both on the images that are not labelled."""
    rows = []
    for row in mean_rows(records, ["labels"], []):
        cells: Record = {"labels": row["labels"]}
        for where in ("apart", "inside"):
            own = [record for record in records if (record["where"], record["labels"]) == (where, row["labels"])]
            for figure in ("precision", "recall"):
                cells[f"{where}, {figure}"] = float(np.mean([record[figure] for record in own]))
        rows.append({**cells, "splits": row["n"] // 2})
    title = (
        f"{settings.digits.title}, eps = {settings.eps:g}: labelled images apart from X, as in the paper, or part of it. "
        "Precision and recall are over the images that are not labelled in both cases."
    )
    return Report([Table("inside", title, rows)])


INSIDE = Experiment("inside", "Labelled images inside X", inside_tasks, inside_report, needs_epsilon=True)
