"""From a problem to an answer that proves itself."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from io import TextIOBase
from typing import Any

import numpy as np

from momentlp.backend.auto import resolve_backend
from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome, Progress, check_number
from momentlp.backend.registry import available_version, pyomo_backend
from momentlp.errors import MomentLPError, OnlyLabelledWarning, OptionError, SolverError
from momentlp.points.arrays import FloatArray, one_entry_if_constant
from momentlp.problem.problem import Problem
from momentlp.proof.certificate import Certificate, dual_bound
from momentlp.proof.infeasibility import elastic_problem, proves_infeasible
from momentlp.proof.polish import admissible_multipliers, polish
from momentlp.runtime.blas_threads import one_blas_thread
from momentlp.solution.solution import Solution
from momentlp.solving.exact_fallback import solve_exactly
from momentlp.solving.isolation import Isolated
from momentlp.solving.units import Units
from momentlp.solving.warm_start import adapt_start
from momentlp.status import Status

__all__ = ["solve"]

Pair = tuple[FloatArray, FloatArray]
TIGHT = 1e-9  # the feasibility tolerance of a second try


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
    start: Solution | Pair | None = None,
    repair: bool = True,
    isolate: bool = False,
    memory_limit: int | None = None,
) -> Solution:
    """Solve a problem and check the answer before returning it.

    The moments are scaled to a common size (by powers of two, so that nothing is rounded), the backend solves, and the
    certificate is computed from the unscaled (h, y). Only that decides the status: see :class:`~momentlp.Status`.

    Parameters
    ----------
    problem : Problem or Pyomo model
        A model, such as one from ``problem.to_pyomo()`` with a constraint added, is taken back to matrix form; the
        values found are loaded into its variables.
    backend : str or Backend
        A name (see :func:`momentlp.backends`), an instance, or ``"auto"``: ``"sifting"`` for many points and few moments,
        ``"highs"`` otherwise (:func:`momentlp.backend.auto.choose_backend`), and wherever ``options`` are given.
    tol : float
        The certificate must hold within this for the answer to be OPTIMAL.
    time_limit, iteration_limit, feasibility_tolerance, threads, verbose, log, progress
        See :class:`~momentlp.Options`; ``log`` may also be a text stream. One that the backend cannot honour is
        an error; what your own function raises stops the solver and reaches you as it is.
    options : mapping, optional
        Options in the solver's own words, over those of the backend instance.
    start : Solution or pair of arrays, optional
        The answer to a problem nearby, from which to start: another tolerance, another sample mean, more points or fewer,
        other weights. Moments are told by their names; points are the same if there are as many, and placed by their scores
        if not. Or (h, y) themselves. It changes how long the answer takes, not what it is.
    repair : bool
        Where the solver's answer does not prove itself: polish it, ask again with a tighter tolerance and in other units,
        solve small problems in exact arithmetic; ``solution.repairs`` tells. False takes the first answer as it is.
    isolate : bool
        Run the solver in a worker process, which it may crash, hang or fill without harm to this one. ``time_limit`` is
        then kept for every backend. Starting the process takes about as long as importing momentlp and the solver.
    memory_limit : int, optional
        Bytes that the worker process may take for the problem and its solution; only with ``isolate=True``, on Linux.

    Raises
    ------
    BackendNotFoundError, BackendUnavailableError
        If the backend does not exist or cannot be used here. Nothing else is tried in its place.
    OptionError
        If the solver refuses an option.
    SolverError
        If the backend raises or breaks its contract or, isolated, crashes.

    Examples
    --------
    >>> import momentlp as mlp
    >>> problem = mlp.Spec().compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    >>> solution = mlp.solve(problem)
    >>> solution.status.name, solution.objective, solution.membership.round(9).tolist()
    ('OPTIMAL', 3.0, [1.0, 1.0, 1.0, 0.0])
    """
    check_number("tol", tol)
    asked = Options(
        time_limit=time_limit,
        iteration_limit=iteration_limit,
        feasibility_tolerance=feasibility_tolerance,
        threads=threads,
        verbose=verbose,
        log=_watched(log.write if isinstance(log, TextIOBase) else log),
        progress=_watched(progress),
        native=options or {},
    )
    if not isinstance(repair, bool):
        raise OptionError(f"repair must be True or False, not {repair!r}.")
    model = None if isinstance(problem, Problem) else problem
    if model is not None:
        problem = Problem.from_pyomo(model)
    asked = replace(asked, start=None if start is None else adapt_start(problem, start))
    solver = _isolated(resolve_backend(backend, problem, options), isolate, memory_limit)
    asked = replace(asked, native={**solver.native, **asked.native})
    for capability in sorted(asked.asked() - solver.capabilities, key=lambda capability: capability.value):
        raise OptionError(
            f"backend {solver.name!r} cannot honour {capability.value}: leave it out, or choose a backend that lists it "
            "in momentlp.backends()."
        )
    with one_blas_thread():
        solution = _solve(problem, solver, asked, tol, repair)
    solution = replace(solution, resolve=partial(solve, backend=solver.name))
    if model is not None and solution.status not in (Status.INFEASIBLE, Status.FAILED):
        pyomo_backend().load_values(model, solution)
    return solution


def _isolated(solver: Backend, isolate: Any, memory_limit: int | None) -> Backend:
    if not isinstance(isolate, bool):
        raise OptionError(f"isolate must be True or False, not {isolate!r}.")
    if isolate:
        return Isolated(solver, memory_limit)
    if memory_limit is not None:
        raise OptionError("memory_limit needs a process of its own to limit: add isolate=True, or leave it out.")
    return solver


@dataclass(frozen=True)
class _Attempt:
    """One call of the backend, read and judged."""

    answer: Answer
    pair: Pair
    certificate: Certificate
    repairs: tuple[str, ...]
    status: Status
    message: str


def _solve(problem: Problem, solver: Backend, options: Options, tol: float, repair: bool) -> Solution:
    clock = _Clock()
    attempt = _attempt(problem, solver, options, tol, clock, repair)
    engine = attempt.answer.engine or solver.engine
    status, message, pair, certificate = attempt.status, attempt.message, attempt.pair, attempt.certificate
    repairs = attempt.repairs
    if status is Status.INFEASIBLE:
        status, message, pair = _prove_infeasible(problem, solver, options, tol, attempt, clock, repair)
    if status is Status.FAILED and repair:
        exactly = _exactly(problem, options, tol, pair, clock)
        if exactly is not None:
            (status, pair), repairs, engine = exactly, (*repairs, "solved exactly"), "exact arithmetic"
            message = f"{attempt.answer.message} (which proved nothing: solved again in exact arithmetic)"
    if status in (Status.LIMIT, Status.EMPTY) and certificate.primal_residual > tol and problem.zero_is_feasible:
        pair = (_pulled_back(problem, pair[0]), pair[1])
    if status is Status.LIMIT:
        pair = (pair[0], _better_bound(problem, pair[1], certificate))
    if pair is not attempt.pair:
        certificate = Certificate.of(problem, *pair)
    clock.lap("certify")
    if status is Status.OPTIMAL:
        _warn_if_only_labelled(problem, pair[0])
    return Solution(
        problem=problem,
        status=status,
        membership=pair[0],
        multipliers=pair[1],
        certificate=certificate,
        backend=solver.name,
        engine=engine,
        version=available_version(solver),
        message=message,
        iterations=attempt.answer.iterations,
        seconds=clock.laps,
        repairs=repairs,
    )


def _attempt(
    problem: Problem, solver: Backend, options: Options, tol: float, clock: _Clock, repair: bool = True
) -> _Attempt:
    """Scale, run, unscale, certify. Where the solver stops short of what is asked: polish, then ask again.

    The second time the moments are scaled by their typical entries instead of their largest, which is better for data with
    outliers, and the solver is asked for a tighter tolerance.
    """
    units = Units.of(problem, problem.scale)
    scaled = units.apply(problem)
    clock.lap("scale")
    answer = _run(solver, scaled, units.started(options))
    clock.lap("run")
    pair, certificate, repairs = _certified(problem, units.read(problem, answer), answer, tol, repair)
    tighter = _tighter(problem, solver, options, answer, clock) if repair else None
    if tighter is not None and not certificate.holds(tol) and not _shows_empty(problem, pair[1], certificate.bound):
        units = Units.of(problem, problem.A.per_moment("median_abs"))
        again = _run(solver, units.apply(problem), units.started(tighter))
        clock.lap("run")
        other = _certified(problem, units.read(problem, again), again, tol)
        if other[1].error < certificate.error:
            done = [run.iterations for run in (answer, again) if run.iterations is not None]
            answer = replace(again, iterations=sum(done) if done else None)
            pair, certificate, repairs = other[0], other[1], ("asked again", *other[2])
    status, message = _judge(problem, answer, pair[1], certificate, tol)
    return _Attempt(answer, pair, certificate, repairs, status, message)


def _certified(
    problem: Problem, pair: Pair, answer: Answer, tol: float, repair: bool = True
) -> tuple[Pair, Certificate, tuple[str, ...]]:
    """Certify a pair; one that the solver calls optimal but that does not hold is polished first, if that helps."""
    certificate = Certificate.of(problem, *pair)
    if repair and answer.outcome is Outcome.OPTIMAL and not certificate.holds(tol):
        polished = polish(problem, *pair)
        if polished[0] is not pair[0] or polished[1] is not pair[1]:
            return polished, Certificate.of(problem, *polished), ("polished",)
    return pair, certificate, ()


def _tighter(problem: Problem, solver: Backend, options: Options, answer: Answer, clock: _Clock) -> Options | None:
    """Return options that ask the solver for more than its default, if there is a reason to and they leave room for it."""
    false_alarm = answer.outcome is Outcome.INFEASIBLE and problem.zero_is_feasible
    if answer.outcome not in (Outcome.OPTIMAL, Outcome.FAILED) and not false_alarm:
        return None
    if Capability.FEASIBILITY_TOLERANCE not in solver.capabilities or options.feasibility_tolerance is not None:
        return None
    if options.iteration_limit is not None:
        return None
    return _remaining(replace(options, feasibility_tolerance=TIGHT), clock)


def _remaining(options: Options, clock: _Clock) -> Options | None:
    """Return the options with what is left of the time limit, or None if nothing is."""
    if options.time_limit is None:
        return options
    left = options.time_limit - sum(clock.laps.values())
    return replace(options, time_limit=left) if left > 0 else None


def _run(solver: Backend, scaled: Problem, options: Options) -> Answer:
    """Call the backend, and turn whatever it raises of its own into a SolverError."""
    try:
        answer = solver.run(scaled, options)
    except MomentLPError:
        raise
    except MemoryError:
        raise
    except Exception as error:
        if any(isinstance(call, _Watched) and call.error is error for call in (options.log, options.progress)):
            raise  # the caller's own function failed: the caller's own error
        raise SolverError(
            f"backend {solver.name!r} failed with {type(error).__name__}: {error}. This is a bug in the solver or in its "
            "backend; save the problem with problem.save(path) and report it, or try another backend."
        ) from error
    if not isinstance(answer, Answer):
        raise SolverError(f"backend {solver.name!r} returned {type(answer).__name__} where an Answer belongs.")
    h = _as_numbers(solver, "membership", answer.membership, scaled.n_points)
    y = _as_numbers(solver, "multipliers", answer.multipliers, scaled.n_moments)
    return replace(answer, membership=h, multipliers=y)


def _as_numbers(solver: Backend, field: str, values: Any, length: int) -> FloatArray | None:
    if values is None:
        return None
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SolverError(f"backend {solver.name!r} returned {field} that are not numbers.") from None
    if vector.shape != (length,):
        raise SolverError(f"backend {solver.name!r} returned {field} of shape {vector.shape}, not ({length},).")
    return vector


def _judge(problem: Problem, answer: Answer, y: FloatArray, certificate: Certificate, tol: float) -> tuple[Status, str]:
    """Say what the pair proves; the solver's own opinion matters only where it proves nothing."""
    if _shows_empty(problem, y, certificate.bound):
        return Status.EMPTY, answer.message
    if certificate.holds(tol):
        return Status.OPTIMAL, answer.message
    if answer.outcome is Outcome.LIMIT:
        return Status.LIMIT, answer.message
    if answer.outcome is Outcome.INFEASIBLE and not problem.zero_is_feasible:
        return Status.INFEASIBLE, answer.message
    if answer.outcome is Outcome.INFEASIBLE:
        return Status.FAILED, f"{answer.message} (but the empty set is feasible: the solver is wrong)"
    if answer.outcome is Outcome.OPTIMAL:
        return Status.FAILED, (
            f"{answer.message} (but the certificate does not hold at {tol:g}: primal residual "
            f"{certificate.primal_residual:.1e}, dual residual {certificate.dual_residual:.1e}, gap {certificate.gap:.1e}; "
            "try a smaller feasibility_tolerance, another backend, or accept it with a larger tol)"
        )
    return Status.FAILED, answer.message


def _shows_empty(problem: Problem, y: FloatArray, bound: float) -> bool:
    """Whether a bound on the optimum proves that no set of the points has the mean.

    If some h > 0 met the mean exactly, so would its multiples, up to the one where a point reaches its cap, and that one
    weighs at least the lightest full point. A smaller bound rules it out, if it comes from moments alone. (The multipliers
    then satisfy ``A y > 0`` at every point: they separate the mean from all of them.) Rows of constraints, and rows of
    which nothing is known, are not means: there only an optimum of zero is empty. Where a point has no weight, size says
    nothing.
    """
    weights, caps = one_entry_if_constant(problem.weights, problem.caps)
    full = (weights * caps)[caps > 0]
    if not problem.zero_is_feasible or (full.size and full.min() <= 0):
        return False
    means = np.concatenate([np.full(block.n_moments, block.tolerance_on is not None) for block in problem.blocks])
    largest = np.abs(weights).max()
    with np.errstate(over="ignore"):
        from_means = not (np.abs(y[~means]) * problem.scale[~means] > 1e-12 * largest).any()
    lightest = float(full.min()) if full.size else 0.0
    return bound < (1 - 1e-6) * lightest if from_means else bound <= 1e-12 * lightest


def _pulled_back(problem: Problem, h: FloatArray) -> FloatArray:
    """Return the last feasible point on the way from the empty set, which is feasible, to h, which is not.

    A dual simplex, for one, holds points that violate the moments until it ends.
    """
    activity = problem.A.T @ h
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(activity > problem.upper, problem.upper / activity, 1.0)
        room = np.minimum(room, np.where(activity < problem.lower, problem.lower / activity, 1.0))
    return h * float(room.min())


def _better_bound(problem: Problem, y: FloatArray, certificate: Certificate) -> FloatArray:
    """Return the multipliers held, or none at all if those bound the optimum better: any y gives a true bound."""
    nothing = np.zeros_like(y)
    return y if certificate.bound <= dual_bound(problem, nothing) else nothing


def _prove_infeasible(
    problem: Problem, solver: Backend, options: Options, tol: float, attempt: _Attempt, clock: _Clock, repair: bool
) -> tuple[Status, str, Pair]:
    remaining = _remaining(options, clock)
    if remaining is not None:
        relaxed = _attempt(elastic_problem(problem), solver, replace(remaining, start=None), tol, clock, repair)
        h, y = relaxed.pair
        if proves_infeasible(problem, y, 1e-9):
            return Status.INFEASIBLE, attempt.message, (h[: problem.n_points], y)
    if remaining is None or relaxed.status is Status.LIMIT:
        return Status.LIMIT, f"{attempt.message} (a limit was reached before that could be proved)", attempt.pair
    return Status.FAILED, f"{attempt.message} (but no proof of that was found)", attempt.pair


def _exactly(problem: Problem, options: Options, tol: float, pair: Pair, clock: _Clock) -> tuple[Status, Pair] | None:
    """Solve a small problem in exact arithmetic where floats proved nothing; None if that proves nothing either."""
    remaining = _remaining(options, clock)
    found = None if remaining is None else solve_exactly(problem, *pair, remaining.time_limit)
    clock.lap("exact")
    if found is None:
        return None
    status, h, y = found
    y = admissible_multipliers(problem, np.where(problem.noise, 0.0, y))
    if status is Status.INFEASIBLE:
        return (Status.INFEASIBLE, (h, y)) if proves_infeasible(problem, y, 1e-9) else None
    certificate = Certificate.of(problem, h, y)
    if _shows_empty(problem, y, certificate.bound):
        return Status.EMPTY, (h, y)
    return (Status.OPTIMAL, (h, y)) if certificate.holds(tol) else None


def _warn_if_only_labelled(problem: Problem, h: FloatArray) -> None:
    """Say so where there are so many moments that the labelled set alone has their mean."""
    if problem.labelled is None or problem.n_moments < problem.n_points:
        return
    alone = np.zeros(problem.n_points)
    alone[problem.labelled] = problem.caps[problem.labelled]
    if np.abs(h - alone).max() < 1e-3 and problem.labelled.size < problem.n_points:
        warnings.warn(
            f"the answer is the labelled set itself: with {problem.n_moments} moments and {problem.n_points} points nothing "
            "else has its mean. Use a larger tolerance, or fewer moments: Kernel(landmarks=...), Spectral(...).",
            OnlyLabelledWarning,
            stacklevel=4,
        )


class _Watched:
    """A function of the caller's that remembers what it raised."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.error: BaseException | None = None

    def __call__(self, *arguments: Any) -> None:
        try:
            self.function(*arguments)
        except BaseException as error:
            self.error = self.error or error  # a solver may call again before it stops
            raise


def _watched(function: Any) -> Any:
    return _Watched(function) if callable(function) else function


class _Clock:
    """Seconds between laps, by name."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now
