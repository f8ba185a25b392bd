"""The command ``momentlp match``: matched samples from files. Needs typer and rich."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from momentlp.cli.demo import check_picture
from momentlp.cli.exit_codes import EXIT_CODES, exit_on_error
from momentlp.cli.render import err, print_json, progress
from momentlp.cli.render_match import describe_as_json, print_match
from momentlp.errors import DataError, NoMatchError, OptionError, StratumSkippedWarning
from momentlp.formats.tabular import read_columns
from momentlp.matching import Match, cardinality_match, profile_match
from momentlp.runtime.atomic_files import write_atomically
from momentlp.status import Status

__all__ = ["match"]

MAX_DRAWN = 40  # moments in the picture
POOL_HELP = "The rows to choose from: .csv (the first row names the columns) or .parquet."
TARGET_HELP = "Rows whose means the match must have. Leave it out and give --group to match groups of one file."


def match(
    pool: Annotated[Path, typer.Argument(help=POOL_HELP)],
    target: Annotated[Path | None, typer.Argument(help=TARGET_HELP)] = None,
    group: Annotated[str | None, typer.Option(help="Column that holds the groups to match with each other.")] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(help="Largest difference in standard deviations: one number, or NAME=NUMBER,... [default: 0.1]"),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="target, pool or pooled; with --group: pooled, all or a group."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Columns to balance: A,B,... Default: all but --group, --id and --strata."),
    ] = None,
    exact: Annotated[list[str] | None, typer.Option(help="Columns whose joint levels are balanced exactly.")] = None,
    fine: Annotated[list[str] | None, typer.Option(help="Columns that are balanced exactly, each by itself.")] = None,
    strata: Annotated[list[str] | None, typer.Option(help="Columns; match within each of their joint levels.")] = None,
    ids: Annotated[str | None, typer.Option("--id", help="Column of ids. Default: row numbers from 0.")] = None,
    ratio: Annotated[list[str] | None, typer.Option(help="Rows of a group for one of the others: GROUP=NUMBER,...")] = None,
    keep: Annotated[str | None, typer.Option(help="A group of which every row must be chosen.")] = None,
    features: Annotated[str, typer.Option(help="What is balanced: means, variances or products.")] = "means",
    backend: Annotated[str, typer.Option(help="auto, or a name that 'momentlp backends' lists.")] = "auto",
    time_limit: Annotated[float | None, typer.Option(help="Stop after this many seconds.")] = None,
    write: Annotated[Path | None, typer.Option("--out", help="CSV file for the rows chosen, with their ids.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the balance to this file (.png, .svg or .pdf).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document to standard output.")] = False,
) -> None:
    """Choose the largest matched sample, with a proof of its size.

    momentlp match people.csv --group treated --columns age,income

    finds the largest sample of people.csv in which the groups of the column
    "treated" have the same size, and mean ages and incomes that differ by at
    most 0.1 standard deviations.

    momentlp match pool.csv target.csv --out matched.csv --plot balance.png

    finds the largest part of a pool whose means are those of a target.

    Lists are separated by commas; options for lists may be repeated. Each
    level of a text column is an indicator, and missing values are a level.
    Leave outcomes out of --columns.

    Exit code 0: proved to be the largest match. 4: every tolerance holds, but
    a larger match may exist. 3 or 5: there is no match.
    """
    with exit_on_error(as_json):
        _check_outputs(write, plot)
        tables = [read_columns(path, ids) for path in (pool, target) if path is not None]
        options: dict[str, Any] = {
            "tolerance": _read_tolerance(_split(tolerance)),
            "columns": _split(columns) or None,
            "exact": _split(exact),
            "fine": _split(fine),
            "strata": _split(strata) or None,
            "ids": ids,
            "features": features,
            "backend": backend,
            "time_limit": time_limit,
        }
        if unit is not None:
            options["unit"] = unit
        try:
            with progress(f"matching {len(next(iter(tables[0].values())))} rows"):
                found = _run(tables, group, _read_pairs(_split(ratio), "ratio"), keep, options)
        except NoMatchError as error:
            _fail_without_match(error, as_json)
        explanation = "" if found.size else found.explain()
        if write is not None:
            found.to_csv(write)
        if plot is not None and found.size:
            _draw(found, plot)
        files = [str(path) for path in (write, plot if found.size else None) if path is not None]
        if as_json:
            print_json(describe_as_json(found, explanation))
        else:
            print_match(found, explanation, files)
    raise typer.Exit(EXIT_CODES[found.status])


def _run(
    tables: Sequence[dict[str, Any]], group: str | None, ratio: dict[str, float], keep: str | None, options: dict[str, Any]
) -> Match:
    """Match a pool to a target, or groups to each other, and print warnings."""
    if (group is None) == (len(tables) == 1):
        raise OptionError("give either a second file, the target, or --group, the column that holds the groups.")
    if group is None and (ratio or keep is not None):
        raise OptionError(f"{'--ratio' if ratio else '--keep'} is about groups, and needs --group.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if group is None:
            found = profile_match(tables[0], tables[1], **options)
        else:
            found = cardinality_match(tables[0], group, ratio=ratio or 1, keep=keep, **options)
    for warning in caught:
        if not issubclass(warning.category, StratumSkippedWarning):  # strata are part of what is printed
            err.print(f"[yellow]{warning.category.__name__}[/]: {escape(str(warning.message))}")
    return found


def _fail_without_match(error: NoMatchError, as_json: bool) -> None:
    """Say that no stratum could be matched, which is a result and no mistake in the command."""
    if as_json:
        print_json({"error": type(error).__name__, "message": str(error)})
    err.print(f"[bold yellow]EMPTY[/]  {escape(str(error))}")
    raise typer.Exit(EXIT_CODES[Status.EMPTY]) from None


def _split(texts: Iterable[str] | None) -> tuple[str, ...]:
    """Return the entries of lists that are separated by commas."""
    return tuple(entry.strip() for text in texts or () for entry in text.split(",") if entry.strip())


def _read_tolerance(entries: tuple[str, ...]) -> Any:
    """Return one number, or numbers by name; 0.1 if nothing is given."""
    if not entries:
        return 0.1
    if len(entries) == 1 and "=" not in entries[0]:
        return _read_number(entries[0], "tolerance")
    return _read_pairs(entries, "tolerance")


def _read_pairs(entries: tuple[str, ...], option: str) -> dict[str, float]:
    """Return numbers by name from texts such as ``age=0.05``. A name may hold ``=`` too, as ``race=black=0.05`` does."""
    pairs: dict[str, float] = {}
    for entry in entries:
        name, equals, number = entry.rpartition("=")
        if not equals or not name:
            raise OptionError(f"--{option} must be written NAME=NUMBER,NAME=NUMBER,..., but one entry is {entry!r}.")
        if name in pairs:
            raise OptionError(f"--{option} names {name!r} more than once.")
        pairs[name] = _read_number(number, option)
    return pairs


def _read_number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"--{option} needs a number, not {text!r}.") from None


def _check_outputs(write: Path | None, plot: Path | None) -> None:
    """Raise an error, before any work is done, if a file cannot be written."""
    if write is not None and write.suffix.lower() != ".csv":
        raise OptionError(f"--out must end in .csv, not {str(write)!r}.")
    if write is not None and not write.parent.is_dir():
        raise DataError(f"the folder of {str(write)!r} does not exist: create it, or choose another.")
    if plot is not None:
        check_picture(plot)


def _draw(found: Match, path: Path) -> None:
    """Draw the love plot."""
    from momentlp.plots import love_plot, new_axes

    height = 1.2 + 0.24 * min(MAX_DRAWN, len(found.data.names))
    figure = love_plot(found, new_axes(size=(6.4, height), use_pyplot=False), most=MAX_DRAWN).figure
    kind = path.suffix.lstrip(".").lower()
    write_atomically(path, lambda stream: figure.savefig(stream, format=kind, dpi=130, bbox_inches="tight"))
