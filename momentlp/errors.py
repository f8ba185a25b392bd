"""The errors that momentlp raises on purpose.

All of them derive from :class:`MomentLPError`, so ``except MomentLPError`` catches every one. Each also derives from the
built-in error that fits best. A message names the argument and its value, and says what to do next.
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
    """Base class of all errors that momentlp raises.

    Examples
    --------
    >>> import momentlp as mlp
    >>> try:
    ...     mlp.Spec().compile([[0.0], [1.0]], labelled=[7])
    ... except mlp.MomentLPError as error:
    ...     print(type(error).__name__)
    DataError
    """


class DataError(MomentLPError, ValueError):
    """An array, data frame or index that the caller passed cannot be used."""


class CompileError(MomentLPError, ValueError):
    """A spec does not fit the data that it is compiled with."""


class SpecError(MomentLPError, ValueError):
    """A spec, or a file that holds a spec, is not valid."""


class FileFormatError(MomentLPError, ValueError):
    """A saved file is incomplete, of another kind, or holds content that is not allowed."""


class OptionError(MomentLPError, ValueError):
    """An option is unknown or out of range, or the solver does not accept it."""


class BackendNotFoundError(MomentLPError, LookupError):
    """No backend is registered under this name."""


class BackendUnavailableError(MomentLPError, ImportError):
    """The backend is registered, but its solver cannot be loaded here, for example because it is not installed."""


class ExtraMissingError(MomentLPError, ImportError):
    """An optional package that this call needs is not installed."""


class SolverError(MomentLPError, RuntimeError):
    """A backend raised an error or broke its contract: a bug in the solver or in its backend, not in the problem."""


class ModelError(MomentLPError, ValueError):
    """A Pyomo model cannot be written as a linear program over memberships."""


class OnlyLabelledWarning(UserWarning):
    """The set found is the labelled set itself: there are too many moments for the number of points."""
