"""Print solutions, tables and progress. Needs rich."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from momentlp.cli.demo import Demo
from momentlp.proof.dual_bound import farkas_value
from momentlp.runtime.atomic_files import write_atomically
from momentlp.solution.solution import Solution
from momentlp.solving.comparison import Comparison
from momentlp.status import Status

__all__ = [
    "describe_solution",
    "err",
    "out",
    "print_comparison",
    "print_demo",
    "print_json",
    "print_solution",
    "progress",
    "write_solution",
]

PROGRESS_DELAY = 1.0  # seconds of work before progress is shown

MEANING = {
    Status.OPTIMAL: ("green", "certified: no set that meets the moments weighs more"),
    Status.EMPTY: ("yellow", "no set of these points has this mean: raise the tolerance or check the labelled points"),
    Status.LIMIT: ("yellow", "stopped by a limit: the set is feasible but may not be the largest"),
    Status.INFEASIBLE: ("red", "proved: no set meets all the constraints"),
    Status.FAILED: ("red", "nothing could be proved"),
}

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_solution(solution: Solution, folder: Path | None) -> None:
    """Print a solution and its certificate."""
    proof, status = solution.certificate, solution.status
    colour, meaning = MEANING[status]
    inside = int((solution.membership > 0.5).sum())
    repaired = f" (the first answer was repaired: {', '.join(solution.repairs)})" if solution.repairs else ""
    seconds = sum(solution.seconds.values())
    lines = {
        "points in the class": f"{inside} of {solution.problem.n_points}",
        "objective": f"{solution.objective:.9g}",
        "bound": f"{solution.bound:.9g}",
        "certificate": f"gap {proof.gap:.1e}, primal {proof.primal_residual:.1e}, dual {proof.dual_residual:.1e}",
        "fractional": f"{proof.fractional} point(s) on the hyperplane; {proof.active} active moment(s)",
    }
    if status is Status.INFEASIBLE:
        lines = {"proof": f"the bound of no set at all is {farkas_value(solution.problem, solution.multipliers):.3g} < 0"}
    if status in (Status.EMPTY, Status.INFEASIBLE):
        lines["in conflict"] = ", ".join(solution.conflict()[:8])
    lines["solved by"] = f"{solution.backend} {solution.version} (engine {solution.engine}) in {seconds:.3f} s"
    lines["message"] = f"{solution.message}{repaired}"
    if folder is not None:
        lines["written to"] = f"{folder / 'membership.csv'}, {folder / 'solution.json'}"
    out.print(f"[bold {colour}]{status.name}[/]  {meaning}")
    for name, text in lines.items():
        out.print(f"{name:<20}  {text}", markup=False, emoji=False, soft_wrap=True)


def print_comparison(rows: Comparison) -> None:
    """Print the table of a comparison, the errors, and the verdict."""
    heading, *body = rows.table()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in heading:
        table.add_column(name, justify="left" if name in ("backend", "engine", "status") else "right", no_wrap=True)
    for cells in body:
        table.add_row(*(escape(cell) for cell in cells))
    out.print(table)
    for row in rows:
        if row["status"] in ("unavailable", "error", "failed"):
            out.print(f"[yellow]{row['backend']}[/]: {escape(row['message'])}")
    out.print(rows.verdict(), markup=False, soft_wrap=True)


def print_demo(demo: Demo) -> None:
    """Print what the demo found, how it compares with the truth, and the proof."""
    counts, solution = demo.counts, demo.solution
    out.print(f"{counts['points']} images, {counts['labelled']} of them known to be a {counts['digit']}.")
    quality = f"precision {counts['precision']:.3f}, recall {counts['recall']:.3f}"
    split = f"[bold]{counts['right']} right[/], {counts['wrong']} wrong, {counts['missed']} missed"
    out.print(f"Found {counts['found']} more: {split} ({quality}).")
    out.print(f"The set weighs {solution.objective:.6f}. Proved: none with this mean weighs over {solution.bound:.6f}.\n")
    print_comparison(demo.comparison)


def print_json(value: Any) -> None:
    """Print one JSON document."""
    sys.stdout.write(json.dumps(_replace_non_finite(value), indent=2) + "\n")


def describe_solution(solution: Solution) -> dict[str, Any]:
    """Return a solution without its memberships, as values for JSON."""
    separator = solution.separator
    return {
        **solution.summary(),
        "certificate": solution.certificate.figures(),
        "multipliers": dict(zip(solution.problem.names, solution.multipliers.tolist(), strict=True)),
        "separator": {
            "normal": dict(zip(separator.names, separator.normal.tolist(), strict=True)),
            "offset": separator.offset,
        },
    }


def write_solution(solution: Solution, folder: Path) -> None:
    """Write ``membership.csv`` and ``solution.json`` to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = zip(solution.membership.tolist(), solution.scores.tolist(), strict=True)
    lines = ["point,membership,score", *(f"{point},{h!r},{score!r}" for point, (h, score) in enumerate(rows)), ""]
    write_atomically(folder / "membership.csv", lambda stream: stream.write("\n".join(lines).encode()))
    text = json.dumps(_replace_non_finite(describe_solution(solution)), indent=2) + "\n"
    write_atomically(folder / "solution.json", lambda stream: stream.write(text.encode()))


@contextmanager
def progress(label: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner on standard error after PROGRESS_DELAY; the function that is yielded changes its text."""
    status = err.status(label)
    timer = threading.Timer(PROGRESS_DELAY, status.start)
    timer.daemon = True
    if err.is_terminal:
        timer.start()
    try:
        yield lambda text: status.update(f"{label}: {text}")
    finally:
        timer.cancel()
        status.stop()


def _replace_non_finite(value: Any) -> Any:
    """Replace infinities and NaN by null: JSON has neither."""
    if isinstance(value, dict):
        return {key: _replace_non_finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_replace_non_finite(entry) for entry in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
