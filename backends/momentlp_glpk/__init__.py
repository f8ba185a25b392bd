"""GLPK, through swiglpk: the one engine here that shares no code with HiGHS.

The dual simplex with the long-step ("flip") ratio test is the default: memberships have two bounds, and one step of it may
pass hundreds of them. ``benchmarks/solver_options.py`` shows what that saves.

GLPK is not re-entrant and swiglpk holds Python's lock while it works. So one solve runs at a time, and the simplex is run in
slices of a fixed number of iterations (a function of the problem's size, so that results do not depend on the clock):
between slices other threads run, Ctrl-C arrives, and progress is reported.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome, Progress
from momentlp.errors import OptionError
from momentlp.problem.linear_program import LinearProgram
from momentlp.problem.problem import Problem
from momentlp.runtime.interruptible import import_interruptible

__all__ = ["Glpk"]

METHODS = ("simplex", "interior", "exact")
SIMPLEX: dict[str, Any] = {
    "meth": {"primal": "GLP_PRIMAL", "dual": "GLP_DUAL", "dualp": "GLP_DUALP"},
    "pricing": {"std": "GLP_PT_STD", "pse": "GLP_PT_PSE"},
    "r_test": {"std": "GLP_RT_STD", "har": "GLP_RT_HAR", "flip": "GLP_RT_FLIP"},
    "presolve": bool,
    "tol_bnd": float,
    "tol_dj": float,
    "tol_piv": float,
}
INTERIOR: dict[str, Any] = {
    "ord_alg": {"none": "GLP_ORD_NONE", "qmd": "GLP_ORD_QMD", "amd": "GLP_ORD_AMD", "symamd": "GLP_ORD_SYMAMD"}
}
NATIVE: dict[str, dict[str, Any]] = {"simplex": SIMPLEX, "exact": {}, "interior": INTERIOR}
CANNOT = {
    "interior": ("time_limit", "iteration_limit", "feasibility_tolerance", "progress"),
    "exact": ("feasibility_tolerance", "progress"),
}

WORDS = {
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
RETURNS = {"GLP_EITLIM": Outcome.LIMIT, "GLP_ETMLIM": Outcome.LIMIT, "GLP_ENOPFS": Outcome.INFEASIBLE}
STATES = {
    "GLP_OPT": ("optimal", Outcome.OPTIMAL),
    "GLP_NOFEAS": ("no feasible solution", Outcome.INFEASIBLE),
    "GLP_FEAS": ("feasible", Outcome.FAILED),
    "GLP_INFEAS": ("infeasible point", Outcome.FAILED),
    "GLP_UNBND": ("unbounded", Outcome.FAILED),
    "GLP_UNDEF": ("undefined", Outcome.FAILED),
}

ENTRIES_PER_SLICE = 100_000_000  # entries of the matrix touched between two looks at the clock: some tenths of a second
LEAST_SLICE = 20  # iterations: a slice starts with a copy of the matrix, which costs as much as ten of them
LEAST_TOLERANCE, LARGEST_TOLERANCE = 1e-12, 1e-3

FOREVER = 2**31 - 1  # the largest limit that GLPK can hold

_one_at_a_time = threading.RLock()


class Glpk(Backend):
    """GLPK.

    Native options: ``method`` (simplex, interior, exact) and the control parameters of that method, such as
    ``meth="primal"``, ``r_test="har"`` or ``presolve=True`` for the simplex.
    """

    name: ClassVar[str] = "glpk"
    engine: ClassVar[str] = "GLPK"
    package: ClassVar[str] = "swiglpk"
    extra: ClassVar[str | None] = "glpk"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability) - {Capability.THREADS, Capability.START}

    @classmethod
    def version(cls) -> str:
        """Return the version of the GLPK library."""
        return str(import_interruptible("swiglpk").glp_version())

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve with GLPK."""
        native = dict(options.native)
        method = native.pop("method", "simplex")
        if method not in METHODS:
            raise OptionError(f"glpk's option 'method' must be one of {', '.join(METHODS)}, not {method!r}.")
        self.reject_unknown(native, {"method": METHODS, **NATIVE[method]})
        for common in CANNOT.get(method, ()):
            if getattr(options, common) is not None:
                raise OptionError(f"glpk's method {method!r} has no {common}: leave it out or use method='simplex'.")
        if native.get("presolve") and options.progress is not None:
            raise OptionError("glpk reports no progress while it presolves: leave out progress or presolve.")
        program = problem.linear_program().with_scaled_outliers()
        started = time.perf_counter()
        with _one_at_a_time, _log_to(options.sink), _loaded(program) as handle:
            if method == "interior":
                return _interior(handle, native, options, program)
            return _simplex(handle, native, options, program, exact=method == "exact", started=started)


@contextmanager
def _log_to(sink: Callable[[str], Any] | None) -> Iterator[None]:
    """Send GLPK's terminal output to a function, or nowhere; the hook is shared by the process, hence the lock."""
    import swiglpk as glpk

    failure: list[Exception] = []

    def write(text: str) -> None:
        if sink is not None and not failure:
            try:
                sink(text)
            except Exception as error:  # noqa: BLE001  must not travel through GLPK; raised again below
                failure.append(error)

    glpk.glp_term_hook(write)
    try:
        yield
    finally:
        glpk.glp_term_hook(None)
    if failure:
        raise failure[0]


@contextmanager
def _loaded(program: LinearProgram) -> Iterator[Any]:
    """Hand the program over, column by column, and free it at the end.

    The one call that takes a whole matrix is slower than that, and holds off Ctrl-C for seconds.
    """
    import swiglpk as glpk

    rows, columns = program.matrix.shape
    handle = glpk.glp_create_prob()
    try:
        glpk.glp_set_obj_dir(handle, glpk.GLP_MAX)
        glpk.glp_add_rows(handle, rows)
        glpk.glp_add_cols(handle, columns)
        for row, (low, high) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True), 1):
            glpk.glp_set_row_bnds(handle, row, _bound_type(low, high), low, high)
        bounds = zip(program.col_lower.tolist(), program.col_upper.tolist(), program.cost.tolist(), strict=True)
        for column, (low, high, cost) in enumerate(bounds, 1):
            glpk.glp_set_col_bnds(handle, column, _bound_type(low, high), low, high)
            glpk.glp_set_obj_coef(handle, column, cost)
        _load_matrix(handle, program.matrix)
        yield handle
    finally:
        glpk.glp_delete_prob(handle)


def _load_matrix(handle: Any, matrix: Any) -> None:
    """Copy the matrix over through two short arrays of GLPK's, whose first element is never used."""
    import swiglpk as glpk

    rows = glpk.intArray(matrix.shape[0] + 1)
    values = glpk.doubleArray(matrix.shape[0] + 1)
    indices, data = np.asarray(matrix.indices + 1, dtype=np.int32), np.asarray(matrix.data, dtype=np.float64)
    to_rows, to_values = int(rows.this) + 4, int(values.this) + 8
    from_rows, from_values = indices.ctypes.data, data.ctypes.data
    move, put, start = ctypes.memmove, glpk.glp_set_mat_col, 0
    for column, end in enumerate(matrix.indptr[1:].tolist(), 1):
        length = end - start
        move(to_rows, from_rows + 4 * start, 4 * length)
        move(to_values, from_values + 8 * start, 8 * length)
        put(handle, column, length, rows, values)
        start = end


def _bound_type(low: float, high: float) -> int:
    import swiglpk as glpk

    if low == high:
        return int(glpk.GLP_FX)
    if np.isinf(low):
        return int(glpk.GLP_FR if np.isinf(high) else glpk.GLP_UP)
    return int(glpk.GLP_LO if np.isinf(high) else glpk.GLP_DB)


def _simplex(
    handle: Any, native: dict[str, Any], options: Options, program: LinearProgram, *, exact: bool, started: float
) -> Answer:
    import swiglpk as glpk

    control = glpk.glp_smcp()
    glpk.glp_init_smcp(control)
    control.msg_lev = glpk.GLP_MSG_OFF if options.sink is None else glpk.GLP_MSG_ALL
    control.meth, control.r_test = glpk.GLP_DUALP, glpk.GLP_RT_FLIP
    if options.feasibility_tolerance is not None:
        _check_tolerance("feasibility_tolerance", options.feasibility_tolerance)
        control.tol_bnd = control.tol_dj = options.feasibility_tolerance
    _apply(control, native, SIMPLEX)
    if control.meth == glpk.GLP_PRIMAL and control.r_test == glpk.GLP_RT_FLIP and "r_test" not in native:
        control.r_test = glpk.GLP_RT_HAR
    solver = glpk.glp_exact if exact else glpk.glp_simplex
    # Presolve works on a copy and loses its place between calls; exact arithmetic is slow to start. Both run in one piece.
    sliced = not (exact or control.presolve)
    slice_length = max(LEAST_SLICE, ENTRIES_PER_SLICE // max(1, program.matrix.nnz)) if sliced else FOREVER
    limit = FOREVER if options.iteration_limit is None else options.iteration_limit
    while True:
        done = glpk.glp_get_it_cnt(handle)
        control.it_lim = min(slice_length, limit - done)
        if options.time_limit is not None:
            left = options.time_limit - (time.perf_counter() - started)
            control.tm_lim = int(np.clip(left * 1000, 0, FOREVER))
        code = solver(handle, control)
        done = glpk.glp_get_it_cnt(handle)
        if code != glpk.GLP_EITLIM or done >= limit:
            break
        if options.progress is not None:
            options.progress(Progress(done, time.perf_counter() - started, glpk.glp_get_obj_val(handle)))
    primals, duals = glpk.get_col_primals(handle), glpk.get_row_duals(handle)
    return _answer(program, code, glpk.glp_get_status(handle), primals, duals, iterations=done)


def _interior(handle: Any, native: dict[str, Any], options: Options, program: LinearProgram) -> Answer:
    import swiglpk as glpk

    control = glpk.glp_iptcp()
    glpk.glp_init_iptcp(control)
    control.msg_lev = glpk.GLP_MSG_OFF if options.sink is None else glpk.GLP_MSG_ALL
    _apply(control, native, INTERIOR)
    code = glpk.glp_interior(handle, control)
    rows, columns = program.matrix.shape
    primals = [glpk.glp_ipt_col_prim(handle, column) for column in range(1, columns + 1)]
    duals = [glpk.glp_ipt_row_dual(handle, row) for row in range(1, rows + 1)]
    return _answer(program, code, glpk.glp_ipt_status(handle), primals, duals, iterations=None)


def _answer(
    program: LinearProgram, code: int, state: int, primals: list[float], duals: list[float], *, iterations: int | None
) -> Answer:
    """Translate GLPK's return code and, where that is zero, its status."""
    import swiglpk as glpk

    if code == 0:
        words, outcome = next(entry for name, entry in STATES.items() if getattr(glpk, name) == state)
    else:
        name = next((name for name in WORDS if getattr(glpk, name) == code), None)
        words = WORDS[name] if name else f"return code {code}"
        outcome = RETURNS.get(name or "", Outcome.FAILED)
    return Answer(
        outcome=outcome,
        membership=program.memberships(primals),
        multipliers=np.array(duals[: program.n_moments]),
        message=f"GLPK: {words}",
        iterations=iterations,
    )


def _apply(control: Any, native: dict[str, Any], known: dict[str, Any]) -> None:
    """Set control parameters, by GLPK's own names, to values that GLPK would not abort on."""
    import swiglpk as glpk

    for option, value in native.items():
        kind = known[option]
        if isinstance(kind, dict):
            if value not in kind:
                raise OptionError(f"glpk's option {option!r} must be one of {', '.join(kind)}, not {value!r}.")
            setattr(control, option, getattr(glpk, kind[value]))
        elif kind is bool:
            if not isinstance(value, bool):
                raise OptionError(f"glpk's option {option!r} must be True or False, not {value!r}.")
            setattr(control, option, glpk.GLP_ON if value else glpk.GLP_OFF)
        else:
            _check_tolerance(option, value)
            setattr(control, option, float(value))


def _check_tolerance(option: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not LEAST_TOLERANCE <= value <= LARGEST_TOLERANCE:
        raise OptionError(
            f"glpk needs a number between {LEAST_TOLERANCE:g} and {LARGEST_TOLERANCE:g} for {option}, not {value!r}."
        )
