"""Problems whose memberships must be whole, by every backend that solves them."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.available_backends import BACKENDS
from helpers.whole_problems import best_set, random_problem

import momentlp as mlp
from momentlp.backend.registry import get_backend

INTEGER = [name for name in BACKENDS if mlp.Capability.INTEGER in get_backend(name).capabilities]


def clouds(n: int, d: int, tolerance: float, seed: int = 0) -> mlp.Problem:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    X[: n // 5] += 1.0
    return mlp.Spec(tolerance=mlp.Absolute(tolerance), whole=True).compile(X, labelled=np.arange(n // 10))


@pytest.mark.filterwarnings("ignore::momentlp.OnlyLabelledWarning")  # four points with four moments
@pytest.mark.parametrize("backend", ["auto", *INTEGER])
def test_small_problems_of_every_kind_have_the_best_set_of_all(backend: str) -> None:
    for seed in range(500 if backend == "auto" else 100):
        problem = random_problem(seed)
        solution, best = mlp.solve(problem, backend), best_set(problem)
        if best is None:
            assert solution.status in (mlp.Status.INFEASIBLE, mlp.Status.FAILED), (seed, solution.message)
            continue
        assert solution.objective == pytest.approx(best, abs=1e-9), (seed, solution.message)
        assert solution.bound >= best - 1e-9
        assert solution.certificate.primal_residual == 0
        assert solution.status in (mlp.Status.OPTIMAL, mlp.Status.LIMIT, mlp.Status.EMPTY)
        if solution.status is mlp.Status.OPTIMAL:
            assert solution.bound == pytest.approx(best)


def test_a_bound_is_rounded_down_to_a_weight_that_sets_can_have() -> None:
    problem = mlp.Problem.from_arrays([[1.0], [1.0], [1.0]], -np.inf, 2.5, weights=2.0)
    assert mlp.solve(problem).bound == 5.0
    whole = mlp.solve(replace(problem, whole=True))
    assert (whole.objective, whole.bound, whole.status.name) == (4.0, 4.0, "OPTIMAL")
    unequal = replace(problem, weights=np.array([2.0, np.sqrt(2), 1.0]), whole=True)
    assert mlp.solve(unequal).bound == pytest.approx(2 + 1.5 * np.sqrt(2) - 0.5 * np.sqrt(2) + 0.5)


def test_the_whole_set_of_a_fuzzy_solution() -> None:
    problem = clouds(400, 4, 1.0).relaxed()
    fuzzy = mlp.solve(problem)
    whole = fuzzy.whole()
    assert fuzzy.certificate.fractional > 0
    assert (whole.membership == np.rint(whole.membership)).all()
    assert whole.certificate.primal_residual == 0
    assert whole.objective <= fuzzy.objective
    assert whole.bound == np.floor(fuzzy.bound)
    assert whole.bound - whole.objective <= 2
    assert whole.problem.is_whole


def test_the_same_seed_gives_the_same_set() -> None:
    problem = clouds(3000, 20, 5.0)
    sets = [mlp.solve(problem, options={"random_state": 3}) for _ in range(2)]
    assert (sets[0].membership == sets[1].membership).all()
    assert sets[0].certificate.primal_residual == 0
    assert sets[0].bound - sets[0].objective <= 12


def test_a_time_limit_is_kept_and_progress_tells_set_and_bound() -> None:
    reports: list[mlp.Progress] = []
    solution = mlp.solve(clouds(3000, 20, 5.0), time_limit=1.0, progress=reports.append)
    assert sum(solution.seconds.values()) < 5
    assert solution.status in (mlp.Status.LIMIT, mlp.Status.OPTIMAL)
    told = [report.objective for report in reports if report.objective is not None]
    assert told == sorted(told)
    assert told[-1] == solution.objective
    assert reports[-1].bound == solution.bound


def test_a_backend_without_integers_refuses() -> None:
    with pytest.raises(mlp.OptionError, match="must be whole"):
        mlp.solve(clouds(100, 2, 1.0), "sifting")


def test_no_whole_set_and_no_proof_is_a_failure_that_says_so() -> None:
    problem = replace(mlp.Problem.from_arrays([[2.0], [2.0], [2.0]], 3.0, 3.0), whole=True)
    for backend in ("auto", *INTEGER):
        solution = mlp.solve(problem, backend)
        assert solution.status is mlp.Status.FAILED
        assert "no whole set" in solution.message


def test_a_problem_without_a_fuzzy_set_has_no_whole_one() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2)) + 9.0
    solution = mlp.solve(mlp.Spec(whole=True).compile(X, mean=[0.0, 0.0]))
    assert solution.status is mlp.Status.EMPTY
    assert not solution.membership.any()
    infeasible = replace(mlp.Problem.from_arrays([[1.0, 1.0], [1.0, 2.0]], [0.0, 5.0], [0.0, np.inf]), whole=True)
    assert mlp.solve(infeasible).status is mlp.Status.INFEASIBLE


@pytest.mark.parametrize("backend", ["auto", *INTEGER])
def test_some_memberships_may_be_whole_and_others_not(backend: str) -> None:
    problem = mlp.Problem.from_arrays([[2.0], [2.0], [2.0]], -np.inf, 3.0, weights=[1.0, 1.0, 0.5])
    solution = mlp.solve(replace(problem, whole=np.array([True, True, False])), backend)
    assert solution.objective == pytest.approx(1.25)  # one of the first two, and half of the third
    assert solution.membership[:2].sum() == 1.0


def test_caps_are_rounded_down_and_rows_may_count_several_times() -> None:
    problem = replace(mlp.Problem.from_arrays([[1.0], [1.0]], -np.inf, 3.5, caps=[2.7, 0.5]), whole=True)
    assert problem.caps.tolist() == [2.0, 0.0]
    assert mlp.solve(problem).membership.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("whole", ["yes", 1, [True, False, True], np.array([1, 0]), [[True], [True, False]]], ids=str)
def test_whole_is_a_truth_value_or_one_per_point(whole: object) -> None:
    problem = mlp.Problem.from_arrays([[1.0], [1.0]], 0.0, 1.0)
    with pytest.raises(mlp.DataError, match="whole must be True, False or 2 truth values"):
        replace(problem, whole=whole)


def test_specs_and_files_keep_the_condition(tmp_path) -> None:
    spec = mlp.Spec(tolerance=mlp.Absolute(0.5), whole=True)
    assert mlp.Spec.from_json(spec.to_json()) == spec
    assert "whole" not in mlp.Spec().to_fields()
    problem = spec.compile([[0.0], [1.0], [2.0]], labelled=[0, 1])
    problem.save(tmp_path / "whole.npz")
    assert mlp.Problem.load(tmp_path / "whole.npz").is_whole
    problem.relaxed().save(tmp_path / "fuzzy.npz")
    assert not mlp.Problem.load(tmp_path / "fuzzy.npz").is_whole
    problem.to_mps(tmp_path / "whole.mps")
    assert "'INTORG'" in (tmp_path / "whole.mps").read_text()


def test_an_mps_file_tells_other_solvers_which_columns_are_integers(tmp_path) -> None:
    highspy = pytest.importorskip("highspy")
    problem = clouds(60, 2, 0.5)
    problem.to_mps(tmp_path / "whole.mps")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(tmp_path / "whole.mps")) == highspy.HighsStatus.kOk
    highs.run()
    assert -highs.getInfo().objective_function_value == pytest.approx(mlp.solve(problem, "highs").objective)


def test_a_pyomo_model_with_binary_variables_is_solved_and_certified() -> None:
    pyo = pytest.importorskip("pyomo.environ")
    model = clouds(60, 2, 0.5).relaxed().to_pyomo()
    fuzzy = mlp.solve(model)
    for variable in model.membership.values():
        variable.domain = pyo.Binary
    whole = mlp.solve(model)
    assert whole.problem.is_whole
    assert whole.objective == np.floor(fuzzy.objective) or whole.objective < fuzzy.objective
    assert {variable.value for variable in model.membership.values()} <= {0.0, 1.0}
    assert mlp.Problem.from_pyomo(whole.problem.to_pyomo()).is_whole


def test_ctrl_c_gives_the_best_set_so_far() -> None:
    def interrupt(report: mlp.Progress) -> None:
        if report.objective is not None:
            raise KeyboardInterrupt

    solution = mlp.solve(clouds(3000, 20, 5.0), time_limit=20.0, progress=interrupt)
    assert solution.objective > 0
    assert solution.status is mlp.Status.LIMIT
    assert "interrupted" in solution.message
