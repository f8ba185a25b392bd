"""solve: the status is what is proved, and every kind of failure has its own error."""

from __future__ import annotations

import io
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.scripted_backend import ScriptedBackend, optimal_answer

import momentlp as mlp
from momentlp.proof.dual_bound import farkas_value
from momentlp.solving import solve_problem
from momentlp.testing import half_space

PROBLEM, SIZE = half_space(120, 3, seed=0)


def scripted(**changes: Any) -> ScriptedBackend:
    return ScriptedBackend(optimal_answer(**changes))


def test_a_true_answer_is_accepted() -> None:
    assert mlp.solve(PROBLEM, scripted()).status is mlp.Status.OPTIMAL


@pytest.mark.parametrize(
    "changes",
    [
        {"membership": np.ones(120)},
        {"membership": np.zeros(120)},
        {"membership": np.full(120, np.nan)},
        {"membership": np.random.default_rng(0).uniform(size=120)},
        {"multipliers": np.zeros(3)},
        {"multipliers": np.full(3, np.nan)},
        {"multipliers": np.full(3, np.inf)},
        {"multipliers": np.ones(3) * 50},
        {"membership": None},
        {"multipliers": None},
    ],
    ids=str,
)
def test_a_false_answer_is_detected(changes: dict[str, Any]) -> None:
    solution = mlp.solve(PROBLEM, scripted(**changes), repair=False)
    assert solution.status is mlp.Status.FAILED
    assert "trust me (but the certificate does not hold" in solution.message
    assert solution.bound >= solution.objective
    repaired = mlp.solve(PROBLEM, scripted(**changes))
    assert repaired.status is mlp.Status.OPTIMAL
    assert repaired.repairs[-1] == "solved exactly"
    assert repaired.engine == "exact arithmetic"
    assert repaired.message == "trust me (this answer proved nothing: the problem was solved in exact arithmetic)"
    assert repaired.objective == pytest.approx(SIZE)


@pytest.mark.parametrize("outcome", [mlp.Outcome.LIMIT, mlp.Outcome.INFEASIBLE, mlp.Outcome.FAILED])
def test_a_proof_counts_more_than_the_outcome_of_the_solver(outcome: mlp.Outcome) -> None:
    assert mlp.solve(PROBLEM, scripted(outcome=outcome)).status is mlp.Status.OPTIMAL


def test_infeasible_is_rejected_where_the_empty_set_is_feasible() -> None:
    wrong = scripted(outcome=mlp.Outcome.INFEASIBLE, membership=None, multipliers=None)
    solution = mlp.solve(PROBLEM, wrong, repair=False)
    assert solution.status is mlp.Status.FAILED
    assert "the empty set, h = 0, is feasible, so the solver is wrong" in solution.message


def test_infeasible_without_a_proof_is_a_failure() -> None:
    feasible = mlp.Problem.from_arrays([[1.0], [1.0]], 1.0, 2.0)
    wrong = ScriptedBackend(mlp.Answer(mlp.Outcome.INFEASIBLE, None, None, "no"))
    assert mlp.solve(feasible, wrong, repair=False).status is mlp.Status.FAILED
    repaired = mlp.solve(feasible, wrong)
    assert repaired.status is mlp.Status.OPTIMAL
    assert repaired.objective == 2.0


def test_a_failure_keeps_the_message_of_the_solver() -> None:
    solution = mlp.solve(
        PROBLEM, ScriptedBackend(mlp.Answer(mlp.Outcome.FAILED, None, None, "singular basis")), repair=False
    )
    assert solution.status is mlp.Status.FAILED
    assert solution.message == "singular basis (nothing was proved; try another backend)"


def test_exact_arithmetic_gets_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []
    monkeypatch.setattr(solve_problem, "solve_exactly", lambda problem, h, y, limit, **_: limits.append(limit))
    broken = ScriptedBackend(mlp.Answer(mlp.Outcome.FAILED, None, None, "singular basis"), mlp.Capability.TIME_LIMIT)
    assert mlp.solve(PROBLEM, broken, time_limit=1000.0).status is mlp.Status.FAILED
    assert mlp.solve(PROBLEM, broken, time_limit=1e-9).status is mlp.Status.FAILED  # no time is left: it is not called
    (limit,) = limits
    assert limit is not None
    assert 0 < limit < 1000


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(mlp.BackendNotFoundError, match=r"no backend 'higs'\. Did you mean 'highs'"):
        mlp.solve(PROBLEM, "higs")
    with pytest.raises(mlp.BackendNotFoundError, match="must be a name or an instance"):
        mlp.solve(PROBLEM, ScriptedBackend)  # type: ignore[arg-type]


@pytest.mark.parametrize(("package", "hint"), [("swiglpk", r"momentlp\[glpk\]"), ("pyomo", r"momentlp\[pyomo\]")])
def test_a_missing_solver_says_how_to_install_it(package: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = {"swiglpk": "glpk", "pyomo": "pyomo"}[package]
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [_Missing(package), *sys.meta_path])
    with pytest.raises(mlp.BackendUnavailableError, match=f"needs {package}, which is not installed: .*{hint}"):
        mlp.solve(PROBLEM, name)
    info = next(info for info in mlp.backends() if info.name == name)
    assert not info.available
    assert "not installed" in info.reason
    assert mlp.solve(PROBLEM, "auto").backend == "highs"


class _Missing:
    """An import hook for which a package does not exist."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.split(".", maxsplit=1)[0] == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=self.package)


def test_a_solver_that_does_not_load_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(ScriptedBackend):
        @classmethod
        def version(cls) -> str:
            raise ImportError("libsolver.so.1: undefined symbol")

    with pytest.raises(mlp.BackendUnavailableError, match=r"does not load .*undefined symbol"):
        mlp.solve(PROBLEM, Broken(None))


@pytest.mark.parametrize(
    "options",
    [
        {"time_limit": 0},
        {"time_limit": -1.0},
        {"time_limit": float("nan")},
        {"time_limit": "10"},
        {"iteration_limit": -1},
        {"iteration_limit": 1.5},
        {"threads": 0},
        {"threads": True},
        {"feasibility_tolerance": 0.0},
        {"log": 3},
        {"progress": "yes"},
        {"options": ["presolve"]},
        {"tol": 0.0},
        {"tol": float("nan")},
        {"tol": float("inf")},
        {"tol": "1e-7"},
    ],
    ids=str,
)
def test_unusable_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(mlp.OptionError, match=f"{next(iter(options))} must be"):
        mlp.solve(PROBLEM, **options)


@pytest.mark.parametrize(
    ("backend", "options"),
    [
        ("highs", {"presolve": "sometimes"}),
        ("highs", {"threads": 1.5}),
        ("highs", {"solver": "magic"}),
        ("glpk", {"method": "magic"}),
        ("glpk", {"meth": "sideways"}),
        ("glpk", {"presolve": 1}),
        ("glpk", {"tol_bnd": 2.0}),
        ("glpk", {"method": "interior", "meth": "dual"}),
        ("scipy", {"method": "simplex"}),
        ("scipy", {"maxiter": "many"}),
        ("scipy", {"ipm_optimality_tolerance": 1e-9}),
        ("pyomo", {"solver": "no such solver"}),
        ("pyomo", {"solver": 3}),
        ("pyomo", {"presolve": "sometimes"}),
    ],
    ids=str,
)
def test_unusable_native_options_are_refused(backend: str, options: dict[str, Any]) -> None:
    with pytest.raises(mlp.OptionError):
        mlp.solve(PROBLEM, backend, options=options)


@pytest.mark.parametrize(
    ("backend", "options"),
    [
        ("highs", {"solver": "ipm"}),
        ("highs", {"solver": "simplex", "presolve": "on", "simplex_scale_strategy": 2}),
        ("highs", {"time_limit": 60}),
        ("glpk", {"method": "interior"}),
        ("glpk", {"method": "exact"}),
        ("glpk", {"meth": "primal"}),
        ("glpk", {"meth": "dual", "r_test": "har", "pricing": "std"}),
        ("glpk", {"presolve": True}),
        ("scipy", {"method": "highs-ds"}),
        ("scipy", {"method": "highs-ipm", "presolve": True}),
        ("pyomo", {"solver": "appsi_highs"}),
        ("pyomo", {"presolve": "off"}),
    ],
    ids=str,
)
def test_every_method_finds_the_same_optimum(backend: str, options: dict[str, Any]) -> None:
    solution = mlp.solve(PROBLEM, backend, options=options)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    assert solution.objective == pytest.approx(SIZE, rel=1e-6)


def test_the_interior_method_of_glpk_refuses_a_time_limit() -> None:
    with pytest.raises(mlp.OptionError, match="method 'interior' has no time_limit"):
        mlp.solve(PROBLEM, "glpk", time_limit=1.0, options={"method": "interior"})


def test_options_of_an_instance_are_used_and_can_be_overridden() -> None:
    from momentlp_glpk import Glpk

    assert mlp.solve(PROBLEM, Glpk(meth="primal")).status is mlp.Status.OPTIMAL
    with pytest.raises(mlp.OptionError, match="'method' must be"):
        mlp.solve(PROBLEM, Glpk(method="magic"))
    assert mlp.solve(PROBLEM, Glpk(method="magic"), options={"method": "simplex"}).status is mlp.Status.OPTIMAL


def test_a_log_may_be_a_stream() -> None:
    stream = io.StringIO()
    mlp.solve(PROBLEM, log=stream)
    assert "HiGHS" in stream.getvalue()


@pytest.mark.parametrize("backend", ["highs", "glpk"])
def test_progress_is_reported(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import momentlp_glpk.solver
    import momentlp_highs.interrupt

    monkeypatch.setattr(momentlp_highs.interrupt, "SECONDS_BETWEEN_REPORTS", 0.0)
    monkeypatch.setattr(momentlp_glpk.solver, "ENTRIES_PER_SLICE", 0)
    reports: list[mlp.Progress] = []
    solution = mlp.solve(half_space(600, 20, seed=2)[0], backend, progress=reports.append)
    assert solution.status is mlp.Status.OPTIMAL
    assert reports
    assert all(later.iterations >= sooner.iterations for sooner, later in pairwise(reports))


def test_slices_do_not_change_the_optimum_of_glpk(monkeypatch: pytest.MonkeyPatch) -> None:
    import momentlp_glpk.solver

    problem, size = half_space(600, 20, seed=2)
    monkeypatch.setattr(momentlp_glpk.solver, "ENTRIES_PER_SLICE", 0)
    solution = mlp.solve(problem, "glpk")
    assert solution.objective == pytest.approx(size)


def test_an_unreachable_mean_is_empty_also_with_a_small_tolerance(backend: str) -> None:
    X = np.random.default_rng(0).normal(size=(200, 4)) + 5
    problem = mlp.Spec(tolerance=mlp.Absolute(1e-3)).compile(X, mean=np.zeros(4))
    solution = mlp.solve(problem, backend)
    assert solution.status is mlp.Status.EMPTY
    assert 0 < solution.objective < 1
    assert solution.certificate.holds()
    assert (X @ solution.direction > 0).all()


def test_one_full_point_is_optimal_and_not_empty(backend: str) -> None:
    X = np.vstack([np.zeros(2), np.random.default_rng(0).uniform(1, 2, size=(50, 2))])
    solution = mlp.solve(mlp.Spec().compile(X, labelled=[0]), backend)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.objective == pytest.approx(1.0)


def test_infeasible_sparse_problems_are_proved_too(backend: str) -> None:
    X = sp.random_array((60, 8), density=0.3, rng=np.random.default_rng(0), format="csr")
    problem = (
        mlp.Spec(tolerance=mlp.Absolute(0.01))
        .compile(X, mean=np.full(8, 0.9))
        .with_block(mlp.Problem.from_arrays(np.ones((60, 1)), 30.0, np.inf, names=["size"]).blocks[0])
    )
    solution = mlp.solve(problem, backend)
    assert solution.status is mlp.Status.INFEASIBLE, solution.message
    assert farkas_value(problem, solution.multipliers) < 0


def test_contradicting_bounds_are_infeasible_at_every_scale(backend: str) -> None:
    for scale in (1e-9, 1.0, 1e9):
        problem = mlp.Problem.from_arrays(np.full((4, 1), scale), 5 * scale, np.inf)
        assert mlp.solve(problem, backend).status is mlp.Status.INFEASIBLE


@pytest.mark.parametrize("switch", ["repair", "isolate"])
def test_switches_are_true_or_false(switch: str) -> None:
    with pytest.raises(mlp.OptionError, match=f"{switch} must be True or False, not 'no'"):
        mlp.solve(PROBLEM, **{switch: "no"})  # type: ignore[arg-type]


def test_at_a_limit_the_set_is_feasible_and_the_bound_is_true() -> None:
    """The solver stops with all points in, which violates the moments, and with multipliers that bound nothing well."""
    stopped = scripted(outcome=mlp.Outcome.LIMIT, membership=np.ones(120), multipliers=np.full(3, 1e6))
    solution = mlp.solve(PROBLEM, stopped)
    assert solution.status is mlp.Status.LIMIT
    assert solution.certificate.primal_residual <= 1e-7
    assert solution.objective <= SIZE <= solution.bound <= 120
