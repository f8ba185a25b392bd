"""The native options of sifting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from momentlp.errors import OptionError
from momentlp.runtime.argument_checks import check_integer

__all__ = ["NATIVE_OPTIONS", "check_random_state", "check_room"]

NATIVE_OPTIONS: Mapping[str, Any] = {"backend": "highs", "random_state": 0, "room": 1 << 27}  # with their defaults
MIN_ROOM = 1 << 20  # bytes: less would not hold the smallest sample


def check_random_state(value: Any) -> np.random.Generator:
    """Return the generator that draws the samples."""
    try:
        return np.random.default_rng(value)
    except (TypeError, ValueError):
        raise OptionError(f"sifting's option 'random_state' must be an integer of at least 0, not {value!r}.") from None


def check_room(value: Any) -> int:
    """Return how many bytes the rows of a sample, or of a restricted problem, may take."""
    return check_integer("sifting's option 'room'", value, minimum=MIN_ROOM, hint="It is a number of bytes.")
