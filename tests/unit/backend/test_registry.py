"""Backends are found by entry point, described without failing, and never replaced by another."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from helpers.available_backends import BACKENDS

import momentlp as mlp
from momentlp.backend import registry
from momentlp.backend.registry import available_version, find_backend, get_backend

BACKENDS_FOLDER = Path(__file__).resolve().parents[3] / "backends"
FOLDERS = sorted(path for path in BACKENDS_FOLDER.glob("momentlp_*") if path.is_dir())


def register(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Add an entry point to those of the installed packages."""
    points = {**registry._list_entry_points(), name: EntryPoint(name, value, registry.GROUP)}
    monkeypatch.setattr(registry, "_list_entry_points", lambda: points)


def test_every_backend_of_this_project_is_registered_and_available() -> None:
    """The shared tests run for available backends: without this one, a missing solver would go unnoticed."""
    assert {folder.name.removeprefix("momentlp_") for folder in FOLDERS} <= set(BACKENDS)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_backend_has_the_same_files(folder: Path) -> None:
    assert {"__init__.py", "backend.py", "options.py", "py.typed"} <= {path.name for path in folder.iterdir()}
    cls = find_backend(folder.name.removeprefix("momentlp_"))
    assert cls.__module__ == f"{folder.name}.backend"
    assert folder.name == f"momentlp_{cls.name}"


def test_backends_are_described_by_name() -> None:
    infos = mlp.backends()
    assert [info.name for info in infos] == sorted(info.name for info in infos)
    assert str(infos).splitlines()[0].split() == ["backend", "engine", "version", "available", "why", "not"]
    assert "<table" in infos._repr_html_()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_module:Backend", "cannot be loaded: ModuleNotFoundError"),
        ("momentlp:Problem", "is not a subclass of momentlp.Backend"),
    ],
)
def test_a_broken_backend_is_described_with_the_reason(monkeypatch: pytest.MonkeyPatch, value: str, reason: str) -> None:
    register(monkeypatch, "broken", value)
    info = next(info for info in mlp.backends() if info.name == "broken")
    assert not info.available
    assert reason in info.reason
    with pytest.raises(mlp.SolverError, match=reason):
        get_backend("broken")


def test_a_misspelled_name_gets_a_suggestion() -> None:
    with pytest.raises(mlp.BackendNotFoundError, match=r"there is no backend 'higs'\. Did you mean 'highs'\?"):
        get_backend("higs")


def test_a_class_is_not_an_instance() -> None:
    with pytest.raises(mlp.BackendNotFoundError, match="call the class, with or without options"):
        get_backend(find_backend("highs"))  # type: ignore[arg-type]  # the error under test


class Missing(mlp.Backend):
    name, engine, package, extra = "missing", "none", "no_such_solver", "solver"

    @classmethod
    def version(cls) -> str:
        import no_such_solver  # type: ignore[import-not-found]  # noqa: F401  the error under test

        return "1"


def test_a_solver_that_is_not_installed_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(mlp.BackendUnavailableError, match=r"needs no_such_solver.*pip install 'momentlp\[solver\]'"):
        available_version(Missing)
