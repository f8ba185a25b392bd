"""The rule behind ``backend="auto"``: which backend solves a problem of a given shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from momentlp.backend.interface import Backend
from momentlp.backend.registry import AUTO, get_backend
from momentlp.points.arrays import is_sparse
from momentlp.problem.problem import Problem

__all__ = ["choose_backend", "resolve_backend"]

# Sifting is chosen within these limits, measured by benchmarks/speed/auto_rule.py. A column is a feature: a tolerance on its
# mean makes two moments of it.
MIN_ENTRIES, MIN_SPARSE_ENTRIES = 32_000, 250_000  # N times columns: below, HiGHS on the whole problem is as fast
MIN_POINTS_PER_SPARSE_COLUMN = 4  # of sparse features: with fewer points, the simplex method gains more from the zeros


def choose_backend(problem: Problem, native: Mapping[str, Any] | None = None) -> str:
    """Return the name of the backend for a problem, chosen by its shape alone.

    ``"core"`` if memberships must be whole.
    ``"sifting"`` if the features are read in chunks. Also if there are at least 32,000 entries, points times features. If
    most features are sparse, there must be at least 250,000 entries, zeros included, and at least four points per feature.
    ``"highs"`` otherwise. Both are always installed, so the choice does not depend on which other backends are.

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
    if problem.is_whole:
        return "core"
    if native:
        return "highs"
    if problem.A.table is not None:
        return "sifting"
    n = problem.n_points
    columns = [min(block.n_moments, int(block.features.shape[1])) for block in problem.blocks]
    q = sum(columns)
    n_sparse = sum(count for count, block in zip(columns, problem.blocks, strict=True) if is_sparse(block.features))
    if 2 * n_sparse >= q:
        is_large = n * q >= MIN_SPARSE_ENTRIES and n >= MIN_POINTS_PER_SPARSE_COLUMN * q
    else:
        is_large = n * q >= MIN_ENTRIES
    return "sifting" if is_large else "highs"


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
