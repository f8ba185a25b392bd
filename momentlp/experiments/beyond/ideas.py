"""Which ideas help where few images are labelled, and which do not.

Each row is set beside the one that it changes, on the same splits: the paper's method, or that with standard-error boxes.
Where an idea has a setting of its own it is one for all splits and sizes, stated in the row; these were chosen by looking at
other splits with their truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from momentlp.estimator import MomentClassifier
from momentlp.experiments.beyond.few_labels import DEFAULT, SPECTRAL, TITLES, on_the_graph
from momentlp.experiments.engine.digit_images import split
from momentlp.experiments.engine.journal import Record
from momentlp.experiments.engine.measures import quality
from momentlp.experiments.engine.report import Report, Table, mean_rows
from momentlp.experiments.engine.runner import Experiment, Settings, Task
from momentlp.features import FeatureMap, Linear, Transformer
from momentlp.points.arrays import FloatArray
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve
from momentlp.solving.tolerance_path import path
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import Absolute, Relative, StandardError, Tolerance

__all__ = ["IDEAS"]

SIZES = (25, 100)
SPLITS = 10
Z = 1.1  # standard errors, where rows have them
WIDER = tuple(np.geomspace(0.5, 20.0, 25).tolist())  # multiples of epsilon
FOLDS = 5
LEAST_RECALL = 0.5
BAGS = 10
BOXES = f"StandardError({Z:g})"
Found = NDArray[np.bool_]
Idea = Callable[["Given"], Found]


class Given:
    """What an idea is given: images, the tolerance of the paper's method, the true share for the one that is told it."""

    def __init__(self, unlabelled: FloatArray, sample: FloatArray, eps: float, share: float, number: int) -> None:
        self.unlabelled, self.sample, self.eps, self.share, self.number = unlabelled, sample, eps, share, number

    def solved(self, tolerance: Tolerance, features: FeatureMap | None = None, mean: FloatArray | None = None) -> Solution:
        """Solve the program with another tolerance, other features, or another mean."""
        spec = Spec(features=features or Linear(), tolerance=tolerance)
        known = {"sample": self.sample} if mean is None else {"mean": mean}
        return solve(spec.compile(self.unlabelled, **known))

    def found(self, *arguments: Any, **settings: Any) -> Found:
        """Return what the program finds."""
        return self.solved(*arguments, **settings).membership > 0.5


def _shrunk(given: Given) -> Found:
    """Shrink the labelled mean towards the mean of all images, as far as its error makes worth while (James and Stein)."""
    sample, centre = given.sample, given.unlabelled.mean(axis=0)
    away = sample.mean(axis=0) - centre
    error = float(sample.var(axis=0, ddof=1).sum() / len(sample))
    keep = max(0.0, 1 - error / float(away @ away))
    return given.found(Absolute(given.eps), mean=centre + keep * away)


def _of_true_size(given: Given) -> Found:
    """Take the least tolerance at which the set is as large as the class: a share as a constraint, at no fixed epsilon."""
    problem = Spec(tolerance=Absolute(given.eps)).compile(given.unlabelled, sample=given.sample)
    size = given.share * len(given.unlabelled)
    *_, last = path(problem, WIDER, relative=True, stop=lambda solution: solution.objective >= size)
    return last.membership > 0.5


def _cut(given: Given) -> Found:
    """Cut the scores where recall of held-out labelled images, squared, over the share found is largest."""
    solution = given.solved(StandardError(Z))
    held = []
    folds = min(FOLDS, len(given.sample))
    for fold in range(folds):
        out = np.arange(len(given.sample)) % folds == fold
        part = Given(given.unlabelled, given.sample[~out], given.eps, given.share, given.number)
        held.append(part.solved(StandardError(Z)).separator.decision_function(given.sample[out]))
    cuts = np.sort(np.concatenate(held))[::-1]
    recall = np.arange(1, len(cuts) + 1) / len(cuts)
    share = (solution.scores[None, :] >= cuts[:, None]).mean(axis=1)
    worth = np.where(recall >= LEAST_RECALL, recall**2 / np.maximum(share, 1e-12), 0.0)
    return np.asarray(solution.scores >= cuts[int(np.argmax(worth))])


def _bagged(given: Given) -> Found:
    n = len(given.unlabelled)
    points = np.vstack([given.unlabelled, given.sample])
    known = np.repeat([0, 1], [n, len(given.sample)])
    model = MomentClassifier("linear", Z, bagging=BAGS, random_state=given.number).fit(points, known)
    return np.asarray(model.membership_[:n] > 0.5)


def _inside(given: Given) -> Found:
    n = len(given.unlabelled)
    points = np.vstack([given.unlabelled, given.sample])
    spec = Spec(tolerance=StandardError(Z))
    return solve(spec.compile(points, labelled=np.arange(n, len(points)))).membership[:n] > 0.5


WAYS: dict[str, Idea] = {
    "the paper's method": lambda given: given.found(Absolute(given.eps)),
    f"standard-error boxes: {BOXES}": lambda given: given.found(StandardError(Z)),
    "shrinkage of the mean (James-Stein)": _shrunk,
    f"PCA first, 40 components, {BOXES}": lambda given: given.found(StandardError(Z), Transformer(PCA(40, random_state=0))),
    "PCA and whitening, 40 components, Relative(0.1)": lambda given: given.found(
        Relative(0.1), Transformer(PCA(40, whiten=True, random_state=0))
    ),
    "class prior told: the least epsilon at which the set has the true size": _of_true_size,
    f"labelled images inside X, {BOXES}": _inside,
    f"bagging, {BAGS} samples, {BOXES}": _bagged,
    f"cut-off of the score by held-out labels, {BOXES}": _cut,
}


def measure(X: FloatArray, labels: NDArray[np.int64], n_apart: int, size: int, eps: float, number: int) -> list[Record]:
    """Try every idea on one split."""
    unlabelled, truth, sample = split(X, labels, size, n_apart, number)
    given = Given(unlabelled, sample, eps, float(truth.mean()), number)
    found = {name: idea(given) for name, idea in WAYS.items()}
    graph = on_the_graph(unlabelled, sample)
    found[f"Laplacian eigenvectors: {TITLES[SPECTRAL]}"] = graph[SPECTRAL]
    found[f"several together: {TITLES[DEFAULT]}"] = graph[DEFAULT]
    return [{"idea": name, "labels": size, "split": number, **quality(mask, truth)} for name, mask in found.items()]


def tasks(settings: Settings) -> Iterator[Task]:
    """One task for each split and size."""
    data = settings.digits
    sizes = dict.fromkeys(data.near(size) for size in SIZES)
    for number in settings.numbers(SPLITS):
        for size in sizes:
            yield Task(
                f"{size} labels, split {number}",
                partial(measure, data.X, data.labels, data.n_apart, size, settings.eps, number),
            )


def report(settings: Settings, records: list[Record]) -> Report:
    """Say what each idea is worth: the change in F1, and whether it is more than chance."""
    sizes = list(dict.fromkeys(record["labels"] for record in records))
    paper, boxes = list(WAYS)[:2]
    rows = []
    for name in dict.fromkeys(record["idea"] for record in records):
        base = boxes if name in WAYS and name.endswith(BOXES) and name != boxes else paper
        row: Record = {"idea": name, "beside": "-" if name == paper else "the paper's" if base == paper else "the boxes"}
        for size in sizes:
            own, plain = (
                [record for record in records if (record["idea"], record["labels"]) == (idea, size)] for idea in (name, base)
            )
            (mean,) = mean_rows(own, ["idea"], ["precision", "recall", "f1"])
            gain = np.array([one["f1"] - other["f1"] for one, other in zip(own, plain, strict=True)])
            row[f"{size} labels"] = f"{mean['precision']:.3f} / {mean['recall']:.3f}"
            row[f"F1 {size}"] = mean["f1"]
            row[f"helps {size}"] = "-" if name == paper else _verdict(gain)
        rows.append(row)
    title = (
        f"{settings.digits.title}, zeros: precision / recall and F1, means over {len(own)} splits. An idea helps (or harms) "
        "if its F1 is above (below) that of the row it stands beside by more than two standard errors of the paired "
        "difference."
    )
    return Report([Table("ideas", title, rows)])


def _verdict(gain: FloatArray) -> str:
    error = float(gain.std(ddof=1) / np.sqrt(gain.size)) if gain.size > 1 else float("inf")
    return "yes" if gain.mean() > 2 * error else "harms" if gain.mean() < -2 * error else "no"


IDEAS = Experiment("ideas", "Ideas for small samples", tasks, report, needs_epsilon=True)
