"""Translation between problems and Pyomo models, both ways."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.repn import generate_standard_repn

from momentlp.errors import ModelError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.solution.solution import Solution

__all__ = ["load_values", "to_model", "to_problem"]


def to_model(problem: Problem) -> Any:
    """Write a problem as a ConcreteModel.

    ``membership[i]`` is the membership of point i, ``moments[name]`` the row of each moment and ``size`` the objective.
    Sparse features that are centred add ``count``, the sum of all memberships, and ``counting``, the row that defines it:
    the class mean then multiplies one variable instead of all.
    """
    program = problem.linear_program()
    by_row = program.matrix.tocsr()
    model = pyo.ConcreteModel(name="momentlp")
    model.points = pyo.RangeSet(0, program.n_points - 1)
    caps = problem.caps.tolist()
    whole = [pyo.Integers if flag else pyo.Reals for flag in np.asarray(problem.whole).tolist()]
    model.membership = pyo.Var(
        model.points, bounds=lambda _, point: (0.0, caps[point]), within=lambda _, point: whole[point]
    )
    variables = list(model.membership.values())
    if program.has_size_column:
        model.count = pyo.Var(bounds=(0.0, float(problem.caps.sum())))
        variables.append(model.count)

    def linear_expression(row: int) -> Any:
        entries = slice(by_row.indptr[row], by_row.indptr[row + 1])
        terms = [variables[column] for column in by_row.indices[entries]]
        if not terms:
            return LinearExpression(constant=0.0, linear_coefs=[0.0], linear_vars=[variables[0]])
        return LinearExpression(constant=0.0, linear_coefs=by_row.data[entries].tolist(), linear_vars=terms)

    row_of = {name: row for row, name in enumerate(problem.names)}

    def moment(_: Any, name: str) -> Any:
        lower, upper = (_none_if_infinite(bound[row_of[name]]) for bound in (program.row_lower, program.row_upper))
        if lower is None and upper is None:
            return pyo.Constraint.Skip
        return (lower, linear_expression(row_of[name]), upper)

    model.moment_names = pyo.Set(initialize=list(problem.names), ordered=True)
    model.moments = pyo.Constraint(model.moment_names, rule=moment)
    if program.has_size_column:
        model.counting = pyo.Constraint(expr=linear_expression(program.n_moments) == 0.0)
    size = LinearExpression(constant=0.0, linear_coefs=problem.weights.tolist(), linear_vars=variables[: program.n_points])
    model.size = pyo.Objective(expr=size, sense=pyo.maximize)
    return model


def to_problem(model: Any) -> Problem:
    """Take a linear model back to matrix form.

    The memberships are the first points; every other variable becomes a point after them. A lower bound above zero becomes
    a moment of its own. Integer and binary variables become memberships that must be whole.

    Raises
    ------
    ModelError
        If the model is not linear, has no objective to maximise, or a variable without finite bounds.
    """
    if not isinstance(model, pyo.ConcreteModel):
        raise ModelError(f"expected a Problem or a Pyomo ConcreteModel, not {type(model).__name__}.")
    _check_components(model)
    with _unfix_variables(model):
        variables = _list_variables(model)
        column_of = {id(variable): column for column, variable in enumerate(variables)}
        weights = _read_objective(model, column_of)
        names: list[str] = []
        lower: list[float] = []
        upper: list[float] = []
        rows, columns, data = [], [], []
        for constraint in model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
            terms = _read_linear_terms(constraint.body, constraint.name)
            for variable, coefficient in zip(terms.linear_vars, terms.linear_coefs, strict=True):
                if id(variable) not in column_of:
                    raise ModelError(f"{constraint.name} uses {variable.name}, of a deactivated block: activate it.")
                rows.append(len(names))
                columns.append(column_of[id(variable)])
                data.append(float(coefficient))
            name = _moment_name(model, constraint)
            names.append(name if name not in names else f"{constraint.name} (constraint)")
            lower.append(-np.inf if constraint.lower is None else pyo.value(constraint.lower) - terms.constant)
            upper.append(np.inf if constraint.upper is None else pyo.value(constraint.upper) - terms.constant)
    caps = np.zeros(len(variables))
    for column, variable in enumerate(variables):
        low, caps[column] = _read_bounds(variable)
        if low > 0:
            rows.append(len(names))
            columns.append(column)
            data.append(1.0)
            names.append(f"{variable.name}:least")
            lower.append(low)
            upper.append(np.inf)
    if not names:
        raise ModelError("the model has no active constraint: add one, or activate one.")
    matrix = sp.coo_array((data, (columns, rows)), shape=(len(variables), len(names)))
    dense = matrix.nnz > 0.5 * len(variables) * len(names)
    A = matrix.toarray() if dense else sp.csr_array(matrix)
    problem = Problem.from_arrays(A, lower, upper, weights=weights, caps=caps, names=names)
    return replace(problem, whole=np.array([not variable.is_continuous() for variable in variables]))


def load_values(model: Any, solution: Solution) -> None:
    """Give the variables of a model the values of a solution, and its ``dual`` suffix, if it has one, the multipliers."""
    for variable, value in zip(_list_variables(model), solution.membership.tolist(), strict=True):
        if not variable.fixed:
            variable.set_value(value, skip_validation=True)
    suffix = model.component("dual")
    if suffix is not None and suffix.ctype is pyo.Suffix and suffix.import_enabled():
        constraints = model.component_data_objects(pyo.Constraint, active=True, descend_into=True)
        for constraint, multiplier in zip(constraints, solution.multipliers.tolist(), strict=False):
            suffix[constraint] = multiplier


IGNORED_COMPONENTS = ("BuildAction", "BuildCheck", "ExternalFunction")  # they say nothing about the program


def _check_components(model: Any) -> None:
    """Refuse active components that a linear program cannot express: without them the certificate would be wrong."""
    known = (pyo.Var, pyo.Constraint, pyo.Objective, pyo.Param, pyo.Set, pyo.RangeSet, pyo.Expression, pyo.Suffix, pyo.Block)
    for component in model.component_objects(active=True, descend_into=True):
        kind = component.ctype
        if kind not in known and kind.__name__ not in IGNORED_COMPONENTS:
            raise ModelError(
                f"{component.name} is a {kind.__name__}, which momentlp cannot certify: deactivate it, or write it as "
                "linear constraints."
            )


@contextmanager
def _unfix_variables(model: Any) -> Iterator[None]:
    """Unfix all variables for a while, so that Pyomo does not fold fixed ones into constants."""
    fixed = [variable for variable in model.component_data_objects(pyo.Var, descend_into=True) if variable.fixed]
    for variable in fixed:
        variable.unfix()
    try:
        yield
    finally:
        for variable in fixed:
            variable.fix()


def _list_variables(model: Any) -> list[Any]:
    """Return all active variables, the memberships first."""
    every = list(model.component_data_objects(pyo.Var, active=True, descend_into=True))
    membership = model.component("membership")
    return sorted(every, key=lambda variable: variable.parent_component() is not membership)  # a stable sort


def _read_bounds(variable: Any) -> tuple[float, float]:
    if not (variable.is_continuous() or variable.is_integer() or variable.is_binary()):
        raise ModelError(f"variable {variable.name} is neither continuous nor integer: give it another domain.")
    if variable.fixed:
        if variable.value is None:
            raise ModelError(f"variable {variable.name} is fixed but has no value: give it one.")
        low = high = float(variable.value)
    else:
        low, high = (np.nan if bound is None else float(bound) for bound in variable.bounds)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ModelError(f"variable {variable.name} needs a finite lower and upper bound: the certificate rests on them.")
    if low < 0:
        raise ModelError(
            f"variable {variable.name} may be as low as {low:g}, but memberships start at 0: "
            f"put a new variable for {variable.name} {-low:+g} in its place."
        )
    return low, high


def _read_objective(model: Any, column_of: dict[int, int]) -> FloatArray:
    active = list(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    if len(active) != 1:
        raise ModelError(f"the model has {len(active)} active objectives: keep one active.")
    if active[0].sense != pyo.maximize:
        raise ModelError(f"objective {active[0].name} is minimised; momentlp maximises: negate it.")
    terms = _read_linear_terms(active[0].expr, active[0].name)
    if terms.constant:
        raise ModelError(f"objective {active[0].name} has a constant term of {terms.constant:g}: leave it out.")
    weights = np.zeros(len(column_of))
    for variable, coefficient in zip(terms.linear_vars, terms.linear_coefs, strict=True):
        weights[column_of[id(variable)]] = float(coefficient)
    return weights


def _read_linear_terms(expression: Any, name: str) -> Any:
    terms = generate_standard_repn(expression, compute_values=True, quadratic=False)
    if not terms.is_linear():
        raise ModelError(f"{name} is not linear in the variables; momentlp certifies linear programs only.")
    return terms


def _moment_name(model: Any, constraint: Any) -> str:
    is_moment = constraint.parent_component() is model.component("moments")
    return str(constraint.index()) if is_moment else str(constraint.name)


def _none_if_infinite(bound: float) -> float | None:
    return float(bound) if np.isfinite(bound) else None
