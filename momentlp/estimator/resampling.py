"""The same search with many samples of the labelled points, some of which may have no answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TypeVar

from momentlp.errors import SolverError
from momentlp.estimator.search import Search, SearchResult
from momentlp.points.arrays import FloatArray
from momentlp.solution.solution import Solution

__all__ = ["refit_samples"]

Result = TypeVar("Result")


def refit_samples(
    search: Search,
    samples: Iterable[FloatArray],
    start: Solution,
    read: Callable[[SearchResult], Result],
    *,
    what: str,
    tell: Callable[[int], object] | None = None,
) -> list[Result | None]:
    """Search with each sample and read something off what was found; None where there is no answer.

    A constraint that the labelled points meet as a whole may be one that some samples of them do not meet. The others still
    say how much the answer depends on the sample.

    Parameters
    ----------
    search : Search
    samples : iterable of array
        How often each labelled point is in the sample.
    start : Solution
        Where each search starts.
    read : callable
        What to keep of an answer.
    what : str
        What the samples are called in messages.
    tell : callable, optional
        Is told how many are done.

    Raises
    ------
    SolverError
        If fewer than half of the samples have an answer.

    Warns
    -----
    RuntimeWarning
        If some have none.
    """
    results: list[Result | None] = []
    why: SolverError | None = None
    for counts in samples:
        try:
            results.append(read(search.run(counts, start)))
        except SolverError as error:
            results.append(None)
            why = error
        if tell is not None:
            tell(len(results))
    failed = sum(result is None for result in results)
    if 2 * failed > len(results):
        raise SolverError(
            f"only {len(results) - failed} of {len(results)} {what} of the labelled points have an answer, fewer than half: "
            f"loosen the constraints, or the tolerance. The last said: {why}"
        ) from why
    if failed:
        warnings.warn(
            f"{failed} of {len(results)} {what} of the labelled points have no answer and are left out.",
            RuntimeWarning,
            stacklevel=4,
        )
    return results
