"""MomentClassifier with constraints, among them limits of the size where the mean does not limit it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.clouds import clouds

import momentlp as mlp

X, truth, y = clouds()
new = np.random.default_rng(1).uniform(-3.0, 8.0, size=(80, 2))


def test_constraints_that_no_set_meets_raise() -> None:
    with pytest.raises(mlp.SolverError, match=r"no set of points meets the constraints.*conflict: .*share"):
        mlp.MomentClassifier("spectral", constraints=[mlp.Share(0.95, 1.0)]).fit(X, y)


def test_constraints_that_exclude_the_mean_raise() -> None:
    """The constraint excludes every set near their mean. The linear program proves it, and fit says so."""
    group = np.arange(150) % 2
    tilted = mlp.GroupShare("x2", low={"1": 0.9})  # of the labelled points seven in twenty are in group 1
    with pytest.raises(mlp.SolverError, match="no set of points"):
        mlp.MomentClassifier("linear", constraints=[tilted]).fit(np.column_stack([X, group]), y)


def test_points_known_to_be_outside_stay_outside() -> None:
    inside = np.flatnonzero(truth & (y == 0))[:5]
    for features in ("spectral", "linear"):
        model = mlp.MomentClassifier(features, constraints=[mlp.Known(negatives=inside)]).fit(X, y)
        assert model.membership_[inside].tolist() == [0.0] * 5
        assert (model.transduction_[inside] == 0).all()


@pytest.mark.parametrize("features", ["spectral", "linear"])
def test_points_of_weight_zero_known_to_be_outside_stay_outside(features: str) -> None:
    inside = np.flatnonzero(truth & (y == 0))[:6]
    weight = np.ones(150)
    weight[inside[:3]] = 0.0
    model = mlp.MomentClassifier(features, constraints=[mlp.Known(negatives=inside)], bagging=2).fit(X, y, weight)
    assert model.membership_[inside].tolist() == [0.0] * 6
    assert (model.transduction_[inside] == 0).all()


def test_the_order_of_equal_rows_does_not_matter() -> None:
    """One of two copies is known to be outside, the other is unlabelled. The result does not depend on their order."""
    inside = np.flatnonzero(truth & (y == 0))[:10]
    points, labels = np.vstack([X, X[inside]]), np.concatenate([y, np.zeros(10, dtype=int)])
    first, last = (
        mlp.MomentClassifier("spectral", constraints=[mlp.Known(negatives=out)]).fit(points, labels)
        for out in (inside, np.arange(150, 160))
    )
    assert np.allclose(first.score_samples(new), last.score_samples(new), atol=1e-9)
    assert np.allclose(first.score_samples(X), last.score_samples(X), atol=1e-9)


def largest(tolerance: float) -> float:
    return float(mlp.MomentClassifier("linear", tolerance).fit(X, y).solution_.objective / 150)


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("weight", [None, np.full(150, 3.0)])
@pytest.mark.parametrize("tolerance", [mlp.StandardError(0.8), mlp.Absolute(9.0)], ids=["mean", "sum"])
def test_among_sets_of_the_allowed_size_the_nearest_is_taken(exactly: bool, weight: Any, tolerance: mlp.Tolerance) -> None:
    sizes = [mlp.MomentClassifier("linear", item).fit(X, y, weight).solution_.objective for item in (0.0, tolerance)]
    total = 150 if weight is None else weight.sum()
    share = float(np.mean(sizes) / total)
    bound = mlp.Share(share if exactly else 0.0, share)
    found = [
        mlp.MomentClassifier("linear", tolerance, [bound], backend=backend).fit(X, y, weight)
        for backend in ("highs", "glpk", "sifting")
    ]
    for model in found:
        solution = model.solution_
        assert solution.objective == pytest.approx(share * total, rel=1e-7)
        assert solution.certificate.holds()
        assert solution.certificate.active > 0
        assert np.abs(solution.multipliers[-1]) < 1e-6  # the mean limits the size as well, and proves it alone
        assert np.allclose(model.score_samples(new), found[0].score_samples(new), atol=1e-5)
        clear = np.abs(solution.scores) > 1e-6
        assert clear.mean() > 0.9
        assert np.array_equal(
            model.separator_.predict(X)[clear], solution.membership[clear] > 0.5 * solution.problem.caps[0]
        )
    whole, tight = (mlp.MomentClassifier("linear", tolerance).fit(X, y, weight), found[0].solution_)
    narrower = tight.problem.blocks[0].width / whole.solution_.problem.blocks[0].width
    assert narrower[0] == pytest.approx(narrower[1])
    assert 0.05 < narrower[0] < 0.95


def test_a_size_limit_works_in_folds_and_bootstrap_samples() -> None:
    bound = mlp.Share(0.0, (largest(0.0) + largest(0.8)) / 2)
    model = mlp.MomentClassifier("linear", constraints=[bound], bagging=3, probability=True, random_state=0).fit(X, y)
    assert all(np.abs(voter.normal).max() > 1e-3 for voter in model.rule_.voters)
    chosen = mlp.MomentClassifierCV("linear", constraints=[bound], tolerances=[0.8, 0.0], random_state=0).fit(X, y)
    assert chosen.solution_.certificate.holds()


def test_it_warns_if_many_sets_have_exactly_the_mean() -> None:
    with pytest.warns(
        RuntimeWarning, match="limits the set to 30 points.*exactly the mean.*the choice among them is arbitrary"
    ):
        model = mlp.MomentClassifier("linear", constraints=[mlp.Share(0.0, 0.2)]).fit(X, y)
    assert model.solution_.certificate.holds()
    assert model.solution_.objective == pytest.approx(30.0)


def test_a_constraint_names_a_column() -> None:
    group = np.arange(150) % 2
    frame = pd.DataFrame(X, columns=["height", "width"]).assign(group=group)
    bound = mlp.GroupShare("group", high={"1": 0.3})
    bounded, free = (
        mlp.MomentClassifier("linear", constraints=item).fit(frame, y).solution_.membership for item in ([bound], [])
    )
    assert bounded @ group / bounded.sum() == pytest.approx(0.3)
    assert free @ group / free.sum() > 0.4


def test_a_graph_in_a_constraint_does_not_turn_on_smoothing() -> None:
    near = mlp.Moment(mlp.Spectral(2), 0.0, mlp.Relative(9.0))  # which holds for every set
    bound, free = (mlp.MomentClassifier("linear", constraints=item).fit(X, y) for item in ([near], []))
    assert np.allclose(bound.membership_, free.membership_, atol=1e-6)
    assert bound.rule_.smoother is None
    with pytest.raises(mlp.OptionError, match="there are no neighbourhoods"):
        mlp.MomentClassifier("linear", constraints=[near], smoothing=0.1).fit(X, y)


@pytest.mark.parametrize("features", ["spectral", "linear"])
def test_a_constraint_does_not_learn_from_rows_of_weight_zero(features: str) -> None:
    weight = np.where(np.arange(150) % 7 == 3, 0.0, 1.0)
    kept = weight > 0
    near = mlp.Moment(mlp.Spectral(2), [1.2, 0.0], mlp.Relative(0.4))
    weighed = mlp.MomentClassifier(features, constraints=[near]).fit(X, y, weight)
    without = mlp.MomentClassifier(features, constraints=[near]).fit(X[kept], y[kept])
    assert weighed.solution_.objective == pytest.approx(without.solution_.objective)
    assert np.allclose(weighed.solution_.problem.blocks[1].features[kept], without.solution_.problem.blocks[1].features)
    assert np.allclose(weighed.score_samples(new), without.score_samples(new), atol=1e-6)
