"""``solve``: from a problem to a solution that proves itself.

The steps, in the order of this module:

1. ``solve`` checks the arguments and finds the backend.
2. An attempt scales the problem, runs the backend and certifies its answer (:mod:`momentlp.solving.attempt`).
3. The certificate decides the status (:mod:`momentlp.solving.verdict`). INFEASIBLE needs a proof of its own, from one more
   linear program.
4. A small problem for which nothing was proved is solved in exact arithmetic (:mod:`momentlp.solving.exact_fallback`).
5. At a limit, and if no set has the mean, the memberships are made feasible where that is easy. At a limit, y = 0 replaces
   the multipliers if its bound is smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from io import TextIOBase
from typing import Any

import numpy as np

from momentlp.backend.auto import resolve_backend
from momentlp.backend.interface import Backend, Capability, Options, Outcome, Progress
from momentlp.backend.registry import available_version, pyomo_backend
from momentlp.errors import OnlyLabelledWarning, OptionError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.problem.rounding import join_sides, relax_means
from momentlp.problem.sentinels import warn_about_sentinels
from momentlp.proof.certificate import Certificate
from momentlp.proof.dual_bound import dual_bound
from momentlp.proof.infeasibility import elastic_problem
from momentlp.proof.polish import admissible_multipliers
from momentlp.runtime.argument_checks import check_bool, check_number
from momentlp.runtime.blas_threads import one_blas_thread
from momentlp.runtime.threads import limit_threads
from momentlp.runtime.warn_caller import warn_caller
from momentlp.solution.solution import Solution
from momentlp.solving.attempt import Attempt, Request, remaining_options, run_attempt
from momentlp.solving.backend_call import CallerFunction
from momentlp.solving.exact_fallback import solve_exactly
from momentlp.solving.isolation import Isolated
from momentlp.solving.step_timer import StepTimer
from momentlp.solving.verdict import (
    Verdict,
    confirm_exact,
    confirm_infeasible,
    decide_status,
    depends_on_rounding,
    is_empty_but_for_rounding,
    is_settled,
    proves_empty,
)
from momentlp.solving.warm_start import adapt_start
from momentlp.solving.whole_sets import solve_whole
from momentlp.status import Status

__all__ = ["solve"]

SAME_MEMBERSHIP = 1e-3  # memberships that differ by less than this count as the same set


def solve(
    problem: Problem | Any,
    backend: str | Backend = "auto",
    *,
    tol: float = 1e-7,
    time_limit: float | None = None,
    iteration_limit: int | None = None,
    feasibility_tolerance: float | None = None,
    threads: int | None = None,
    verbose: bool = False,
    log: Callable[[str], Any] | TextIOBase | None = None,
    progress: Callable[[Progress], Any] | None = None,
    options: Mapping[str, Any] | None = None,
    start: Solution | tuple[FloatArray, FloatArray] | None = None,
    repair: bool = True,
    isolate: bool = False,
    memory_limit: int | None = None,
) -> Solution:
    """Solve a problem and check the answer before returning it.

    The moments are scaled to a common size (by powers of two, so that nothing is rounded). The backend solves the scaled
    problem. The certificate is then computed from the unscaled (h, y). What it proves decides the status; where it proves
    nothing, the solver's report decides between LIMIT and FAILED: see :class:`~momentlp.Status`.

    Parameters
    ----------
    problem : Problem or Pyomo model
        A Pyomo model, such as one from ``problem.to_pyomo()`` with a constraint added, is converted to matrix form. The
        values found are loaded into its variables.
    backend : str or Backend
        A name (see :func:`momentlp.backends`), an instance, or ``"auto"``: ``"sifting"`` for all but small problems,
        ``"highs"`` otherwise and whenever ``options`` are given (:func:`momentlp.backend.auto.choose_backend`).
    tol : float
        The certificate must hold within this for the status to be OPTIMAL.
    time_limit : float, optional
        Seconds of wall-clock time.
    iteration_limit : int, optional
    feasibility_tolerance : float, optional
        How far the solver may violate a bound or a dual sign, in scaled units.
    threads : int, optional
    verbose : bool
        Whether to print the solver's own log.
    log : callable or text stream, optional
        Receives the solver's own log instead, a line or part of a line at a time.
    progress : callable, optional
        Called with a :class:`~momentlp.Progress` from time to time, possibly from another thread. An error that ``log`` or
        ``progress`` raises stops the solver and is raised here unchanged.
    options : mapping, optional
        Options in the solver's own terms. They override those of the backend instance.
    start : Solution or pair of arrays, optional
        The solution of a similar problem from which to start: another tolerance, another sample mean, more or fewer points,
        other weights. Moments are matched by name. Points keep their memberships if the number of points is the same;
        otherwise their scores decide. A pair (h, y), shapes (N,) and (m,), is used as it is. A start changes how long the
        solve takes, not its result.
    repair : bool
        Whether to repair an answer that does not prove itself: polish it, run the solver again with a tighter tolerance and
        in other units, solve small problems in exact arithmetic. ``solution.repairs`` lists what was done. With False the
        first answer is taken as it is.
    isolate : bool
        Whether to run the solver in a worker process. It may crash, hang or run out of memory there without harm to this
        process, and ``time_limit`` then works for every backend. Starting the process takes about as long as importing
        momentlp and the solver.
    memory_limit : int, optional
        Bytes that the worker process may use for the problem and its solution. Only with ``isolate=True``, on Linux.

    Returns
    -------
    Solution
        Its ``status`` says what was proved, ``certificate`` holds the proof.

    Raises
    ------
    BackendNotFoundError, BackendUnavailableError
        If the backend does not exist or cannot be used here. No other backend is tried in its place.
    OptionError
        If an argument is out of range, the backend does not support it, or the solver refuses a native option.
    DataError
        If ``start`` does not fit the problem.
    ModelError
        If a Pyomo model is not a linear program of this form.
    SolverError
        If the backend raises an error, breaks its contract or, in a worker process, crashes.

    Warns
    -----
    SentinelWarning
        Before the solver starts, if a few entries of a column are so far beyond the rest that they probably stand for
        missing values.
    OnlyLabelledWarning
        If there are so many moments that the set found is the labelled set itself.

    Examples
    --------
    >>> import momentlp as mlp
    >>> problem = mlp.Spec().compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    >>> solution = mlp.solve(problem)
    >>> solution.status.name, solution.objective, solution.membership.round(9).tolist()
    ('OPTIMAL', 3.0, [1.0, 1.0, 1.0, 0.0])
    """
    tol = check_number("tol", tol, above=0)
    repair, isolate = check_bool("repair", repair), check_bool("isolate", isolate)
    if memory_limit is not None and not isolate:
        raise OptionError("memory_limit limits a worker process: add isolate=True, or leave out memory_limit.")
    common = Options(
        time_limit=time_limit,
        iteration_limit=iteration_limit,
        feasibility_tolerance=feasibility_tolerance,
        threads=threads,
        verbose=verbose,
        log=CallerFunction.wrap(log.write if isinstance(log, TextIOBase) else log),
        progress=CallerFunction.wrap(progress),
        native=options or {},
    )
    model = None if isinstance(problem, Problem) else problem
    if model is not None:
        problem = Problem.from_pyomo(model)
    solver = resolve_backend(backend, problem, options)
    if isolate:
        solver = Isolated(solver, memory_limit)
    common = replace(
        common,
        start=None if start is None else adapt_start(problem, start),
        native={**solver.native, **common.native},
    )
    _check_capabilities(solver, common, problem)
    warn_about_sentinels(problem)
    with one_blas_thread(), limit_threads(common.threads):
        solution = _solve_and_prove(problem, Request(solver, common, tol, repair, StepTimer()))
    solution = replace(solution, resolve=partial(solve, backend=solver.name))
    if model is not None and solution.status not in (Status.INFEASIBLE, Status.FAILED):
        pyomo_backend().load_values(model, solution)
    return solution


def _check_capabilities(solver: Backend, options: Options, problem: Problem) -> None:
    """Raise for an option, or a kind of problem, that the backend does not support."""
    if problem.is_whole and Capability.INTEGER not in solver.capabilities:
        raise OptionError(
            f"backend {solver.name!r} solves linear programs, but memberships of this problem must be whole: use "
            "backend='auto', or another one that lists 'integer' in momentlp.backends()."
        )
    unsupported = sorted(capability.value for capability in options.asked() - solver.capabilities)
    if unsupported:
        raise OptionError(
            f"backend {solver.name!r} cannot honour {unsupported[0]}: leave it out, or choose a backend that lists it in "
            "momentlp.backends()."
        )


def _solve_and_prove(problem: Problem, request: Request) -> Solution:
    """Run steps 2 to 5 of the list at the top of this module; if memberships must be whole, find a set after that."""
    if problem.is_whole:
        return solve_whole(problem, request, _solve_and_prove)
    attempt = run_attempt(problem, request)
    certificate, repairs, engine = attempt.certificate, attempt.repairs, attempt.answer.engine or request.solver.engine
    verdict = decide_status(attempt.answer, certificate, request.tol)
    if verdict.status is Status.INFEASIBLE:
        verdict, certificate = _prove_infeasible(problem, request, verdict, attempt)
    if verdict.status is Status.FAILED and request.repair:
        relaxed = _solve_with_rounding(problem, request, attempt)
        if relaxed is not None:
            certificate, repairs = relaxed, (*repairs, "allowed for rounding")
            verdict = Verdict(Status.OPTIMAL, f"{attempt.answer.message} (with the mean known up to rounding)")
    if verdict.status is Status.FAILED and request.repair:
        exact = _solve_exactly(problem, request, certificate)
        if exact is not None:
            status, certificate = exact
            message = f"{attempt.answer.message} (this answer proved nothing: the problem was solved in exact arithmetic)"
            verdict, repairs, engine = Verdict(status, message), (*repairs, "solved exactly"), "exact arithmetic"
    if verdict.status in (Status.LIMIT, Status.EMPTY):
        certificate = _improve_pair(verdict.status, certificate, request.tol)
    request.timer.finish_step("certify")
    if verdict.status is Status.OPTIMAL:
        _warn_if_only_labelled(problem, certificate.membership)
    return Solution(
        problem=problem,
        status=verdict.status,
        membership=certificate.membership,
        multipliers=certificate.multipliers,
        certificate=certificate,
        backend=request.solver.name,
        engine=engine,
        version=available_version(request.solver),
        message=verdict.message,
        iterations=attempt.answer.iterations,
        seconds=request.timer.seconds,
        repairs=repairs,
    )


def _prove_infeasible(problem: Problem, request: Request, claim: Verdict, attempt: Attempt) -> tuple[Verdict, Certificate]:
    """Solve the elastic problem, whose multipliers are a Farkas proof if the solver is right."""
    options = remaining_options(request.options, request.timer)
    if options is None:
        return confirm_infeasible(claim, problem, None, limit_reached=True), attempt.certificate
    elastic = run_attempt(elastic_problem(problem), replace(request, options=replace(options, start=None)))
    h, y = elastic.certificate.membership[: problem.n_points], elastic.certificate.multipliers
    limit_reached = decide_status(elastic.answer, elastic.certificate, request.tol).status is Status.LIMIT
    verdict = confirm_infeasible(claim, problem, y, limit_reached=limit_reached)
    proved = verdict.status is Status.INFEASIBLE
    return verdict, Certificate.of(problem, h, y) if proved else attempt.certificate


def _solve_with_rounding(problem: Problem, request: Request, attempt: Attempt) -> Certificate | None:
    """Solve the problem whose means are known up to rounding, where the problem as it is stored seems to have no answer."""
    needed = attempt.answer.outcome is Outcome.INFEASIBLE or depends_on_rounding(attempt.certificate, request.tol)
    options = remaining_options(request.options, request.timer)
    if not needed or options is None or all(block.tolerance_on is None for block in problem.blocks):
        return None
    found = run_attempt(relax_means(problem), replace(request, options=replace(options, start=None))).certificate
    certificate = Certificate.of(problem, found.membership, join_sides(problem, found.multipliers))
    request.timer.finish_step("certify")
    return certificate if is_settled(certificate, request.tol) and not proves_empty(certificate) else None


def _solve_exactly(problem: Problem, request: Request, certificate: Certificate) -> tuple[Status, Certificate] | None:
    """Solve a small problem in exact arithmetic, with rounding allowed for if it must be; None if that proves nothing."""
    if not depends_on_rounding(certificate, request.tol):
        proved, certificate = _prove_exactly(problem, request, certificate, rounding=False)
        if proved is not None:
            return proved, certificate
    if depends_on_rounding(certificate, request.tol):
        proved, certificate = _prove_exactly(problem, request, certificate, rounding=True)
        if proved is not None:
            return proved, certificate
    return None


def _prove_exactly(
    problem: Problem, request: Request, certificate: Certificate, *, rounding: bool
) -> tuple[Status | None, Certificate]:
    """Return what exact arithmetic proves, and the certificate of what it found; None and the old one if nothing."""
    options = remaining_options(request.options, request.timer)
    found = None
    if options is not None:
        h, y = certificate.membership, certificate.multipliers
        found = solve_exactly(problem, h, y, options.time_limit, rounding=rounding)
    request.timer.finish_step("exact")
    if found is None:
        return None, certificate
    y = admissible_multipliers(problem, np.where(problem.noise, 0.0, found.multipliers))
    exact = Certificate.of(problem, found.membership, y)
    proved = confirm_exact(found.status, exact, request.tol)
    if proved is None:  # rounding y was too much: the fractions are the proof
        exact = exact.with_exact_bound(found.bound, found.exact_multipliers)
        proved = found.status if found.status is Status.INFEASIBLE else confirm_exact(found.status, exact, request.tol)
    return proved, exact


def _improve_pair(status: Status, certificate: Certificate, tol: float) -> Certificate:
    """Return the certificate of a feasible h and, at a limit, of multipliers whose bound is no worse than that of y = 0."""
    problem, h, y = certificate.problem, certificate.membership, certificate.multipliers
    new_h, new_y = h, y
    if certificate.primal_residual > tol and problem.zero_is_feasible:
        new_h = _shrink_to_feasible(problem, h)
    if status is Status.LIMIT:
        zero = np.zeros_like(y)
        bound = certificate.with_bound_of_rounding().bound if is_empty_but_for_rounding(certificate) else certificate.bound
        new_y = y if bound <= dual_bound(problem, zero) else zero
    if new_h is not h or new_y is not y:
        certificate = Certificate.of(problem, new_h, new_y)
    if status is Status.LIMIT and is_empty_but_for_rounding(certificate):
        return certificate.with_bound_of_rounding()
    return certificate


def _shrink_to_feasible(problem: Problem, h: FloatArray) -> FloatArray:
    """Return the largest multiple of h, up to h itself, that meets all bounds; h = 0 must meet them.

    A solver that stops at a limit may hold memberships that violate the moments: a dual simplex does until it ends.
    """
    activity = problem.A.T @ h
    with np.errstate(divide="ignore", invalid="ignore"):
        multiples = np.where(activity > problem.upper, problem.upper / activity, 1.0)
        multiples = np.minimum(multiples, np.where(activity < problem.lower, problem.lower / activity, 1.0))
    return h * float(multiples.min())


def _warn_if_only_labelled(problem: Problem, h: FloatArray) -> None:
    """Warn if there are so many moments that the labelled set alone has their mean."""
    if problem.labelled is None or problem.n_moments < problem.n_points:
        return
    labelled_set = np.zeros(problem.n_points)
    labelled_set[problem.labelled] = problem.caps[problem.labelled]
    if np.abs(h - labelled_set).max() < SAME_MEMBERSHIP and problem.labelled.size < problem.n_points:
        warn_caller(
            f"the answer is the labelled set itself: with {problem.n_moments} moments and {problem.n_points} points no "
            "other set has its mean. Use a larger tolerance, or fewer moments: Kernel(landmarks=...), Spectral(...).",
            OnlyLabelledWarning,
        )
