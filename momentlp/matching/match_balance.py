"""The balance of a match: means, standardised differences, variance ratios and distances, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from momentlp.errors import ExtraMissingError
from momentlp.matching.statistics import ks_distance, weighted_mean, weighted_variance
from momentlp.points.arrays import FloatArray
from momentlp.runtime.html_table import html_table, shorten_rows
from momentlp.runtime.text_table import align_columns

if TYPE_CHECKING:
    from momentlp.matching.data import MatchingData

__all__ = ["MatchBalance", "MatchBalanceRow", "measure_balance"]


@dataclass(frozen=True)
class MatchBalanceRow:
    """The balance of one moment: a covariate, a level, a square, a product or an indicator of a quantile.

    Where there are more than two groups, each figure is that of the pair in which it is worst.

    Attributes
    ----------
    name : str
    tolerance : float
        The standardised difference that was allowed; infinite if nothing was asked.
    means_before, means_after : dict of str to float
        The mean of each group, or of target and pool, in all rows and in the rows chosen.
    difference_before, difference_after : float
        The standardised difference of the means, in the analyst's unit: pool minus target, or the later group in sorted
        order minus the earlier one.
    variance_ratio_before, variance_ratio_after : float
        Variance of the pool over that of the target, or of the later group over the earlier one. NaN if it is unknown.
    ks_before, ks_after : float
        The Kolmogorov-Smirnov distance between the two weighted distributions, from 0 to 1. NaN if it is unknown.

    Examples
    --------
    >>> import momentlp as mlp
    >>> match = mlp.matching.profile_match({"age": [20, 30, 40, 70]}, {"age": [25, 35]}, backend="highs")
    >>> row = match.balance()[0]
    >>> row.name, row.means_before, row.means_after
    ('age', {'target': 30.0, 'pool': 40.0}, {'target': 30.0, 'pool': 30.0})
    """

    name: str
    tolerance: float
    means_before: dict[str, float]
    means_after: dict[str, float]
    difference_before: float
    difference_after: float
    variance_ratio_before: float
    variance_ratio_after: float
    ks_before: float
    ks_after: float

    def record(self) -> dict[str, Any]:
        """Return the row as a flat dictionary, such as a row of a data frame."""
        means = {f"{group} before": value for group, value in self.means_before.items() if group != "target"}
        means |= {f"{group} after": value for group, value in self.means_after.items() if group != "target"}
        target = {"target": self.means_before["target"]} if "target" in self.means_before else {}
        figures = ("difference", "variance_ratio", "ks")
        compared = {
            f"{figure}_{when}": getattr(self, f"{figure}_{when}") for figure in figures for when in ("before", "after")
        }
        return {"name": self.name, **target, **means, **compared, "tolerance": self.tolerance}


@dataclass(frozen=True, repr=False)
class MatchBalance(Sequence[MatchBalanceRow]):
    """A sequence of :class:`MatchBalanceRow`, shown as a table. ``match.balance()`` makes one.

    Attributes
    ----------
    rows : tuple of MatchBalanceRow
    unit : str
        In which standard deviations differences are measured.

    Examples
    --------
    >>> import momentlp as mlp
    >>> match = mlp.matching.profile_match({"age": [20, 30, 40, 70]}, {"age": [25, 35]}, backend="highs")
    >>> match.balance()
    moment  target  pool before  pool after  SMD before  SMD after  VR before  VR after  KS before  KS after
    age     30      40           30          +2.000      +0.000     14.000     2.667     0.500      0.333
    SMD: difference of means in standard deviations of the target, 0.000 at most after; VR: ratio of variances; KS:
    Kolmogorov-Smirnov
    """

    rows: tuple[MatchBalanceRow, ...]
    unit: str

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[MatchBalanceRow]:
        return iter(self.rows)

    @property
    def largest_difference(self) -> float:
        """The largest absolute standardised difference after matching; NaN if nothing was chosen."""
        return float(np.max([abs(row.difference_after) for row in self.rows]))

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as a list of flat dictionaries."""
        return [row.record() for row in self.rows]

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame.

        Raises
        ------
        ExtraMissingError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ExtraMissingError("to_frame needs pandas: run pip install pandas, or use records().") from None
        return pd.DataFrame(self.records())

    def table(self) -> list[list[str]]:
        """Return the rows of the table as lists of text, the headings first."""
        records = self.records()
        groups = list(records[0])[1:-7]
        pairs = [f"{figure} {when}" for figure in ("SMD", "VR", "KS") for when in ("before", "after")]
        body = [
            [
                record["name"],
                *(f"{record[group]:.4g}" for group in groups),
                *(f"{record[f'difference_{when}']:+.3f}" for when in ("before", "after")),
                *(_figure(record[f"{what}_{when}"]) for what in ("variance_ratio", "ks") for when in ("before", "after")),
            ]
            for record in records
        ]
        return [["moment", *groups, *pairs], *body]

    def summary(self) -> str:
        """Return what the columns mean, and the largest difference, in one line of text."""
        return (
            f"SMD: difference of means in {self.unit}, {_figure(self.largest_difference)} at most after; "
            "VR: ratio of variances; KS: Kolmogorov-Smirnov"
        )

    def __repr__(self) -> str:
        return f"{align_columns(self.table())}\n{self.summary()}"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        heading, *body = self.table()
        return html_table(self.summary(), shorten_rows(body), heading)


def measure_balance(data: MatchingData, weights: FloatArray) -> MatchBalance:
    """Compute the balance of memberships.

    Parameters
    ----------
    data : MatchingData
    weights : array, shape (n,)
        The memberships.
    """
    before, after = (_Samples.of(data, chosen) for chosen in (data.caps, weights))
    rows = []
    for j, name in enumerate(data.names):
        figures = [samples.figures(j, float(data.spread[j])) for samples in (before, after)]
        rows.append(
            MatchBalanceRow(
                name,
                float(data.tolerance[j]),
                before.means_of(j),
                after.means_of(j),
                *(figures[when][what] for what in range(3) for when in range(2)),
            )
        )
    return MatchBalance(tuple(rows), str(data.about["unit"]))


@dataclass(frozen=True, eq=False)
class _Samples:
    """The samples that are compared: a name, the moments and the weights of each; no values where only means are known."""

    names: tuple[str, ...]
    values: tuple[FloatArray | None, ...]
    weights: tuple[FloatArray, ...]
    means: tuple[FloatArray, ...]
    variances: tuple[FloatArray, ...]

    @classmethod
    def of(cls, data: MatchingData, weights: FloatArray) -> _Samples:
        """Return the groups; for a profile, target and pool."""
        names, values, counts = list(data.groups), [], []
        means, variances = [], []
        if data.target is not None:
            names.insert(0, "target")
            rows = data.target.values
            values.append(rows)
            counts.append(np.ones(0 if rows is None else len(rows)))
            means.append(data.target.mean)
            variances.append(
                np.full(data.target.mean.size, np.nan) if rows is None else weighted_variance(rows, np.ones(len(rows)))
            )
        for group in range(len(data.groups)):
            members = data.codes == group
            values.append(data.values[members])
            counts.append(weights[members])
            means.append(weighted_mean(data.values[members], weights[members]))
            variances.append(weighted_variance(data.values[members], weights[members]))
        return cls(tuple(names), tuple(values), tuple(counts), tuple(means), tuple(variances))

    def means_of(self, j: int) -> dict[str, float]:
        """Return the mean of moment j in each sample."""
        return {name: float(mean[j]) for name, mean in zip(self.names, self.means, strict=True)}

    def figures(self, j: int, spread: float) -> tuple[float, float, float]:
        """Return difference, variance ratio and Kolmogorov-Smirnov distance of moment j, each of its worst pair."""
        pairs = list(combinations(range(len(self.names)), 2))
        differences = [float(self.means[b][j] - self.means[a][j]) / spread for a, b in pairs]
        ratios = [_ratio(float(self.variances[b][j]), float(self.variances[a][j])) for a, b in pairs]
        distances = [self._distance(a, b, j) for a, b in pairs]
        return max(differences, key=abs), max(ratios, key=_distance_from_one), max(distances)

    def _distance(self, a: int, b: int, j: int) -> float:
        first, second = self.values[a], self.values[b]
        if first is None or second is None:
            return float("nan")
        return ks_distance(first[:, j], self.weights[a], second[:, j], self.weights[b])


def _ratio(over: float, under: float) -> float:
    if np.isnan(over) or np.isnan(under) or (over == 0 and under == 0):
        return float("nan")
    return over / under if under > 0 else float("inf")


def _distance_from_one(ratio: float) -> float:
    return abs(float(np.log(ratio))) if ratio > 0 else float("inf") if ratio == 0 else -1.0


def _figure(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"
