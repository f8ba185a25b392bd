"""The rule behind ``backend="auto"``: which backend solves a problem of a given shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from momentlp.backend.interface import Backend
from momentlp.backend.registry import AUTO, get_backend
from momentlp.points.arrays import is_sparse
from momentlp.problem.problem import Problem

__all__ = ["choose_backend", "resolve_backend"]

# Sifting is chosen within these limits, measured by benchmarks/speed/auto_rule.py.
MIN_ENTRIES = 32_000  # N m: below, HiGHS on the whole problem is as fast
MIN_POINTS_PER_MOMENT = 2  # with fewer points, sifting can leave out only few
MAX_MOMENTS = 1500  # above, the m x m matrices of the interior-point method are too large


def choose_backend(problem: Problem, native: Mapping[str, Any] | None = None) -> str:
    """Return the name of the backend for a problem, chosen by its shape alone.

    ``"sifting"`` if the features are read in chunks. Also if most moments are dense, there are at least twice as many points
    as moments, at most 1500 moments, and at least 32,000 entries. ``"highs"`` otherwise. Both are always installed, so the
    choice does not depend on which other backends are.

    Parameters
    ----------
    problem : Problem
    native : mapping, optional
        Native options. If there are any, they are those of HiGHS, so HiGHS is chosen.

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
    return "sifting" if n * m >= MIN_ENTRIES and n >= MIN_POINTS_PER_MOMENT * m and m <= MAX_MOMENTS else "highs"


def resolve_backend(backend: str | Backend, problem: Problem, native: Mapping[str, Any] | None = None) -> Backend:
    """Return the backend to solve a problem with, ready to run.

    Parameters
    ----------
    backend : str or Backend
        A name, an instance, or ``"auto"``: then :func:`choose_backend` decides.
    problem : Problem
    native : mapping, optional
        The native options that the user gave.

    Raises
    ------
    BackendNotFoundError
        If there is no such backend.
    BackendUnavailableError
        If its solver is not installed or does not load.

    Examples
    --------
    >>> resolve_backend("auto", Problem.from_arrays([[-1.0], [1.0]], lower=0.0, upper=0.0)).name
    'highs'
    """
    chosen = choose_backend(problem, native) if isinstance(backend, str) and backend == AUTO else backend
    return get_backend(chosen)
