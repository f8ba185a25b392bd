"""Sifting: exact optima of problems with many points and few moments, an order of magnitude faster than a general solver.

A sample of the points gives a first hyperplane. Points far from it keep their side; those near it make up a small problem,
solved exactly (an interior-point method that finds what matters, then a simplex method on that: :mod:`.restricted`). One pass
over all points (:mod:`.pricing`) finds those that the new hyperplane puts on the other side; they come in, and so on until
there are none. Then the small optimum is the optimum of the whole: the scores of all points agree with their memberships,
which is what the certificate checks.

Samples are nested (some thousands, sixteen times as many, ..., all), so that each hyperplane is nearly right for the next
and few passes over all points are needed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from momentlp.arrays import FloatArray, IndexArray
from momentlp.backend import Answer, Backend, Capability, Options, Outcome, Progress
from momentlp.errors import OptionError
from momentlp.problem import Problem
from momentlp.registry import find_backend, get_backend
from momentlp_sifting.interior import Barrier
from momentlp_sifting.pricing import Priced, nearest, price, sides
from momentlp_sifting.restricted import Pair, Stopped, Tally, settle

__all__ = ["Sifting"]

FIRST = 4000  # points of the smallest sample, or
PER_MOMENT = 16  # as many per moment
GROWTH = 16  # from one sample to the next
BAND = 5.0  # half the width of the first band, in standard errors of the sample's hyperplane
AT_ONCE = 20_000, 40  # points, or points per moment, up to which all of them are looked at together
ROOM = 1 << 26  # bytes of rows that the small problem may take in at a time
ROUNDS = 100
WIDEST = 3000  # moments from which the m x m matrices of the interior-point method are too large
TIGHT = 1e-9  # feasibility tolerance of the small problems
DEFAULTS = {"backend": "highs", "random_state": 0}


class Sifting(Backend):
    """Sifting with another backend for the small problems: ``Sifting(backend="highs", random_state=0)``."""

    name: ClassVar[str] = "sifting"
    engine: ClassVar[str] = "sifting + HiGHS"
    package: ClassVar[str] = "highspy"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability) - {Capability.LOG}

    @classmethod
    def version(cls) -> str:
        """Return the version of the solver inside."""
        return find_backend(str(DEFAULTS["backend"])).version()

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve."""
        self.reject_unknown(options.native, DEFAULTS)
        native = DEFAULTS | dict(options.native)
        try:
            seed = np.random.default_rng(native["random_state"])
        except (TypeError, ValueError):
            raise OptionError(f"sifting needs a whole number for random_state, not {native['random_state']!r}.") from None
        return _Run(problem, get_backend(native["backend"]), options, seed).answer()


class _Run:
    """One solve: what is left of the limits, and the flow from samples to all points."""

    def __init__(self, problem: Problem, inner: Backend, options: Options, random: np.random.Generator) -> None:
        self.problem, self.inner, self.options, self.random = problem, inner, options, random
        self.tally, self.passes, self.started = Tally(), 0, time.perf_counter()

    def answer(self) -> Answer:
        """Solve, and say how it went."""
        outcome, message = Outcome.OPTIMAL, "optimal"
        try:
            h, y = self.whole()
        except Stopped as stopped:
            h, y = stopped.pair
            outcome, message = stopped.answer.outcome, stopped.answer.message
        tally = self.tally
        return Answer(
            outcome,
            membership=h,
            multipliers=y,
            message=(
                f"sifting: {message} ({self.passes} passes, {tally.steps} interior steps, {tally.programs} small programs, "
                f"the largest of {tally.largest[0]} points and {tally.largest[1]} moments)"
            ),
            iterations=tally.steps + tally.iterations,
            engine=f"sifting + {self.inner.engine}",
        )

    def whole(self) -> Pair:
        """Return the optimum of the whole problem."""
        problem, start = self.problem, self.options.start
        if problem.n_moments > WIDEST:
            answer = self.small(problem, start)
            if answer.membership is None or answer.multipliers is None or answer.outcome is not Outcome.OPTIMAL:
                raise Stopped(answer, _pair(problem, answer))
            return answer.membership, answer.multipliers
        return self.solve(problem, start)

    def solve(self, problem: Problem, start: Pair | None) -> Pair:
        """Return the optimum: at once where the problem is small, from a sample of its points where it is not."""
        least = max(FIRST, PER_MOMENT * problem.n_moments)
        if problem.n_points <= max(AT_ONCE[0], AT_ONCE[1] * problem.n_moments):
            return self.at_once(problem, start)
        if start is not None:
            open_ = (start[0] > 0) & (start[0] < problem.caps)
            count = min(problem.n_points, int(open_.sum()) + 2 * int((start[1] != 0).sum()) + 200)
            self.passes += 1
            return self.sift(problem, start[1], nearest(problem, start[1], count))
        size = max(least, problem.n_points // GROWTH)
        chosen = np.sort(self.random.choice(problem.n_points, size, replace=False))
        rows = problem.A.rows(chosen)
        weights, caps = problem.weights[chosen], problem.caps[chosen]
        share = float(caps.sum()) / float(problem.caps.sum())
        sample = Problem.from_arrays(rows, share * problem.lower, share * problem.upper, weights=weights, caps=caps)
        try:
            _, y = self.solve(sample, None)
        except Stopped as stopped:
            if stopped.answer.outcome is Outcome.LIMIT:
                raise Stopped(stopped.answer, (np.zeros(problem.n_points), stopped.pair[1])) from None
            y = stopped.pair[1]  # a sample may have no answer where the whole has one
        distances = np.abs(weights - rows @ y)
        error = float(np.median(distances)) * np.sqrt(max(1, np.count_nonzero(y)) / size)
        return self.sift(problem, y, BAND * error)

    def at_once(self, problem: Problem, start: Pair | None) -> Pair:
        """Solve a problem that fits in memory."""
        live = np.flatnonzero(problem.caps > 0)
        rows = problem.A.rows(slice(None) if live.size == problem.n_points else live)
        dense = Barrier(rows, problem.weights[live], problem.caps[live], problem.lower, problem.upper)
        h = np.zeros(problem.n_points)
        try:
            h[live], y = settle(dense, self.small, self.tally, None if start is None else (start[0][live], start[1]))
        except Stopped as stopped:
            h[live] = stopped.pair[0]
            raise Stopped(stopped.answer, (h, stopped.pair[1])) from None
        return h, y

    def sift(self, problem: Problem, y: FloatArray, band: float) -> Pair:
        """Price all points, solve on those near the hyperplane, and again, until no point changes sides."""
        most = max(2 * FIRST, ROOM // (8 * problem.n_moments))
        first, now = y, _Near.none(problem)
        for _ in range(ROUNDS):
            found = price(problem, y, now.sides_at, now.points, band, most)
            self.passes += 1
            if now.sides_at is not None and found.strays == 0:
                return self.joined(problem, now, y)
            if now.sides_at is not None and found.strays > now.points.size // 2 and now.points.size < most // 2:
                band, y, now = 3 * now.band, first, _Near.none(problem)  # the band was too narrow: begin again
                continue
            now = now.with_points(found, y, band)
            small = now.barrier(problem, found.held)
            try:
                now.h, y = settle(small, self.small, self.tally, now.start)
            except Stopped as stopped:
                if stopped.answer.outcome is Outcome.INFEASIBLE and now.points.size < min(most // 2, problem.n_points):
                    band, y, now = 3 * max(now.band, 1e-3), first, _Near.none(problem)
                    continue
                now.h = stopped.pair[0]
                raise Stopped(stopped.answer, self.joined(problem, now, stopped.pair[1])) from None
            band = float(np.median(np.abs(now.rows @ (y - now.sides_at)))) / 4
        raise Stopped(Answer(Outcome.FAILED, None, None, f"no end after {ROUNDS} rounds"), self.joined(problem, now, y))

    def joined(self, problem: Problem, now: _Near, y: FloatArray) -> Pair:
        """Return the memberships of all points: those of the small problem, and the sides of the others."""
        self.passes += 1
        h = sides(problem, now.sides_at if now.sides_at is not None else y)
        h[now.points] = now.h
        return h, y

    def small(self, problem: Problem, start: Pair | None) -> Answer:
        """Let the inner backend solve a small problem, with what is left of the limits."""
        options = replace(self.options, start=start, native={}, progress=None)
        if options.time_limit is not None:
            left = options.time_limit - (time.perf_counter() - self.started)
            if left <= 0:
                return Answer(Outcome.LIMIT, None, None, "time limit")
            options = replace(options, time_limit=left)
        if options.iteration_limit is not None:
            options = replace(options, iteration_limit=max(0, options.iteration_limit - self.tally.iterations))
        if options.feasibility_tolerance is None:
            options = replace(options, feasibility_tolerance=TIGHT)
        wanted = {capability.value for capability in options.asked() - self.inner.capabilities}
        options = replace(options, **dict.fromkeys(wanted))
        answer = self.inner.run(problem, options)
        if self.options.progress is not None:
            size = None if answer.membership is None else float(problem.weights @ answer.membership)
            self.options.progress(Progress(self.tally.iterations, time.perf_counter() - self.started, size))
        return answer


@dataclass
class _Near:
    """The points of the small problem.

    Attributes
    ----------
    points, rows, h : arrays
        Which, their rows of A, and their memberships.
    sides_at : array, shape (m,), or None
        The multipliers at which all other points were put on their sides.
    band : float
        How far from the hyperplane points were taken in at first.
    start : pair or None
        (h, y) from which to solve; None the first time.
    """

    problem: Problem
    points: IndexArray
    rows: FloatArray
    h: FloatArray
    sides_at: FloatArray | None = None
    band: float = 0.0
    start: Pair | None = None

    @classmethod
    def none(cls, problem: Problem) -> _Near:
        """Begin with no points."""
        return cls(problem, np.zeros(0, dtype=np.intp), np.zeros((0, problem.n_moments)), np.zeros(0))

    def with_points(self, found: Priced, y: FloatArray, band: float) -> _Near:
        """Return it with the points that a pass found, each on its side."""
        points = np.concatenate([self.points, found.points])
        order = np.argsort(points)
        h = np.concatenate([self.h, np.where(found.inside, self.problem.caps[found.points], 0.0)])[order]
        again = self.sides_at is not None
        return _Near(
            self.problem, points[order], np.vstack([self.rows, found.rows])[order], h,
            sides_at=y, band=self.band if again else band, start=(h, y) if again else None,
        )  # fmt: skip

    def barrier(self, problem: Problem, held: FloatArray) -> Barrier:
        """Return the small problem: what the others hold is taken off the bounds."""
        return Barrier(
            self.rows, problem.weights[self.points], problem.caps[self.points], problem.lower - held, problem.upper - held
        )


def _pair(problem: Problem, answer: Answer) -> Pair:
    h = np.zeros(problem.n_points) if answer.membership is None else answer.membership
    return h, np.zeros(problem.n_moments) if answer.multipliers is None else answer.multipliers
