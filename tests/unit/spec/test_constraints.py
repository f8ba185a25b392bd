"""Constraints: they hold, their rows have names, and the certificate covers them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import momentlp as mlp

random = np.random.default_rng(3)
X = random.normal(size=(150, 3))
GROUP = random.integers(0, 3, size=150)
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "group": GROUP.astype(float)})


def solve_with(*constraints: mlp.Constraint, backend: str = "highs", data: object = X, eps: float = 20.0) -> mlp.Solution:
    spec = mlp.Spec(tolerance=mlp.Absolute(eps), constraints=constraints)
    assert mlp.Spec.from_json(spec.to_json()) == spec
    assert mlp.Spec.from_yaml(spec.to_yaml()) == spec
    return mlp.solve(spec.compile(data, labelled=range(20)), backend)


@pytest.mark.parametrize("sparse", [False, True])
def test_share_bounds_the_size_of_the_class(backend: str, sparse: bool) -> None:
    data = sp.csr_array(X) if sparse else X
    assert solve_with(backend=backend, data=data).objective > 60
    few = solve_with(mlp.Share(high=0.2), backend=backend, data=data)
    assert few.objective == pytest.approx(30.0)
    assert few.certificate.holds()
    assert few.problem.names[-1] == "share"
    assert solve_with(mlp.Share(0.9, 1.0), backend=backend, data=data, eps=1.0).status is mlp.Status.INFEASIBLE


def test_known_points_have_membership_one_or_zero(backend: str) -> None:
    free = solve_with().membership
    out, inside = np.flatnonzero(free == 0)[:3], np.flatnonzero(free == 1)[:4]
    solution = solve_with(mlp.Known(positives=out, negatives=inside), backend=backend)
    assert solution.certificate.holds()
    assert np.allclose(solution.membership[out], 1)
    assert np.allclose(solution.membership[inside], 0)
    assert "known positives" in solution.problem.names
    mask = np.zeros(150, dtype=bool)
    mask[out] = True
    assert mlp.Known(positives=mask) == mlp.Known(positives=out.tolist(), n_points=150)
    assert np.array_equal(solve_with(mlp.Known(mask)).membership, solve_with(mlp.Known(out)).membership)


@pytest.mark.parametrize("groups", ["column", "labels"])
def test_group_shares_hold_within_the_class(backend: str, groups: str) -> None:
    where = "group" if groups == "column" else GROUP
    constraint = mlp.GroupShare(where, low={0: 0.5}, high={1: 0.1, "2": 0.45})
    solution = solve_with(constraint, backend=backend, data=FRAME if groups == "column" else X)
    assert solution.status is mlp.Status.OPTIMAL
    h = solution.membership
    share = [h[group == GROUP].sum() / h.sum() for group in range(3)]
    assert share[0] >= 0.5 - 1e-7
    assert share[1] <= 0.1 + 1e-7
    assert share[2] <= 0.45 + 1e-7
    assert solution.problem.names[-3:] == ("group 0:low", "group 1:high", "group 2:high")
    assert solution.certificate.holds()


def test_a_moment_constraint_has_its_own_target_and_tolerance(backend: str) -> None:
    more = mlp.Moment(
        mlp.Quadratic(), target=[0.2] * 3 + [1.0, 0.0, 0.0, 1.0, 0.0, 1.0], tolerance=mlp.Relative(0.3), name="second"
    )
    solution = solve_with(more, backend=backend)
    assert solution.status is mlp.Status.OPTIMAL
    h = solution.membership
    assert abs(h @ X[:, 0] ** 2 / h.sum() - 1.0) <= 0.3 + 1e-7
    assert "second: x0^2:high" in solution.problem.names
    assert solution.certificate.holds()


def test_all_constraints_together_survive_pyomo_and_saving(tmp_path: Path) -> None:
    constraints = (
        mlp.Share(0.1, 0.4),
        mlp.Known(positives=[0, 1], negatives=[149]),
        mlp.GroupShare(GROUP, high={0: 0.4}),
        mlp.Moment(mlp.Linear(), 0.1, mlp.Relative(0.2), name="more"),
    )
    solution = solve_with(*constraints)
    assert solution.status is mlp.Status.OPTIMAL
    back = mlp.solve(mlp.Problem.from_pyomo(solution.problem.to_pyomo()), "glpk")
    assert back.objective == pytest.approx(solution.objective, rel=1e-7)
    solution.problem.save(tmp_path / "problem.npz")
    assert mlp.solve(mlp.Problem.load(tmp_path / "problem.npz")).objective == solution.objective


def test_the_separator_scores_new_points_under_constraints() -> None:
    solution = solve_with(mlp.Share(high=0.2), mlp.GroupShare(GROUP, high={0: 0.4}))
    new = random.normal(size=(10, 3))
    separator = solution.separator
    expected = 1 - (new - solution.problem.blocks[0].origin) @ solution.multipliers[:3] - solution.multipliers[3]
    assert np.allclose(separator.decision_function(new), expected)


def test_the_separator_leaves_out_the_rows_of_group_shares() -> None:
    """The rows shift every score by a constant, and the scores of group 0 by more; the separator leaves both out."""
    solution = solve_with(mlp.GroupShare(GROUP, high={0: 0.1}))
    rows = solution.problem.blocks[1]
    y = solution.multipliers[3:]
    assert y[0] > 0.1
    assert rows.shift.tolist() == [-0.1]
    free = GROUP != 0
    expected = solution.scores + np.where(free, -0.1, 0.9) * y[0]
    assert np.allclose(solution.separator.decision_function(X), expected)


def test_sample_weights_are_numbers_of_points(backend: str) -> None:
    weights = random.integers(0, 4, size=150).astype(float)
    weights[:20] = 1 + np.arange(20) % 3
    spec = mlp.Spec(tolerance=mlp.Absolute(5.0))
    weighted = mlp.solve(spec.compile(X, labelled=range(20), sample_weight=weights), backend)
    copies = np.repeat(np.arange(150), weights.astype(int))
    repeated = mlp.solve(spec.compile(X[copies], labelled=copies < 20), backend)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-7)
    assert (weighted.membership <= weights).all()


@pytest.mark.parametrize("weight", [-1.0, np.nan, [1.0, 2.0], "a"])
def test_unusable_sample_weights_are_refused(weight: object) -> None:
    with pytest.raises(mlp.DataError, match="sample_weight"):
        mlp.Spec().compile(X, labelled=[0], sample_weight=weight)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: mlp.Share(0.5, 1.2), "Share.high: Input should be less than or equal to 1"),
        (lambda: mlp.Share(0.5, 0.2), "low must not exceed high"),
        (lambda: mlp.Share(-0.1), "Share.low"),
        (lambda: mlp.Known([1, 2], [2]), "point 2 is both in positives and in negatives"),
        (mlp.Known, "neither positives nor negatives"),
        (lambda: mlp.Known(["a"]), "Known.positives"),
        (lambda: mlp.Known([True, False], [False, True, False]), "negatives is a mask of 3 points, but there are 2"),
        (lambda: mlp.Known([True, False], n_points=7), "positives is a mask of 2 points, but there are 7"),
        (lambda: mlp.GroupShare("g"), "neither low nor high names a group"),
        (lambda: mlp.GroupShare("g", low={"a": 0.5}, high={"a": 0.2}), "low 0.5 above high 0.2"),
        (lambda: mlp.GroupShare("g", low={"a": 0.7, "b": 0.6}), "add up to 1.3"),
        (lambda: mlp.GroupShare("g", low={"a": 2.0}), "GroupShare.low.a"),
        (lambda: mlp.Moment(mlp.Linear(), "x", mlp.Absolute(1.0)), "Moment.target"),
        (lambda: mlp.Moment(mlp.Absolute(1.0), 0.0, mlp.Absolute(1.0)), "Moment.features"),
    ],
)
def test_unusable_constraints_are_refused(build: object, message: str) -> None:
    with pytest.raises(mlp.SpecError, match=message):
        build()  # type: ignore[operator]


def test_constraints_that_contradict_each_other_are_refused_or_proved_infeasible() -> None:
    with pytest.raises(mlp.SpecError, match=r"constraints\.0 and constraints\.1 .* at least 0\.5 and of at most 0\.2"):
        mlp.Spec(constraints=[mlp.Share(0.5, 1.0), mlp.Share(0.1, 0.2)])
    with pytest.raises(mlp.SpecError, match=r"constraints\.1 and constraints\.0 .*point 3"):
        mlp.Spec(constraints=[mlp.Known(negatives=[3]), mlp.Known(positives=[3])])
    contradicting = solve_with(
        mlp.GroupShare(GROUP, low={0: 0.9}), mlp.GroupShare(GROUP, high={0: 0.1}), mlp.Share(0.1, 1.0)
    )
    assert contradicting.status is mlp.Status.INFEASIBLE
    assert set(contradicting.conflict()) >= {"group 0:low", "group 0:high"}


def test_a_constraint_that_occurs_twice_gets_different_names() -> None:
    names = solve_with(mlp.Share(0.0, 0.5), mlp.Share(0.0, 0.3)).problem.names
    assert names[-2:] == ("share", "share (2)")


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (mlp.Known([200]), "Known.positives holds index 200"),
        (mlp.Known([], [-1]), "Known.negatives holds index -1"),
        (mlp.Known(negatives=np.arange(140) > 130), "Known was given for 140 points, .* but there are 150 points"),
        (mlp.Known(np.arange(160) < 3), "Known was given for 160 points, the length of its mask, but there are 150 points"),
        (mlp.GroupShare("shade", high={"x": 0.1}), "GroupShare.groups names column 'shade', but the points have x0, x1, x2"),
        (mlp.GroupShare(GROUP, high={"7": 0.1}), "GroupShare names group '7', but the groups are 0, 1, 2"),
        (mlp.GroupShare([1, 2], high={1: 0.1}), r"GroupShare.groups holds 2 label\(s\), but there are 150 points"),
        (mlp.Moment(mlp.Linear(), (1.0, 2.0), mlp.Absolute(1.0)), "Moment.target must hold 3"),
        (mlp.Moment(mlp.Concat([mlp.Linear(), mlp.Linear()]), 1.0, mlp.Absolute(1.0)), "Moment.features must be one map"),
    ],
)
def test_constraints_that_do_not_fit_the_data_are_refused(constraint: mlp.Constraint, message: str) -> None:
    with pytest.raises(mlp.MomentLPError, match=message):
        mlp.Spec(constraints=[constraint]).compile(X, labelled=[0])


class Forgets(mlp.Constraint):
    kind: str = "test-forgets"

    def apply(self, problem: mlp.Problem, data: mlp.Data) -> mlp.Problem:
        problem.with_rows(data.points, 0.0, 1.0, ["a", "b", "c"])


def test_a_constraint_that_returns_nothing_is_named() -> None:
    with pytest.raises(mlp.CompileError, match=r"Forgets\.apply must return a Problem, not NoneType"):
        mlp.Spec(constraints=[Forgets()]).compile(X, labelled=[0])


def test_a_function_becomes_a_feature_map_or_a_constraint(backend: str) -> None:
    @mlp.feature_map("test-cube")
    def cube(points: np.ndarray, power: int = 3) -> np.ndarray:
        return points**power

    @mlp.constraint("test-first")
    def first(problem: mlp.Problem, data: mlp.Data, count: int, maximum: float = 2.0) -> mlp.Problem:
        member = (np.arange(data.n_points) < count).astype(float)[:, None]
        return problem.with_rows(member, -np.inf, maximum, ["first"])

    spec = mlp.Spec(features=cube(), tolerance=mlp.Absolute(30.0), constraints=[first(count=10)])
    assert mlp.Spec.from_json(spec.to_json()) == spec
    solution = mlp.solve(spec.compile(X, labelled=range(20)), backend)
    assert solution.problem.names == ("test-cube(x0)", "test-cube(x1)", "test-cube(x2)", "first")
    assert solution.membership[:10].sum() <= 2 + 1e-6
    assert solution.certificate.holds()
    with pytest.raises(mlp.SpecError, match="power: Input should be a valid integer"):
        cube(power="three")
    with pytest.raises(mlp.SpecError, match="count: Field required"):
        first()


def test_shares_are_by_weight_and_relative_to_all_points() -> None:
    weights = np.full(150, 10.0)
    spec = mlp.Spec(tolerance=mlp.Absolute(5000.0), constraints=[mlp.Known(negatives=range(100, 150)), mlp.Share(high=0.4)])
    solution = mlp.solve(spec.compile(X, labelled=range(20), sample_weight=weights))
    assert solution.objective == pytest.approx(0.4 * 1500)
    assert solution.balance().share == pytest.approx(0.4)


def test_a_moment_takes_one_tolerance_or_one_per_feature() -> None:
    with pytest.raises(mlp.CompileError, match="Absolute holds 2 values, but the features give 3 moments"):
        solve_with(mlp.Moment(mlp.Linear(), 0.0, mlp.Absolute([1.0, 2.0])))


def test_group_labels_are_compared_as_text() -> None:
    mixed = [1.0, "a"] * 75
    assert mlp.GroupShare(mixed, high={1: 0.5}).groups[:2] == ("1", "a")
    flags = solve_with(mlp.GroupShare(GROUP == 0, high={True: 0.1})).membership
    assert flags[GROUP == 0].sum() <= 0.1 * flags.sum() + 1e-6


def test_a_parameter_with_the_name_of_a_method_is_refused() -> None:
    with pytest.raises(mlp.SpecError, match="'apply', a name that is taken"):

        @mlp.constraint("test-hides")
        def hides(problem: mlp.Problem, data: mlp.Data, apply: int) -> mlp.Problem:
            return problem
