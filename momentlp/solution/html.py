"""What a notebook shows of an answer: small tables in HTML, with every value escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from momentlp.status import Status

if TYPE_CHECKING:
    from momentlp.estimator.prior import PriorInterval
    from momentlp.proof.certificate import Certificate
    from momentlp.solution.balance import Balance
    from momentlp.solution.separator import Separator
    from momentlp.solution.solution import Solution
    from momentlp.solving.comparison import Comparison
    from momentlp.solving.tolerance_path import Path

__all__ = [
    "balance_html",
    "certificate_html",
    "comparison_html",
    "interval_html",
    "path_html",
    "separator_html",
    "solution_html",
    "table",
]

MOST_ROWS = 20  # of a longer table the first and the last are shown


def table(title: str, rows: Iterable[Sequence[object]], heading: Sequence[str] = ()) -> str:
    """Return a table in HTML: the first cell of every row is its name, and a row of one cell spans the table.

    Examples
    --------
    >>> table("a < b", [("size", 3)])
    '<table><caption><b>a &lt; b</b></caption><tbody><tr><th>size</th><td>3</td></tr></tbody></table>'
    """
    rows = [tuple(row) for row in rows]
    width = max((len(row) for row in rows), default=1)
    head = "".join(f"<th>{escape(name)}</th>" for name in heading)
    body = "".join(f"<tr>{_cells(row, width)}</tr>" for row in rows)
    return (
        f"<table><caption><b>{escape(title)}</b></caption>"
        + (f"<thead><tr>{head}</tr></thead>" if head else "")
        + f"<tbody>{body}</tbody></table>"
    )


def solution_html(solution: Solution) -> str:
    """Show an answer: what was found, what proves it, and who solved it."""
    proof, problem = solution.certificate, solution.problem
    rows: list[tuple[str, object]] = [
        ("weight of the set", f"{solution.objective:.6g} of {float(problem.weights @ problem.caps):.6g}"),
        ("none weighs over", f"{solution.bound:.6g}"),
        ("gap", f"{proof.gap:.1e}"),
        ("residuals", f"{proof.primal_residual:.1e} primal, {proof.dual_residual:.1e} dual"),
        ("fractional points", f"{proof.fractional:,} of {problem.n_points:,}"),
        ("active moments", f"{proof.active:,} of {problem.n_moments:,}"),
        ("backend", f"{solution.backend} ({solution.engine} {solution.version})"),
        ("seconds", f"{sum(solution.seconds.values()):.3g}"),
    ]
    if solution.repairs:
        rows.append(("repairs", ", ".join(solution.repairs)))
    if solution.status is not Status.OPTIMAL and solution.message:
        rows.append(("message", solution.message))
    return table(f"Solution: {solution.status.name}", rows)


def path_html(path: Path) -> str:
    """Show a path: a row for every tolerance, or for the first and the last of many."""
    rows: list[tuple[object, ...]] = [
        (
            f"{tolerance:g}",
            solution.status.name,
            f"{solution.objective:.6g}",
            solution.certificate.active,
            f"{sum(solution.seconds.values()):.3g}",
        )
        for tolerance, solution in zip(path.tolerances, path, strict=True)
    ]
    proved = sum(status is Status.OPTIMAL for status in path.statuses)
    title = f"Path: {len(path)} tolerances, {proved} proved optimal"
    return table(
        title,
        _ends(rows),
        ("multiple" if path.relative else "tolerance", "status", "weight of the set", "active moments", "seconds"),
    )


def balance_html(balance: Balance) -> str:
    """Show a balance table: a row for every moment, or for the first and the last of many."""
    heading, *body = balance.table()
    return table(balance.summary(), _ends([tuple(row) for row in body]), heading)


def comparison_html(comparison: Comparison) -> str:
    """Show a comparison: a row for every backend, under what they confirm."""
    heading, *body = comparison.table()
    return table(comparison.verdict(), body, heading)


def certificate_html(proof: Certificate) -> str:
    """Show a certificate: whether it proves the answer, and by how much."""
    return table(
        f"Certificate: {'holds' if proof.holds() else 'does not hold'}",
        [
            ("weight of the set", f"{proof.objective:.6g}"),
            ("none weighs over", f"{proof.bound:.6g}"),
            ("gap", f"{proof.gap:.1e}"),
            ("residuals", f"{proof.primal_residual:.1e} primal, {proof.dual_residual:.1e} dual"),
            ("complementarity", f"{proof.complementarity:.1e}"),
            ("fractional points", f"{proof.fractional:,} of {proof.problem.n_points:,}"),
            ("active moments", f"{proof.active:,} of {proof.problem.n_moments:,}"),
        ],
    )


def separator_html(separator: Separator) -> str:
    """Show a hyperplane: its offset and the entries of its normal that are not zero, the largest first."""
    entries = [(name, value) for name, value in zip(separator.names, separator.normal.tolist(), strict=True) if value]
    entries.sort(key=lambda entry: -abs(entry[1]))
    rows: list[tuple[object, ...]] = [("offset", f"{separator.offset:.6g}")]
    rows += [(name, f"{value:.6g}") for name, value in entries[:MOST_ROWS]]
    if len(entries) > MOST_ROWS:
        rows.append((f"... {len(entries) - MOST_ROWS} smaller ones ...",))
    title = f"Separator: {len(entries):,} of {separator.normal.size:,} features count"
    return table(title, rows, ("feature", "weight"))


def interval_html(interval: PriorInterval) -> str:
    """Show an interval for the class prior."""
    return table(
        "Share of the class among the unlabelled points",
        [
            ("estimate", f"{interval.estimate:.4f}"),
            (f"{interval.level:.0%} interval", f"{interval.low:.4f} to {interval.high:.4f}"),
            ("bootstrap samples", f"{interval.resampled.size:,}"),
        ],
    )


def _ends(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Leave out the middle of many rows, and say how many they are."""
    left_out, half = len(rows) - MOST_ROWS, MOST_ROWS // 2
    return [*rows[:half], (f"... {left_out} more ...",), *rows[-half:]] if left_out > 1 else rows


def _cells(row: Sequence[object], width: int) -> str:
    if len(row) == 1:
        return f'<th colspan="{width}">{escape(str(row[0]))}</th>'
    return f"<th>{escape(str(row[0]))}</th>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row[1:])
