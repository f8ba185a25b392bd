"""Which ideas help when few images are labelled, and which do not.

Each idea is compared with the method that it changes, on the same splits: the paper's method, or the paper's method with
standard-error boxes. A setting of an idea is the same for all splits and sizes, and is stated in its name. The settings were
chosen on other splits, with their truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from momentlp.estimator import MomentClassifier
from momentlp.experiments.beyond.few_labels import DEFAULT, SPECTRAL, TITLES, find_on_graph
from momentlp.experiments.engine.digit_images import split
from momentlp.experiments.engine.journal import Record
from momentlp.experiments.engine.metrics import precision_recall_f1
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
Z = 1.1  # standard errors of the tolerance
EPSILON_FACTORS = tuple(np.geomspace(0.5, 20.0, 25).tolist())
N_FOLDS = 5
MIN_RECALL = 0.5
N_BAGS = 10
BOXES = f"StandardError({Z:g})"
Found = NDArray[np.bool_]
Idea = Callable[["SplitData"], Found]


class SplitData:
    """The input of an idea: images, the tolerance of the paper's method, and the true share, which only one idea uses."""

    def __init__(self, unlabelled: FloatArray, sample: FloatArray, eps: float, share: float, number: int) -> None:
        self.unlabelled, self.sample, self.eps, self.share, self.number = unlabelled, sample, eps, share, number

    def solve(self, tolerance: Tolerance, features: FeatureMap | None = None, mean: FloatArray | None = None) -> Solution:
        """Solve the program with a tolerance, features and a mean."""
        spec = Spec(features=features or Linear(), tolerance=tolerance)
        known = {"sample": self.sample} if mean is None else {"mean": mean}
        return solve(spec.compile(self.unlabelled, **known))

    def find(self, *arguments: Any, **settings: Any) -> Found:
        """Return the set that the program finds."""
        return self.solve(*arguments, **settings).membership > 0.5


def _shrink_mean(given: SplitData) -> Found:
    """Shrink the labelled mean towards the mean of all images, by the factor of James and Stein."""
    sample, centre = given.sample, given.unlabelled.mean(axis=0)
    away = sample.mean(axis=0) - centre
    error = float(sample.var(axis=0, ddof=1).sum() / len(sample))
    keep = max(0.0, 1 - error / float(away @ away))
    return given.find(Absolute(given.eps), mean=centre + keep * away)


def _match_true_size(given: SplitData) -> Found:
    """Take the smallest tolerance at which the set is as large as the class."""
    problem = Spec(tolerance=Absolute(given.eps)).compile(given.unlabelled, sample=given.sample)
    size = given.share * len(given.unlabelled)
    *_, last = path(problem, EPSILON_FACTORS, relative=True, stop=lambda solution: solution.objective >= size)
    return last.membership > 0.5


def _cut_scores(given: SplitData) -> Found:
    """Cut the scores where Lee and Liu's criterion is largest: recall of held-out images squared, over the share found."""
    solution = given.solve(StandardError(Z))
    held = []
    folds = min(N_FOLDS, len(given.sample))
    for fold in range(folds):
        out = np.arange(len(given.sample)) % folds == fold
        part = SplitData(given.unlabelled, given.sample[~out], given.eps, given.share, given.number)
        held.append(part.solve(StandardError(Z)).separator.decision_function(given.sample[out]))
    cuts = np.sort(np.concatenate(held))[::-1]
    recall = np.arange(1, len(cuts) + 1) / len(cuts)
    share = (solution.scores[None, :] >= cuts[:, None]).mean(axis=1)
    worth = np.where(recall >= MIN_RECALL, recall**2 / np.maximum(share, 1e-12), 0.0)
    return np.asarray(solution.scores >= cuts[int(np.argmax(worth))])


def _bag(given: SplitData) -> Found:
    n = len(given.unlabelled)
    points = np.vstack([given.unlabelled, given.sample])
    known = np.repeat([0, 1], [n, len(given.sample)])
    model = MomentClassifier("linear", Z, bagging=N_BAGS, random_state=given.number).fit(points, known)
    return np.asarray(model.membership_[:n] > 0.5)


def _label_inside(given: SplitData) -> Found:
    n = len(given.unlabelled)
    points = np.vstack([given.unlabelled, given.sample])
    spec = Spec(tolerance=StandardError(Z))
    return solve(spec.compile(points, labelled=np.arange(n, len(points)))).membership[:n] > 0.5


IDEA_FUNCTIONS: dict[str, Idea] = {
    "the paper's method": lambda given: given.find(Absolute(given.eps)),
    f"standard-error boxes: {BOXES}": lambda given: given.find(StandardError(Z)),
    "shrinkage of the mean (James-Stein)": _shrink_mean,
    f"PCA first, 40 components, {BOXES}": lambda given: given.find(StandardError(Z), Transformer(PCA(40, random_state=0))),
    "PCA and whitening, 40 components, Relative(0.1)": lambda given: given.find(
        Relative(0.1), Transformer(PCA(40, whiten=True, random_state=0))
    ),
    "class prior told: the least epsilon at which the set has the true size": _match_true_size,
    f"labelled images inside X, {BOXES}": _label_inside,
    f"bagging, {N_BAGS} samples, {BOXES}": _bag,
    f"cut-off of the score by held-out labels, {BOXES}": _cut_scores,
}


def measure(X: FloatArray, labels: NDArray[np.int64], n_apart: int, size: int, eps: float, number: int) -> list[Record]:
    """Try every idea on one split."""
    unlabelled, truth, sample = split(X, labels, size, n_apart, number)
    given = SplitData(unlabelled, sample, eps, float(truth.mean()), number)
    found = {name: idea(given) for name, idea in IDEA_FUNCTIONS.items()}
    graph = find_on_graph(unlabelled, sample)
    found[f"Laplacian eigenvectors: {TITLES[SPECTRAL]}"] = graph[SPECTRAL]
    found[f"several together: {TITLES[DEFAULT]}"] = graph[DEFAULT]
    return [
        {"idea": name, "labels": size, "split": number, **precision_recall_f1(mask, truth)} for name, mask in found.items()
    ]


def tasks(settings: Settings) -> Iterator[Task]:
    """One task for each split and size."""
    data = settings.digits
    sizes = dict.fromkeys(data.nearest_size(size) for size in SIZES)
    for number in settings.split_numbers(SPLITS):
        for size in sizes:
            yield Task(
                f"{size} labels, split {number}",
                partial(measure, data.X, data.labels, data.n_apart, size, settings.eps, number),
            )


def report(settings: Settings, records: list[Record]) -> Report:
    """Report the change in F1 by each idea, and whether it is larger than its standard error explains."""
    sizes = list(dict.fromkeys(record["labels"] for record in records))
    paper, boxes = list(IDEA_FUNCTIONS)[:2]
    rows = []
    for name in dict.fromkeys(record["idea"] for record in records):
        base = boxes if name in IDEA_FUNCTIONS and name.endswith(BOXES) and name != boxes else paper
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
