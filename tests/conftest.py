"""Shared by all tests: backends, data, and how many examples hypothesis draws."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.available_backends import BACKENDS
from hypothesis import HealthCheck, settings

from momentlp.datasets.usps import USPS_VARIABLE, load_usps

os.environ.setdefault("MPLBACKEND", "Agg")  # tests open no windows


settings.register_profile("momentlp", deadline=None, print_blob=True)
settings.register_profile(
    "verify",
    settings.get_profile("momentlp"),
    max_examples=int(os.environ.get("MOMENTLP_EXAMPLES", "10000")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("momentlp")


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close the figures of a test: pyplot keeps them, and warns about more than twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Run a test once with each backend that is available here."""
    return str(request.param)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Start a Dask cluster of two worker processes on this machine."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def usps() -> tuple[np.ndarray, np.ndarray]:
    """Load the USPS digits from the folder in MOMENTLP_USPS, or from shared/data/usps beside the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data" / "usps"
    folder = os.environ.get(USPS_VARIABLE) or beside
    if not Path(folder).is_dir():
        pytest.skip(f"needs the USPS digits: set {USPS_VARIABLE} to the folder of zip.train.gz and zip.test.gz")
    return load_usps(folder)
