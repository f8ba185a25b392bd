"""The commands behind :mod:`momentlp.cli`. Needs typer and rich."""

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
from momentlp.cli.render import (
    document,
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

SPECS = (".json", ".yaml", ".yml")
AGREEMENT = 1e-6  # certified objectives further apart than this, relatively, disagree

app = typer.Typer(
    name="momentlp",
    help="Find a class from a few of its members: the largest set with their mean, with a proof.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(reproduce, name="reproduce")

Json = Annotated[bool, typer.Option("--json", help="Write one JSON document to standard output.")]
Source = Annotated[Path, typer.Argument(help="A saved problem (.npz), or a spec (.json, .yaml) to be compiled with DATA.")]
Data = Annotated[Path | None, typer.Argument(help="The points, one row each: .csv, .parquet, .npy or .npz.")]
LabelledColumn = Annotated[str | None, typer.Option(help="Column of DATA that is 1 for known members and 0 for all others.")]
LabelledFile = Annotated[Path | None, typer.Option("--labelled", help="File of the row numbers (from 0) of known members.")]
SampleFile = Annotated[Path | None, typer.Option("--sample", help="File of known members that are not part of DATA.")]
MeanFile = Annotated[Path | None, typer.Option("--mean", help="File of the mean of the class in feature space, one row.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds after which to stop.")]


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Find a class from a few of its members: the largest set with their mean, with a proof."""
    if version:
        out.print(f"momentlp {mlp.__version__}")
        raise typer.Exit


@app.command()
def backends(as_json: Json = False) -> None:
    """List the solvers, which of them can be used here, and why the others cannot."""
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
    backend: Annotated[str, typer.Option(help="auto, or a name from 'momentlp backends'.")] = "auto",
    tol: Annotated[float, typer.Option(help="The certificate must hold within this.")] = 1e-7,
    time_limit: TimeLimit = None,
    iteration_limit: Annotated[int | None, typer.Option(help="Iterations after which to stop.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads the solver may use.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the solver's own log on standard error.")] = False,
    write: Annotated[Path | None, typer.Option("--out", help="Folder for membership.csv and solution.json.")] = None,
    as_json: Json = False,
) -> None:
    """Solve a problem and print what was found and the proof of it."""
    with exit_on_error(as_json):
        problem = _problem(source, data, labelled_column, labelled, sample, mean)
        limits: dict[str, Any] = {"time_limit": time_limit, "iteration_limit": iteration_limit, "threads": threads}
        if verbose and "log" in _capabilities(backend):
            limits["log"] = lambda text: err.print(text, end="", markup=False, emoji=False)
        elif verbose:
            limits["verbose"] = not as_json  # such a solver writes to standard output, which JSON keeps for itself
        with progress(f"solving {problem.n_points} points x {problem.n_moments} moments") as tell:
            if "progress" in _capabilities(backend):
                limits["progress"] = lambda report: tell(f"{report.iterations} iterations")
            solution = mlp.solve(problem, backend, tol=tol, **limits)
        if write is not None:
            write_solution(solution, write)
        if as_json:
            print_json({**document(solution), "membership": solution.membership.tolist()})
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
    backend: Annotated[list[str] | None, typer.Option(help="May be repeated; default: all.")] = None,
    repeat: Annotated[int, typer.Option(help="Run each this often and report the median time.")] = 1,
    time_limit: TimeLimit = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the records to this CSV file.")] = None,
    as_json: Json = False,
) -> None:
    """Solve one problem with several backends and set their answers side by side."""
    with exit_on_error(as_json):
        problem = _problem(source, data, labelled_column, labelled, sample, mean)
        with progress("comparing") as tell:
            rows = mlp.compare(problem, backend or None, repeat=repeat, on_start=tell, time_limit=time_limit)
        if csv is not None:
            rows.to_csv(csv)
        if as_json:
            print_json(json.loads(rows.to_json()))
        else:
            print_comparison(rows)
    ran = [row for row in rows if row["status"] != "unavailable"]
    certified = bool(ran) and all(row["status"] in CERTIFIED for row in ran)
    raise typer.Exit(0 if certified and rows.spread <= AGREEMENT else DISAGREE if ran else NO_BACKEND)


@app.command()
def demo(
    digit: Annotated[int, typer.Option(help="Which digit to find.")] = 3,
    labelled: Annotated[int, typer.Option(help="How many are known.")] = 30,
    seed: Annotated[int, typer.Option(help="Which ones are known.")] = 0,
    picture: Annotated[Path, typer.Option(help="Where to draw the picture (.png or .svg).")] = Path("momentlp-demo.png"),
    as_json: Json = False,
) -> None:
    """Find one digit among scikit-learn's 1797 from a few labelled ones, through every backend, and draw it."""
    from momentlp.cli.demo import check_picture, draw, run_demo

    with exit_on_error(as_json):
        check_picture(picture)
        with progress("solving with") as tell:
            result = run_demo(digit, labelled, seed, on_start=tell)
        with progress("drawing"):
            draw(result, picture)
        if as_json:
            rows = json.loads(result.comparison.to_json())
            print_json({**result.counts, "picture": str(picture), **document(result.solution), "backends": rows})
        else:
            print_demo(result)
            out.print(f"\nPicture: {picture}", markup=False)


def _problem(
    source: Path, data: Path | None, column: str | None, labelled: Path | None, sample: Path | None, mean: Path | None
) -> mlp.Problem:
    """Load a saved problem, or compile a spec with what the options say is known of the class."""
    options = {"--labelled-column": column, "--labelled": labelled, "--sample": sample, "--mean": mean}
    given = [name for name, value in options.items() if value is not None]
    is_spec = source.suffix.lower() in SPECS
    if data is None:
        if is_spec:
            raise mlp.DataError(f"{source} is a spec: name the file of points after it.")
        if given:
            raise mlp.DataError(f"{given[0]} goes with a spec and a file of points; {source} is taken for a saved problem.")
        return mlp.Problem.load(source)
    if not is_spec:
        raise mlp.DataError(f"with a file of points, the first file must be a spec ({', '.join(SPECS)}), not {source}.")
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise mlp.DataError(f"say what is known of the class by exactly one of {', '.join(options)}; got {got}.")
    spec, points = mlp.Spec.load(source), read_points(data)
    if column is not None:
        if not isinstance(points, Table):
            raise mlp.DataError(f"{data} holds a sparse matrix, which has no columns by name: use --labelled.")
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
