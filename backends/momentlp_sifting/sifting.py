"""Sifting: from a sample to all points.

Samples are nested (some thousands, sixteen times as many, ..., all), so that each hyperplane is nearly right for the next
sample, and few passes over all points are needed. The hyperplane of n points with k multipliers has an error of about
``sqrt(k / n)`` of the typical score. Points within a band of a few times that error may change sides when all points are
priced; they make up the first restricted problem. If the band was too narrow, it is widened.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome, Progress
from momentlp.points.arrays import FloatArray, IndexArray, is_constant_vector
from momentlp.problem.problem import Problem
from momentlp.runtime.blas_threads import n_cores
from momentlp_sifting.interior_point import DenseProgram
from momentlp_sifting.pricing import PricingResult, nearest_distance, price_points, side_memberships
from momentlp_sifting.restricted_master import Pair, StoppedError, WorkCounter, solve_restricted

__all__ = ["SiftingRun"]

AT_ONCE = 20_000, 40  # points, or points per moment, up to which there is no sampling
MIN_SAMPLE, MIN_SAMPLE_PER_MOMENT = 4000, 16  # points, or points per moment, of the smallest sample
SAMPLE_GROWTH = 16  # from one sample to the next
BAND_WIDTH = 5.0  # half the width of the first band, in standard errors of the sample's hyperplane
BAND_GROWTH = 3.0  # how much wider the band is made where it was too narrow
N_NEAR_POINTS = 200  # points near the hyperplane of a start, in addition to those that a vertex needs
MAX_ROUNDS = 100  # of pricing and solving
MAX_THREADS = 8  # more do not make the interior-point method faster
MAX_ITERATIONS_PER_MOMENT = 6  # simplex iterations per moment after which a start is discarded
MAX_MOMENTS = 3000  # above this, the m x m matrices of the interior-point method are too large
INNER_TOLERANCE = 1e-9  # feasibility tolerance of the restricted problems
OUT_OF_TIME = Answer(Outcome.LIMIT, None, None, "time limit")


class SiftingRun:
    """One solve by sifting.

    Attributes
    ----------
    passes : int
        Passes over all points.
    used_inner_backend : bool
        Whether the inner backend had to solve the whole problem, because sifting found no optimum.
    tally : WorkCounter
        The work of the restricted problems.
    """

    def __init__(self, problem: Problem, inner: Backend, options: Options, random: np.random.Generator, room: int) -> None:
        self.problem, self.inner, self.options, self.random, self.room = problem, inner, options, random, room
        self.tally, self.passes, self.started = WorkCounter(self.is_late), 0, time.perf_counter()
        self.used_inner_backend = False
        self.threads = options.threads or min(n_cores(), MAX_THREADS)

    def run(self) -> Pair:
        """Return the optimum (h, y); where sifting finds none, let the inner backend solve the whole problem.

        Raises
        ------
        StoppedError
            If there is no optimum, or a limit was reached.
        """
        problem, start = self.problem, self.options.start
        if problem.n_moments <= MAX_MOMENTS:
            for begin in (None,) if start is None else (start, None):  # if a start misleads, try again without it
                try:
                    return self.solve(problem, begin)
                except StoppedError as stopped:
                    if stopped.answer.outcome is Outcome.LIMIT or (begin is None and problem.A.table is not None):
                        raise
        self.used_inner_backend = True
        answer = self.solve_inner(problem, None)
        self.tally.count(answer, problem.A.shape)
        h = np.zeros(problem.n_points) if answer.membership is None else answer.membership
        y = np.zeros(problem.n_moments) if answer.multipliers is None else answer.multipliers
        if answer.outcome is not Outcome.OPTIMAL:
            raise StoppedError(answer, (h, y))
        return h, y

    def solve(self, problem: Problem, start: Pair | None) -> Pair:
        """Return the optimum of a problem: directly if it is small, otherwise from a sample of its points."""
        n, m = problem.A.shape
        size = max(MIN_SAMPLE, MIN_SAMPLE_PER_MOMENT * m, min(n // SAMPLE_GROWTH, self.room // (8 * m)))
        if n <= max(AT_ONCE[0], AT_ONCE[1] * m, 2 * size):
            return self.solve_dense(problem, start)
        if start is not None:
            between = (start[0] > 0) & (start[0] < problem.caps)
            return self.sift(problem, start[1], self.find_band(problem, start[1], int(between.sum())))
        live: Any = n if is_constant_vector(problem.caps) and problem.caps[0] > 0 else np.flatnonzero(problem.caps > 0)
        if np.ndim(live) and live.size <= 2 * size:
            return self.solve_dense(problem, None)
        chosen = np.sort(self.random.choice(live, size, replace=False))
        rows, weights, caps = problem.A.rows(chosen), problem.weights[chosen], problem.caps[chosen]
        self.passes += problem.A.table is not None  # rows in memory cost no pass
        share = float(caps.sum()) / float(problem.caps.sum())
        sample = Problem.from_arrays(rows, share * problem.lower, share * problem.upper, weights=weights, caps=caps)
        try:
            _, y = self.solve(sample, None)
        except StoppedError as stopped:
            if stopped.answer.outcome is Outcome.LIMIT:
                raise StoppedError(stopped.answer, (np.zeros(n), stopped.pair[1])) from None
            y = stopped.pair[1]  # a sample may be infeasible where the whole is not
        error = float(np.median(np.abs(weights - rows @ y))) * float(np.sqrt(max(1, int(np.count_nonzero(y))) / size))
        del rows, sample  # free the memory before the next, equally large, arrays
        return self.sift(problem, y, BAND_WIDTH * error)

    def solve_dense(self, problem: Problem, start: Pair | None) -> Pair:
        """Solve a problem whose rows all fit in memory."""
        live = np.flatnonzero(problem.caps > 0)
        if not live.size:
            return np.zeros(problem.n_points), np.zeros(problem.n_moments)
        rows = problem.A.rows(slice(None) if live.size == problem.n_points else live)
        dense = DenseProgram(rows, problem.weights[live], problem.caps[live], problem.lower, problem.upper, self.threads)
        h = np.zeros(problem.n_points)
        try:
            h[live], y = solve_restricted(
                dense, self.solve_inner, self.tally, None if start is None else (start[0][live], start[1])
            )
        except StoppedError as stopped:
            h[live] = stopped.pair[0]
            raise StoppedError(stopped.answer, (h, stopped.pair[1])) from None
        return h, y

    def sift(self, problem: Problem, y: FloatArray, band: float) -> Pair:
        """Price all points and solve the restricted problem of those near the hyperplane, until no point changes sides."""
        max_points = max(2 * MIN_SAMPLE, self.room // (8 * problem.n_moments))
        first, now = y, _Band.empty(problem, y)
        for _ in range(MAX_ROUNDS):
            if self.is_late():
                raise StoppedError(OUT_OF_TIME, self.complete(now, y))
            found = price_points(problem, y, now.sides_at if now.solved else None, now.points, band, max_points)
            self.passes += problem is self.problem
            self.write_log(f"{problem.n_points:,} points: {found.points.size:,} added, {found.n_changed:,} changed sides")
            if now.solved and found.n_changed == 0:
                return self.complete(now, y)
            is_narrow = found.n_changed > now.points.size // 2 and now.points.size < max_points // 2
            if now.solved and is_narrow:  # begin again
                band, y, now = BAND_GROWTH * now.band, first, _Band.empty(problem, first)
                continue
            if now.points.size + found.points.size == 0:
                band = self.find_band(problem, y)
                continue
            now = now.with_points(found, y, band)
            try:
                now.h, y = solve_restricted(
                    now.to_program(found.fixed, self.threads),
                    self.solve_inner,
                    self.tally,
                    (now.h, y) if now.solved else None,
                )
            except StoppedError as stopped:
                if stopped.answer.outcome is Outcome.INFEASIBLE and now.points.size < min(max_points // 2, problem.n_points):
                    band, y, now = BAND_GROWTH * max(now.band, 1e-3), first, _Band.empty(problem, first)
                    continue
                now.h = stopped.pair[0]
                raise StoppedError(stopped.answer, self.complete(now, stopped.pair[1])) from None
            now.solved = True
            band = float(np.median(np.abs(now.rows @ (y - now.sides_at)))) / 4  # the next move will be smaller
        raise StoppedError(
            Answer(Outcome.FAILED, None, None, f"not finished after {MAX_ROUNDS} rounds"), self.complete(now, y)
        )

    def find_band(self, problem: Problem, y: FloatArray, more: int = 0) -> float:
        """Return the half-width of a band with as many points as a vertex needs, and some more."""
        self.passes += problem is self.problem
        return nearest_distance(problem, y, min(problem.n_points, more + 2 * int(np.count_nonzero(y)) + N_NEAR_POINTS))

    def complete(self, now: _Band, y: FloatArray) -> Pair:
        """Return (h, y) of all points: those of the restricted problem, and the others at 0 or at their cap."""
        self.passes += now.problem is self.problem
        h = side_memberships(now.problem, now.sides_at)
        h[now.points] = now.h
        return h, y

    def is_late(self) -> bool:
        """Return whether the time limit has passed."""
        return self.seconds_left() <= 0

    def seconds_left(self) -> float:
        """Return the seconds until the time limit."""
        limit = self.options.time_limit
        return float("inf") if limit is None else limit - (time.perf_counter() - self.started)

    def write_log(self, line: str) -> None:
        """Write a line to the log, if there is one."""
        if self.options.sink is not None:
            self.options.sink(f"sifting: {line}\n")

    def solve_inner(self, problem: Problem, start: Pair | None) -> Answer:
        """Let the inner backend solve a problem, with the rest of the limits."""
        if self.is_late():
            return OUT_OF_TIME
        asked = self.options
        options = replace(
            asked,
            start=start,
            native=dict(self.inner.native),
            progress=None,
            time_limit=None if asked.time_limit is None else self.seconds_left(),
            iteration_limit=None if asked.iteration_limit is None else max(0, asked.iteration_limit - self.tally.iterations),
            feasibility_tolerance=asked.feasibility_tolerance or INNER_TOLERANCE,
        )
        wanted = {Capability.START, Capability.FEASIBILITY_TOLERANCE}  # sifting itself asks for these
        without: dict[str, Any] = {capability.value: None for capability in wanted - self.inner.capabilities}
        self.write_log(f"{self.inner.name} solves for {problem.n_points:,} points and {problem.n_moments:,} moments")
        answer = self._run_inner(problem, replace(options, **without))
        if asked.progress is not None:
            asked.progress(Progress(self.tally.iterations, time.perf_counter() - self.started))
        return answer

    def _run_inner(self, problem: Problem, options: Options) -> Answer:
        """Run the inner backend from a start; if that takes too many iterations, run it again without the start."""
        if options.start is None:
            return self.inner.run(problem, options)
        max_iterations = MAX_ITERATIONS_PER_MOMENT * problem.n_moments + N_NEAR_POINTS
        limit = max_iterations if options.iteration_limit is None else min(max_iterations, options.iteration_limit)
        has_limit = Capability.ITERATION_LIMIT in self.inner.capabilities
        answer = self.inner.run(problem, replace(options, iteration_limit=limit) if has_limit else options)
        is_slow = answer.outcome is Outcome.LIMIT and limit == max_iterations and not self.is_late()
        if is_slow or answer.outcome is Outcome.FAILED:
            self.tally.iterations += answer.iterations or 0
            return self.inner.run(problem, replace(options, start=None))
        return answer


@dataclass
class _Band:
    """The points of the restricted problem: those in a band around the hyperplane.

    Attributes
    ----------
    points, rows, h : arrays
        Their indices, their rows of A, and their memberships.
    sides_at : array, shape (m,)
        The multipliers that fixed all other points on their sides.
    band : float
        The half-width of the band at first: the largest absolute score.
    solved : bool
        Whether h is the answer to a restricted problem.
    """

    problem: Problem
    points: IndexArray
    rows: FloatArray
    h: FloatArray
    sides_at: FloatArray
    band: float = 0.0
    solved: bool = False

    @classmethod
    def empty(cls, problem: Problem, y: FloatArray) -> _Band:
        """Return a band without points."""
        return cls(problem, np.zeros(0, dtype=np.intp), np.zeros((0, problem.n_moments)), np.zeros(0), y)

    def with_points(self, found: PricingResult, y: FloatArray, band: float) -> _Band:
        """Return it with the points that a pass found, each on its former side: a feasible h stays feasible."""
        sides = np.where(found.inside, self.problem.caps[found.points], 0.0)
        if not self.points.size:
            return _Band(self.problem, found.points, found.rows, sides, y, band)
        points = np.concatenate([self.points, found.points])
        order = np.argsort(points)
        h, rows = np.concatenate([self.h, sides])[order], np.vstack([self.rows, found.rows])[order]
        return _Band(self.problem, points[order], rows, h, y, self.band, self.solved)

    def to_program(self, fixed: FloatArray, threads: int) -> DenseProgram:
        """Return the restricted problem: the bounds, less what the fixed points add to the moments."""
        whole = self.problem
        weights, caps = whole.weights[self.points], whole.caps[self.points]
        return DenseProgram(self.rows, weights, caps, whole.lower - fixed, whole.upper - fixed, threads)
