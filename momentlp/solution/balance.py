"""The balance table: the target of every moment, and the value that the set found achieves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from momentlp.points.arrays import FloatArray
from momentlp.points.statistics import column_spread
from momentlp.problem.moment_block import MomentBlock
from momentlp.runtime.html_table import html_table, shorten_rows
from momentlp.runtime.text_table import align_columns

if TYPE_CHECKING:
    from momentlp.solution.solution import Solution

__all__ = ["Balance", "BalanceRow"]


@dataclass(frozen=True)
class BalanceRow:
    """The balance of one feature, or of one row of a constraint.

    Attributes
    ----------
    name : str
    target : float
        The mean that the spec asks for. For a constraint, the allowed value that is nearest to ``achieved``.
    achieved : float
        The mean over the set found. For a constraint, the value of its row.
    difference : float
        ``achieved - target``.
    standardised : float
        The difference in standard deviations of the feature over all points. For a constraint, in units of its typical
        entry.
    before : float
        The standardised difference of all points together, before any selection.
    multiplier : float
        The derivative of the optimum with respect to the active bound.
    active : bool
        Whether a bound of this moment is active, that is, has a multiplier.
    is_constraint : bool
        Whether it is a row of a constraint, such as ``Share``, which is not in standard deviations.

    Examples
    --------
    >>> import momentlp as mlp
    >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    >>> row = mlp.solve(problem).balance()[0]
    >>> row.name, row.target, row.achieved, row.multiplier, row.active
    ('x0', 1.0, 1.32, 0.125, True)
    """

    name: str
    target: float
    achieved: float
    difference: float
    standardised: float
    before: float
    multiplier: float
    active: bool
    is_constraint: bool = False


@dataclass(frozen=True, repr=False)
class Balance(Sequence[BalanceRow]):
    """A sequence of :class:`BalanceRow`, shown as a table. ``solution.balance()`` makes one.

    Attributes
    ----------
    rows : tuple of BalanceRow
    size : float
        The sum of all memberships.
    effective_size : float
        ``(sum h)^2 / sum h^2``: the number of points with equal memberships that would have the same variance of the mean.
    share : float
        The size divided by the number of points: an estimate of the class prior.
    titles : tuple of str
        The names of the rows in the table, where products of columns are written with a sign between them.

    Examples
    --------
    >>> import momentlp as mlp
    >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    >>> mlp.solve(problem).balance()
    moment  target  achieved  difference  standardised  before  multiplier  active
    x0      1       1.32      0.32        +0.091        +0.566  0.125       yes
    size 3.125, effective size 3.23834, share of all points 0.7812
    """

    rows: tuple[BalanceRow, ...]
    size: float
    effective_size: float
    share: float
    titles: tuple[str, ...] = ()

    @classmethod
    def of(cls, solution: Solution) -> Self:
        """Compute the balance of a solution.

        Parameters
        ----------
        solution : Solution

        Returns
        -------
        Balance
        """
        problem, h = solution.problem, solution.membership
        parts = problem.split_by_block(solution.multipliers)
        rows: list[BalanceRow] = []
        titles: list[str] = []
        for block, y in zip(problem.blocks, parts, strict=True):
            rows += (
                _feature_rows(block, h, y, problem.caps)
                if block.tolerance_on
                else _constraint_rows(block, h, y, problem.caps)
            )
            titles += _feature_titles(block) if block.tolerance_on else block.names
        size, sum_of_squares = float(h.sum()), float(h @ h)
        effective_size = size**2 / sum_of_squares if sum_of_squares > 0 else 0.0
        return cls(tuple(rows), size, effective_size, size / (problem.total or 1.0), tuple(titles))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[BalanceRow]:
        return iter(self.rows)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as a list of dictionaries, from which pandas makes a data frame.

        Examples
        --------
        >>> import momentlp as mlp
        >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
        >>> (record,) = mlp.solve(problem).balance().records()
        >>> record["name"], record["achieved"]
        ('x0', 1.32)
        """
        return [asdict(row) for row in self.rows]

    def table(self) -> list[list[str]]:
        """Return the rows of the table as lists of text, the headings first.

        Examples
        --------
        >>> import momentlp as mlp
        >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
        >>> [row[:3] for row in mlp.solve(problem).balance().table()]
        [['moment', 'target', 'achieved'], ['x0', '1', '1.32']]
        """
        heading = ["moment", "target", "achieved", "difference", "standardised", "before", "multiplier", "active"]
        body = [
            [
                title,
                *(f"{value:.4g}" for value in (row.target, row.achieved, row.difference)),
                *(f"{value:+.3f}" for value in (row.standardised, row.before)),
                f"{row.multiplier:.4g}",
                "yes" if row.active else "",
            ]
            for title, row in zip(self.titles or [row.name for row in self.rows], self.rows, strict=True)
        ]
        return [heading, *body]

    def summary(self) -> str:
        """Return the sizes in one line of text."""
        return f"size {self.size:.6g}, effective size {self.effective_size:.6g}, share of all points {self.share:.4f}"

    def __repr__(self) -> str:
        return f"{align_columns(self.table())}\n{self.summary()}"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        heading, *body = self.table()
        return html_table(self.summary(), shorten_rows(body), heading)


def _feature_titles(block: MomentBlock) -> tuple[str, ...]:
    """Return the names of the features for the table, after the name of the constraint if they belong to one."""
    names = () if block.fitted is None else block.fitted.names
    titles = () if block.fitted is None else block.fitted.declared.titles(block.fitted)
    if not len(names) == len(titles) == len(block.labels):
        return block.labels
    return tuple(label.removesuffix(name) + title for label, name, title in zip(block.labels, names, titles, strict=True))


def _feature_rows(block: MomentBlock, h: FloatArray, y: FloatArray, caps: FloatArray) -> list[BalanceRow]:
    """Return one row per feature of a block of moments.

    The mean is computed as the target plus the mean deviation from it. So features that are large beside their spread keep
    their digits.
    """
    deviations = MomentBlock.near(
        block.features, block.origin, np.zeros(block.origin.size), labels=block.labels, tolerance_on="sum"
    )
    difference, before = (deviations.adjoint(weights) / (weights.sum() or 1.0) for weights in (h, caps))
    spread = column_spread(block.features)
    multipliers = y if block.transform is None else np.asarray(block.transform @ y)
    active = y != 0 if block.transform is None else np.asarray(abs(block.transform) @ (y != 0)) > 0
    return [
        BalanceRow(
            name=label,
            target=float(block.origin[k]),
            achieved=float(block.origin[k] + difference[k]),
            difference=float(difference[k]),
            standardised=float(difference[k] / spread[k]),
            before=float(before[k] / spread[k]),
            multiplier=float(multipliers[k]),
            active=bool(active[k]),
        )
        for k, label in enumerate(block.labels)
    ]


def _constraint_rows(block: MomentBlock, h: FloatArray, y: FloatArray, caps: FloatArray) -> list[BalanceRow]:
    """Return one row per row of a constraint."""
    value, before = block.adjoint(h), block.adjoint(caps)
    scale = block.median_abs()
    target = np.clip(value, block.lower, block.upper)
    target_before = np.clip(before, block.lower, block.upper)
    return [
        BalanceRow(
            name=name,
            target=float(target[j]),
            achieved=float(value[j]),
            difference=float(value[j] - target[j]),
            standardised=float((value[j] - target[j]) / scale[j]),
            before=float((before[j] - target_before[j]) / scale[j]),
            multiplier=float(y[j]),
            active=bool(y[j] != 0),
            is_constraint=True,
        )
        for j, name in enumerate(block.names)
    ]
