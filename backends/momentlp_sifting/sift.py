"""From a sample to all points.

Samples are nested (some thousands, sixteen times as many, ..., all), so that each hyperplane is nearly right for the next
and few passes over all points are needed. The hyperplane of n points with k multipliers is off by about ``sqrt(k / n)`` of
the typical score: points within a few times that of it may change sides when all points are looked at, and make up the first
small problem. If that turns out to be too few, the band is widened.
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
from momentlp_sifting.interior import Barrier
from momentlp_sifting.pricing import Priced, nearest, price, sides
from momentlp_sifting.restricted import Pair, StoppedError, Tally, settle

__all__ = ["Sift"]

AT_ONCE = 20_000, 40  # points, or points per moment, up to which all of them are looked at together
FIRST, PER_MOMENT = 4000, 16  # points, or points per moment, of the smallest sample
GROWTH = 16  # from one sample to the next
BAND = 5.0  # half the width of the first band, in standard errors of the sample's hyperplane
WIDER = 3.0  # how much wider the band is made where it was too narrow
REACH = 200  # points near the hyperplane of a start, beyond those that a vertex needs
ROUNDS = 100
MOST_THREADS = 8
PATIENCE = 6  # iterations per moment after which a start is given up
WIDEST = 3000  # moments from which the m x m matrices of the interior-point method are too large
TIGHT = 1e-9  # feasibility tolerance of the small problems
OUT_OF_TIME = Answer(Outcome.LIMIT, None, None, "time limit")


class Sift:
    """One solve: what is left of the limits, and the flow from samples to all points.

    Attributes
    ----------
    passes : int
        Passes over all points.
    gave_up : bool
        Whether the inner backend had to solve the whole.
    tally : Tally
        What the small problems took.
    """

    def __init__(self, problem: Problem, inner: Backend, options: Options, random: np.random.Generator, room: int) -> None:
        self.problem, self.inner, self.options, self.random, self.room = problem, inner, options, random, room
        self.tally, self.passes, self.started = Tally(self.late), 0, time.perf_counter()
        self.gave_up = False
        self.threads = options.threads or min(n_cores(), MOST_THREADS)

    def run(self) -> Pair:
        """Return the optimum; where sifting finds none, that of the inner backend on the whole.

        Raises
        ------
        StoppedError
            If there is none, or a limit was reached.
        """
        problem, start = self.problem, self.options.start
        if problem.n_moments <= WIDEST:
            for begin in (None,) if start is None else (start, None):  # a start may lead astray, but not for good
                try:
                    return self.solve(problem, begin)
                except StoppedError as stopped:
                    if stopped.answer.outcome is Outcome.LIMIT or (begin is None and problem.A.table is not None):
                        raise
        self.gave_up = True
        answer = self.small(problem, None)
        self.tally.count(answer, problem.A.shape)
        h = np.zeros(problem.n_points) if answer.membership is None else answer.membership
        y = np.zeros(problem.n_moments) if answer.multipliers is None else answer.multipliers
        if answer.outcome is not Outcome.OPTIMAL:
            raise StoppedError(answer, (h, y))
        return h, y

    def solve(self, problem: Problem, start: Pair | None) -> Pair:
        """Return the optimum: at once where the problem is small, from a sample of its points where it is not."""
        n, m = problem.A.shape
        size = max(FIRST, PER_MOMENT * m, min(n // GROWTH, self.room // (8 * m)))
        if n <= max(AT_ONCE[0], AT_ONCE[1] * m, 2 * size):
            return self.at_once(problem, start)
        if start is not None:
            between = (start[0] > 0) & (start[0] < problem.caps)
            return self.sift(problem, start[1], self.reach(problem, start[1], int(between.sum())))
        live: Any = n if is_constant_vector(problem.caps) and problem.caps[0] > 0 else np.flatnonzero(problem.caps > 0)
        if np.ndim(live) and live.size <= 2 * size:
            return self.at_once(problem, None)
        chosen = np.sort(self.random.choice(live, size, replace=False))
        rows, weights, caps = problem.A.rows(chosen), problem.weights[chosen], problem.caps[chosen]
        self.passes += problem.A.table is not None  # in memory, rows are at hand
        share = float(caps.sum()) / float(problem.caps.sum())
        sample = Problem.from_arrays(rows, share * problem.lower, share * problem.upper, weights=weights, caps=caps)
        try:
            _, y = self.solve(sample, None)
        except StoppedError as stopped:
            if stopped.answer.outcome is Outcome.LIMIT:
                raise StoppedError(stopped.answer, (np.zeros(n), stopped.pair[1])) from None
            y = stopped.pair[1]  # a sample may have no answer where the whole has one
        off = float(np.median(np.abs(weights - rows @ y))) * float(np.sqrt(max(1, int(np.count_nonzero(y))) / size))
        del rows, sample  # they may be as large as what comes next
        return self.sift(problem, y, BAND * off)

    def at_once(self, problem: Problem, start: Pair | None) -> Pair:
        """Solve a problem that fits in memory."""
        live = np.flatnonzero(problem.caps > 0)
        if not live.size:
            return np.zeros(problem.n_points), np.zeros(problem.n_moments)
        rows = problem.A.rows(slice(None) if live.size == problem.n_points else live)
        dense = Barrier(rows, problem.weights[live], problem.caps[live], problem.lower, problem.upper, self.threads)
        h = np.zeros(problem.n_points)
        try:
            h[live], y = settle(dense, self.small, self.tally, None if start is None else (start[0][live], start[1]))
        except StoppedError as stopped:
            h[live] = stopped.pair[0]
            raise StoppedError(stopped.answer, (h, stopped.pair[1])) from None
        return h, y

    def sift(self, problem: Problem, y: FloatArray, band: float) -> Pair:
        """Price all points, solve on those near the hyperplane, and again, until no point changes sides."""
        most = max(2 * FIRST, self.room // (8 * problem.n_moments))
        first, now = y, _Near.nothing(problem, y)
        for _ in range(ROUNDS):
            if self.late():
                raise StoppedError(OUT_OF_TIME, self.joined(now, y))
            found = price(problem, y, now.sides_at if now.solved else None, now.points, band, most)
            self.passes += problem is self.problem
            self.tell(f"{problem.n_points:,} points: {found.points.size:,} come in, {found.strays:,} changed sides")
            if now.solved and found.strays == 0:
                return self.joined(now, y)
            narrow = found.strays > now.points.size // 2 and now.points.size < most // 2
            if now.solved and narrow:  # begin again
                band, y, now = WIDER * now.band, first, _Near.nothing(problem, first)
                continue
            if now.points.size + found.points.size == 0:
                band = self.reach(problem, y)
                continue
            now = now.joined_by(found, y, band)
            try:
                now.h, y = settle(
                    now.barrier(found.held, self.threads), self.small, self.tally, (now.h, y) if now.solved else None
                )
            except StoppedError as stopped:
                if stopped.answer.outcome is Outcome.INFEASIBLE and now.points.size < min(most // 2, problem.n_points):
                    band, y, now = WIDER * max(now.band, 1e-3), first, _Near.nothing(problem, first)
                    continue
                now.h = stopped.pair[0]
                raise StoppedError(stopped.answer, self.joined(now, stopped.pair[1])) from None
            now.solved = True
            band = float(np.median(np.abs(now.rows @ (y - now.sides_at)))) / 4  # the next move will be smaller
        raise StoppedError(Answer(Outcome.FAILED, None, None, f"no end after {ROUNDS} rounds"), self.joined(now, y))

    def reach(self, problem: Problem, y: FloatArray, more: int = 0) -> float:
        """Return how far from the hyperplane to look for as many points as a vertex needs, and some more."""
        self.passes += problem is self.problem
        return nearest(problem, y, min(problem.n_points, more + 2 * int(np.count_nonzero(y)) + REACH))

    def joined(self, now: _Near, y: FloatArray) -> Pair:
        """Return the memberships of all points: those of the small problem, and the sides of the others."""
        self.passes += now.problem is self.problem
        h = sides(now.problem, now.sides_at)
        h[now.points] = now.h
        return h, y

    def late(self) -> bool:
        """Whether time is up."""
        return self.left() <= 0

    def left(self) -> float:
        """Return the seconds that are left."""
        limit = self.options.time_limit
        return float("inf") if limit is None else limit - (time.perf_counter() - self.started)

    def tell(self, line: str) -> None:
        """Write a line to the log, if there is one."""
        if self.options.sink is not None:
            self.options.sink(f"sifting: {line}\n")

    def small(self, problem: Problem, start: Pair | None) -> Answer:
        """Let the inner backend solve a small problem, with what is left of the limits."""
        if self.late():
            return OUT_OF_TIME
        asked = self.options
        options = replace(
            asked,
            start=start,
            native=dict(self.inner.native),
            progress=None,
            time_limit=None if asked.time_limit is None else self.left(),
            iteration_limit=None if asked.iteration_limit is None else max(0, asked.iteration_limit - self.tally.iterations),
            feasibility_tolerance=asked.feasibility_tolerance or TIGHT,
        )
        own = {Capability.START, Capability.FEASIBILITY_TOLERANCE}  # which sifting asks for by itself
        without: dict[str, Any] = {capability.value: None for capability in own - self.inner.capabilities}
        self.tell(f"{self.inner.name} solves for {problem.n_points:,} points and {problem.n_moments:,} moments")
        answer = self._patiently(problem, replace(options, **without))
        if asked.progress is not None:
            asked.progress(Progress(self.tally.iterations, time.perf_counter() - self.started))
        return answer

    def _patiently(self, problem: Problem, options: Options) -> Answer:
        """Solve from a start, unless that turns out to be worse than none."""
        if options.start is None:
            return self.inner.run(problem, options)
        patience = PATIENCE * problem.n_moments + REACH
        limit = patience if options.iteration_limit is None else min(patience, options.iteration_limit)
        capable = Capability.ITERATION_LIMIT in self.inner.capabilities
        answer = self.inner.run(problem, replace(options, iteration_limit=limit) if capable else options)
        spent = answer.outcome is Outcome.LIMIT and limit == patience and not self.late()
        if spent or answer.outcome is Outcome.FAILED:
            self.tally.iterations += answer.iterations or 0
            return self.inner.run(problem, replace(options, start=None))
        return answer


@dataclass
class _Near:
    """The points of the small problem.

    Attributes
    ----------
    points, rows, h : arrays
        Which, their rows of A, and their memberships.
    sides_at : array, shape (m,)
        The multipliers at which all other points were put on their sides.
    band : float
        How far from the hyperplane points were taken in at first.
    solved : bool
        Whether h is the answer to a small problem.
    """

    problem: Problem
    points: IndexArray
    rows: FloatArray
    h: FloatArray
    sides_at: FloatArray
    band: float = 0.0
    solved: bool = False

    @classmethod
    def nothing(cls, problem: Problem, y: FloatArray) -> _Near:
        """Begin with no points."""
        return cls(problem, np.zeros(0, dtype=np.intp), np.zeros((0, problem.n_moments)), np.zeros(0), y)

    def joined_by(self, found: Priced, y: FloatArray, band: float) -> _Near:
        """Return it with the points that a pass found, each on the side where it was: what was feasible stays so."""
        sides = np.where(found.inside, self.problem.caps[found.points], 0.0)
        if not self.points.size:
            return _Near(self.problem, found.points, found.rows, sides, y, band)
        points = np.concatenate([self.points, found.points])
        order = np.argsort(points)
        h, rows = np.concatenate([self.h, sides])[order], np.vstack([self.rows, found.rows])[order]
        return _Near(self.problem, points[order], rows, h, y, self.band, self.solved)

    def barrier(self, held: FloatArray, threads: int) -> Barrier:
        """Return the small problem: what the others hold is taken off the bounds."""
        whole = self.problem
        weights, caps = whole.weights[self.points], whole.caps[self.points]
        return Barrier(self.rows, weights, caps, whole.lower - held, whole.upper - held, threads)
