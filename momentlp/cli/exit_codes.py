"""The exit codes of the commands, and errors that become a message and an exit code. Needs typer and rich."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer
from rich.markup import escape

from momentlp.cli.render import err, print_json
from momentlp.errors import BackendNotFoundError, BackendUnavailableError, MomentLPError, SolverError
from momentlp.status import Status

__all__ = ["DISAGREE", "EXIT_CODES", "INTERRUPTED", "NO_BACKEND", "exit_on_error"]

EXIT_CODES = {Status.OPTIMAL: 0, Status.EMPTY: 3, Status.LIMIT: 4, Status.INFEASIBLE: 5, Status.FAILED: 6}
USAGE, DISAGREE, NO_BACKEND, INTERRUPTED = 2, 6, 7, 130


@contextmanager
def exit_on_error(as_json: bool) -> Iterator[None]:
    """Turn the errors of momentlp into a message and an exit code."""
    try:
        yield
    except (BackendNotFoundError, BackendUnavailableError) as error:
        _fail(error, NO_BACKEND, as_json)
    except SolverError as error:
        _fail(error, EXIT_CODES[Status.FAILED], as_json)
    except (MomentLPError, OSError) as error:
        _fail(error, USAGE, as_json)


def _fail(error: Exception, code: int, as_json: bool) -> NoReturn:
    if as_json:
        print_json({"error": type(error).__name__, "message": str(error)})
    err.print(f"[bold red]{type(error).__name__}[/]: {escape(str(error))}")
    raise typer.Exit(code)
