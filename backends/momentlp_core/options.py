"""The native options of the search for whole sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.runtime.argument_checks import check_integer

__all__ = ["NATIVE_OPTIONS", "check_exchanges", "check_random_state"]

NATIVE_OPTIONS: dict[str, Any] = {"integer_backend": "highs", "random_state": 0, "exchanges": 50_000}


def check_random_state(value: Any) -> np.random.Generator:
    """Return a generator of random numbers for the option ``random_state``, an integer."""
    return np.random.default_rng(check_integer("core's option 'random_state'", value, minimum=0))


def check_exchanges(value: Any) -> int:
    """Return the option ``exchanges``: how many exchanges are tried if there is no time limit."""
    return check_integer("core's option 'exchanges'", value, minimum=0)
