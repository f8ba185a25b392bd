"""Packed arrays come back as they were."""

from __future__ import annotations

import numpy as np
import pytest

from momentlp.points.arrays import constant_vector, is_constant_vector
from momentlp.points.bit_packing import BitPacked, unpack_vector


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
def test_packing_loses_nothing(vector: np.ndarray) -> None:
    packed = BitPacked.of(vector)
    assert np.array_equal(unpack_vector(packed), vector, equal_nan=True)
    assert is_constant_vector(unpack_vector(packed)) == is_constant_vector(vector)
