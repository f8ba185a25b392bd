"""Importing momentlp loads no solver and nothing optional; what is optional is loaded when it is first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import momentlp as mlp

HEAVY = ("highspy", "swiglpk", "pyomo", "scipy.optimize", "sklearn", "pandas", "matplotlib", "typer", "rich", "pytest")


def modules_loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_no_solver_and_nothing_optional() -> None:
    loaded = modules_loaded_by("import momentlp")
    assert not [name for name in HEAVY if name in loaded]
    assert not [name for name in loaded if name.startswith("momentlp_")]


def test_a_solve_loads_only_the_solver_asked_for() -> None:
    loaded = modules_loaded_by("import momentlp as m\nm.solve(m.Spec().compile([[0.0], [1.0]], labelled=[0]))")
    assert "highspy" in loaded
    assert not [name for name in ("swiglpk", "pyomo", "sklearn", "momentlp_glpk", "momentlp_pyomo") if name in loaded]


def test_listing_the_names_loads_nothing_optional() -> None:
    loaded = modules_loaded_by("import momentlp\nassert 'plots' in dir(momentlp)\nassert hasattr(momentlp, 'solve')")
    assert not [name for name in HEAVY if name in loaded]
    assert "momentlp.plots" not in loaded


@pytest.mark.parametrize(
    ("submodule", "name"),
    [
        ("plots", "love_plot"),
        ("matching", "profile_match"),
        ("testing", "BackendContract"),
        ("synthetic", "make_ring"),
        ("datasets", "__doc__"),
    ],
)
def test_a_submodule_is_loaded_when_it_is_first_used(submodule: str, name: str) -> None:
    assert f"momentlp.{submodule}" not in modules_loaded_by("import momentlp")
    loaded = modules_loaded_by(f"import momentlp as mlp\nassert mlp.{submodule}.{name}")
    assert f"momentlp.{submodule}" in loaded


def test_a_plot_is_drawn_with_no_other_import() -> None:
    code = """
import momentlp as mlp
problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
axes = mlp.plots.love_plot(mlp.solve(problem).balance())
assert [label.get_text() for label in axes.get_yticklabels()] == ["x0"]
"""
    assert "matplotlib" in modules_loaded_by(code)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'momentlp' has no attribute 'plot'"):
        _ = mlp.plot


def test_every_public_name_can_be_read() -> None:
    assert [name for name in dir(mlp) if getattr(mlp, name) is None] == []
