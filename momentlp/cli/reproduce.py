"""``momentlp reproduce``: the experiments of the paper from the command line. Needs typer and rich."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from momentlp.cli.exit_codes import INTERRUPTED, exit_on_error
from momentlp.cli.render import err, out, print_json
from momentlp.errors import DataError, ExtraMissingError, SolverError
from momentlp.experiments.catalogue import EXPERIMENTS, load_experiment
from momentlp.experiments.engine.digit_images import load_digit_images
from momentlp.experiments.engine.report import Claim, Report
from momentlp.experiments.engine.runner import Experiment, Settings, run
from momentlp.runtime.atomic_files import write_atomically
from momentlp.runtime.markdown_table import markdown_table

__all__ = ["app"]

COLOURS = {"yes": "green", "yes, rounded": "green", "no": "red", "-": "default"}

app = typer.Typer(help="Run the experiments of the paper, and those that go beyond it.", no_args_is_help=True)

Data = Annotated[
    str | None,
    typer.Option(
        help="Folder of the USPS digits (zip.train.gz and zip.test.gz), a file of OpenML's copy, 'openml' to download it, "
        "or 'digits' for the smaller images in scikit-learn. Default: the folder in MOMENTLP_USPS."
    ),
]
Splits = Annotated[int, typer.Option(min=1, help="Number of random splits. A later run can add more.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")]
Seed = Annotated[int, typer.Option(min=0, max=2**31, help="Split k is drawn with SEED + k.")]
Epsilon = Annotated[float | None, typer.Option(min=0.0, help="Tolerance on the sum. Default: 30 for USPS.")]
Out = Annotated[Path, typer.Option("--out", help="Folder of the results. A stopped run continues there.")]
Json = Annotated[bool, typer.Option("--json", help="Write the claims as one JSON document to standard output.")]
FOLDER = Path("momentlp-reproduce")


def _make_command(names: Sequence[str]) -> Callable[..., None]:
    def command(
        data: Data = None,
        splits: Splits = 100,
        jobs: Jobs = None,
        seed: Seed = 0,
        epsilon: Epsilon = None,
        folder: Out = FOLDER,
        as_json: Json = False,
    ) -> None:
        with exit_on_error(as_json), _report_interrupt(folder):
            _require_matplotlib()
            if folder.exists() and not folder.is_dir():
                raise DataError(f"--out must be a folder, but {str(folder)!r} is a file.")
            chosen = [load_experiment(name) for name in names]
            digits = load_digit_images(data) if any(experiment.needs_data for experiment in chosen) else None
            settings = Settings(splits, seed, digits, epsilon)
            started, workers = time.monotonic(), jobs or os.cpu_count() or 1
            reports, failed = {}, []
            for experiment in chosen:
                try:
                    reports[experiment] = _run(experiment, settings, folder, workers, quiet=as_json)
                except SolverError as error:  # the other experiments continue
                    failed.append(error)
            if failed:
                raise failed[0]
            claims = [claim for report in reports.values() for claim in report.claims]
            if len(chosen) > 1:
                _write_summary(settings, reports, folder)
            if as_json:
                print_json([claim.to_row() for claim in claims])
                return
            if len(chosen) > 1 and claims:
                out.print("\n[bold]The paper's claims, and what came out here[/]")
                _print_claims(claims)
            spent = timedelta(seconds=round(time.monotonic() - started))
            out.print(f"\nDone in {spent}. Tables and figures: {folder}", markup=False, soft_wrap=True)

    return command


def _run(chosen: Experiment, settings: Settings, folder: Path, jobs: int, *, quiet: bool) -> Report:
    if not quiet:
        on = f" ({settings.digits.title})" if chosen.needs_data else ""
        out.print(f"[bold]{escape(chosen.title)}[/]{escape(on)}")
    report = run(chosen, settings, folder / chosen.name, jobs=jobs, progress=True)
    if not quiet:
        if report.claims:
            _print_claims(report.claims)
        elif report.tables:
            _print_rows(report.tables[0].rows)
        out.print(f"-> {folder / chosen.name}\n", markup=False, soft_wrap=True)
    return report


def _print_claims(claims: Sequence[Claim]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("", "paper", "here", "holds"):
        table.add_column(head)
    for claim in claims:
        verdict = claim.verdict
        table.add_row(*map(escape, (claim.what, claim.paper, claim.ours)), f"[{COLOURS[verdict]}]{verdict}[/]")
    out.print(table)


def _print_rows(rows: Sequence[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in rows[0]:
        table.add_column(head)
    for row in rows:
        table.add_row(*(escape(f"{value:.3f}" if isinstance(value, float) else str(value)) for value in row.values()))
    out.print(table)


def _write_summary(settings: Settings, reports: Mapping[Experiment, Report], folder: Path) -> None:
    """Write summary.md, one page on all experiments."""
    stand_in = "" if settings.data is None or settings.data.is_usps else f" **These images are {settings.data.title}.**"
    claims = [claim.to_row() for report in reports.values() for claim in report.claims]
    parts = [
        "# The paper, reproduced",
        f"Splits: {settings.splits}, seed: {settings.seed}, epsilon: {settings.eps:g}.{stand_in}",
        markdown_table(claims),
        *(report.to_markdown(experiment.title, experiment.name).rstrip() for experiment, report in reports.items()),
    ]
    text = "\n\n".join(parts) + "\n"
    write_atomically(folder / "summary.md", lambda stream: stream.write(text.encode()))


@contextmanager
def _report_interrupt(folder: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        again = shlex.join(["momentlp", *sys.argv[1:]])
        kept = f"Stopped. The results so far are in {escape(str(folder))}"
        err.print(f"\n{kept}; run the same command again to continue: {escape(again)}")
        raise typer.Exit(INTERRUPTED) from None


def _require_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise ExtraMissingError("reproduce draws figures and needs matplotlib: run pip install 'momentlp[plot]'.")


for _name, (_, _, _help) in EXPERIMENTS.items():
    app.command(_name, help=_help)(_make_command([_name]))
app.command("all", help="All of these, and one page about them: summary.md.")(_make_command(list(EXPERIMENTS)))
