"""Shared by the tests of the experiments."""

from __future__ import annotations

import pytest

from momentlp.experiments.engine.digit_images import Digits, load_digit_images


@pytest.fixture(scope="session")
def digits() -> Digits:
    """scikit-learn's digits, which stand in for USPS."""
    return load_digit_images("digits")
