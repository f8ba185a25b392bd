"""Two rules that turn a solution into a set. The paper states none, although some of its memberships h are fractional.

*As it stands*: the points with h above one half. *With a margin*: under a wider tolerance, the points whose score
(w - A y, zero on the hyperplane) is above a tenth. The wider tolerance allows for more of the error of the labelled mean.
The points that it adds lie near the hyperplane, because a point costs less the nearer its score is to zero. The margin
removes them again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from momentlp.solution.solution import Solution

__all__ = ["HALF_RULE", "MARGIN", "MARGIN_RULE", "RULES", "apply_rule"]

MARGIN = 0.1  # of the score
HALF_RULE, MARGIN_RULE = "as it stands", "with a margin"  # as journals and tables name them
RULES = {HALF_RULE: "h above 1/2", MARGIN_RULE: f"score above {MARGIN:g}"}


def apply_rule(solution: Solution, rule: str) -> NDArray[np.bool_]:
    """Return which points are in the set, shape (N,)."""
    inside = solution.membership > 0.5 if rule == HALF_RULE else solution.scores > MARGIN
    return np.asarray(inside)
