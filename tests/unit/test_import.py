"""Importing momentlp loads no solver and nothing optional."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("highspy", "swiglpk", "pyomo", "scipy.optimize", "sklearn", "pandas", "matplotlib", "typer", "rich", "pytest")


def loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_no_solver() -> None:
    loaded = loaded_after("import momentlp")
    assert not [name for name in HEAVY if name in loaded]
    assert not [name for name in loaded if name.startswith("momentlp_")]


def test_a_solve_loads_only_the_solver_asked_for() -> None:
    loaded = loaded_after("import momentlp as m\nm.solve(m.Spec().compile([[0.0], [1.0]], labelled=[0]))")
    assert "highspy" in loaded
    assert not [name for name in ("swiglpk", "pyomo", "sklearn", "momentlp_glpk", "momentlp_pyomo") if name in loaded]
