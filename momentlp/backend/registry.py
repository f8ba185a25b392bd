"""The registry of backends. They are found by entry point, and a backend is loaded when it is first used."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from momentlp.backend.interface import Backend
from momentlp.errors import BackendNotFoundError, BackendUnavailableError, SolverError
from momentlp.runtime.html_table import html_table
from momentlp.runtime.text_table import align_columns

__all__ = [
    "AUTO",
    "BackendInfo",
    "BackendList",
    "available_version",
    "backends",
    "find_backend",
    "get_backend",
    "pyomo_backend",
]

GROUP = "momentlp.backends"
AUTO = "auto"


@dataclass(frozen=True)
class BackendInfo:
    """A description of one backend.

    Attributes
    ----------
    name : str
        The name by which users choose it.
    engine : str
        The code that does the work; ``"?"`` if the backend itself does not load.
    version : str or None
        The version of the solver, or None if it is not available.
    available : bool
        Whether it can be used here.
    reason : str
        Why it cannot be used, and what to do; empty if it can.
    capabilities : tuple of str
        The common options that it honours.
    is_linear : bool
        Whether it solves linear programs itself, and does not hand them on to another backend.

    Examples
    --------
    >>> info = next(info for info in backends() if info.name == "scipy")
    >>> info.engine, info.available, info.capabilities
    ('HiGHS', True, ('feasibility_tolerance', 'integer', 'iteration_limit', 'time_limit'))
    """

    name: str
    engine: str
    version: str | None
    available: bool
    reason: str
    capabilities: tuple[str, ...]
    is_linear: bool = True


class BackendList(list[BackendInfo]):
    """A list of descriptions of backends that prints as a table."""

    def table(self) -> list[list[str]]:
        """Return the rows of the table, headings first, as text."""
        rows = [
            [info.name, info.engine, info.version or "-", "yes" if info.available else "no", info.reason] for info in self
        ]
        return [["backend", "engine", "version", "available", "why not"], *rows]

    def __repr__(self) -> str:
        return align_columns(self.table())

    def _repr_html_(self) -> str:
        heading, *body = self.table()
        return html_table("Backends", body, heading)


def backends() -> BackendList:
    """Describe every registered backend, sorted by name, including those that cannot be used here.

    Returns
    -------
    BackendList
        A list of :class:`BackendInfo` that prints as a table.

    Examples
    --------
    >>> [info.name for info in backends() if info.available and info.engine == "HiGHS"]
    ['core', 'highs', 'pyomo', 'scipy', 'sifting']
    """
    return BackendList(_describe(name) for name in sorted(_list_entry_points()))


def get_backend(backend: str | Backend) -> Backend:
    """Return a backend that is ready to run.

    Without a problem, ``"auto"`` is HiGHS, which is always installed (with one, :func:`momentlp.backend.auto.choose_backend`
    decides). There is no fallback to another solver.

    Parameters
    ----------
    backend : str or Backend
        A name or an instance.

    Raises
    ------
    BackendNotFoundError
        If no backend has that name.
    BackendUnavailableError
        If the solver behind it is not installed or does not load.

    Examples
    --------
    >>> get_backend("auto")
    Highs()
    """
    if isinstance(backend, str):
        backend = find_backend(backend)()
    if not isinstance(backend, Backend):
        raise BackendNotFoundError(
            f"backend must be a name or an instance of Backend, not {backend!r}; "
            "call the class, with or without options, to make an instance."
        )
    available_version(backend)
    return backend


def pyomo_backend() -> Any:
    """Return the backend that translates between problems and Pyomo models."""
    return get_backend("pyomo")


def available_version(backend: Backend | type[Backend]) -> str:
    """Return the version of the solver behind a backend.

    Raises
    ------
    BackendUnavailableError
        If the solver is not installed or does not load; the message says what to do.
    """
    try:
        return backend.version()
    except ModuleNotFoundError as error:
        if error.name != backend.package:
            raise BackendUnavailableError(
                f"backend {backend.name!r}: {backend.package} is installed but lacks {error.name}."
            ) from error
        source = f"'momentlp[{backend.extra}]'" if backend.extra else backend.package
        raise BackendUnavailableError(
            f"backend {backend.name!r} needs {backend.package}, which is not installed: run pip install {source}."
        ) from None
    except Exception as error:
        raise BackendUnavailableError(
            f"backend {backend.name!r}: {backend.package} does not load ({type(error).__name__}: {error}). Reinstall it."
        ) from error


_loaded: dict[str, type[Backend]] = {}  # a cache: reading all entry points takes longer than a small solve


def _list_entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def find_backend(name: str) -> type[Backend]:
    """Return the class of a backend by its name, without loading the solver behind it.

    Raises
    ------
    BackendNotFoundError
        If no backend has that name.
    SolverError
        If the package of the backend does not load, or does not hold a subclass of Backend.
    """
    name = "highs" if name == AUTO else name
    if name in _loaded:
        return _loaded[name]
    points = _list_entry_points()
    if name not in points:
        close = difflib.get_close_matches(name.lower(), points, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise BackendNotFoundError(f"there is no backend {name!r}.{hint} Known: auto, {', '.join(sorted(points))}.")
    try:
        cls = points[name].load()
    except Exception as error:
        raise SolverError(
            f"backend {name!r} ({points[name].value}) cannot be loaded: {type(error).__name__}: {error}. "
            "The fault is in that backend: reinstall or report it."
        ) from error
    if not (isinstance(cls, type) and issubclass(cls, Backend)):
        raise SolverError(f"backend {name!r} ({points[name].value}) is not a subclass of momentlp.Backend.")
    _loaded[name] = cls
    return cls


def _describe(name: str) -> BackendInfo:
    try:
        cls = find_backend(name)
    except SolverError as error:
        return BackendInfo(name, "?", None, False, str(error), ())
    capabilities = tuple(sorted(capability.value for capability in cls.capabilities))
    try:
        return BackendInfo(name, cls.engine, available_version(cls), True, "", capabilities, cls.is_linear)
    except BackendUnavailableError as error:
        return BackendInfo(name, cls.engine, None, False, str(error), capabilities, cls.is_linear)
