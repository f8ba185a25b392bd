"""A fixture that runs a test with a problem of every kind."""

from __future__ import annotations

import pytest
from helpers.sample_problems import PROBLEMS

import momentlp as mlp


@pytest.fixture(params=PROBLEMS)
def problem(request: pytest.FixtureRequest) -> mlp.Problem:
    return PROBLEMS[request.param]()
