"""One attempt to solve a problem: scale it, run the backend, undo the scaling, certify, polish, and ask again if needed.

::

    problem --Units--> scaled problem --backend--> Answer --Units--> (h, y) --> Certificate
                                                                       |             |
                                                                       +-- polish <--+  if it does not hold

If the certificate still does not hold, the backend runs once more, in other units and with a tighter tolerance. Which status
the result has is decided in :mod:`momentlp.solving.verdict`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome
from momentlp.errors import DataError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.proof.certificate import Certificate
from momentlp.proof.polish import polish, polish_to_feasible
from momentlp.solving.backend_call import call_backend
from momentlp.solving.step_timer import StepTimer
from momentlp.solving.units import Units
from momentlp.solving.verdict import depends_on_rounding, is_settled

__all__ = ["Attempt", "Request", "remaining_options", "run_attempt"]

TIGHT_TOLERANCE = 1e-9  # feasibility tolerance of the second run, in scaled units; solvers default to 1e-7 or 1e-6


@dataclass(frozen=True)
class Request:
    """How to solve: arguments of ``solve`` that were checked, and the timer of the solve.

    Attributes
    ----------
    solver : Backend
    options : Options
        With the start, if there is one, in the units of the problem.
    tol : float
        The certificate must hold within this.
    repair : bool
        Whether to polish an answer and ask again where the certificate does not hold.
    timer : StepTimer
    """

    solver: Backend
    options: Options
    tol: float
    repair: bool
    timer: StepTimer


@dataclass(frozen=True)
class Attempt:
    """An answer of the backend, with the certificate of its pair (h, y) in the units of the problem.

    Attributes
    ----------
    answer : Answer
        As the backend gave it: scaled.
    certificate : Certificate
        It holds h and y, unscaled and perhaps polished, as ``membership`` and ``multipliers``.
    repairs : tuple of str
        ``"asked again"``, ``"polished"``, both or neither.
    """

    answer: Answer
    certificate: Certificate
    repairs: tuple[str, ...]


def run_attempt(problem: Problem, request: Request) -> Attempt:
    """Solve a problem, once or, where the first answer does not prove itself, twice; return the better attempt.

    The second run scales the moments by their typical entries instead of their largest. This is better for data with
    outliers. If memberships are still not feasible, they move to a feasible set nearby.
    """
    attempt = _run_twice(problem, request)
    if not request.repair or attempt.answer.outcome is not Outcome.OPTIMAL or is_settled(attempt.certificate, request.tol):
        return attempt
    moved = polish_to_feasible(attempt.certificate)
    if moved is attempt.certificate:
        return attempt
    repairs = attempt.repairs if "polished" in attempt.repairs else (*attempt.repairs, "polished")
    return replace(attempt, certificate=moved, repairs=repairs)


def _run_twice(problem: Problem, request: Request) -> Attempt:
    first = _run_once(problem, request, Units.of(problem, problem.scale), request.options)
    if not request.repair or is_settled(first.certificate, request.tol):
        return first
    if depends_on_rounding(first.certificate, request.tol):  # another run would find the same
        return first
    tighter = _tighter_options(problem, request, first.answer)
    if tighter is None:
        return first
    try:
        second = _run_once(problem, request, Units.of(problem, problem.A.per_moment("median_abs")), tighter)
    except DataError:  # numbers overflow in these units: the first answer stands
        return first
    if not second.certificate.error < first.certificate.error:
        return first
    counts = [attempt.answer.iterations for attempt in (first, second) if attempt.answer.iterations is not None]
    answer = replace(second.answer, iterations=sum(counts) if counts else None)
    return replace(second, answer=answer, repairs=("asked again", *second.repairs))


def _run_once(problem: Problem, request: Request, units: Units, options: Options) -> Attempt:
    """Scale, run the backend, undo the scaling, certify, polish."""
    scaled = units.scale_problem(problem)
    scaled_options = units.scale_start(options)
    request.timer.finish_step("scale")
    answer = call_backend(request.solver, scaled, scaled_options)
    request.timer.finish_step("run")
    h, y = units.unscale_answer(problem, answer)
    certificate = Certificate.of(problem, h, y)
    repairs: tuple[str, ...] = ()
    # An answer that the solver does not call optimal has no vertex to polish towards.
    if request.repair and answer.outcome is Outcome.OPTIMAL and not certificate.holds(request.tol):
        certificate, repairs = _polish(certificate, h, y)
    request.timer.finish_step("certify")
    return Attempt(answer, certificate, repairs)


def _polish(certificate: Certificate, h: FloatArray, y: FloatArray) -> tuple[Certificate, tuple[str, ...]]:
    """Return the certificate of the polished pair, or the certificate of (h, y) as it is if polishing does not help."""
    new_h, new_y = polish(certificate.problem, h, y)
    if new_h is h and new_y is y:
        return certificate, ()
    return Certificate.of(certificate.problem, new_h, new_y), ("polished",)


def _tighter_options(problem: Problem, request: Request, answer: Answer) -> Options | None:
    """Return the options of a second run; None if there is no reason for one, or no room within the limits."""
    options = request.options
    wrongly_infeasible = answer.outcome is Outcome.INFEASIBLE and problem.zero_is_feasible
    if answer.outcome not in (Outcome.OPTIMAL, Outcome.FAILED) and not wrongly_infeasible:
        return None
    if Capability.FEASIBILITY_TOLERANCE not in request.solver.capabilities:
        return None
    if options.feasibility_tolerance is not None or options.iteration_limit is not None:
        return None  # the caller chose the tolerance; iterations of two runs would exceed the limit
    return remaining_options(replace(options, feasibility_tolerance=TIGHT_TOLERANCE), request.timer)


def remaining_options(options: Options, timer: StepTimer) -> Options | None:
    """Return the options with the time that is left of their limit; None if no time is left."""
    if options.time_limit is None:
        return options
    left = options.time_limit - timer.total
    return replace(options, time_limit=left) if left > 0 else None
