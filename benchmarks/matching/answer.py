"""What a contestant returns, and how it says that it cannot do a task."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["CannotDoError", "ContestantAnswer"]


class CannotDoError(Exception):
    """The method does not exist for this kind of task."""


@dataclass(frozen=True)
class ContestantAnswer:
    """The set that a contestant found.

    Attributes
    ----------
    chosen : list of int
        Rows; empty if it found no set.
    bound : float
        No set is larger than this; NaN if the contestant says nothing.
    proof : str
        ``"proved"`` if the bound follows from multipliers, which anyone can check; ``"claimed"`` if a solver says so.
    value : float
        The value of the linear program, for the contestant that solves only that.
    remark : str
    """

    chosen: list[int] = field(default_factory=list)
    bound: float = math.nan
    proof: str = ""
    value: float = math.nan
    remark: str = ""
