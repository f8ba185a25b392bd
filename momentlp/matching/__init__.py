"""Matching: the largest samples whose covariate means agree, with a proof that none is larger.

- :func:`profile_match`: the largest part of a pool whose means are those of a target.
- :func:`cardinality_match`: the largest sample of two or more groups whose means agree with each other.

Both return a :class:`Match`: the rows chosen, their balance, and a bound on the size of every match.
"""

from momentlp.matching.cardinality import cardinality_match
from momentlp.matching.match import Match
from momentlp.matching.match_balance import MatchBalance, MatchBalanceRow
from momentlp.matching.profile import profile_match

__all__ = ["Match", "MatchBalance", "MatchBalanceRow", "cardinality_match", "profile_match"]
