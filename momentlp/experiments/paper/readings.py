"""Two ways to read a set off the answer, which the paper leaves open: its h has fractions.

*As it stands*: h above one half. *With a margin*: under a wider tolerance, the points whose score (w - A y, zero on the
hyperplane) is above a tenth. The wider tolerance forgives more of the error of the labelled mean. What it lets in besides
lies near the hyperplane, because a point costs the less the nearer its score is to zero; the margin leaves that out again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from momentlp.solution.solution import Solution

__all__ = ["MARGIN", "READINGS", "STANDS", "WITH_MARGIN", "read"]

MARGIN = 0.1
STANDS, WITH_MARGIN = "as it stands", "with a margin"
READINGS = {STANDS: "h above 1/2", WITH_MARGIN: f"score above {MARGIN:g}"}


def read(solution: Solution, reading: str) -> NDArray[np.bool_]:
    """Return which points are in the set."""
    inside = solution.membership > 0.5 if reading == STANDS else solution.scores > MARGIN
    return np.asarray(inside)
