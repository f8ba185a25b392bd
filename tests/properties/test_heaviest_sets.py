"""Whole sets of random problems in small integers, where every set can be tried and nothing is rounded."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.available_backends import BACKENDS
from helpers.whole_problems import best_set
from hypothesis import given
from hypothesis import strategies as st

import momentlp as mlp
from momentlp.backend.registry import get_backend
from momentlp.testing import problems

pytestmark = pytest.mark.filterwarnings("ignore::momentlp.OnlyLabelledWarning")  # few points, many dimensions
INTEGER = [name for name in BACKENDS if mlp.Capability.INTEGER in get_backend(name).capabilities]
backends = st.sampled_from([name for name in INTEGER for _ in range(1 if name == "pyomo" else 3)])


@given(problems(max_points=7, max_moments=4), backends)
def test_the_whole_set_is_the_heaviest_of_all(problem: mlp.Problem, backend: str) -> None:
    whole = replace(problem, whole=True)
    best, solution = best_set(whole), mlp.solve(whole, backend)
    if best is None:
        assert solution.status in (mlp.Status.INFEASIBLE, mlp.Status.FAILED), solution.message
        return
    assert solution.certificate.primal_residual == 0, solution.message
    assert solution.objective == best, solution.message
    assert solution.bound >= best
    assert solution.status in (mlp.Status.OPTIMAL, mlp.Status.LIMIT, mlp.Status.EMPTY)
    assert (solution.bound > best) == (solution.status is mlp.Status.LIMIT) or solution.status is mlp.Status.EMPTY
