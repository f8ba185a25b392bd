"""Every error momentlp raises on purpose, under one roof.

Each names the argument at fault and says what to do next, so ``except MomentLPError`` is all a caller needs.
"""

from __future__ import annotations

__all__ = [
    "BackendNotFoundError",
    "BackendUnavailableError",
    "CompileError",
    "DataError",
    "ExtraMissingError",
    "FileFormatError",
    "ModelError",
    "MomentLPError",
    "OnlyLabelledWarning",
    "OptionError",
    "SolverError",
    "SpecError",
]


class MomentLPError(Exception):
    """Base of all errors raised by momentlp."""


class DataError(MomentLPError, ValueError):
    """An array, frame or index given by the user cannot be used as it is."""


class CompileError(MomentLPError, ValueError):
    """A spec and the data do not fit together."""


class SpecError(MomentLPError, ValueError):
    """A spec, or a file that holds one, is not valid."""


class FileFormatError(MomentLPError, ValueError):
    """A saved file is cut short, of another kind, or carries what may not be read."""


class OptionError(MomentLPError, ValueError):
    """An option is unknown, out of range, or not one that the solver accepts."""


class BackendNotFoundError(MomentLPError, LookupError):
    """No backend is registered under the name asked for."""


class BackendUnavailableError(MomentLPError, ImportError):
    """The backend is known, but the solver behind it cannot be loaded here."""


class ExtraMissingError(MomentLPError, ImportError):
    """An optional package that this call needs is not installed."""


class SolverError(MomentLPError, RuntimeError):
    """A backend raised, or broke its contract: a bug in the solver or in the backend, not in the problem."""


class ModelError(MomentLPError, ValueError):
    """A Pyomo model says something that the linear program of this package cannot hold."""


class OnlyLabelledWarning(UserWarning):
    """The answer is the labelled set and nothing else."""
