"""Running GLPK's methods (simplex, exact simplex, interior point, branch and bound) and reading what they return.

swiglpk holds Python's global lock while GLPK works. So the simplex runs in slices of a fixed number of iterations: between
two slices other threads run, Ctrl-C arrives, and progress is reported. The number depends on the size of the problem and
not on the clock, so that results are the same every time.

Where columns are nearly parallel the simplex may cycle: a problem of 43 points runs a million iterations and more without an
end. So every method has a budget of iterations, far more than it ever needed on problems that it solves. After that the next
method of :data:`ALTERNATIVES` starts again from the first basis, and after the last one the answer is FAILED.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from momentlp.backend.interface import Answer, Options, Outcome, Progress
from momentlp.problem.linear_program import LinearProgram
from momentlp_glpk.options import INTERIOR_OPTIONS, SIMPLEX_OPTIONS, check_tolerance, set_controls

__all__ = ["run_branch_and_bound", "run_interior", "run_simplex"]

ENTRIES_PER_SLICE = 100_000_000  # entries of the matrix that one slice touches: some tenths of a second
MAX_SLICE = 10_000  # iterations of a slice: some hundredths of a second for the smallest problems
MIN_SLICE = 20  # iterations: a slice starts with a copy of the matrix, which costs as much as ten iterations
MAX_LIMIT = 2**31 - 1  # the largest limit that GLPK can hold
BUDGET_PER_VARIABLE, MIN_BUDGET = 10, 5_000  # iterations of a method: so many for each row and column, and so many more

# What to change, by GLPK's own names, if the simplex cycles. The first method is the default; see `_simplex_control`.
ALTERNATIVES: tuple[dict[str, Any], ...] = ({}, {"meth": "primal", "r_test": "har"}, {"meth": "dual", "r_test": "std"})

RETURN_CODES = {
    "GLP_EBADB": "the basis is invalid",
    "GLP_ESING": "the basis matrix is singular",
    "GLP_ECOND": "the basis matrix is ill-conditioned",
    "GLP_EBOUND": "a variable has incorrect bounds",
    "GLP_EFAIL": "the solver failed",
    "GLP_EITLIM": "iteration limit exceeded",
    "GLP_ETMLIM": "time limit exceeded",
    "GLP_ENOPFS": "no primal feasible solution",
    "GLP_ENODFS": "no dual feasible solution",
    "GLP_ENOCVG": "very slow convergence or divergence",
    "GLP_EINSTAB": "numerical instability",
}
RETURN_OUTCOMES = {"GLP_EITLIM": Outcome.LIMIT, "GLP_ETMLIM": Outcome.LIMIT, "GLP_ENOPFS": Outcome.INFEASIBLE}
STATUSES = {
    "GLP_OPT": ("optimal", Outcome.OPTIMAL),
    "GLP_NOFEAS": ("no feasible solution", Outcome.INFEASIBLE),
    "GLP_FEAS": ("feasible", Outcome.FAILED),
    "GLP_INFEAS": ("infeasible point", Outcome.FAILED),
    "GLP_UNBND": ("unbounded", Outcome.FAILED),
    "GLP_UNDEF": ("undefined", Outcome.FAILED),
}


def run_simplex(
    handle: Any, native: Mapping[str, Any], options: Options, program: LinearProgram, *, exact: bool, started: float
) -> Answer:
    """Run the simplex method, in floats or in exact arithmetic.

    Parameters
    ----------
    handle : glp_prob
        The problem inside GLPK.
    native : mapping
        Native options without ``method``.
    options : Options
    program : LinearProgram
        The program behind ``handle``.
    exact : bool
        Whether to compute in rational numbers.
    started : float
        When the solve began, on the clock of ``time.perf_counter``, in seconds.
    """
    import swiglpk as glpk

    for changes in ALTERNATIVES:
        if changes and (exact or changes.keys() & native.keys()):
            continue  # the caller chose the method
        glpk.glp_std_basis(handle)
        control = _simplex_control({**changes, **native}, options)
        code, is_cycling = _run_slices(handle, control, options, program, exact=exact, started=started)
        if not is_cycling:
            break
    primals, duals, done = glpk.get_col_primals(handle), glpk.get_row_duals(handle), glpk.glp_get_it_cnt(handle)
    answer = _build_answer(program, code, glpk.glp_get_status(handle), primals, duals, iterations=done)
    if not is_cycling:
        return answer
    reason = f"GLPK: no end after {done} iterations, so the simplex is probably cycling"
    return replace(answer, outcome=Outcome.FAILED, message=reason)


def _run_slices(
    handle: Any, control: Any, options: Options, program: LinearProgram, *, exact: bool, started: float
) -> tuple[int, bool]:
    """Run one method of the simplex, a slice of iterations at a time; the arguments are those of :func:`run_simplex`.

    Returns
    -------
    code : int
        GLPK's return code.
    is_cycling : bool
        Whether the method has used up its budget of iterations. It has none if the caller gave an iteration limit.
    """
    import swiglpk as glpk

    # Presolve works on a copy and loses its state between calls; exact arithmetic is slow to start. Both run in one piece.
    sliced = not (exact or control.presolve)
    slice_length = max(MIN_SLICE, min(MAX_SLICE, ENTRIES_PER_SLICE // max(1, program.matrix.nnz))) if sliced else MAX_LIMIT
    solver, limit = glpk.glp_exact if exact else glpk.glp_simplex, options.iteration_limit
    if limit is None:
        limit = min(MAX_LIMIT, glpk.glp_get_it_cnt(handle) + MIN_BUDGET + BUDGET_PER_VARIABLE * sum(program.matrix.shape))
    while True:
        control.it_lim = min(slice_length, limit - glpk.glp_get_it_cnt(handle))
        if options.time_limit is not None:
            left = options.time_limit - (time.perf_counter() - started)
            control.tm_lim = int(np.clip(left * 1000, 0, MAX_LIMIT))
        code = solver(handle, control)
        done = glpk.glp_get_it_cnt(handle)
        if code != glpk.GLP_EITLIM or done >= limit:
            return code, code == glpk.GLP_EITLIM and options.iteration_limit is None
        if options.progress is not None:
            options.progress(Progress(done, time.perf_counter() - started, glpk.glp_get_obj_val(handle)))


def _simplex_control(native: Mapping[str, Any], options: Options) -> Any:
    """Return the control parameters of the simplex method.

    The default is the dual simplex with the long-step ratio test ("flip"). A primal simplex has no such test, so it gets
    Harris's instead.
    """
    import swiglpk as glpk

    control = glpk.glp_smcp()
    glpk.glp_init_smcp(control)
    control.msg_lev = glpk.GLP_MSG_OFF if options.sink is None else glpk.GLP_MSG_ALL
    control.meth, control.r_test = glpk.GLP_DUALP, glpk.GLP_RT_FLIP
    if options.feasibility_tolerance is not None:
        control.tol_bnd = control.tol_dj = check_tolerance("feasibility_tolerance", options.feasibility_tolerance)
    set_controls(control, native, SIMPLEX_OPTIONS)
    if control.meth == glpk.GLP_PRIMAL and control.r_test == glpk.GLP_RT_FLIP and "r_test" not in native:
        control.r_test = glpk.GLP_RT_HAR
    return control


def run_interior(handle: Any, native: Mapping[str, Any], options: Options, program: LinearProgram) -> Answer:
    """Run the interior-point method. It knows no limits and reports no progress."""
    import swiglpk as glpk

    control = glpk.glp_iptcp()
    glpk.glp_init_iptcp(control)
    control.msg_lev = glpk.GLP_MSG_OFF if options.sink is None else glpk.GLP_MSG_ALL
    set_controls(control, native, INTERIOR_OPTIONS)
    code = glpk.glp_interior(handle, control)
    rows, columns = program.matrix.shape
    primals = [glpk.glp_ipt_col_prim(handle, column) for column in range(1, columns + 1)]
    duals = [glpk.glp_ipt_row_dual(handle, row) for row in range(1, rows + 1)]
    return _build_answer(program, code, glpk.glp_ipt_status(handle), primals, duals, iterations=None)


def run_branch_and_bound(handle: Any, native: Mapping[str, Any], options: Options, program: LinearProgram) -> Answer:
    """Run the simplex method, and then branch and bound, which hears a time limit and reports no progress.

    The method needs the optimum of the linear program. Python waits until it ends.
    """
    import swiglpk as glpk

    answer = run_simplex(handle, native, replace(options, progress=None), program, exact=False, started=time.perf_counter())
    if answer.outcome is not Outcome.OPTIMAL:
        return replace(answer, membership=None, multipliers=None)
    control = glpk.glp_iocp()
    glpk.glp_init_iocp(control)
    control.msg_lev = glpk.GLP_MSG_OFF if options.sink is None else glpk.GLP_MSG_ALL
    control.mip_gap = 0.0
    if options.time_limit is not None:
        control.tm_lim = int(np.clip(options.time_limit * 1000, 1, MAX_LIMIT))
    code = glpk.glp_intopt(handle, control)
    status = glpk.glp_mip_status(handle)
    outcome = RETURN_OUTCOMES.get(next((name for name in RETURN_CODES if getattr(glpk, name) == code), ""), Outcome.FAILED)
    if code == 0:
        outcome = {glpk.GLP_OPT: Outcome.OPTIMAL, glpk.GLP_NOFEAS: Outcome.INFEASIBLE}.get(status, Outcome.FAILED)
    has_set = status in (glpk.GLP_OPT, glpk.GLP_FEAS)
    columns = range(1, program.matrix.shape[1] + 1)
    return Answer(
        outcome=outcome,
        membership=program.memberships([glpk.glp_mip_col_val(handle, column) for column in columns]) if has_set else None,
        multipliers=None,
        message=f"GLPK: {outcome.value} by branch and bound",
        iterations=answer.iterations,
        claimed_bound=glpk.glp_mip_obj_val(handle) if outcome is Outcome.OPTIMAL else None,
    )


def _build_answer(
    program: LinearProgram, code: int, status: int, primals: list[float], duals: list[float], *, iterations: int | None
) -> Answer:
    """Translate GLPK's return code and, where that is zero, its status."""
    import swiglpk as glpk

    if code == 0:
        text, outcome = next(entry for name, entry in STATUSES.items() if getattr(glpk, name) == status)
    else:
        name = next((name for name in RETURN_CODES if getattr(glpk, name) == code), None)
        text = RETURN_CODES[name] if name else f"return code {code}"
        outcome = RETURN_OUTCOMES.get(name or "", Outcome.FAILED)
    return Answer(
        outcome=outcome,
        membership=program.memberships(primals),
        multipliers=np.array(duals[: program.n_moments]),
        message=f"GLPK: {text}",
        iterations=iterations,
    )
