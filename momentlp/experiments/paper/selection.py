"""Which epsilon is chosen without negatives. The paper does not say how its epsilon was chosen."""

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
from momentlp.spec.tolerances import Absolute

__all__ = ["SELECTION"]

EPSILONS = (100.0, 60.0, 45.0, 30.0, 20.0, 10.0)


def select(X: FloatArray, labels: NDArray[np.int64], n_apart: int, size: int, scale: float, number: int) -> list[Record]:
    """Choose epsilon by the recall of held-out labelled images and the share that is found."""
    from momentlp.estimator import MomentClassifierCV

    unlabelled, truth, sample = split(X, labels, size, n_apart, number)
    points = np.vstack([unlabelled, sample])
    known = np.repeat([0, 1], [len(unlabelled), len(sample)])
    widths = [round(width * scale, 6) for width in EPSILONS]
    model = MomentClassifierCV("linear", Absolute(1.0), tolerances=widths, cv=3, random_state=number).fit(points, known)
    found = precision_recall_f1(model.transduction_[: len(unlabelled)] == 1, truth)
    return [{"labels": size, "split": number, "epsilon": model.best_params_["tolerance"], **found}]


def select_tasks(settings: Settings) -> Iterator[Task]:
    """One task for each split and size."""
    data = settings.digits
    for number in settings.split_numbers(SPLITS // 2):
        for size in scale_sizes(data):
            yield Task(
                f"{size} labels, split {number}",
                partial(select, data.X, data.labels, data.n_apart, size, data.epsilon / 30.0, number),
            )


def select_report(settings: Settings, records: list[Record]) -> Report:
    """Report the epsilons that were chosen, and what they find."""
    rows = mean_rows(records, ["labels"], ["precision", "recall"])
    for row in rows:
        picked = sorted(record["epsilon"] for record in records if record["labels"] == row["labels"])
        row["epsilon picked"] = ", ".join(f"{width:g}" for width in picked)
    title = (
        f"{settings.digits.title}: epsilon on the sum as `MomentClassifierCV` picks it among "
        f"{', '.join(f'{width * settings.digits.epsilon / 30:g}' for width in EPSILONS)}, by three folds of the labelled "
        "images, and what it finds. Labelled images are part of X here."
    )
    return Report([Table("selection", title, rows)])


SELECTION = Experiment("selection", "What selection without negatives picks", select_tasks, select_report)
