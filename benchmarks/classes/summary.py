"""From results to figures: means over the splits of a row, the best method of a row, and means over rows.

A row holds a method only if it ran on every split that any method ran on there, so all means of a row are over the same
splits. A mean over rows includes a method only if each of the rows holds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.classes.cases import DATASETS, Case
from benchmarks.classes.methods import METHODS, OURS
from benchmarks.classes.results import Result

__all__ = ["Row", "gather_rows", "mean_over", "rank_methods"]


@dataclass(frozen=True)
class Row:
    """A case, and by method the results on the splits, in the order of the splits."""

    case: Case
    results: dict[str, list[Result]]

    def mean(self, method: str, value: Callable[[Result], float]) -> float:
        """Return the mean of something over the splits; NaN if the row does not hold the method."""
        return float(np.mean([value(result) for result in self.results.get(method, [])] or [math.nan]))

    @cached_property
    def f1(self) -> dict[str, float]:
        """Mean F1 by method."""
        return {method: self.mean(method, lambda result: result.f1) for method in self.results}

    def error(self, method: str) -> float:
        """Return the standard error of the mean F1."""
        return _standard_error([result.f1 for result in self.results[method]])

    @property
    def splits(self) -> int:
        """How many splits the means are over."""
        return max(len(results) for results in self.results.values())

    def first(self) -> str:
        """Return the method of the largest mean F1."""
        return max(self.f1, key=self.f1.__getitem__)

    def is_ahead(self) -> bool:
        """Return whether momentlp is ahead of every packaged method."""
        peers = [method for method in self.f1 if METHODS[method].packaged and method != OURS]
        return bool(peers) and all(self.f1[OURS] > self.f1[method] for method in peers)

    def is_near_first(self) -> bool:
        """Return whether momentlp is first, or within one standard error of the best mean."""
        first = self.first()
        return first == OURS or self.f1[OURS] >= self.f1[first] - self.error(first)

    def paired_error(self, method: str) -> float:
        """Return the standard error of the difference of F1 between a method and momentlp, split by split."""
        pairs = zip(self.results[method], self.results[OURS], strict=True)
        return _standard_error([other.f1 - own.f1 for other, own in pairs])


def gather_rows(results: Iterable[Result]) -> list[Row]:
    """Gather results into rows, by data set, class and number of labels; methods with missing splits are left out."""
    gathered: dict[Case, dict[str, dict[int, Result]]] = {}
    for result in results:
        gathered.setdefault(result.case, {}).setdefault(result.method, {})[result.split] = result
    rows = []
    for case, methods in gathered.items():
        splits = sorted({split for ran in methods.values() for split in ran})
        complete = [name for name in METHODS if len(methods.get(name, {})) == len(splits)]
        if complete:
            rows.append(Row(case, {name: [methods[name][split] for split in splits] for name in complete}))
    return sorted(rows, key=_sort_key)


def mean_over(rows: Sequence[Row], method: str, value: Callable[[Result], float]) -> float:
    """Return the mean over rows of the means over splits; NaN unless every row holds the method."""
    return float(np.mean([row.mean(method, value) for row in rows] or [math.nan]))


def rank_methods(rows: Sequence[Row]) -> list[str]:
    """Return the methods of all rows: momentlp first, then by their mean F1, the best first."""
    means = {name: [row.f1[name] for row in rows if name in row.f1] for name in METHODS}
    present = [name for name in METHODS if means[name]]
    return sorted(present, key=lambda name: (name != OURS, -np.mean(means[name])))


def _sort_key(row: Row) -> tuple[int, int, int]:
    return list(DATASETS).index(row.case.dataset), row.case.target, row.case.n_known


def _standard_error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else math.nan
