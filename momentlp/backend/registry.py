"""Which backends there are. They are found by entry point and loaded only when asked for."""

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
MODELLER = "pyomo"


@dataclass(frozen=True)
class BackendInfo:
    """A line about one backend: whether it can be used here and, if not, why."""

    name: str
    engine: str
    version: str | None
    available: bool
    reason: str
    capabilities: tuple[str, ...]


class BackendList(list[BackendInfo]):
    """Backends, shown as a table."""

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
    """List every registered backend, by name, without failing for one that cannot be used.

    Examples
    --------
    >>> [info.name for info in backends() if info.available and info.engine == "HiGHS"]
    ['highs', 'pyomo', 'scipy', 'sifting']
    """
    return BackendList(_describe(name) for name in sorted(_registered()))


def get_backend(backend: str | Backend) -> Backend:
    """Return a backend that is ready to run.

    ``"auto"``, where no problem is at hand to choose by (:func:`momentlp.backend.auto.choose_backend`), is HiGHS: a required dependency,
    so that the choice depends neither on what else is installed nor on the order. There is no fallback to another solver.

    Raises
    ------
    BackendNotFoundError
        If no backend has that name.
    BackendUnavailableError
        If the solver behind it is not installed or does not load.
    """
    if isinstance(backend, str):
        backend = find_backend(backend)()
    if not isinstance(backend, Backend):
        raise BackendNotFoundError(
            f"backend must be a name or an instance of Backend, not {backend!r}; "
            "give the class its options, or none, to make an instance."
        )
    available_version(backend)
    return backend


def pyomo_backend() -> Any:
    """Return the backend that translates between problems and Pyomo models."""
    return get_backend(MODELLER)


def available_version(backend: Backend | type[Backend]) -> str:
    """Return the version of the solver behind a backend, or say why it cannot be used."""
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


_found: dict[str, type[Backend]] = {}  # reading what every installed package registers takes longer than a small solve


def _registered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def find_backend(name: str) -> type[Backend]:
    """Return the class of a backend by its name, without loading the solver behind it."""
    name = "highs" if name == AUTO else name
    if name in _found:
        return _found[name]
    points = _registered()
    if name not in points:
        close = difflib.get_close_matches(name.lower(), points, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise BackendNotFoundError(f"there is no backend {name!r}.{hint} Known: auto, {', '.join(sorted(points))}.")
    try:
        cls = points[name].load()
    except Exception as error:
        raise SolverError(
            f"backend {name!r} ({points[name].value}) cannot be loaded: {type(error).__name__}: {error}. "
            "This is a fault of that backend: reinstall or report it."
        ) from error
    if not (isinstance(cls, type) and issubclass(cls, Backend)):
        raise SolverError(f"backend {name!r} ({points[name].value}) is not a subclass of momentlp.Backend.")
    _found[name] = cls
    return cls


def _describe(name: str) -> BackendInfo:
    try:
        cls = find_backend(name)
    except SolverError as error:
        return BackendInfo(name, "?", None, False, str(error), ())
    capabilities = tuple(sorted(capability.value for capability in cls.capabilities))
    try:
        return BackendInfo(name, cls.engine, available_version(cls), True, "", capabilities)
    except BackendUnavailableError as error:
        return BackendInfo(name, cls.engine, None, False, str(error), capabilities)
