"""What is measured of a set that was found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_fscore_support

__all__ = ["precision_recall_f1"]


def precision_recall_f1(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> dict[str, float]:
    """Return precision, recall and F1 of a set of points, as scikit-learn computes them; 0 where one is not defined.

    Parameters
    ----------
    found, truth : array of bool, shape (n,)
        Which points were found, and which belong to the class.

    Examples
    --------
    >>> precision_recall_f1(np.array([True, True, False]), np.array([True, False, True]))
    {'precision': 0.5, 'recall': 0.5, 'f1': 0.5}
    """
    precision, recall, f1, _ = precision_recall_fscore_support(truth, found, average="binary", zero_division=0.0)
    return {"precision": float(precision), "recall": float(recall), "f1": float(f1)}
