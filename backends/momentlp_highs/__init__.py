"""The backend ``"highs"``: HiGHS through highspy, the default for most problems."""

from momentlp_highs.backend import Highs

__all__ = ["Highs"]
