"""The status of a solution."""

from __future__ import annotations

from enum import Enum

__all__ = ["Status"]


class Status(Enum):
    """What a solution is. Every status means the same for all backends, and momentlp checks every proof itself.

    Examples
    --------
    >>> import momentlp as mlp
    >>> points = [[0.0], [1.0], [2.0]]
    >>> mlp.solve(mlp.Spec().compile(points, mean=[1.0])).status
    <Status.OPTIMAL: 'optimal'>
    >>> mlp.solve(mlp.Spec().compile(points, mean=[5.0])).status  # no set of the points has this mean
    <Status.EMPTY: 'empty'>
    """

    OPTIMAL = "optimal"
    """The certificate holds: no feasible set weighs more."""

    EMPTY = "empty"
    """The certificate proves that no set of the points has this mean. The optimum is zero or, if there is a tolerance, less
    than the weight of one full point. ``solution.direction`` separates the mean from all points."""

    LIMIT = "limit"
    """The solver reached a limit before an optimum was proved. ``membership`` is the best that it had, and no feasible set
    weighs more than ``bound``."""

    INFEASIBLE = "infeasible"
    """No h meets all bounds. ``multipliers`` are a Farkas proof of this, which was checked."""

    FAILED = "failed"
    """Nothing was proved. ``message`` holds the solver's own words and says what is wrong with its answer."""
