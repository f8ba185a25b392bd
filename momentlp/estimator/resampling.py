"""Bootstrap samples of the labelled points, and the same search repeated with each of several samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from momentlp.errors import SolverError
from momentlp.estimator.search import Search, SearchResult
from momentlp.points.arrays import FloatArray
from momentlp.runtime.warn_caller import warn_caller
from momentlp.solution.separator import Separator
from momentlp.solution.solution import Solution

__all__ = [
    "Bagged",
    "bootstrap_counts",
    "refit_bootstrap_samples",
    "refit_samples",
]

Result = TypeVar("Result")


def bootstrap_counts(n_labelled: int, random: np.random.Generator) -> FloatArray:
    """Draw a bootstrap sample of the labelled points; return how often each point is in it.

    The sample holds at least two different points if there are two.
    """
    while True:
        counts = np.bincount(random.integers(n_labelled, size=n_labelled), minlength=n_labelled).astype(np.float64)
        if np.count_nonzero(counts) >= min(2, n_labelled):
            return counts


@dataclass(frozen=True, eq=False)
class Bagged:
    """Averages over bootstrap samples of the labelled points.

    Attributes
    ----------
    membership, scores : array, shape (N,)
        Means over the samples.
    separators : tuple of Separator
        The hyperplane of each sample.
    """

    membership: FloatArray
    scores: FloatArray
    separators: tuple[Separator, ...]


def refit_bootstrap_samples(search: Search, start: Solution, n_samples: int, random: np.random.Generator) -> Bagged:
    """Search with bootstrap samples of the labelled points, and average what was found.

    Samples without an answer are left out. See :func:`refit_samples` for errors and warnings.
    """

    def keep(found: SearchResult) -> SearchResult:
        return found

    samples = (bootstrap_counts(search.known.size, random) for _ in range(n_samples))
    results = refit_samples(search, samples, start, keep, what="bootstrap samples")
    answers = [result for result in results if result is not None]
    return Bagged(
        np.mean([answer.membership for answer in answers], axis=0),
        np.mean([answer.solution.scores for answer in answers], axis=0),
        tuple(answer.solution.separator for answer in answers),
    )


def refit_samples(
    search: Search,
    samples: Iterable[FloatArray],
    start: Solution,
    read: Callable[[SearchResult], Result],
    *,
    what: str,
    report: Callable[[int], object] | None = None,
) -> list[Result | None]:
    """Search with each sample of the labelled points, and keep what ``read`` returns; None where there is no answer.

    All labelled points together may meet a constraint that some samples do not meet. The other samples still show how much
    the answer depends on the sample.

    Parameters
    ----------
    search : Search
    samples : iterable of array
        How often each labelled point is in the sample.
    start : Solution
        Where each search starts.
    read : callable
        Takes a SearchResult and returns what to keep of it.
    what : str
        What the samples are called in messages.
    report : callable, optional
        Is called with the number of samples done.

    Raises
    ------
    SolverError
        If fewer than half of the samples have an answer.

    Warns
    -----
    RuntimeWarning
        If some samples have no answer.
    """
    results: list[Result | None] = []
    last_error: SolverError | None = None
    for counts in samples:
        try:
            results.append(read(search.run(counts, start)))
        except SolverError as error:
            results.append(None)
            last_error = error
        if report is not None:
            report(len(results))
    n_failed = sum(result is None for result in results)
    if 2 * n_failed > len(results):
        raise SolverError(
            f"only {len(results) - n_failed} of {len(results)} {what} of the labelled points have an answer, fewer than "
            f"half: loosen the constraints, or the tolerance. The last error was: {last_error}"
        ) from last_error
    if n_failed:
        warn_caller(
            f"{n_failed} of {len(results)} {what} of the labelled points have no answer and are left out.",
            RuntimeWarning,
        )
    return results
