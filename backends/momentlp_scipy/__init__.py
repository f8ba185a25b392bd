"""The backend ``"scipy"``: SciPy's ``linprog``. It runs its own copy of HiGHS, so it does not confirm ``highs``."""

from momentlp_scipy.backend import Scipy

__all__ = ["Scipy"]
