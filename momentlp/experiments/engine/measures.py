"""What is measured of an answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["quality"]


def quality(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> dict[str, float]:
    """Return precision, recall and F1; precision is 0 where nothing is found.

    Examples
    --------
    >>> quality(np.array([True, True, False]), np.array([True, False, True]))
    {'precision': 0.5, 'recall': 0.5, 'f1': 0.5}
    """
    right, called, there = int((found & truth).sum()), int(found.sum()), int(truth.sum())
    return {"precision": right / max(1, called), "recall": right / max(1, there), "f1": 2 * right / max(1, called + there)}
