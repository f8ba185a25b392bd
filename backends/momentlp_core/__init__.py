"""The backend ``"core"``: whole sets, from the linear program and the few points near its hyperplane."""

from momentlp_core.backend import Core

__all__ = ["Core"]
