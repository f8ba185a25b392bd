"""The backend ``"glpk"``: GLPK through swiglpk, the one engine here that shares no code with HiGHS."""

from momentlp_glpk.backend import Glpk

__all__ = ["Glpk"]
