"""The peers that are compared: momentlp, bare solvers, modelling languages, and what users use instead.

Each peer is a function of a :class:`~benchmarks.common.problems.Case` or of its arrays. The others get (A, lower, upper)
ready made, so centring and kernels are not part of their time. momentlp starts from the points; its time to compile is
reported separately. Solvers run as in their documentation, with their own defaults unless the name of the peer says
otherwise. None has a time limit: the caller ends the process, so the limit is the same for all and includes modelling.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import momentlp as mlp
from benchmarks.common.problems import Case

__all__ = ["PEERS", "REFERENCE", "Peer", "PeerResult"]

REFERENCE = "momentlp"
TUNED = {"presolve": "off", "simplex_scale_strategy": 0}  # what the highs backend of momentlp sets for dense moments
PDLP_TOLERANCE = 1e-6  # relative and absolute: its own default


@dataclass(frozen=True)
class PeerResult:
    """What one run of a peer found.

    Attributes
    ----------
    objective : float
    modelling : float or None
        Seconds before a solver had the problem; None where a package models and solves in one call.
    proof : float or None
        The gap of the certificate, if there is one.
    passes : int or None
        How often data that is not in memory was read.
    """

    objective: float
    modelling: float | None = None
    proof: float | None = None
    passes: int | None = None


@dataclass(frozen=True)
class Peer:
    """A peer.

    Attributes
    ----------
    run : callable
        Takes A, lower and upper; or the :class:`~benchmarks.common.problems.Case` if ``takes_case``.
    modules : tuple of str
        Imported before the clock starts.
    takes_case : bool
    remark : str
        What a reader of the table must know.
    same_problem : bool
        False if it solves another problem, so that its objective cannot be compared.
    """

    run: Callable[..., PeerResult]
    modules: tuple[str, ...]
    takes_case: bool = False
    remark: str = ""
    same_problem: bool = True


def _momentlp(case: Case, backend: str) -> PeerResult:
    started = time.perf_counter()
    problem = case.compile()
    compiled = time.perf_counter()
    solution = mlp.solve(problem, backend)
    if not solution.certificate.holds():
        raise RuntimeError(f"not certified: {solution.status.name}, gap {solution.certificate.gap:.1e}")
    passes = getattr(problem.blocks[0].features, "passes", None)
    return PeerResult(solution.objective, compiled - started, solution.certificate.gap, passes)


def _highspy(A: np.ndarray, lower: np.ndarray, upper: np.ndarray, options: dict[str, Any]) -> PeerResult:
    import highspy

    started = time.perf_counter()
    n, m = A.shape
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for name, value in options.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise RuntimeError(f"HiGHS refuses {name}={value!r}")
    status = highs.passModel(
        n, m, n * m, int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMaximize), 0.0,
        np.ones(n), np.zeros(n), np.ones(n), lower, upper,
        np.arange(0, n * m + 1, m, dtype=np.int32), np.tile(np.arange(m, dtype=np.int32), n), A.ravel(),
        np.zeros(n, dtype=np.int32),
    )  # fmt: skip
    if status == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS refused the model")
    modelled = time.perf_counter() - started
    highs.run()
    _require(highs.getModelStatus() == highspy.HighsModelStatus.kOptimal, highs.getModelStatus())
    return PeerResult(float(highs.getInfo().objective_function_value), modelled)


def _scipy(A: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> PeerResult:
    from scipy.optimize import linprog

    started = time.perf_counter()
    rows, bounds = np.vstack([A.T, -A.T]), np.concatenate([upper, -lower])
    modelled = time.perf_counter() - started
    result = linprog(-np.ones(len(A)), A_ub=rows, b_ub=bounds, bounds=(0, 1), method="highs")
    _require(result.status == 0, result.message)
    return PeerResult(-float(result.fun), modelled)


def _glpk(A: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> PeerResult:
    import swiglpk as glpk

    started = time.perf_counter()
    n, m = A.shape
    glpk.glp_term_out(glpk.GLP_OFF)
    handle = glpk.glp_create_prob()
    glpk.glp_set_obj_dir(handle, glpk.GLP_MAX)
    glpk.glp_add_rows(handle, m)
    glpk.glp_add_cols(handle, n)
    for row in range(m):
        kind = glpk.GLP_FX if lower[row] == upper[row] else glpk.GLP_DB
        glpk.glp_set_row_bnds(handle, row + 1, kind, float(lower[row]), float(upper[row]))
    rows, values = glpk.intArray(m + 1), glpk.doubleArray(m + 1)
    for row in range(1, m + 1):
        rows[row] = row
    # Copied as momentlp's own backend does: copying entry by entry from Python would take longer than the simplex.
    source, target = A.ctypes.data, int(values.this) + 8
    for column in range(1, n + 1):
        glpk.glp_set_col_bnds(handle, column, glpk.GLP_DB, 0.0, 1.0)
        glpk.glp_set_obj_coef(handle, column, 1.0)
        ctypes.memmove(target, source + 8 * m * (column - 1), 8 * m)
        glpk.glp_set_mat_col(handle, column, m, rows, values)
    modelled = time.perf_counter() - started
    parameters = glpk.glp_smcp()
    glpk.glp_init_smcp(parameters)
    parameters.meth, parameters.presolve = glpk.GLP_DUALP, glpk.GLP_OFF
    glpk.glp_adv_basis(handle, 0)
    code = glpk.glp_simplex(handle, parameters)
    _require(code == 0 and glpk.glp_get_status(handle) == glpk.GLP_OPT, f"return code {code}")
    objective = float(glpk.glp_get_obj_val(handle))
    glpk.glp_delete_prob(handle)
    return PeerResult(objective, modelled)


def _pyomo(A: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> PeerResult:
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    started = time.perf_counter()
    n, m = A.shape
    model = pyo.ConcreteModel()
    model.h = pyo.Var(range(n), bounds=(0, 1))
    points = list(model.h.values())
    columns, low, high = A.T.tolist(), lower.tolist(), upper.tolist()

    def moment(_: Any, j: int) -> Any:
        return (low[j], LinearExpression(constant=0, linear_coefs=columns[j], linear_vars=points), high[j])

    model.moments = pyo.Constraint(range(m), rule=moment)
    model.size = pyo.Objective(
        expr=LinearExpression(constant=0, linear_coefs=[1.0] * n, linear_vars=points), sense=pyo.maximize
    )
    modelled = time.perf_counter() - started
    results = pyo.SolverFactory("appsi_highs").solve(model)
    _require(pyo.check_optimal_termination(results), results.solver.termination_condition)
    return PeerResult(float(pyo.value(model.size)), modelled)


def _cvxpy(A: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> PeerResult:
    import cvxpy as cp

    started = time.perf_counter()
    h = cp.Variable(len(A))
    moments = A.T @ h
    problem = cp.Problem(cp.Maximize(cp.sum(h)), [moments >= lower, moments <= upper, h >= 0, h <= 1])
    problem.solve(solver=cp.HIGHS)
    together = time.perf_counter() - started
    _require(problem.status == cp.OPTIMAL, problem.status)
    return PeerResult(float(problem.value), together - float(problem.solver_stats.solve_time))


def _linopy(A: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> PeerResult:
    import linopy
    import xarray as xr

    started = time.perf_counter()
    model = linopy.Model()
    h = model.add_variables(lower=0, upper=1, dims=["point"], coords=[range(len(A))], name="h")
    matrix = xr.DataArray(A, dims=["point", "moment"], coords={"point": range(len(A)), "moment": range(A.shape[1])})
    moments = (matrix * h).sum("point")
    model.add_constraints(moments >= xr.DataArray(lower, dims=["moment"], coords={"moment": matrix.moment}), name="lower")
    model.add_constraints(moments <= xr.DataArray(upper, dims=["moment"], coords={"moment": matrix.moment}), name="upper")
    model.add_objective(h.sum(), sense="max")
    modelled = time.perf_counter() - started
    _, condition = model.solve(solver_name="highs", io_api="direct", output_flag=False)
    _require(condition == "optimal", condition)
    return PeerResult(float(model.objective.value), modelled)


def _pdlp(A: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> PeerResult:
    from ortools.pdlp import solve_log_pb2, solvers_pb2
    from ortools.pdlp.python import pdlp
    from scipy.sparse import csc_matrix

    started = time.perf_counter()
    n = len(A)
    program = pdlp.QuadraticProgram()
    program.objective_vector = -np.ones(n)
    program.variable_lower_bounds, program.variable_upper_bounds = np.zeros(n), np.ones(n)
    program.constraint_lower_bounds, program.constraint_upper_bounds = lower, upper
    program.constraint_matrix = csc_matrix(A.T)
    parameters = solvers_pb2.PrimalDualHybridGradientParams()
    criteria = parameters.termination_criteria.simple_optimality_criteria
    criteria.eps_optimal_relative = criteria.eps_optimal_absolute = PDLP_TOLERANCE
    modelled = time.perf_counter() - started
    result = pdlp.primal_dual_hybrid_gradient(program, parameters)
    reason = result.solve_log.termination_reason
    _require(reason == solve_log_pb2.TERMINATION_REASON_OPTIMAL, reason)
    return PeerResult(float(np.sum(result.primal_solution)), modelled)


def _one_class_svm(case: Case) -> PeerResult:
    from sklearn.svm import OneClassSVM

    if "sample" not in case.known:
        raise RuntimeError("needs a labelled sample; this problem has none")
    return PeerResult(float((OneClassSVM().fit(case.known["sample"]).predict(case.X) > 0).sum()))


def _require(optimal: bool, status: Any) -> None:
    if not optimal:
        raise RuntimeError(f"not solved: {status}")


PEERS: dict[str, Peer] = {
    REFERENCE: Peer(partial(_momentlp, backend="auto"), ("momentlp", "highspy"), True, "certified"),
    "momentlp, highs": Peer(partial(_momentlp, backend="highs"), ("highspy",), True, "certified; all points at once"),
    "highspy": Peer(partial(_highspy, options={}), ("highspy",), remark="HiGHS's own defaults"),
    "highspy, tuned": Peer(partial(_highspy, options=TUNED), ("highspy",), remark="no presolve, no scaling"),
    "scipy linprog": Peer(_scipy, ("scipy.optimize",), remark="method highs"),
    "GLPK": Peer(_glpk, ("swiglpk",), remark="dual simplex from an advanced basis, no presolve"),
    "Pyomo": Peer(_pyomo, ("pyomo.environ", "pyomo.contrib.appsi.solvers.highs", "highspy"), remark="appsi_highs"),
    "CVXPY": Peer(_cvxpy, ("cvxpy", "highspy"), remark="HIGHS"),
    "linopy": Peer(_linopy, ("linopy", "xarray", "highspy"), remark="highs, passed directly"),
    "OR-tools PDLP": Peer(
        _pdlp, ("ortools.pdlp.python.pdlp", "scipy.sparse"), remark=f"first order; tolerance {PDLP_TOLERANCE:g}, 1 thread"
    ),
    "OneClassSVM": Peer(_one_class_svm, ("sklearn.svm",), True, "not the same problem: rbf around the sample", False),
}
