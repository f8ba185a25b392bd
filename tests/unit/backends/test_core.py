"""The search for whole sets: exchanges and integer programs near the hyperplane."""

from dataclasses import replace

import numpy as np
import pytest

import momentlp as mlp
from momentlp_core import Core
from momentlp_core.core_program import CoreProgram
from momentlp_core.exchange import exchange


def clouds(n: int, d: int, tolerance: float, **spec: object) -> mlp.Problem:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    X[: n // 5] += 0.7
    return mlp.Spec(tolerance=mlp.Absolute(tolerance), whole=True, **spec).compile(X, labelled=np.arange(n // 10))


def search(problem: mlp.Problem, size: int, back: float, seed: int = 0) -> tuple[CoreProgram, np.ndarray | None, float]:
    """Exchange points of the core, from the rounded fuzzy set, for a set at most ``back`` below the bound."""
    fuzzy = mlp.solve(problem.relaxed())
    near = np.argsort(np.abs(fuzzy.scores))[:size]
    core = CoreProgram.of(problem, near, np.where(fuzzy.scores > 0, problem.caps, 0.0))
    core.watched[:] = True
    target, limit = np.floor(fuzzy.bound - back) - core.outside, np.floor(fuzzy.bound) - core.outside
    start, random = core.start(np.rint(fuzzy.membership)), np.random.default_rng(seed)
    found = exchange(core.rows(fuzzy.multipliers, 1.0), start, target, 1.0, limit, random, 2000, lambda _: False)
    return core, found, target


def test_exchanges_find_a_set_within_all_bounds() -> None:
    problem = clouds(2000, 10, 3.0)
    core, x, target = search(problem, 150, back=6.0)
    assert x is not None
    assert x.sum() >= target
    assert set(np.unique(x)) <= {0.0, 1.0}
    assert core.is_feasible(x)
    h = core.fill(x)
    assert mlp.Certificate.of(problem, h, np.zeros(problem.n_moments)).primal_residual == 0
    assert h.sum() == core.outside + x.sum()


def test_exchanges_end_without_a_set_where_there_is_none() -> None:
    problem = replace(mlp.Problem.from_arrays(np.full((40, 1), 2.0), 3.0, 3.0), whole=True)
    core = CoreProgram.of(problem, np.arange(40), np.zeros(40))
    core.watched[:] = True
    rows = core.rows(np.array([0.5]), 1.0)
    assert exchange(rows, core.start(np.zeros(40)), 1.0, 1.0, 1.0, np.random.default_rng(0), 300, lambda _: False) is None


def test_exchanges_stop_when_asked_to() -> None:
    problem, done = clouds(2000, 10, 3.0), []
    fuzzy = mlp.solve(problem.relaxed())
    core = CoreProgram.of(problem, np.argsort(np.abs(fuzzy.scores))[:100], np.rint(fuzzy.membership))
    rows = core.rows(fuzzy.multipliers, 1.0)

    def is_over(number: int) -> bool:
        done.append(number)
        return number >= 7

    start = core.start(np.rint(fuzzy.membership))
    exchange(rows, start, fuzzy.bound - core.outside, 1.0, np.inf, np.random.default_rng(0), 5000, is_over)
    assert done == list(range(8))


def test_bounds_that_were_not_watched_are_noticed() -> None:
    A = np.array([[1.0, 0.1], [1.0, 0.1], [-1.0, 0.1]])
    problem = replace(mlp.Problem.from_arrays(A, [-5.0, -5.0], [5.0, 0.25]), whole=True)
    core = CoreProgram.of(problem, np.arange(3), np.zeros(3))
    core.watched[:] = False
    full = np.ones(3)
    assert not core.is_feasible(full)
    assert core.watch_violated(full)
    assert not core.watch_violated(full)  # it is watched now
    assert core.watched.tolist() == [False, True, False, False]


def test_it_is_as_good_as_branch_and_bound_on_the_whole() -> None:
    problem = clouds(3000, 25, 4.0)
    by_core = mlp.solve(problem)
    by_highs = mlp.solve(problem, "highs", iteration_limit=20)
    assert by_core.backend == "core"
    assert by_core.objective >= by_highs.objective
    assert by_core.certificate.primal_residual == 0
    assert by_core.bound == by_highs.bound


def test_a_least_size_and_repeated_rows() -> None:
    random = np.random.default_rng(0)
    X, counts = random.normal(size=(1500, 6)), random.integers(1, 4, size=1500)
    X[:300] += 0.7
    spec = mlp.Spec(tolerance=mlp.Absolute(2.0), constraints=[mlp.Share(0.05, 0.2)], whole=True)
    problem = spec.compile(X, labelled=np.arange(100), sample_weight=counts)
    solution = mlp.solve(problem)
    assert solution.certificate.primal_residual == 0
    assert (solution.membership == np.rint(solution.membership)).all()
    assert 0.05 * counts.sum() <= solution.objective <= 0.2 * counts.sum()
    assert solution.membership.max() > 1
    assert solution.bound - solution.objective <= 4


def test_linear_programs_are_handed_on() -> None:
    problem = clouds(500, 4, 1.0).relaxed()
    assert mlp.solve(problem, "core").objective == pytest.approx(mlp.solve(problem).objective)
    assert not Core.is_linear


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"integer_backend": "sifting"}, "must name a backend that solves integer programs, not 'sifting'"),
        ({"integer_backend": "core"}, "must name a backend that solves integer programs, not 'core'"),
        ({"random_state": -1}, "random_state"),
        ({"exchanges": 0.5}, "exchanges"),
        ({"exchange": 5}, "core has no option 'exchange'"),
    ],
    ids=str,
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(mlp.OptionError, match=message):
        mlp.solve(clouds(300, 3, 1.0), options=options)


def test_another_integer_backend_finds_the_same() -> None:
    problem = clouds(150, 3, 1.0)
    objectives = {mlp.solve(problem, Core(integer_backend=name)).objective for name in ("highs", "glpk", "scipy")}
    assert len(objectives) == 1


def test_without_exchanges_small_integer_programs_are_all_there_is() -> None:
    solution = mlp.solve(clouds(400, 3, 1.0), options={"exchanges": 0})
    assert solution.certificate.primal_residual == 0
