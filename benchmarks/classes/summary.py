"""From results to figures. A row is a class and a number of labels; means are over classes, then over data sets.

A row holds a method only if it ran on every split that any method ran on there, so all means of a row are over the same
splits. A mean over rows includes a method only if each of the rows holds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.classes.cases import DATASETS, Case
from benchmarks.classes.methods import METHODS, OURS, PRIORS
from benchmarks.classes.results import Result

__all__ = ["OWN", "Row", "Value", "gather_rows", "mean_over_sets", "rank_methods"]

OWN = (OURS, "graph")  # methods of this package: all others are peers
Value = Callable[[Result], float]


@dataclass(frozen=True)
class Row:
    """A case, and by method the results on the splits, in the order of the splits."""

    case: Case
    results: dict[str, list[Result]]

    def mean(self, method: str, value: Value) -> float:
        """Return the mean of something over the splits; NaN if the row does not hold the method."""
        return float(np.mean([value(result) for result in self.results.get(method, [])] or [math.nan]))

    @property
    def f1(self) -> dict[str, float]:
        """Mean F1 by method."""
        return {method: self.mean(method, lambda result: result.f1) for method in self.results if method in METHODS}

    @property
    def splits(self) -> int:
        """How many splits the means are over."""
        return max(len(results) for results in self.results.values())

    def best_peer(self) -> str:
        """Return the peer with the largest mean F1."""
        peers = {method: f1 for method, f1 in self.f1.items() if method not in OWN}
        return max(peers, key=peers.__getitem__)

    def error(self, method: str) -> float:
        """Return the standard error of the F1 of a method: over the splits, or that of its recall and precision.

        With one split it is estimated from the number n of members to find: F1 is a ratio of counts of about 2 n points, so
        its error is about ``sqrt(F1 (1 - F1) / (2 n))``.
        """
        values = [result.f1 for result in self.results[method]]
        if len(values) > 2:
            return float(np.std(values, ddof=1) / np.sqrt(len(values)))
        n_members = sum(round(result.true_share * result.n_unlabelled) for result in self.results[method])
        f1 = float(np.mean(values))
        return math.sqrt(max(f1 * (1 - f1), 0.0) / (2 * max(n_members, 1)))

    def outcome(self) -> str:
        """Return "win" if momentlp is ahead of every peer, "tie" within one standard error of the best, else "loss"."""
        best = self.best_peer()
        ours, theirs = self.f1[OURS], self.f1[best]
        return "win" if ours > theirs else "tie" if ours >= theirs - self.error(best) else "loss"


def gather_rows(results: Iterable[Result]) -> list[Row]:
    """Gather results into rows, by data set, class and number of labels; methods with missing splits are left out."""
    gathered: dict[Case, dict[str, dict[int, Result]]] = {}
    for result in results:
        gathered.setdefault(result.case, {}).setdefault(result.method, {})[result.split] = result
    rows = []
    for case, methods in gathered.items():
        splits = sorted({split for ran in methods.values() for split in ran})
        complete = [name for name in METHODS | PRIORS if len(methods.get(name, {})) == len(splits)]
        if OURS in complete and len(complete) > len(OWN):
            rows.append(Row(case, {name: [methods[name][split] for split in splits] for name in complete}))
    return sorted(rows, key=lambda row: (DATASETS.index(row.case.dataset), row.case.target, row.case.n_known))


def mean_over_sets(rows: Sequence[Row], method: str, value: Value) -> float:
    """Return the mean over data sets of the means over their rows; NaN unless every row holds the method."""
    sets = {row.case.dataset for row in rows}
    means = [np.mean([row.mean(method, value) for row in rows if row.case.dataset == name]) for name in sets]
    return float(np.mean(means or [math.nan]))


def rank_methods(rows: Sequence[Row]) -> list[str]:
    """Return the methods of all rows: momentlp first, then by their mean F1, the best first."""
    means = {name: mean_over_sets(rows, name, lambda result: result.f1) for name in METHODS}
    present = [name for name in METHODS if not math.isnan(means[name])]
    return sorted(present, key=lambda name: (name != OURS, -means[name]))
