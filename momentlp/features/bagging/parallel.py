"""The same function for every bag, on several threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["run_parallel"]

Result = TypeVar("Result")


def run_parallel(work: Callable[[int], Result], n_tasks: int, n_jobs: int | None) -> list[Result]:
    """Return ``work(0), ..., work(n_tasks - 1)``, in order.

    Parameters
    ----------
    work : callable
        It must not depend on the order in which tasks run.
    n_tasks : int
    n_jobs : int, optional
        The number of threads, as in joblib: None for one, -1 for as many as there are cores.
    """
    if n_jobs is None or n_jobs == 1:
        return [work(task) for task in range(n_tasks)]
    from joblib import Parallel, delayed  # type: ignore[import-untyped]  # joblib has no types

    return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(work)(task) for task in range(n_tasks)))
