"""Sifting finds the optimum of a solver that sees all points, although it leaves out many."""

import numpy as np
import pytest
from helpers.gaussian import gaussian_problem, gaussians
from hypothesis import given, settings
from hypothesis import strategies as st

import momentlp as mlp
from momentlp.testing import problems
from momentlp_sifting import Sifting, restricted_master, sifting
from momentlp_sifting.columns import DenseColumns
from momentlp_sifting.interior_point import follow_central_path
from momentlp_sifting.program import Program


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits, so that dozens of points are treated like thousands."""
    monkeypatch.setattr(restricted_master, "MAX_ENTRIES_AT_ONCE", 10)
    monkeypatch.setattr(restricted_master, "N_EXTRA_POINTS", 3)
    monkeypatch.setattr(sifting, "AT_ONCE", (30, 2))
    monkeypatch.setattr(sifting, "MIN_SAMPLE", 15)
    monkeypatch.setattr(sifting, "MIN_SAMPLE_PER_MOMENT", 2)
    monkeypatch.setattr(sifting, "N_NEAR_POINTS", 5)


def same(one: mlp.Solution, other: mlp.Solution) -> None:
    assert one.status is other.status
    if one.status is not mlp.Status.INFEASIBLE:
        assert one.objective == pytest.approx(other.objective, rel=1e-7, abs=1e-7)


@pytest.mark.usefixtures("tiny")
class TestTiny:
    @given(problem=problems())
    @settings(max_examples=150, deadline=None)
    def test_any_problem_has_the_answer_of_highs(self, problem: mlp.Problem) -> None:
        same(mlp.solve(problem, "sifting"), mlp.solve(problem, "highs"))

    @given(st.integers(0, 10**6), st.integers(20, 300), st.integers(1, 6), st.sampled_from([0.0, 1e-6, 0.3, 5.0]))
    @settings(max_examples=100, deadline=None)
    def test_points_with_many_ties_have_the_answer_of_highs(self, seed: int, n: int, m: int, eps: float) -> None:
        random = np.random.default_rng(seed)
        X = random.integers(-2, 3, size=(n, m)).astype(float)
        problem = mlp.Spec(tolerance=mlp.Absolute(eps)).compile(X, labelled=random.choice(n, 5, replace=False))
        same(mlp.solve(problem, "sifting"), mlp.solve(problem, "highs"))

    @given(st.integers(0, 10**6), st.sampled_from(["relative", "error", "share", "known", "weights", "far"]))
    @settings(max_examples=100, deadline=None)
    def test_every_kind_of_row_has_the_answer_of_highs(self, seed: int, kind: str) -> None:
        random = np.random.default_rng(seed)
        X, sample = gaussians(int(random.integers(40, 400)), int(random.integers(1, 5)), seed)
        tolerance: mlp.Tolerance = mlp.Relative(0.1) if kind == "relative" else mlp.Absolute(0.02 * len(X))
        constraints: dict[str, mlp.Constraint] = {
            "share": mlp.Share(0.05, 0.15), "known": mlp.Known(positives=[0, 1], negatives=[2])
        }  # fmt: skip
        spec = mlp.Spec(
            tolerance=mlp.StandardError(1.0) if kind == "error" else tolerance,
            constraints=[constraints[kind]] if kind in constraints else [],
        )
        weight = random.integers(0, 3, len(X)).astype(float) if kind == "weights" else None
        problem = spec.compile(X, sample=sample + (50.0 if kind == "far" else 0.0), sample_weight=weight)
        same(mlp.solve(problem, "sifting"), mlp.solve(problem, "highs"))

    @pytest.mark.parametrize("seed", range(30))
    def test_ordinary_data_is_never_left_to_highs(self, seed: int) -> None:
        """If sifting left every problem to HiGHS, the other tests of this class would still pass."""
        random = np.random.default_rng(seed)
        found = mlp.solve(gaussian_problem(int(random.integers(40, 400)), int(random.integers(1, 5)), seed), "sifting")
        assert found.status is mlp.Status.OPTIMAL
        assert "on the whole" not in found.message

    def test_the_inner_solver_sees_a_small_part_of_the_points(self) -> None:
        """On ordinary data the inner solver sees a small part of the points, at every level."""
        found = mlp.solve(gaussian_problem(3000, 3), "sifting", repair=False)
        assert found.status is mlp.Status.OPTIMAL
        assert 0 < int(found.message.partition("largest of ")[2].split()[0]) < 1500


def test_a_large_problem_takes_few_passes() -> None:
    problem = gaussian_problem(60_000)
    found = mlp.solve(problem, "sifting")
    assert found.status is mlp.Status.OPTIMAL
    assert found.certificate.error < 1e-9
    assert int(found.message.partition("(")[2].split()[0]) <= 12
    assert found.objective == pytest.approx(mlp.solve(problem, "glpk").objective, rel=1e-9)


def test_a_large_problem_with_an_unreachable_mean_is_empty() -> None:
    X, _ = gaussians(30_000)
    found = mlp.solve(mlp.Spec().compile(X, mean=np.full(6, 40.0)), "sifting")
    assert found.status is mlp.Status.EMPTY


def test_a_large_infeasible_problem_is_proved_infeasible() -> None:
    X, sample = gaussians(25_000)
    spec = mlp.Spec(tolerance=mlp.Absolute(1.0), constraints=[mlp.Share(0.9, 1.0)])
    assert mlp.solve(spec.compile(X, sample=sample), "sifting").status is mlp.Status.INFEASIBLE


@pytest.mark.parametrize("live", [0, 1, 20, 12_000])
def test_points_of_weight_zero_are_left_out(live: int) -> None:
    X, sample = gaussians(30_000)
    weight = np.zeros(30_000)
    weight[np.random.default_rng(1).choice(30_000, live, replace=False)] = 1.0
    problem = mlp.Spec(tolerance=mlp.Relative(0.5)).compile(X, sample=sample, sample_weight=weight)
    found, kept = mlp.solve(problem, "sifting"), np.flatnonzero(weight)
    if live > 1:
        alone = mlp.solve(mlp.Spec(tolerance=mlp.Relative(0.5)).compile(X[kept], sample=sample), "highs")
        assert found.objective == pytest.approx(alone.objective, rel=1e-9)
    assert found.status is not mlp.Status.FAILED
    assert not found.membership[weight == 0].any()


def test_free_moments_and_constant_features_have_the_answer_of_highs() -> None:
    X, sample = gaussians(3000)
    problem = mlp.Spec(tolerance=mlp.Absolute(60.0)).compile(X, sample=sample)
    free = problem.with_rows(np.random.default_rng(0).normal(size=(3000, 1)), -np.inf, np.inf, ["free"])
    same(mlp.solve(free, "sifting"), mlp.solve(problem, "highs"))
    constant = np.column_stack([X, np.full(3000, 0.1)]).astype(np.float32)
    spec = mlp.Spec()
    mean = np.append(sample.mean(axis=0), 0.1)
    same(mlp.solve(spec.compile(constant, mean=mean), "sifting"), mlp.solve(spec.compile(constant, mean=mean), "highs"))


def test_options_of_the_inner_backend_are_checked() -> None:
    from momentlp_highs import Highs

    with pytest.raises(mlp.OptionError, match="no_such_option"):
        mlp.solve(gaussian_problem(100), Sifting(backend=Highs(no_such_option=1)))
    with pytest.raises(mlp.OptionError, match="log"):
        mlp.solve(gaussian_problem(100), Sifting(backend="scipy"), log=print)


def test_the_inner_backend_can_be_chosen() -> None:
    found = mlp.solve(gaussian_problem(3000), Sifting(backend="glpk"))
    assert found.status is mlp.Status.OPTIMAL
    assert found.engine == "GLPK"


@pytest.mark.parametrize("options", [{"backend": "sifting"}, {"random_state": "x"}, {"bakend": "highs"}, {"room": 5}])
def test_bad_options_are_named(options: dict[str, str]) -> None:
    with pytest.raises(mlp.OptionError, match=next(iter(options)).replace("backend", "sifting")):
        mlp.solve(gaussian_problem(100), "sifting", options=options)


def test_the_random_state_does_not_change_the_optimum() -> None:
    problem = gaussian_problem(40_000)
    objectives = [mlp.solve(problem, Sifting(random_state=seed)).objective for seed in range(3)]
    assert np.ptp(objectives) < 1e-8 * objectives[0]


def test_limits_and_the_log_are_honoured() -> None:
    problem, lines = gaussian_problem(60_000, 12), []
    stopped = mlp.solve(problem, "sifting", time_limit=1e-3, repair=False)
    assert stopped.status is mlp.Status.LIMIT
    assert stopped.bound >= stopped.objective
    mlp.solve(problem, "sifting", log=lines.append)
    assert any("changed sides" in line for line in lines)


class TestStart:
    @pytest.mark.parametrize("backend", ["highs", "sifting"])
    @pytest.mark.parametrize("n", [800, 30_000])
    def test_a_start_from_a_similar_problem_does_not_change_the_optimum(self, backend: str, n: int) -> None:
        X, sample = gaussians(n)
        spec = mlp.Spec(tolerance=mlp.Absolute(0.02 * n))
        first = mlp.solve(spec.compile(X, sample=sample), backend)
        more = np.vstack([X, X[:50] + 0.01])
        for problem in (
            spec.compile(X, sample=sample[:150]),  # another mean
            spec.compile(more, sample=sample),  # more points
            spec.compile(X[: n // 2], sample=sample),  # fewer
            spec.compile(X, sample=sample, sample_weight=np.linspace(0.5, 1.5, n)),
            mlp.Spec(tolerance=mlp.Absolute(0.02 * n), constraints=[mlp.Share(0.0, 0.2)]).compile(X, sample=sample),
        ):
            same(mlp.solve(problem, backend, start=first), mlp.solve(problem, backend))

    def test_a_start_saves_iterations(self) -> None:
        X, sample = gaussians(2000, 10)
        first = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(40.0)).compile(X, sample=sample), "highs")
        problem = mlp.Spec(tolerance=mlp.Absolute(39.8)).compile(X, sample=sample)
        warm, cold = (mlp.solve(problem, "highs", start=start).iterations for start in (first, None))
        assert warm is not None
        assert cold is not None
        assert warm < cold / 2

    def test_a_start_at_the_optimum_takes_no_iteration(self) -> None:
        problem = gaussian_problem(1000)
        first = mlp.solve(problem, "highs")
        assert mlp.solve(problem, "highs", start=(first.membership, first.multipliers)).iterations == 0

    @pytest.mark.parametrize("start", [np.zeros(3), (np.zeros(3), np.zeros(6)), "x", ([np.nan] * 100, np.zeros(6))])
    def test_an_unusable_start_is_refused(self, start: object) -> None:
        with pytest.raises(mlp.MomentLPError, match="start"):
            mlp.solve(gaussian_problem(100), start=start)

    def test_a_backend_without_the_capability_refuses_a_start(self) -> None:
        problem = gaussian_problem(100)
        with pytest.raises(mlp.OptionError, match="cannot honour start"):
            mlp.solve(problem, "scipy", start=mlp.solve(problem))

    def test_a_random_start_does_not_change_the_optimum(self) -> None:
        problem = gaussian_problem(1500)
        random = np.random.default_rng(0)
        start = random.random(1500), 100 * random.normal(size=6)
        for backend in ("highs", "sifting"):
            same(mlp.solve(problem, backend, start=start), mlp.solve(problem, "highs"))


class TestInterior:
    def test_it_predicts_active_moments_and_memberships(self) -> None:
        problem = gaussian_problem(5000, 12)
        optimum = mlp.solve(problem, "highs", feasibility_tolerance=1e-9)
        A = problem.A.toarray()
        found, steps = follow_central_path(
            Program.plain(DenseColumns(A), problem.weights, problem.caps, problem.lower, problem.upper), lambda: False
        )
        assert steps < 30
        assert set(np.flatnonzero(optimum.multipliers)) <= set(np.flatnonzero(found.active))
        inside, near = optimum.membership > 0.5, np.abs(problem.weights - A @ optimum.multipliers) < 0.2
        assert ((found.h > 0.5) == inside)[~near].all()

    def test_it_stops_at_once_when_asked_to(self) -> None:
        problem = gaussian_problem(3000)
        A = DenseColumns(problem.A.toarray())
        barrier = Program.plain(A, problem.weights, problem.caps, problem.lower, problem.upper)
        assert follow_central_path(barrier, lambda: True)[1] == 0
