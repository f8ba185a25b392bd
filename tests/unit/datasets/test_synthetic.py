"""The paper's three synthetic cases, over twenty seeds."""

from __future__ import annotations

import numpy as np
import pytest

import momentlp as mlp
from momentlp.datasets.synthetic import CASES


@pytest.mark.parametrize("name", CASES)
def test_the_case_is_solved_as_well_as_the_paper_says(name: str) -> None:
    make, spec, precision, recall = CASES[name]
    found = []
    for seed in range(20):
        case = make(seed)
        solution = mlp.solve(spec.compile(case.X, labelled=case.labelled))
        assert solution.status is mlp.Status.OPTIMAL
        found.append(case.quality(solution.membership))
    assert np.mean(found, axis=0)[0] >= precision
    assert np.mean(found, axis=0)[1] >= recall


@pytest.mark.parametrize(
    ("name", "inside", "outside", "labelled"),
    [("separable", 300, 750, 100), ("gaussian", 300, 750, 100), ("ring", 450, 600, 150)],
)
def test_sizes_are_those_of_the_paper_and_seeds_repeat(name: str, inside: int, outside: int, labelled: int) -> None:
    make = CASES[name][0]
    one, same, other = make(3), make(3), make(4)
    assert (one.truth.sum(), (~one.truth).sum(), one.labelled.size) == (inside, outside, labelled)
    assert one.truth[one.labelled].all()
    assert np.array_equal(one.X, same.X)
    assert not np.array_equal(one.X, other.X)
