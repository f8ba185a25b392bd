"""Vectors on their way to another process: memberships are 0 or 1 almost everywhere, and one bit tells which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, constant_vector, is_constant_vector

__all__ = ["BitPacked", "SlicedVector", "unpack_vector"]

MOST_OTHERS = 1 / 16  # of the entries; with more exceptions than that, packing gains little


@dataclass(frozen=True)
class BitPacked:
    """A vector that is 0 or ``value``, one bit each, but for a few other entries. Nothing is rounded.

    Examples
    --------
    >>> h = np.tile([0.0, 2.0], 500)
    >>> h[7] = 0.25
    >>> packed = BitPacked.of(h)
    >>> packed.bits.nbytes, bool((unpack_vector(packed) == h).all())
    (125, True)
    """

    size: int
    value: float
    bits: NDArray[np.uint8] | None
    places: NDArray[np.uint32]
    others: FloatArray

    @classmethod
    def of(cls, vector: FloatArray) -> BitPacked | FloatArray:
        """Pack a vector; one that has too many different entries is returned as it is."""
        nothing: NDArray[np.uint32] = np.zeros(0, np.uint32)
        if is_constant_vector(vector):
            return cls(vector.size, float(vector[0]), None, nothing, np.zeros(0))
        inside = vector != 0
        some = np.sort(vector[inside][:1001])  # of which most have the value, if packing is to gain anything
        value = float(some[some.size // 2]) if some.size else 1.0
        full = vector == value
        other = inside & ~full
        if other.sum() > MOST_OTHERS * vector.size or vector.size > np.iinfo(np.uint32).max:
            return vector
        places = np.flatnonzero(other).astype(np.uint32)
        return cls(vector.size, value, np.packbits(full), places, vector[places])


def unpack_vector(vector: Any) -> Any:
    """Return the vector that was packed, or one that was not."""
    if not isinstance(vector, BitPacked):
        return vector
    if vector.bits is None:
        return constant_vector(vector.value, vector.size)
    result = np.where(np.unpackbits(vector.bits, count=vector.size), vector.value, 0.0)
    result[vector.places] = vector.others
    return result


@dataclass(frozen=True)
class SlicedVector:
    """A vector in pieces, one per chunk of points, each cut (and packed, if so asked) when it is wanted."""

    vector: Any
    spans: Sequence[slice]
    pack: bool

    def __getitem__(self, place: int) -> Any:
        piece = self.vector[self.spans[place]]
        plain = isinstance(piece, np.ndarray) and piece.ndim == 1 and piece.dtype == np.float64
        return BitPacked.of(piece) if self.pack and plain else piece
