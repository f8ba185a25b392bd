"""Types of arrays, and constant arrays that take the memory of one number."""

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
    "divide_vector",
    "is_constant_vector",
    "is_sparse",
    "one_entry_if_constant",
]

FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.intp]
Matrix: TypeAlias = Any  # NDArray[np.floating] or sp.csr_array: scipy's sparse arrays carry no types of their own


def is_sparse(matrix: object) -> bool:
    """Return whether an object is a sparse array or matrix of scipy."""
    return bool(sp.issparse(matrix))


def constant_vector(value: float, length: int) -> FloatArray:
    """Return a read-only array of ``length`` equal numbers that takes the memory of one."""
    return np.broadcast_to(np.float64(value), (length,))


def is_constant_vector(vector: object) -> bool:
    """Return whether an object is an array of :func:`constant_vector`, or a slice of one."""
    return isinstance(vector, np.ndarray) and vector.ndim == 1 and vector.size > 1 and vector.strides == (0,)


def one_entry_if_constant(*vectors: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return the first entry of each array if all are :func:`constant_vector`, and the arrays themselves otherwise.

    Minimum, median and maximum of any function of their entries are the same either way.
    """
    return tuple(vector[:1] for vector in vectors) if all(map(is_constant_vector, vectors)) else vectors


def divide_vector(vector: FloatArray, unit: float) -> FloatArray:
    """Divide an array by a number; an array of :func:`constant_vector` stays one."""
    return constant_vector(vector[0] / unit, vector.size) if is_constant_vector(vector) else vector / unit
