"""Types of arrays, and vectors that repeat one number without taking memory for each entry."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = [
    "FloatArray",
    "IndexArray",
    "Matrix",
    "constant_vector",
    "is_constant_vector",
    "is_sparse",
    "one_entry_if_constant",
]

FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.intp]
Matrix: TypeAlias = Any  # NDArray[np.floating] or sp.csr_array: scipy's sparse arrays carry no types of their own


def is_sparse(matrix: object) -> bool:
    """Tell a scipy sparse array or matrix from everything else."""
    return bool(sp.issparse(matrix))


def constant_vector(value: float, length: int) -> FloatArray:
    """Return a vector that is one number throughout and takes no more memory than that; it cannot be written to."""
    return np.broadcast_to(np.float64(value), (length,))


def is_constant_vector(vector: object) -> bool:
    """Tell a vector of :func:`constant_vector`, or a slice of one, from everything else."""
    return isinstance(vector, np.ndarray) and vector.ndim == 1 and vector.size > 1 and vector.strides == (0,)


def one_entry_if_constant(*vectors: FloatArray) -> tuple[FloatArray, ...]:
    """Return one entry of each vector if all are :func:`constant_vector`, and the vectors themselves otherwise.

    The least, the median and the most of what they give entry by entry stay what they are.
    """
    return tuple(vector[:1] for vector in vectors) if all(map(is_constant_vector, vectors)) else vectors
