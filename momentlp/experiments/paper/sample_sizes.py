"""The number of splits and the sample sizes of the experiments on the paper's open questions."""

from __future__ import annotations

from momentlp.experiments.engine.digit_images import Digits

__all__ = ["SPLITS", "scale_sizes"]

SPLITS = 10  # enough to see the direction of an effect
SIZES = (25, 100, 300, 500)  # labelled images on USPS


def scale_sizes(data: Digits) -> tuple[int, ...]:
    """Return SIZES scaled to other images, in the proportions of the paper's."""
    return tuple(dict.fromkeys(data.nearest_size(size) for size in SIZES))
