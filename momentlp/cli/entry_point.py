"""The command line: ``momentlp demo | solve | match | compare | backends | reproduce``.

Results go to standard output, everything else (progress, errors) to standard error. With ``--json`` standard output holds
one JSON document and nothing else. The exit code says what happened:

====  ============================================================================
code  meaning
====  ============================================================================
0     the solution is certified (``compare``: all that could run, and they agree)
1     an error inside momentlp: please report it
2     a mistake in the command, a file or an option
3     EMPTY: no set of the points has this mean
4     LIMIT: a limit stopped the solve before the optimum; a whole set or a match that is not proved to be the largest
5     INFEASIBLE: the constraints contradict each other
6     FAILED: nothing could be proved; ``compare``: the backends disagree
7     the backend is unknown or cannot be used here
130   ``reproduce`` was interrupted; the same command continues it
====  ============================================================================
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say how to install it."""
    try:
        from momentlp.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write(f"The command line needs {error.name}: run pip install 'momentlp[cli]'.\n")
        sys.exit(2)
    app()
