"""Warnings that point at the user's line, however many calls of momentlp are between it and the warning."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

__all__ = ["warn_caller"]

OWN_FOLDER = f"{Path(__file__).parents[1]}{os.sep}"


def warn_caller(message: str, category: type[Warning]) -> None:
    """Give a warning that names the line of the first caller outside momentlp.

    A warning is shown once for each line that it names. So a count of calls, which differs between ``fit`` and
    ``fit_predict``, would show a warning at the wrong place, or not at all.

    Parameters
    ----------
    message : str
    category : type of Warning
    """
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(OWN_FOLDER):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
