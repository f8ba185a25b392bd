"""Contradictions between constraints are found without comparing all pairs."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import momentlp as mlp
from momentlp.problem import problem_checks
from momentlp.spec.consistency import find_contradiction

MANY = 400


@pytest.fixture
def comparisons(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record every call of ``contradicts``."""
    calls: list[str] = []
    for kind in (mlp.Constraint, mlp.Share, mlp.Known):

        def counting(self: Any, other: Any, original: Any = kind.contradicts, name: str = kind.__name__) -> Any:
            calls.append(name)
            return original(self, other)

        monkeypatch.setattr(kind, "contradicts", counting)
    return calls


@pytest.mark.parametrize(
    "fields",
    [
        [{"kind": "share", "low": 0.1}, {"kind": "share", "high": 0.9}],
        [{"kind": "known", "positives": [1]}, {"kind": "known", "negatives": [2]}],
        [{"kind": "group_share", "groups": "x0", "high": {"a": 0.5}}, {"kind": "share"}],
    ],
)
def test_a_file_with_many_constraints_is_not_compared_pair_by_pair(fields: list[Any], comparisons: list[str]) -> None:
    spec = mlp.Spec.from_json(json.dumps({"constraints": fields * (MANY // 2)}))
    assert len(spec.constraints) == MANY
    assert len(comparisons) <= MANY


def test_a_contradiction_among_many_constraints_is_found(comparisons: list[str]) -> None:
    constraints: list[mlp.Constraint] = [mlp.Share(0.1, 0.9)] * MANY
    constraints[300], constraints[20] = mlp.Share(0.8), mlp.Share(0.0, 0.7)
    with pytest.raises(mlp.SpecError, match=r"constraints\.300 and constraints\.20 .* at least 0\.8 and of at most 0\.7"):
        mlp.Spec(constraints=constraints)
    assert len(comparisons) <= MANY


def test_the_same_pair_is_found_as_by_comparing_all_pairs() -> None:
    random = np.random.default_rng(0)
    n_found = 0
    for _ in range(200):
        constraints: list[mlp.Constraint] = []
        for number in range(6):
            low, high = np.sort(random.random(2)) ** [6, 0.05]
            points = random.permutation(40)[:5].tolist()
            constraints.append(mlp.Share(low, high) if number % 2 else mlp.Known(points[:2], points[2:]))
        pairs = permutations(range(6), 2)
        expected = next(
            ((i, j, why) for i, j in pairs if (why := constraints[i].contradicts(constraints[j])) is not None), None
        )
        assert find_contradiction(constraints) == expected
        n_found += expected is not None
    assert 20 < n_found < 180


def test_a_users_constraint_is_compared_with_all_others() -> None:
    class Never(mlp.Constraint):
        kind: str = "example-never-with-a-share"

        def apply(self, problem: mlp.Problem, data: mlp.Data) -> mlp.Problem:
            return problem

        def contradicts(self, other: mlp.Constraint) -> str | None:
            return "no share beside me" if isinstance(other, mlp.Share) else None

    mlp.Spec(constraints=[mlp.Known([1]), Never()])
    with pytest.raises(mlp.SpecError, match=r"constraints\.1 and constraints\.2 .* no share beside me"):
        mlp.Spec(constraints=[mlp.Known([1]), Never(), mlp.Share()])


def test_a_block_is_checked_once_however_many_constraints_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    original = problem_checks._check_arrays
    monkeypatch.setattr(problem_checks, "_check_arrays", lambda block, name: (checked.append(name), original(block, name)))
    problem = mlp.Spec(constraints=[mlp.Share()] * 50).compile([[0.0], [1.0]], labelled=[0])
    assert problem.n_moments == 51
    assert len(checked) == 51
