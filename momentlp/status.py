"""What an answer is, in one word that means the same for every backend."""

from __future__ import annotations

from enum import Enum

__all__ = ["Status"]


class Status(Enum):
    """What an answer is. One meaning for all backends."""

    OPTIMAL = "optimal"
    """The certificate holds: no feasible set weighs more."""

    EMPTY = "empty"
    """The certificate proves that no set of the points has this mean: the optimum is zero, or, where a tolerance lets a
    sliver in, less than one whole point. ``direction`` separates the mean from every point."""

    LIMIT = "limit"
    """A limit was reached first. ``membership`` is the point held and ``bound`` a true bound on the optimum."""

    INFEASIBLE = "infeasible"
    """No h meets all bounds; ``multipliers`` are the Farkas proof of it, checked."""

    FAILED = "failed"
    """The solver gave nothing that could be proved; ``message`` has its words."""
