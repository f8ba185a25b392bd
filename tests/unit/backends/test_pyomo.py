"""Pyomo models: readable, extendable, and certified together with the constraints that were added."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from pyomo.core.expr.visitor import identify_variables

import momentlp as mlp
from momentlp_pyomo import Pyomo


def problem(sparse: bool = False) -> mlp.Problem:
    X = sp.random_array((60, 4), density=0.4, rng=np.random.default_rng(0), format="csr")
    return mlp.Spec(tolerance=mlp.Absolute([0.5, 1.0, 0.5, 1.0])).compile(X if sparse else X.toarray(), labelled=range(12))


def test_the_model_is_readable() -> None:
    model = problem().to_pyomo()
    assert isinstance(model, pyo.ConcreteModel)
    assert len(model.membership) == 60
    assert list(model.moments) == ["x0", "x1", "x2", "x3"]
    assert model.size.sense == pyo.maximize
    assert model.membership[0].bounds == (0.0, 1.0)
    assert model.moments["x1"].upper == 1.0


def test_sparse_models_stay_sparse() -> None:
    model = problem(sparse=True).to_pyomo()
    terms = sum(len(list(identify_variables(row.body))) for row in model.moments.values())
    assert terms < 0.5 * 4 * 60
    assert model.counting.active


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("solver", ["highs", "appsi_highs"])
def test_pyomo_itself_solves_the_model(sparse: bool, solver: str) -> None:
    model = problem(sparse).to_pyomo()
    pyo.SolverFactory(solver).solve(model)
    assert pyo.value(model.size) == pytest.approx(mlp.solve(problem()).objective, rel=1e-7)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_problem_survives_conversion_to_a_model_and_back(sparse: bool) -> None:
    original = problem(sparse)
    back = mlp.Problem.from_pyomo(original.to_pyomo())
    assert back.names[:4] == original.names
    assert mlp.solve(back).objective == pytest.approx(mlp.solve(original).objective, rel=1e-9)
    if not sparse:
        assert np.allclose(back.A.toarray(), original.A.toarray())
        assert np.array_equal(back.lower, original.lower)


@pytest.mark.parametrize("sparse", [False, True])
def test_an_extended_model_is_solved_and_certified(backend: str, sparse: bool) -> None:
    plain = mlp.solve(problem()).objective
    model = problem(sparse).to_pyomo()
    model.at_most = pyo.Constraint(expr=sum(model.membership[i] for i in range(30)) <= 5.5)
    solution = mlp.solve(model, backend)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    assert solution.certificate.holds()
    assert solution.objective < plain - 1
    assert "at_most" in solution.problem.names
    assert solution.membership[:30].sum() == pytest.approx(5.5)
    # the same constraint, added in matrix form
    first = (np.arange(60) < 30).astype(float)[:, None]
    in_matrix_form = problem().with_block(mlp.Problem.from_arrays(first, -np.inf, 5.5, names=["at_most"]).blocks[0])
    assert mlp.solve(in_matrix_form).objective == pytest.approx(solution.objective, rel=1e-7)


def test_values_and_duals_are_loaded_into_the_model() -> None:
    model = problem().to_pyomo()
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    model.one = pyo.Constraint(expr=model.membership[0] + model.membership[1] <= 1.5)
    solution = mlp.solve(model)
    assert pyo.value(model.size) == pytest.approx(solution.objective)
    assert [model.membership[i].value for i in range(60)] == solution.membership.tolist()
    assert model.dual[model.moments["x0"]] == solution.multipliers[0]


def test_fixed_memberships_and_additional_variables_are_solved(backend: str) -> None:
    model = problem().to_pyomo()
    out = int(np.flatnonzero(mlp.solve(problem()).membership == 0)[0])
    model.membership[out].fix(1.0)
    model.bonus = pyo.Var(bounds=(0.5, 2.0))
    model.size.set_value(model.size.expr + 3 * model.bonus)
    model.link = pyo.Constraint(expr=model.bonus <= model.membership[out])
    solution = mlp.solve(model, backend)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.membership[out] == pytest.approx(1.0)
    assert model.bonus.value == pytest.approx(1.0)
    assert model.membership[out].fixed


def test_an_infeasible_model_is_proved_infeasible(backend: str) -> None:
    model = problem().to_pyomo()
    model.too_many = pyo.Constraint(expr=sum(model.membership.values()) >= 59.9)
    assert mlp.solve(model, backend).status is mlp.Status.INFEASIBLE


def _quadratic(model: pyo.ConcreteModel) -> None:
    model.bad = pyo.Constraint(expr=model.membership[0] ** 2 <= 1)


def _halves(model: pyo.ConcreteModel) -> None:
    model.membership[0].domain = pyo.RangeSet(0, 1, 0.5)


def _minimise(model: pyo.ConcreteModel) -> None:
    model.size.sense = pyo.minimize


def _two_objectives(model: pyo.ConcreteModel) -> None:
    model.other = pyo.Objective(expr=model.membership[0])


def _unbounded(model: pyo.ConcreteModel) -> None:
    model.z = pyo.Var(bounds=(0, None))


def _negative(model: pyo.ConcreteModel) -> None:
    model.z = pyo.Var(bounds=(-1, 1))


def _constant(model: pyo.ConcreteModel) -> None:
    model.size.set_value(model.size.expr + 5)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_quadratic, "bad is not linear"),
        (_halves, r"membership\[0\] is neither continuous nor integer"),
        (_minimise, "size is minimised"),
        (_two_objectives, "2 active objectives"),
        (_unbounded, "variable z needs a finite lower and upper bound"),
        (_negative, "variable z may be as low as -1"),
        (_constant, "constant term of 5"),
    ],
)
def test_a_model_that_is_not_a_linear_program_is_refused(spoil: object, message: str) -> None:
    model = problem().to_pyomo()
    spoil(model)  # type: ignore[operator]
    with pytest.raises(mlp.ModelError, match=message):
        mlp.solve(model)


def test_an_object_that_is_no_problem_and_no_model_is_refused() -> None:
    with pytest.raises(mlp.ModelError, match="expected a Problem or a Pyomo ConcreteModel, not list"):
        mlp.solve([1, 2, 3])


def test_a_solver_that_is_not_available_in_pyomo_is_named() -> None:
    with pytest.raises(mlp.OptionError, match="Pyomo knows no solver 'nope'"):
        mlp.solve(problem(), "pyomo", options={"solver": "nope"})
    with pytest.raises(mlp.OptionError, match="not installed here"):
        mlp.solve(problem(), "pyomo", options={"solver": "cplex"})


def test_a_row_that_highs_rejects_is_a_failure_and_not_a_crash() -> None:
    """HiGHS takes no entries above 1e15. Pyomo does not notice, and fails when it looks for the dual of the row."""
    huge = mlp.Problem.from_arrays([[1.0], [-1.0], [3e15]], -1e-8, 1e-8)
    answer = Pyomo().run(huge, mlp.Options())
    assert answer.outcome is mlp.Outcome.FAILED
    assert "rejected a row" in answer.message


def test_the_engine_is_the_one_that_ran() -> None:
    assert mlp.solve(problem(), "pyomo", options={"solver": "appsi_highs"}).engine == "HiGHS"
