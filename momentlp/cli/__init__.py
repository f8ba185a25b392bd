"""The command line, ``momentlp``. Its commands and exit codes are described in :mod:`momentlp.cli.entry_point`."""

from momentlp.cli.entry_point import main

__all__ = ["main"]
