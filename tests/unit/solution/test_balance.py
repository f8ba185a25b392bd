"""The balance table: the target and the achieved value of every moment."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import momentlp as mlp

X = np.random.default_rng(1).normal(size=(200, 3)) * [1.0, 10.0, 0.1] + [0.0, 1e6, 5.0]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
LABELLED = np.argsort(-X[:, 0])[:40]


@pytest.mark.parametrize("tolerance", [mlp.Absolute([1.0, 5.0, 0.1]), mlp.StandardError(0.5)], ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_table_holds_the_target_and_the_achieved_value_of_every_moment(tolerance: mlp.Tolerance, sparse: bool) -> None:
    data = sp.csr_array(X) if sparse else FRAME
    solution = mlp.solve(mlp.Spec(tolerance=tolerance).compile(data, labelled=LABELLED))
    balance = solution.balance()
    h = solution.membership
    assert len(balance) == 3
    assert [row.name for row in balance] == (["x0", "x1", "x2"] if sparse else ["a", "b", "c"])
    assert np.allclose([row.target for row in balance], X[LABELLED].mean(axis=0))
    assert np.allclose([row.achieved for row in balance], h @ X / h.sum())
    assert np.allclose([row.difference for row in balance], h @ (X - X[LABELLED].mean(axis=0)) / h.sum(), atol=1e-6)
    assert np.allclose(
        [row.before for row in balance], (X.mean(axis=0) - X[LABELLED].mean(axis=0)) / X.std(axis=0), atol=1e-5
    )
    assert balance.size == pytest.approx(solution.objective)
    assert balance.effective_size == pytest.approx(h.sum() ** 2 / (h**2).sum())
    assert balance.share == pytest.approx(h.sum() / 200)
    assert any(row.active for row in balance)
    for row in balance:
        assert row.active == (row.multiplier != 0)


def test_constraints_are_in_the_table() -> None:
    spec = mlp.Spec(tolerance=mlp.Absolute(50.0), constraints=[mlp.Share(high=0.25)])
    row = mlp.solve(spec.compile(FRAME, labelled=LABELLED)).balance()[-1]
    assert (row.name, row.achieved, row.target, row.active) == ("share", pytest.approx(50.0), pytest.approx(50.0), True)


def test_the_table_prints_and_becomes_a_frame() -> None:
    balance = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(5.0)).compile(FRAME, labelled=LABELLED)).balance()
    lines = str(balance).splitlines()
    assert lines[0].split() == [
        "moment",
        "target",
        "achieved",
        "difference",
        "standardised",
        "before",
        "multiplier",
        "active",
    ]
    assert lines[-1].startswith("size ")
    assert list(pd.DataFrame(balance.records())["name"]) == ["a", "b", "c"]
