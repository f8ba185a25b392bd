"""Packed arrays are unpacked without a change."""

from __future__ import annotations

import numpy as np
import pytest

from momentlp.points.arrays import constant_vector, is_constant_vector
from momentlp.points.bit_packing import BitPacked, SlicedVector, unpack_vector


@pytest.mark.parametrize(
    "vector",
    [
        constant_vector(0.5, 1000),
        np.zeros(1000),
        np.ones(7),
        np.r_[np.zeros(500), np.ones(499), 0.3],
        np.random.default_rng(0).normal(size=100),
        np.array([np.nan, 0.0] * 20 + [1.0] * 700),
    ],
)
def test_unpacking_returns_the_packed_array(vector: np.ndarray) -> None:
    packed = BitPacked.of(vector)
    assert np.array_equal(unpack_vector(packed), vector, equal_nan=True)
    assert is_constant_vector(unpack_vector(packed)) == is_constant_vector(vector)


def test_a_packed_array_takes_one_bit_per_entry() -> None:
    packed = BitPacked.of(np.tile([0.0, 1.0], 32_000))
    assert isinstance(packed, BitPacked)
    assert packed.bits is not None
    assert packed.bits.nbytes == 8_000
    assert packed.exceptions.size == 0


def test_an_array_of_many_values_is_not_packed() -> None:
    vector = np.random.default_rng(0).normal(size=100)
    assert BitPacked.of(vector) is vector


def test_slices_are_cut_and_packed_when_they_are_read() -> None:
    vector = np.tile([0.0, 1.0], 50)
    spans = (slice(0, 60), slice(60, 100))
    packed, plain = (SlicedVector(vector, spans, pack) for pack in (True, False))
    assert isinstance(packed[1], BitPacked)
    assert np.array_equal(unpack_vector(packed[1]), vector[60:])
    assert np.array_equal(plain[0], vector[:60])
    other = SlicedVector(np.arange(100), spans, pack=True)
    assert np.array_equal(other[1], np.arange(60, 100))  # integers stay as they are
