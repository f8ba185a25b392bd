"""The backend ``"pyomo"``: a readable Pyomo model of the problem, solved by any solver that Pyomo has."""

from momentlp_pyomo.backend import Pyomo

__all__ = ["Pyomo"]
