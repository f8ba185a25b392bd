"""The result of matching: which rows were chosen, how good they are, and what was proved."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import OptionError
from momentlp.matching.data import MatchingData
from momentlp.matching.description import describe_match
from momentlp.matching.explanation import explain_match
from momentlp.matching.match_balance import MatchBalance, measure_balance
from momentlp.matching.solve_strata import StratumResult
from momentlp.matching.statistics import effective_sample_size
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.runtime.atomic_files import write_atomically
from momentlp.runtime.html_table import html_table
from momentlp.solution.solution import Solution
from momentlp.status import Status

__all__ = ["Match"]


@dataclass(frozen=True, eq=False, repr=False)
class Match:
    """The rows that were chosen. :func:`profile_match` and :func:`cardinality_match` return one.

    Attributes
    ----------
    indices : array of int
        The rows chosen: positions in the table, in order.
    weights : array, shape (n,)
        The membership of every row: 0 or 1 if memberships must be whole, or up to the sample weight of the row.
    status : Status
        OPTIMAL if no larger match exists; LIMIT if one may; EMPTY or INFEASIBLE if there is none. With strata, LIMIT if
        it is that of any stratum.
    bound : float
        No match is larger than this: the sum of the bounds of the strata. It follows from the multipliers, which anyone can
        check, and is rounded down to a size that is possible.
    solutions : dict of str to Solution
        By stratum; by None if there are no strata.
    skipped : dict of str to str
        The strata in which nothing was chosen, and why.
    data : MatchingData
        What was matched: moments, groups, tolerances.

    Examples
    --------
    >>> import momentlp as mlp
    >>> pool = {"age": [20, 30, 40, 70], "race": ["a", "b", "b", "a"]}
    >>> match = mlp.matching.profile_match(pool, {"age": [25, 35], "race": ["a", "b"]}, tolerance=0.5, backend="highs")
    >>> match
    Match(OPTIMAL, size=3, bound=3, profile)
    >>> match.indices, match.groups
    (array([0, 1, 2]), {'pool': 3.0})
    """

    indices: IndexArray
    weights: FloatArray
    status: Status
    bound: float
    solutions: Mapping[str | None, Solution]
    skipped: Mapping[str, str]
    data: MatchingData = field(repr=False)

    @classmethod
    def of(cls, data: MatchingData, results: Mapping[str | None, StratumResult], skipped: Mapping[str, str]) -> Self:
        """Put the results of the strata together.

        Parameters
        ----------
        data : MatchingData
        results : dict of str to StratumResult
        skipped : dict of str to str

        Returns
        -------
        Match
        """
        weights = np.zeros(data.n_rows)
        for stratum in data.strata:
            if stratum.label in results:
                weights[stratum.rows] = results[stratum.label].weights
        return cls(
            np.flatnonzero(weights),
            weights,
            _joint_status([result.status for result in results.values()]),
            float(sum(result.bound for result in results.values())),
            {label: result.solution for label, result in results.items()},
            dict(skipped),
            data,
        )

    @property
    def size(self) -> float:
        """The sum of all memberships: how many rows were chosen."""
        return float(self.weights.sum())

    @property
    def groups(self) -> dict[str, float]:
        """How many rows of each group were chosen, by weight."""
        return {name: float(self.weights[self.data.codes == code].sum()) for code, name in enumerate(self.data.groups)}

    @property
    def effective_sample_size(self) -> dict[str, float]:
        """Kish's effective sample size of each group: ``(sum w)^2 / sum w^2``."""
        codes, weights = self.data.codes, self.weights
        return {name: effective_sample_size(weights[codes == code]) for code, name in enumerate(self.data.groups)}

    @property
    def solution(self) -> Solution:
        """The solution of the one program there is without strata, with its certificate.

        Raises
        ------
        OptionError
            If there are strata.
        """
        if self.data.is_stratified:
            raise OptionError(
                f"there is one solution per stratum: use match.solutions, by {', '.join(map(str, self.solutions))}."
            )
        return self.solutions[None]

    def balance(self, stratum: str | None = None) -> MatchBalance:
        """Compare the groups, or pool and target, before and after matching.

        Parameters
        ----------
        stratum : str, optional
            Only one stratum. Default: all rows together. Within strata that are balanced, all rows together need not be,
            because strata of the match need not have the sizes of those of the target.

        Returns
        -------
        MatchBalance
            One row per moment: means, standardised differences, variance ratios, Kolmogorov-Smirnov distances.

        Raises
        ------
        OptionError
            If there is no such stratum.

        Examples
        --------
        >>> import momentlp as mlp
        >>> match = mlp.matching.profile_match({"age": [20, 30, 40, 70]}, {"age": [25, 35]}, backend="highs")
        >>> match.balance()[0].difference_after
        0.0
        """
        if stratum is None:
            return measure_balance(self.data, self.weights)
        for one in self.data.strata:
            if one.label == str(stratum):
                return measure_balance(self.data.take(one), self.weights[one.rows])
        labels = ", ".join(str(one.label) for one in self.data.strata) if self.data.is_stratified else "none"
        raise OptionError(f"there is no stratum {stratum!r}; the strata are: {labels}.")

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the rows chosen as a dictionary of columns: ``id``, ``row``, ``group``, ``stratum`` and ``weight``.

        Returns
        -------
        dict of str to array
            ``row`` is the position in the table, ``id`` what the caller calls it, ``stratum`` empty without strata.
        """
        stratum = np.full(self.data.n_rows, "", dtype=object)
        for one in self.data.strata:
            stratum[one.rows] = one.label or ""
        return {
            "id": self.data.ids[self.indices],
            "row": self.indices,
            "group": np.array(self.data.groups, dtype=object)[self.data.codes[self.indices]],
            "stratum": stratum[self.indices],
            "weight": self.weights[self.indices],
        }

    def table(self) -> Any:
        """Return the rows chosen as a pandas DataFrame, or as :meth:`columns` does if pandas is not installed.

        Returns
        -------
        DataFrame or dict of str to array

        Examples
        --------
        >>> import momentlp as mlp
        >>> match = mlp.matching.profile_match(
        ...     {"age": [20, 30, 90], "name": ["Ann", "Bo", "Cy"]}, {"age": [25]}, ids="name", tolerance=0.5, backend="highs"
        ... )
        >>> match.table()
            id  row group stratum  weight
        0  Ann    0  pool             1.0
        1   Bo    1  pool             1.0
        """
        try:
            import pandas as pd
        except ImportError:
            return self.columns()
        return pd.DataFrame(self.columns())

    def to_csv(self, path: str | Path) -> None:
        """Write the rows chosen to a file, with the columns of :meth:`table`.

        Parameters
        ----------
        path : str or Path
            An interrupted call leaves no partial file.
        """
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        columns = self.columns()
        writer.writerow(columns)
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
        write_atomically(Path(path), lambda stream: stream.write(text.getvalue().encode()))

    def describe(self) -> str:
        """Return a paragraph for the methods section of an article, with the figures of this match.

        Returns
        -------
        str

        Examples
        --------
        >>> import momentlp as mlp
        >>> match = mlp.matching.profile_match({"age": [20, 30, 40, 70]}, {"age": [25, 35]}, backend="highs")
        >>> match.describe()[:69]
        'Profile matching (Cohn and Zubizarreta, 2022) sought the largest part'
        """
        return describe_match(self)

    def explain(self) -> str:
        """Say why nothing was found, and which tolerance would do. It solves a few more problems with the same backend.

        Returns
        -------
        str
            A text of a few lines, for every stratum that was skipped.

        Raises
        ------
        SolverError
            If the backend raises an error.

        Examples
        --------
        >>> import momentlp as mlp
        >>> match = mlp.matching.profile_match({"age": [60, 70]}, {"age": [25, 35]}, backend="highs")
        >>> match.status.name, match.size
        ('EMPTY', 0.0)
        >>> print(match.explain())
        EMPTY: No set of the points has this mean: there is a direction along which all points lie beyond it. (proved)
        In conflict: age:high (100%)
        Smallest tolerance for all moments: 6 on the mean (gives a set of weight 1)
        A whole set was found with a tolerance of 6.01 for all moments (weight 1).
        Tolerances are in standard deviations of the target.
        """
        return explain_match(self)

    def __repr__(self) -> str:
        kind = "profile" if self.data.target is not None else " and ".join(self.data.groups)
        strata = f", {len(self.data.strata)} strata, {len(self.skipped)} skipped" if self.data.is_stratified else ""
        return f"Match({self.status.name}, size={self.size:.6g}, bound={self.bound:.6g}, {kind}{strata})"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [
            ("size", f"{self.size:.6g} of {float(self.data.caps.sum()):.6g}"),
            ("upper bound", f"{self.bound:.6g}"),
            *((f"chosen of {name}", f"{size:.6g}") for name, size in self.groups.items() if len(self.data.groups) > 1),
            ("largest difference after", f"{self.balance().largest_difference:.3f} {self.data.about['unit']}"),
            *((f"skipped: {label}", reason) for label, reason in self.skipped.items()),
        ]
        return html_table(f"Match: {self.status.name}", rows)


def _joint_status(statuses: list[Status]) -> Status:
    """Return the status of strata together: what is proved for all, as far as anything was found."""
    for status in (Status.FAILED, Status.LIMIT):
        if status in statuses:
            return Status.LIMIT if len(statuses) > 1 else status
    return Status.OPTIMAL if Status.OPTIMAL in statuses else statuses[0]
