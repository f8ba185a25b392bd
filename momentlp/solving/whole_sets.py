"""Solving a problem whose memberships must be whole: a set, with the bound of the linear program.

1. The linear program, without that condition, is solved and proved. Its multipliers bound every whole set. If no fuzzy
   set is feasible, no whole one is.
2. The backend looks for a set. Its memberships are rounded to integers, and the set is measured as the certificate measures
   it: a set beyond a bound is not returned. If the tolerance of the solver made it so, the backend runs once more, with
   bounds that are narrower by that tolerance.
3. If set and bound meet, the status is OPTIMAL, otherwise LIMIT. What branch and bound claims does not count, because nobody
   can check it: it is ``claimed_bound``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from momentlp.backend.interface import Answer, Capability, Outcome
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.proof.certificate import Certificate
from momentlp.solution.solution import Solution
from momentlp.solving.attempt import Request, remaining_options
from momentlp.solving.backend_call import call_backend
from momentlp.solving.units import Units
from momentlp.solving.verdict import proves_empty
from momentlp.status import Status

__all__ = ["solve_whole"]

Solve = Callable[[Problem, Request], Solution]
NARROWER = 1e-6  # of the scale of a moment: by how much its bounds move where a solver went beyond them


@dataclass(frozen=True)
class _Found:
    """The best set so far, if there is one, and the last answer of the backend."""

    certificate: Certificate | None
    answer: Answer | None


def solve_whole(problem: Problem, request: Request, solve_relaxed: Solve) -> Solution:
    """Find the best whole set, and the bound that the multipliers of the linear program prove.

    Parameters
    ----------
    problem : Problem
    request : Request
    solve_relaxed : callable
        Solves and proves a linear program.
    """
    relaxed = problem.relaxed()
    without_limit = replace(request, options=replace(request.options, iteration_limit=None))  # it is for the search
    fuzzy = _known_optimum(relaxed, request) or solve_relaxed(relaxed, without_limit)
    y = fuzzy.multipliers
    empty = Certificate.of(problem, np.zeros(problem.n_points), y)
    if fuzzy.status in (Status.EMPTY, Status.INFEASIBLE):
        return replace(fuzzy, problem=problem, membership=empty.membership, certificate=empty)
    found = _find_set(problem, request, fuzzy, solve_relaxed)
    best = _better(found.certificate, empty if empty.primal_residual == 0 else None)
    request.timer.finish_step("certify")
    status, message = _decide(best, found.answer, fuzzy, request.tol)
    certificate = empty if best is None else best
    answer = found.answer
    return replace(
        fuzzy,
        problem=problem,
        status=status,
        membership=certificate.membership,
        multipliers=certificate.multipliers,
        certificate=certificate,
        engine=(answer and answer.engine) or request.solver.engine,
        message=message,
        iterations=fuzzy.iterations if answer is None else answer.iterations,
        seconds=request.timer.seconds,
        claimed_bound=None if answer is None else answer.claimed_bound,
    )


def _known_optimum(relaxed: Problem, request: Request) -> Solution | None:
    """Return the start as a solution of the linear program, if it proves itself."""
    if request.options.start is None:
        return None
    certificate = Certificate.of(relaxed, *request.options.start)
    request.timer.finish_step("certify")
    if not certificate.holds(request.tol) or proves_empty(certificate):
        return None
    h, y = certificate.membership, certificate.multipliers
    solver = request.solver
    return Solution(relaxed, Status.OPTIMAL, h, y, certificate, solver.name, solver.engine, solver.version(), "", None, {})


def _find_set(problem: Problem, request: Request, fuzzy: Solution, solve_relaxed: Solve) -> _Found:
    """Ask the backend for a set, and once more with narrower bounds if its tolerance leads beyond the bounds."""
    best, last = None, None
    for asked in (problem, _narrower(problem)):
        options = remaining_options(request.options, request.timer)
        if options is None:
            break
        start = (fuzzy.membership, fuzzy.multipliers) if Capability.START in request.solver.capabilities else None
        units = Units.of(asked, asked.scale)
        scaled_options = units.scale_start(replace(options, start=start))
        request.timer.finish_step("scale")
        answer = call_backend(request.solver, units.scale_problem(asked), scaled_options)
        request.timer.finish_step("run")
        if answer.claimed_bound is not None:
            answer = replace(answer, claimed_bound=answer.claimed_bound * units.weight)
        last = answer if last is None else replace(last, membership=answer.membership)
        if answer.membership is None:
            break
        h, _ = units.unscale_answer(asked, answer)
        best = _better(best, _certify_set(problem, h, fuzzy.multipliers, request, solve_relaxed))
        request.timer.finish_step("certify")
        if best is not None:
            break
    return _Found(best, last)


def _certify_set(
    problem: Problem, h: FloatArray, y: FloatArray, request: Request, solve_relaxed: Solve
) -> Certificate | None:
    """Return the certificate of memberships rounded to integers; None if they are beyond a bound then.

    Memberships that may be fractional, if there are some, are chosen anew for the others.
    """
    whole = np.asarray(problem.whole)
    h = np.clip(np.where(whole, np.rint(h), h), 0.0, problem.caps)
    certificate = Certificate.of(problem, h, y)
    if whole.all():
        return certificate if certificate.primal_residual == 0 else None
    free = np.flatnonzero(~whole)
    fixed = problem.A.T @ np.where(whole, h, 0.0)
    rest = Problem.from_arrays(
        problem.A.rows(free),
        problem.lower - fixed,
        problem.upper - fixed,
        weights=problem.weights[free],
        caps=problem.caps[free],
    )
    options = remaining_options(request.options, request.timer)
    if options is not None:
        h = h.copy()
        h[free] = solve_relaxed(rest, replace(request, options=replace(options, start=None))).membership
        certificate = min(certificate, Certificate.of(problem, h, y), key=lambda one: one.primal_residual)
    return certificate if certificate.primal_residual <= request.tol else None


def _narrower(problem: Problem) -> Problem:
    """Return the problem with bounds that are narrower by more than the tolerance of a solver, where there is room."""
    blocks = []
    for block, scale in zip(problem.blocks, problem.split_by_block(problem.scale), strict=True):
        step = np.where(block.upper - block.lower > 4 * NARROWER * scale, NARROWER * scale, 0.0)
        blocks.append(replace(block, lower=block.lower + step, upper=block.upper - step))
    return replace(problem, blocks=tuple(blocks))


def _better(*certificates: Certificate | None) -> Certificate | None:
    """Return the heaviest set; of equal ones the first."""
    return max((one for one in certificates if one is not None), key=lambda one: one.objective, default=None)


def _decide(best: Certificate | None, answer: Answer | None, fuzzy: Solution, tol: float) -> tuple[Status, str]:
    """Return status and message."""
    said = fuzzy.message if answer is None else answer.message
    if best is None:
        if answer is not None and answer.outcome is Outcome.INFEASIBLE:
            return Status.FAILED, f"{said} (it claims that no whole set meets the bounds, which multipliers do not prove)"
        if answer is None or answer.outcome is Outcome.LIMIT:
            return Status.LIMIT, f"{said} (no whole set was found before the limit; give more time)"
        return Status.FAILED, f"{said} (no whole set within the bounds was found; try backend='auto', or more time)"
    if best.objective == 0 and proves_empty(best):
        return Status.EMPTY, said
    if best.holds(tol):
        return Status.OPTIMAL, said
    return Status.LIMIT, f"{said} ({'; '.join(_describe_gap(best, answer))})"


def _describe_gap(best: Certificate, answer: Answer | None) -> Iterator[str]:
    yield f"the best set found weighs {best.objective:.10g}, and no set more than {best.bound:.10g}"
    claimed = None if answer is None else answer.claimed_bound
    if claimed is not None and claimed < best.bound:
        yield f"branch and bound claims {max(claimed, best.objective):.10g}, which nobody can check"
