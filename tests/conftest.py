"""Shared by all tests: where the data is, which backends there are."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from momentlp.datasets import USPS_VARIABLE, load_usps

BACKENDS = ("highs", "glpk", "scipy", "pyomo")

settings.register_profile("momentlp", deadline=None, print_blob=True)
settings.register_profile(
    "verify",
    settings.get_profile("momentlp"),
    max_examples=int(os.environ.get("MOMENTLP_EXAMPLES", "10000")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("momentlp")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def usps() -> tuple[np.ndarray, np.ndarray]:
    """The USPS digits, from MOMENTLP_USPS or from shared/data/usps beside the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data" / "usps"
    folder = os.environ.get(USPS_VARIABLE) or beside
    if not Path(folder).is_dir():
        pytest.skip(f"needs the USPS digits: set {USPS_VARIABLE} to the folder of zip.train.gz and zip.test.gz")
    return load_usps(folder)
