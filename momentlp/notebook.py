"""What a notebook shows of an answer: small tables in HTML, with every value escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from momentlp.status import Status

if TYPE_CHECKING:
    from momentlp.estimator.prior import PriorInterval
    from momentlp.path import Path
    from momentlp.solution import Solution

__all__ = ["interval_html", "path_html", "solution_html", "table"]

MOST_ROWS = 20  # of a path; of a longer one the first and the last are shown


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
    left_out = len(rows) - MOST_ROWS
    if left_out > 1:
        half = MOST_ROWS // 2
        rows[half:-half] = [(f"... {left_out} more ...",)]
    proved = sum(status is Status.OPTIMAL for status in path.statuses)
    title = f"Path: {len(path)} tolerances, {proved} proved optimal"
    return table(title, rows, ("tolerance", "status", "weight of the set", "active moments", "seconds"))


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


def _cells(row: Sequence[object], width: int) -> str:
    if len(row) == 1:
        return f'<th colspan="{width}">{escape(str(row[0]))}</th>'
    return f"<th>{escape(str(row[0]))}</th>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row[1:])
