"""Constraints that contradict each other, found without comparing all pairs.

A file may hold thousands of constraints, so the time must not grow with the square of their number. Two shares contradict
each other if the ``low`` of one exceeds the ``high`` of the other; two ``Known`` if a point is a positive of one and a
negative of the other. Such pairs are found in one pass. Other constraints are compared with all others, but only if their
class has a ``contradicts`` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from momentlp.spec.constraints import Constraint, Known, Share

__all__ = ["find_contradiction"]


def find_contradiction(constraints: Sequence[Constraint]) -> tuple[int, int, str] | None:
    """Return the first two constraints that cannot both hold, whatever the data.

    Parameters
    ----------
    constraints : sequence of Constraint

    Returns
    -------
    tuple of (int, int, str), or None
        The positions of the two, and the reason as :meth:`Constraint.contradicts <momentlp.Constraint.contradicts>` gives
        it; None if all constraints can hold together.

    Examples
    --------
    >>> find_contradiction([Share(low=0.5), Known([3]), Share(high=0.2)])
    (0, 2, 'a share of at least 0.5 and of at most 0.2')
    """
    for first, second in _candidate_pairs(constraints):
        if why := constraints[first].contradicts(constraints[second]):
            return first, second, why
    return None


def _candidate_pairs(constraints: Sequence[Constraint]) -> Iterator[tuple[int, int]]:
    """Yield the pairs that may contradict each other, in order: of shares and Known only pairs that surely do."""
    searches: dict[Callable[..., str | None], Callable[[Constraint], int | None]] = {
        Share.contradicts: _search_shares(constraints),
        Known.contradicts: _search_known(constraints),
    }
    for first, constraint in enumerate(constraints):
        method = type(constraint).contradicts
        if method in searches:
            second = searches[method](constraint)
            if second is not None:
                yield first, second
        elif method is not Constraint.contradicts:
            yield from ((first, second) for second in range(len(constraints)) if second != first)


def _search_shares(constraints: Sequence[Constraint]) -> Callable[[Constraint], int | None]:
    """Return a function that finds the first share whose ``high`` is below the ``low`` of a given one."""
    highs = [(share.high, position) for position, share in enumerate(constraints) if isinstance(share, Share)]
    smallest = min(highs, default=(1.0, 0))[0]

    def search(share: Constraint) -> int | None:
        assert isinstance(share, Share)  # noqa: S101  looked up by the method of Share
        if share.low <= smallest:
            return None
        return next(position for high, position in highs if high < share.low)

    return search


def _search_known(constraints: Sequence[Constraint]) -> Callable[[Constraint], int | None]:
    """Return a function that finds the first Known with a negative that is a positive of a given one."""
    first_with_negative: dict[int, int] = {}
    for position, known in enumerate(constraints):
        if isinstance(known, Known):
            for point in known.negatives:
                first_with_negative.setdefault(point, position)

    def search(known: Constraint) -> int | None:
        assert isinstance(known, Known)  # noqa: S101  looked up by the method of Known
        return min((first_with_negative[p] for p in known.positives if p in first_with_negative), default=None)

    return search
