"""The few splits and sizes at which the paper's open questions are looked at."""

from __future__ import annotations

from momentlp.experiments.engine.digit_images import Digits

__all__ = ["SPLITS", "sizes_of"]

SPLITS = 10  # enough to see which way a figure goes
SIZES = (25, 100, 300, 500)


def sizes_of(data: Digits) -> tuple[int, ...]:
    """Return the sizes to look at, in the proportions of the paper's."""
    return tuple(dict.fromkeys(data.near(size) for size in SIZES))
