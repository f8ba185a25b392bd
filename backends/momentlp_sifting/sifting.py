"""Sifting: from a sample to all points.

Samples are nested (some thousands, 32 times as many, ..., all), so that each hyperplane is nearly right for the next
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
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp.problem.problem import Problem
from momentlp.runtime.threads import max_threads
from momentlp_sifting.columns import Columns, DenseColumns, SparseColumns, is_mostly_sparse
from momentlp_sifting.newton_step import newton_step
from momentlp_sifting.pricing import PricingResult, Sides, nearest_distance, price_points, sum_inside
from momentlp_sifting.program import Program
from momentlp_sifting.restricted_master import Pair, StoppedError, WorkCounter, solve_restricted
from momentlp_sifting.row_structure import RowStructure

__all__ = ["SiftingRun"]

AT_ONCE = 20_000, 60  # points, or points per moment, up to which there is no sampling
MIN_SAMPLE, MIN_SAMPLE_PER_MOMENT = 4000, 16  # points, or points per moment, of the smallest sample
SAMPLE_GROWTH = 32  # from one sample to the next
BAND_WIDTH = 5.0  # half the width of the first band, in standard errors of the sample's hyperplane
MIN_BAND = 1e-6  # half the width of that band, relative to the weights: points on the hyperplane are in it despite rounding
BAND_GROWTH = 3.0  # how much wider the band is made where it was too narrow
N_NEAR_POINTS = 200  # points near the hyperplane of a start, in addition to those that a vertex needs
MAX_CHANGED_PER_MOMENT = 8  # points that change sides, per active moment: with more, the last answer is no good start
MAX_ROUNDS = 100  # of pricing and solving
MAX_ITERATIONS_PER_MOMENT = 6  # simplex iterations per moment after which a start is discarded
MAX_SIDE = 12_000  # points or columns, whichever are fewer: with more, the matrices of the interior point are too large
INNER_TOLERANCE = 1e-9  # feasibility tolerance of the restricted problems
OUT_OF_TIME = Answer(Outcome.LIMIT, None, None, "time limit")


@dataclass(frozen=True, eq=False)
class Task:
    """The points to sift, and the bounds on their moments.

    Attributes
    ----------
    A : MomentMatrix
        The columns Z that the moments are made of, of all points.
    weights, caps : array, shape (N,)
    lower, upper : array, shape (m,)
    """

    A: MomentMatrix
    weights: FloatArray
    caps: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def from_rows(
        cls, rows: FloatArray, weights: FloatArray, caps: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> Task:
        """Return the task of points whose columns are an array."""
        return cls(Problem.from_arrays(rows, -np.inf, np.inf).A, weights, caps, lower, upper)

    @property
    def n_points(self) -> int:
        """N."""
        return self.A.shape[0]

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.A.shape[1]


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
        self.threads = options.threads or max_threads()
        self.structure = RowStructure.of(problem)
        self.task = Task(self.structure.matrix(problem), problem.weights, problem.caps, problem.lower, problem.upper)

    def run(self) -> Pair:
        """Return the optimum (h, y); where sifting finds none, let the inner backend solve the whole problem.

        Raises
        ------
        StoppedError
            If there is no optimum, or a limit was reached.
        """
        problem, start = self.problem, self.options.start
        if min(self.task.A.shape) <= MAX_SIDE:
            for begin in (None,) if start is None else (start, None):  # if a start misleads, try again without it
                try:
                    return self.solve(self.task, begin)
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

    def solve(self, task: Task, start: Pair | None) -> Pair:
        """Return the optimum of a task: directly if it is small, otherwise from a sample of its points."""
        n, q = task.A.shape
        size = max(MIN_SAMPLE, MIN_SAMPLE_PER_MOMENT * q, min(n // SAMPLE_GROWTH, self.room // (8 * q)))
        if n <= max(AT_ONCE[0], AT_ONCE[1] * q, 2 * size):
            return self.solve_at_once(task, start)
        if start is not None:
            between = (start[0] > 0) & (start[0] < task.caps)
            return self.sift(task, start[1], self.find_band(task, start[1], int(between.sum())))
        live: Any = n if is_constant_vector(task.caps) and task.caps[0] > 0 else np.flatnonzero(task.caps > 0)
        if np.ndim(live) and live.size <= 2 * size:
            return self.solve_at_once(task, None)
        chosen = self.choose_sample(live, size)
        rows, weights, caps = task.A.rows(chosen), task.weights[chosen], task.caps[chosen]
        self.passes += task.A.table is not None  # rows in memory cost no pass
        share = float(caps.sum()) / float(task.caps.sum())
        sample = Task.from_rows(rows, weights, caps, share * task.lower, share * task.upper)
        try:
            _, y = self.solve(sample, None)
        except StoppedError as stopped:
            if stopped.answer.outcome is Outcome.LIMIT:
                raise StoppedError(stopped.answer, (np.zeros(n), stopped.pair[1])) from None
            y = stopped.pair[1]  # a sample may be infeasible where the whole is not
        program = Program(DenseColumns(rows), self.structure, weights, caps, sample.lower, sample.upper)
        error = float(np.median(np.abs(program.scores(y)))) * float(np.sqrt(max(1, int(np.count_nonzero(y))) / size))
        band = max(BAND_WIDTH * error, MIN_BAND * float(np.median(np.abs(weights))))
        better = self.improve(task, program, y, band, share)
        del rows, sample, program  # free the memory before the next, equally large, arrays
        return self.sift(task, *(better or (y, band)))

    def choose_sample(self, live: IndexArray | int, size: int) -> IndexArray:
        """Return the sorted indices of a sample: one point at random of each of ``size`` stretches of the live points."""
        n = live if isinstance(live, int) else live.size
        chosen = ((np.arange(size) + self.random.random(size)) * (n / size)).astype(np.intp)
        return chosen if isinstance(live, int) else live[chosen]

    def improve(
        self, task: Task, sample: Program, y: FloatArray, band: float, share: float
    ) -> tuple[FloatArray, float] | None:
        """Return the multipliers after a Newton step, and the half-width of the band around their hyperplane."""
        self.passes += task is self.task
        reached = self.structure.to_rows(sum_inside(task, self.structure.to_columns(y)))
        bounds = np.where((y > 0) | (task.lower == task.upper), task.upper, np.where(y < 0, task.lower, 0.0))
        with np.errstate(invalid="ignore", over="ignore"):
            return newton_step(sample, y, share * (reached - bounds), band)

    def solve_at_once(self, task: Task, start: Pair | None) -> Pair:
        """Solve a task whose points all fit in memory."""
        live = np.flatnonzero(task.caps > 0)
        if not live.size:
            return np.zeros(task.n_points), np.zeros(self.structure.n_rows)
        points = slice(None) if live.size == task.n_points else live
        program = Program(
            self.columns(task, points), self.structure, task.weights[live], task.caps[live], task.lower, task.upper
        )
        h = np.zeros(task.n_points)
        try:
            h[live], y = solve_restricted(
                program, self.solve_inner, self.tally, None if start is None else (start[0][live], start[1])
            )
        except StoppedError as stopped:
            h[live] = stopped.pair[0]
            raise StoppedError(stopped.answer, (h, stopped.pair[1])) from None
        return h, y

    def columns(self, task: Task, points: Any) -> Columns:
        """Return the columns of some points of a task, sparse if most of their entries are zero."""
        if is_mostly_sparse(task.A):
            return SparseColumns.of(task.A, points, self.threads)
        return DenseColumns(task.A.rows(points), self.threads)

    def sift(self, task: Task, y: FloatArray, band: float) -> Pair:
        """Price all points and solve the restricted problem of those near the hyperplane, until no point changes sides."""
        max_points = max(2 * MIN_SAMPLE, self.room // (8 * task.n_columns))
        structure = self.structure
        first, now = y, _Band.empty(task, structure.to_columns(y))
        for _ in range(MAX_ROUNDS):
            if self.is_late():
                raise StoppedError(OUT_OF_TIME, self.complete(now, y))
            before = now.sides if now.solved else None
            found = price_points(task, structure.to_columns(y), before, now.points, band, max_points)
            self.passes += task is self.task
            self.write_log(f"{task.n_points:,} points: {found.points.size:,} added, {found.n_changed:,} changed sides")
            if now.solved and found.n_changed == 0:
                return self.complete(now, y)
            if 2 * found.points.size > task.n_points and task.A.table is None:  # most points lie near the hyperplane
                return self.solve_at_once(task, None)
            is_narrow = found.n_changed > now.points.size // 2 and now.points.size < max_points // 2
            if now.solved and is_narrow:  # begin again
                band, y, now = BAND_GROWTH * now.band, first, _Band.empty(task, structure.to_columns(first))
                continue
            if now.points.size + found.points.size == 0:
                band = self.find_band(task, y)
                continue
            now = now.with_points(found, band)
            max_changed = MAX_CHANGED_PER_MOMENT * int(np.count_nonzero(y)) + N_NEAR_POINTS
            try:
                now.h, y = solve_restricted(
                    now.to_program(structure, found.fixed, self.threads),
                    self.solve_inner,
                    self.tally,
                    (now.h, y) if now.solved and found.n_changed <= max_changed else None,
                    near=y,
                    is_part=now.points.size < task.n_points,
                )
            except StoppedError as stopped:
                if stopped.answer.outcome is Outcome.INFEASIBLE and now.points.size < min(max_points // 2, task.n_points):
                    band, y, now = BAND_GROWTH * max(now.band, 1e-3), first, _Band.empty(task, structure.to_columns(first))
                    continue
                now.h = stopped.pair[0]
                raise StoppedError(stopped.answer, self.complete(now, stopped.pair[1])) from None
            now.solved = True
            moved = now.rows @ (structure.to_columns(y) - now.sides.y)
            band = float(np.median(np.abs(moved))) / 4  # the next move will be smaller
        raise StoppedError(
            Answer(Outcome.FAILED, None, None, f"not finished after {MAX_ROUNDS} rounds"), self.complete(now, y)
        )

    def find_band(self, task: Task, y: FloatArray, more: int = 0) -> float:
        """Return the half-width of a band with as many points as a vertex needs, and some more."""
        self.passes += task is self.task
        count = min(task.n_points, more + 2 * int(np.count_nonzero(y)) + N_NEAR_POINTS)
        return nearest_distance(task, self.structure.to_columns(y), count)

    def complete(self, now: _Band, y: FloatArray) -> Pair:
        """Return (h, y) of all points: those of the restricted problem, and the others at 0 or at their cap."""
        self.passes += now.task is self.task and now.sides.inside is None
        h = now.sides.memberships(now.task)
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
        Their indices, their rows of Z, and their memberships.
    sides : Sides
        The sides on which all other points are fixed.
    band : float
        The half-width of the band at first: the largest absolute score.
    solved : bool
        Whether h is the answer to a restricted problem.
    """

    task: Task
    points: IndexArray
    rows: FloatArray
    h: FloatArray
    sides: Sides
    band: float = 0.0
    solved: bool = False

    @classmethod
    def empty(cls, task: Task, y: FloatArray) -> _Band:
        """Return a band without points; all points are fixed on their sides of a hyperplane, ``y`` of shape (q,)."""
        return cls(task, np.zeros(0, dtype=np.intp), np.zeros((0, task.n_columns)), np.zeros(0), Sides(y))

    def with_points(self, found: PricingResult, band: float) -> _Band:
        """Return it with the points that a pass found, each on its former side: a feasible h stays feasible."""
        sides = np.where(found.inside, self.task.caps[found.points], 0.0)
        if not self.points.size:
            return _Band(self.task, found.points, found.rows, sides, found.sides, band)
        points = np.concatenate([self.points, found.points])
        order = np.argsort(points)
        h, rows = np.concatenate([self.h, sides])[order], np.vstack([self.rows, found.rows])[order]
        return _Band(self.task, points[order], rows, h, found.sides, self.band, self.solved)

    def to_program(self, structure: RowStructure, fixed: FloatArray, threads: int) -> Program:
        """Return the restricted problem: the bounds, less what the fixed points add to the moments."""
        whole, Z, fixed = self.task, DenseColumns(self.rows, threads), structure.to_rows(fixed)
        weights, caps = whole.weights[self.points], whole.caps[self.points]
        return Program(Z, structure, weights, caps, whole.lower - fixed, whole.upper - fixed)
