"""The paper's own data: the USPS digits."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.available_backends import BACKENDS

import momentlp as mlp
from momentlp.datasets.usps import load_usps, usps_split

Digits = tuple[np.ndarray, np.ndarray]


def test_the_usps_data_has_its_known_sizes(usps: Digits) -> None:
    X, y = usps
    assert X.shape == (9298, 256)
    assert (y == 0).sum() == 1553


def test_the_true_mean_finds_the_zeros(usps: Digits) -> None:
    X, y = usps
    spec = mlp.Spec(tolerance=mlp.Absolute(1e-6))
    solution = mlp.solve(spec.compile(X, mean=X[y == 0].mean(axis=0)), "highs")
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.objective == pytest.approx(1553.0000174, abs=1e-5)
    assert ((solution.membership > 0.5) != (y == 0)).sum() <= 1
    assert solution.certificate.holds(1e-6)


def test_all_backends_agree_on_the_protocol(usps: Digits) -> None:
    X, truth, sample = usps_split(*usps, 300)
    problem = mlp.Spec(tolerance=mlp.Absolute(30.0)).compile(X, sample=sample)
    rows = mlp.compare(problem, BACKENDS)
    assert [row["status"] for row in rows] == ["optimal"] * len(BACKENDS)
    assert rows.spread <= 1e-7
    assert all(solution.certificate.holds() for solution in rows.solutions.values())
    found = rows.solutions["highs"].membership > 0.5
    assert truth[found].mean() > 0.88
    assert found[truth].mean() > 0.85


@pytest.mark.parametrize("backend", ["highs", "glpk"])
def test_an_unreachable_mean_gives_an_empty_class(usps: Digits, backend: str) -> None:
    X, _, sample = usps_split(*usps, 100)
    solution = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(1e-6)).compile(X, sample=sample), backend)
    assert solution.status is mlp.Status.EMPTY
    assert solution.objective < 0.01
    assert ((X - sample.mean(axis=0)) @ solution.direction > 0).all()


def test_without_the_data_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.delenv("MOMENTLP_USPS", raising=False)
    with pytest.raises(mlp.DataError, match="MOMENTLP_USPS"):
        load_usps()
    with pytest.raises(mlp.DataError, match=r"no zip\.train\.gz"):
        load_usps(str(tmp_path))


@pytest.mark.parametrize(("n_known", "precision", "recall"), [(25, 0.92, 0.92), (100, 0.94, 0.95)])
def test_spectral_features_need_few_labels(usps: Digits, n_known: int, precision: float, recall: float) -> None:
    """Ten random splits: the graph is built on unlabelled and labelled points only, the tolerance is one for all."""
    spec = mlp.Spec(features=mlp.Spectral(8, n_neighbors=6), tolerance=mlp.StandardError(0.3))
    results = []
    for seed in range(10):
        X, truth, sample = usps_split(*usps, n_known, seed)
        solution = mlp.solve(spec.compile(X, sample=sample))
        found = solution.membership > 0.5
        results.append((truth[found].mean(), found[truth].mean(), solution.balance().share - truth.mean()))
    mean = np.mean(results, axis=0)
    assert mean[0] >= precision
    assert mean[1] >= recall
    assert abs(mean[2]) <= 0.01  # the estimate of the class prior
