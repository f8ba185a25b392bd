"""Small forms of arrays that are sent to another process: nearly all memberships are 0 or 1, so one bit is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.points.arrays import FloatArray, constant_vector, is_constant_vector

__all__ = ["BitPacked", "SlicedVector", "unpack_vector"]

MAX_EXCEPTIONS = 1 / 16  # share of the entries; with more than that, packing saves little


@dataclass(frozen=True)
class BitPacked:
    """An array whose entries are 0 or one other value, as bits, and a few exceptions. Nothing is rounded.

    Attributes
    ----------
    size : int
        Number of entries.
    value : float
        The value that is not 0.
    bits : array of uint8, or None
        One bit per entry; None if every entry is ``value``.
    positions : array of uint32
        Where the exceptions are.
    exceptions : array
        Their values.

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
    positions: NDArray[np.uint32]
    exceptions: FloatArray

    @classmethod
    def of(cls, vector: FloatArray) -> BitPacked | FloatArray:
        """Pack an array; return it as it is if it has too many different values."""
        no_positions: NDArray[np.uint32] = np.zeros(0, np.uint32)
        if is_constant_vector(vector):
            return cls(vector.size, float(vector[0]), None, no_positions, np.zeros(0))
        nonzero = vector != 0
        some = np.sort(vector[nonzero][:1001])  # if packing is worthwhile, most of them have the value
        value = float(some[some.size // 2]) if some.size else 1.0
        full = vector == value
        is_exception = nonzero & ~full
        if is_exception.sum() > MAX_EXCEPTIONS * vector.size or vector.size > np.iinfo(np.uint32).max:
            return vector
        positions = np.flatnonzero(is_exception).astype(np.uint32)
        return cls(vector.size, value, np.packbits(full), positions, vector[positions])


def unpack_vector(vector: Any) -> Any:
    """Return the array of a :class:`BitPacked`; anything else as it is."""
    if not isinstance(vector, BitPacked):
        return vector
    if vector.bits is None:
        return constant_vector(vector.value, vector.size)
    result = np.where(np.unpackbits(vector.bits, count=vector.size), vector.value, 0.0)
    result[vector.positions] = vector.exceptions
    return result


@dataclass(frozen=True)
class SlicedVector:
    """An array in pieces, one per chunk of points. A piece is cut, and packed if ``pack`` is true, when it is read."""

    vector: Any
    spans: Sequence[slice]
    pack: bool

    def __getitem__(self, chunk: int) -> Any:
        piece = self.vector[self.spans[chunk]]
        is_packable = isinstance(piece, np.ndarray) and piece.ndim == 1 and piece.dtype == np.float64
        return BitPacked.of(piece) if self.pack and is_packable else piece
