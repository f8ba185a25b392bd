"""The commands of ``momentlp``. Needs typer and rich."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as RichTable

import momentlp as mlp
from momentlp.cli.exit_codes import DISAGREE, EXIT_CODES, NO_BACKEND, exit_on_error
from momentlp.cli.match import match
from momentlp.cli.render import (
    describe_solution,
    err,
    out,
    print_comparison,
    print_demo,
    print_json,
    print_solution,
    progress,
    write_solution,
)
from momentlp.cli.reproduce import app as reproduce
from momentlp.formats.tabular import Table, read_numbers, read_points
from momentlp.solving.comparison import CERTIFIED

__all__ = ["app"]

SPEC_SUFFIXES = (".json", ".yaml", ".yml")
MAX_SPREAD = 1e-6  # relative difference of certified objectives above which backends disagree

app = typer.Typer(
    name="momentlp",
    help="Find a class from a few of its members: the largest set with their mean, and a proof of it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(reproduce, name="reproduce")

Json = Annotated[bool, typer.Option("--json", help="Write one JSON document to standard output.")]
Source = Annotated[Path, typer.Argument(help="A saved problem (.npz), or a spec (.json, .yaml) to compile with DATA.")]
Data = Annotated[Path | None, typer.Argument(help="The points, one per row: .csv, .parquet, .npy or .npz.")]
LabelledColumn = Annotated[str | None, typer.Option(help="Column of DATA: 1 for labelled points, 0 for all others.")]
LabelledFile = Annotated[
    Path | None, typer.Option("--labelled", help="File with the row indices (from 0) of the labelled points.")
]
SampleFile = Annotated[Path | None, typer.Option("--sample", help="File with labelled points that are not in DATA.")]
MeanFile = Annotated[Path | None, typer.Option("--mean", help="File with the mean of the class in feature space, one row.")]
TimeLimit = Annotated[float | None, typer.Option(help="Stop after this many seconds.")]


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Find a class from a few of its members: the largest set with their mean, and a proof of it."""
    if version:
        out.print(f"momentlp {mlp.__version__}")
        raise typer.Exit


@app.command()
def backends(as_json: Json = False) -> None:
    """List the backends, and say why one cannot be used here."""
    infos = mlp.backends()
    if as_json:
        print_json([asdict(info) for info in infos])
        return
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for heading in ("backend", "engine", "version", "options it honours"):
        table.add_column(heading)
    for info in infos:
        options = ", ".join(info.capabilities) if info.available else f"[red]not available:[/] {escape(info.reason)}"
        table.add_row(info.name, info.engine, info.version or "-", options)
    out.print(table)


@app.command()
def solve(
    source: Source,
    data: Data = None,
    labelled_column: LabelledColumn = None,
    labelled: LabelledFile = None,
    sample: SampleFile = None,
    mean: MeanFile = None,
    backend: Annotated[str, typer.Option(help="auto, or a name that 'momentlp backends' lists.")] = "auto",
    tol: Annotated[float, typer.Option(help="Tolerance of the certificate.")] = 1e-7,
    time_limit: TimeLimit = None,
    iteration_limit: Annotated[int | None, typer.Option(help="Stop after this many iterations.")] = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads of the solver.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the log of the solver on standard error.")] = False,
    write: Annotated[
        Path | None, typer.Option("--out", help="Write membership.csv and solution.json to this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Solve a problem; print the solution and its certificate."""
    with exit_on_error(as_json):
        problem = _load_problem(source, data, labelled_column, labelled, sample, mean)
        limits: dict[str, Any] = {"time_limit": time_limit, "iteration_limit": iteration_limit, "threads": threads}
        if verbose and "log" in _capabilities(backend):
            limits["log"] = lambda text: err.print(text, end="", markup=False, emoji=False)
        elif verbose:
            limits["verbose"] = not as_json  # such a solver writes to standard output, which must hold nothing but JSON
        with progress(f"solving {problem.n_points} points x {problem.n_moments} moments") as report:
            if "progress" in _capabilities(backend):
                limits["progress"] = lambda latest: report(f"{latest.iterations} iterations")
            solution = mlp.solve(problem, backend, tol=tol, **limits)
        if write is not None:
            write_solution(solution, write)
        if as_json:
            print_json({**describe_solution(solution), "membership": solution.membership.tolist()})
        else:
            print_solution(solution, write)
    raise typer.Exit(EXIT_CODES[solution.status])


@app.command()
def compare(
    source: Source,
    data: Data = None,
    labelled_column: LabelledColumn = None,
    labelled: LabelledFile = None,
    sample: SampleFile = None,
    mean: MeanFile = None,
    backend: Annotated[list[str] | None, typer.Option(help="May be repeated. Default: all.")] = None,
    repeat: Annotated[int, typer.Option(help="Number of runs of each backend; the median time is shown.")] = 1,
    time_limit: TimeLimit = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the table to this CSV file.")] = None,
    as_json: Json = False,
) -> None:
    """Solve one problem with several backends and compare the solutions."""
    with exit_on_error(as_json):
        problem = _load_problem(source, data, labelled_column, labelled, sample, mean)
        with progress("comparing") as report:
            rows = mlp.compare(problem, backend or None, repeat=repeat, on_start=report, time_limit=time_limit)
        if csv is not None:
            rows.to_csv(csv)
        if as_json:
            print_json(json.loads(rows.to_json()))
        else:
            print_comparison(rows)
    ran = [row for row in rows if row["status"] != "unavailable"]
    certified = bool(ran) and all(row["status"] in CERTIFIED for row in ran)
    raise typer.Exit(0 if certified and rows.spread <= MAX_SPREAD else DISAGREE if ran else NO_BACKEND)


app.command()(match)


@app.command()
def demo(
    digit: Annotated[int, typer.Option(help="Which digit to find.")] = 3,
    labelled: Annotated[int, typer.Option(help="Number of labelled images.")] = 30,
    seed: Annotated[int, typer.Option(help="Random seed that chooses them.")] = 0,
    picture: Annotated[Path, typer.Option(help="File of the picture (.png, .svg or .pdf).")] = Path("momentlp-demo.png"),
    as_json: Json = False,
) -> None:
    """Find one digit among 1797 images from a few labelled ones, and draw it."""
    from momentlp.cli.demo import check_picture, draw, run_demo

    with exit_on_error(as_json):
        check_picture(picture)
        with progress("solving with") as report:
            result = run_demo(digit, labelled, seed, on_start=report)
        with progress("drawing"):
            draw(result, picture)
        if as_json:
            rows = json.loads(result.comparison.to_json())
            print_json({**result.counts, "picture": str(picture), **describe_solution(result.solution), "backends": rows})
        else:
            print_demo(result)
            out.print(f"\nPicture: {picture}", markup=False)


def _load_problem(
    source: Path, data: Path | None, column: str | None, labelled: Path | None, sample: Path | None, mean: Path | None
) -> mlp.Problem:
    """Load a saved problem, or compile a spec with the data and what is known of the class."""
    options = {"--labelled-column": column, "--labelled": labelled, "--sample": sample, "--mean": mean}
    given = [name for name, value in options.items() if value is not None]
    is_spec = source.suffix.lower() in SPEC_SUFFIXES
    if data is None:
        if is_spec:
            raise mlp.DataError(f"{source} is a spec: give the file of points after it.")
        if given:
            raise mlp.DataError(f"{given[0]} needs a spec and a file of points, but {source} is read as a saved problem.")
        return mlp.Problem.load(source)
    if not is_spec:
        raise mlp.DataError(
            f"the first file must be a spec ({', '.join(SPEC_SUFFIXES)}) if a file of points follows, not {source}."
        )
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise mlp.DataError(f"give exactly one of {', '.join(options)} to say what is known of the class, not {got}.")
    spec, points = mlp.Spec.load(source), read_points(data)
    if column is not None:
        if not isinstance(points, Table):
            raise mlp.DataError(f"{data} holds a sparse matrix, whose columns have no names: use --labelled.")
        points, mask = points.split(column)
        return spec.compile(points, labelled=mask)
    if labelled is not None:
        return spec.compile(points, labelled=read_numbers(labelled))
    if sample is not None:
        return spec.compile(points, sample=read_points(sample))
    return spec.compile(points, mean=read_numbers(mean or Path()))


def _capabilities(backend: str) -> tuple[str, ...]:
    name = "highs" if backend == "auto" else backend
    return next((info.capabilities for info in mlp.backends() if info.name == name), ())
