"""Which backend ``"auto"`` stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from momentlp.backend.interface import Backend
from momentlp.backend.registry import AUTO, get_backend
from momentlp.points.arrays import is_sparse
from momentlp.problem.problem import Problem

__all__ = ["choose_backend", "resolve_backend"]

ENTRIES = 32_000  # N m below which HiGHS on the whole is as fast (benchmarks/speed/auto_rule.py)
PER_MOMENT = 2  # fewer points per moment leave little to sift
MOMENTS = 1500  # above this many, the matrices of the interior-point method are too large


def choose_backend(problem: Problem, native: Mapping[str, Any] | None = None) -> str:
    """Return the name of the backend for a problem, from its shape alone; native options, if any, are those of HiGHS.

    ``"sifting"`` where the features are dense (or larger than memory) and the points many against the moments; ``"highs"``
    everywhere else. Both are always installed, so the choice does not depend on what else is.

    Examples
    --------
    >>> choose_backend(Problem.from_arrays([[-1.0], [1.0]], lower=0.0, upper=0.0))
    'highs'
    """
    n, m = problem.n_points, problem.n_moments
    if native:
        return "highs"
    if problem.A.table is not None:
        return "sifting"
    if 2 * sum(block.n_moments for block in problem.blocks if is_sparse(block.features)) >= m:
        return "highs"
    return "sifting" if n * m >= ENTRIES and n >= PER_MOMENT * m and m <= MOMENTS else "highs"


def resolve_backend(backend: str | Backend, problem: Problem, native: Mapping[str, Any] | None = None) -> Backend:
    """Return the backend to solve a problem with, ready to run.

    Parameters
    ----------
    backend : str or Backend
        A name, an instance, or ``"auto"``, which :func:`choose_backend` decides.
    problem : Problem
    native : mapping, optional
        The solver's own options, if the user gave any.

    Raises
    ------
    BackendNotFoundError, BackendUnavailableError
        If there is no such backend, or its solver cannot be loaded.

    Examples
    --------
    >>> resolve_backend("auto", Problem.from_arrays([[-1.0], [1.0]], lower=0.0, upper=0.0)).name
    'highs'
    """
    chosen = choose_backend(problem, native) if isinstance(backend, str) and backend == AUTO else backend
    return get_backend(chosen)
