"""The balance table: what was asked of every moment, and what the set found has."""

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
    """One moment, or one row of a constraint.

    Attributes
    ----------
    name : str
    target : float
        The mean asked for; for a constraint, the nearest value that it allows.
    achieved : float
        The mean of the set found; for a constraint, the value of its row.
    difference : float
        ``achieved - target``.
    standardised : float
        The difference in standard deviations of the feature over all points; for a constraint, in units of its entries.
    before : float
        The same for all points together: how far the pile was from the target before anything was selected.
    multiplier : float
        How much the size of the set would change with the bound that holds it.
    active : bool
        Whether a bound holds it.
    """

    name: str
    target: float
    achieved: float
    difference: float
    standardised: float
    before: float
    multiplier: float
    active: bool


@dataclass(frozen=True, repr=False)
class Balance(Sequence[BalanceRow]):
    """A sequence of :class:`BalanceRow`, shown as a table.

    Attributes
    ----------
    rows : tuple of BalanceRow
    size : float
        The sum of all memberships.
    effective_size : float
        ``(sum h)^2 / sum h^2``: how many whole points the memberships amount to.
    share : float
        The size over the number of points: the estimate of the class prior.
    titles : tuple of str
        The names of the rows as they are shown: products of columns with a sign between them.
    """

    rows: tuple[BalanceRow, ...]
    size: float
    effective_size: float
    share: float
    titles: tuple[str, ...] = ()

    @classmethod
    def of(cls, solution: Solution) -> Self:
        """Compute the table of a solution."""
        problem, h = solution.problem, solution.membership
        parts = problem.split_by_block(solution.multipliers)
        rows: list[BalanceRow] = []
        titles: list[str] = []
        for block, y in zip(problem.blocks, parts, strict=True):
            rows += _moments(block, h, y, problem.caps) if block.tolerance_on else _constraint(block, h, y, problem.caps)
            titles += _titles(block) if block.tolerance_on else block.names
        size, square = float(h.sum()), float(h @ h)
        effective, share = size**2 / square if square > 0 else 0.0, size / (problem.total or 1.0)
        return cls(tuple(rows), size, effective, share, tuple(titles))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[BalanceRow]:
        return iter(self.rows)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries, ready for a data frame."""
        return [asdict(row) for row in self.rows]

    def table(self) -> list[list[str]]:
        """Return the rows of the table, headings first, as text."""
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
        """Return the sizes in a line."""
        return f"size {self.size:.6g}, effective size {self.effective_size:.6g}, share of all points {self.share:.4f}"

    def __repr__(self) -> str:
        return f"{align_columns(self.table())}\n{self.summary()}"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        heading, *body = self.table()
        return html_table(self.summary(), shorten_rows(body), heading)


def _titles(block: MomentBlock) -> tuple[str, ...]:
    """Return the names of a block's features as they are shown, behind the name of a constraint that they belong to."""
    names = () if block.fitted is None else block.fitted.names
    titles = () if block.fitted is None else block.fitted.declared.titles(block.fitted)
    if not len(names) == len(titles) == len(block.labels):
        return block.labels
    return tuple(label.removesuffix(name) + title for label, name, title in zip(block.labels, names, titles, strict=True))


def _moments(block: MomentBlock, h: FloatArray, y: FloatArray, caps: FloatArray) -> list[BalanceRow]:
    """Return a row per feature. The mean is the target plus a mean of deviations: large features lose no digits."""
    plain = MomentBlock.near(
        block.features, block.origin, np.zeros(block.origin.size), labels=block.labels, tolerance_on="sum"
    )
    off, before = (plain.adjoint(weights) / (weights.sum() or 1.0) for weights in (h, caps))
    spread = column_spread(block.features)
    pull = y if block.transform is None else np.asarray(block.transform @ y)
    active = y != 0 if block.transform is None else np.asarray(abs(block.transform) @ (y != 0)) > 0
    return [
        BalanceRow(
            name=label,
            target=float(block.origin[k]),
            achieved=float(block.origin[k] + off[k]),
            difference=float(off[k]),
            standardised=float(off[k] / spread[k]),
            before=float(before[k] / spread[k]),
            multiplier=float(pull[k]),
            active=bool(active[k]),
        )
        for k, label in enumerate(block.labels)
    ]


def _constraint(block: MomentBlock, h: FloatArray, y: FloatArray, caps: FloatArray) -> list[BalanceRow]:
    value, before = block.adjoint(h), block.adjoint(caps)
    scale = block.median_abs()
    target, start = np.clip(value, block.lower, block.upper), np.clip(before, block.lower, block.upper)
    return [
        BalanceRow(
            name=name,
            target=float(target[j]),
            achieved=float(value[j]),
            difference=float(value[j] - target[j]),
            standardised=float((value[j] - target[j]) / scale[j]),
            before=float((before[j] - start[j]) / scale[j]),
            multiplier=float(y[j]),
            active=bool(y[j] != 0),
        )
        for j, name in enumerate(block.names)
    ]
