"""The search for a whole set: exchanges and small integer programs among the points near the hyperplane.

The linear program is solved already: its multipliers y give every point a score, and every whole set a bound. A set that
contains a point of negative score, or lacks one of positive score, weighs less than the bound by at least that score. So the
points that may be on the wrong side of the hyperplane in a good set lie near it: they are the *core*. All others are fixed
on their sides. Given a set of weight z, no set that weighs more differs from the hyperplane at a point with ``|score| >
bound - z``: such points are fixed for good.

1. If the core of all points that are not fixed is small, an integer program decides.
2. Exchanges look for heavier and heavier sets, in cores of several sizes (:mod:`~momentlp_core.exchange`).
3. With a time limit, both go on, in larger cores, until the set meets the bound or the time is over. Without one, an integer
   program of all points that are not fixed ends the search, if they are not too many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from momentlp.backend.auto import choose_backend
from momentlp.backend.interface import Answer, Backend, Options, Outcome, Progress
from momentlp.backend.registry import get_backend
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.problem.problem import Problem
from momentlp.problem.whole_sets import round_down_bound
from momentlp_core.core_program import CoreProgram
from momentlp_core.exchange import exchange

__all__ = ["Search"]

SMALL = 200  # points of a core whose integer program is tried first
POOLS = (2, 3, 6, 12, 25)  # points per active moment in the cores of the exchanges; four times as many at every turn
MIN_POOL = 100
PATIENCE = 1500  # exchanges without a heavier set, after which the next core is tried; twice as many at every turn
MAX_TURNS, MAX_TURNS_WITHOUT_SET = 20, 4  # with a time limit, and without one
NEGLIGIBLE = 1e-9  # multipliers, relative to the weights, that count as zero
# Steps below the bound where the first set is looked for; and how much further below if there is none.
BACK_PER_MOMENT, MIN_BACK, FURTHER_BACK = 0.25, 2.0, 3
FEW_ACTIVE, MAX_NODES = 16, 1000  # active moments up to which integer programs are tried without a time limit; their nodes
MAX_LAST_POINTS, MAX_LAST_NODES = 3000, 200  # of the integer program at the end, without a time limit
SHARE_OF_TIME = 0.25  # that an integer program may take of the time that is left
STEP_WITHOUT_UNIT = 1e-4  # of the median weight: the least gain that counts where weights have no common unit
SECONDS_BETWEEN_REPORTS = 0.1


class Search:
    """One search.

    Parameters
    ----------
    problem : Problem
    inner : Backend
        For integer programs.
    options : Options
    random : Generator
    max_exchanges : int
        If there is no time limit.
    """

    def __init__(
        self, problem: Problem, inner: Backend, options: Options, random: np.random.Generator, max_exchanges: int
    ) -> None:
        self.problem, self.inner, self.options, self.random = problem, inner, options, random
        self.max_exchanges, self.n_exchanges, self.n_programs = max_exchanges, 0, 0
        self.started = self.last_report = time.perf_counter()
        self.best: FloatArray | None = None
        self.is_all_whole = bool(np.asarray(problem.whole).all())
        self.is_complete = self.is_infeasible = False

    def run(self) -> Answer:
        """Search, and return the best set with the multipliers of the linear program."""
        if self.options.start is None:
            answer = self._solve_relaxed()
            if answer.membership is None or answer.multipliers is None or answer.outcome is not Outcome.OPTIMAL:
                return replace(answer, membership=None)
            self.fuzzy, self.y = answer.membership, answer.multipliers
        else:
            self.fuzzy, self.y = self.options.start
        problem = self.problem
        self.rounded = np.clip(np.where(np.asarray(problem.whole), np.rint(self.fuzzy), self.fuzzy), 0.0, problem.caps)
        self.scores = np.asarray(problem.weights - problem.A @ self.y, dtype=np.float64)
        bounds = np.where(self.y > 0, problem.upper, np.where(self.y < 0, problem.lower, 0.0))
        self.bound = float(problem.caps @ np.maximum(self.scores, 0.0) + bounds @ self.y)
        self.limit = round_down_bound(self.bound, problem.weight_step)
        self.n_active = max(1, int(np.count_nonzero(np.abs(self.y) * problem.scale > NEGLIGIBLE * problem.point_weight)))
        self.n_basic = max(self.n_active, int(np.count_nonzero(self.fuzzy != self.rounded)))
        self.step = problem.weight_step or STEP_WITHOUT_UNIT * float(np.median(np.abs(problem.weights)))
        interrupted = False
        try:
            self._search()
        except KeyboardInterrupt:
            if self.best is None:
                raise
            interrupted = True
        return self._answer(interrupted)

    # the steps ------------------------------------------------------------------------------------------------------

    def _search(self) -> None:
        """Alternate between integer programs and exchanges; without a time limit only until a set is found."""
        is_small_problem = self._free_points().size <= SMALL
        for turn in range(MAX_TURNS if self.options.time_limit is not None else MAX_TURNS_WITHOUT_SET):
            free = self._free_points()
            size = SMALL << turn
            is_worth_it = self.n_active <= FEW_ACTIVE or (turn > 0 and self.best is not None) or turn > 1
            if is_worth_it or is_small_problem or not self.is_all_whole:
                self._solve_integer_program(free[:size], is_all=size >= free.size)
            if self.is_all_whole:
                pools = {min(free.size, max(MIN_POOL, share * self.n_basic) << 2 * turn) for share in POOLS}
                for pool in sorted(pools):
                    self._exchange(free[:pool], turn)
            if self._is_over():
                return
            if self.options.time_limit is None and self.best is not None:
                self._try_to_finish()
                return

    def _try_to_finish(self) -> None:
        """Let an integer program of all points that may still change sides decide, if they are not too many."""
        free = self._free_points()
        if self.n_active <= FEW_ACTIVE and free.size <= MAX_LAST_POINTS:
            self._solve_integer_program(free, is_all=True, max_nodes=MAX_LAST_NODES)

    def _free_points(self) -> IndexArray:
        """Return the points that may change sides in a heavier set, the nearest to the hyperplane first."""
        distance = np.abs(self.scores)
        gap = np.inf if self.best is None else self.bound - self._weight(self.best) - self.step
        near = (distance <= gap + 1e-9 * max(1.0, abs(self.bound))) | ~np.asarray(self.problem.whole)
        free = np.flatnonzero((self.problem.caps > 0) & near)
        # Where many points lie on the hyperplane, fractional ones come first, then members, then the others at random.
        is_tied = distance <= NEGLIGIBLE * self.problem.point_weight
        rank = np.where(self.fuzzy != self.rounded, 0, np.where(is_tied & (self.fuzzy <= 0), 2, 1))[free]
        distance = np.where(is_tied, 0.0, distance)[free]
        return free[np.lexsort((self.random.random(free.size), rank, distance))]

    def _solve_integer_program(self, points: IndexArray, *, is_all: bool, max_nodes: int = MAX_NODES) -> None:
        """Find the best set that differs from the sides of the hyperplane at these points only, by branch and bound."""
        # The others are fixed for good: a heavier set has them on their sides of the hyperplane, even if the best has not.
        core = CoreProgram.of(self.problem, points, self.rounded) if is_all else self._core(points)
        answer = self.inner.run(core.to_problem(), self._options_of_integer_program(max_nodes))
        self.n_programs += 1
        self._write_log(f"integer program of {points.size:,} points: {answer.outcome.value}")
        is_kept = False
        if answer.membership is not None:
            x = np.where(np.asarray(self.problem.whole)[points], np.rint(answer.membership), answer.membership)
            is_kept = core.is_feasible(x) or not self.is_all_whole  # the caller mends memberships that may be fractional
            if is_kept:
                self._keep(core.fill(x))
        if is_all and answer.outcome is Outcome.INFEASIBLE:
            self.is_infeasible, self.is_complete = self.best is None, self.best is not None
        if is_all and is_kept and answer.outcome is Outcome.OPTIMAL:
            self.is_complete = True

    def _exchange(self, points: IndexArray, turn: int) -> None:
        """Look for heavier sets by exchanges among these points."""
        if not points.size or self._is_over():
            return
        core = self._core(points)
        back, is_second_try = max(MIN_BACK, BACK_PER_MOMENT * self.n_active) * self.step * FURTHER_BACK**turn, False
        while not self._is_over():
            target = self.limit - back if self.best is None else self._weight(self.best) + self.step
            x = exchange(
                core.rows(self.y, self.problem.point_weight),
                core.start(self.rounded if self.best is None else self.best),
                target - core.outside,
                self.step,
                self.limit - core.outside,
                self.random,
                PATIENCE << turn,
                self._counter(),
            )
            if x is not None and core.is_feasible(x):
                self._keep(core.fill(x))
                return
            if x is None and (self.best is not None or back > abs(self.limit) or is_second_try):
                return
            if x is None:  # no set is so near the bound, or it is too hard to find
                back, is_second_try = FURTHER_BACK * back, True
            elif not core.watch_violated(x):
                return

    def _counter(self) -> Callable[[int], bool]:
        """Return the function that counts exchanges, and says when to stop."""
        before = self.n_exchanges

        def is_over(n_done: int) -> bool:
            self.n_exchanges = before + n_done
            return self._is_over()

        return is_over

    # the parts ------------------------------------------------------------------------------------------------------

    def _core(self, points: IndexArray) -> CoreProgram:
        """Return the program of some points; the others stay as in the best set, or as in the rounded fuzzy set."""
        return CoreProgram.of(self.problem, points, self.rounded if self.best is None else self.best)

    def _options_of_integer_program(self, max_nodes: int) -> Options:
        left = self._seconds_left()
        share = None if left is None else max(0.01, left * (SHARE_OF_TIME if self.problem.n_points > SMALL else 1.0))
        return Options(
            time_limit=share,
            iteration_limit=max_nodes if left is None and self.problem.n_points > SMALL else None,
            threads=self.options.threads,
            native=dict(self.inner.native),
        )

    def _solve_relaxed(self) -> Answer:
        relaxed = self.problem.relaxed()
        linear = get_backend(choose_backend(relaxed))
        return linear.run(relaxed, replace(self.options, start=None, native=dict(linear.native), progress=None))

    def _keep(self, h: FloatArray) -> None:
        """Keep a set if it is the heaviest so far."""
        if self.best is None or self._weight(h) > self._weight(self.best):
            self.best = h
            self._write_log(f"a set that weighs {self._weight(h):.10g}, bound {self.limit:.10g}")
            self._report(now=True)

    def _weight(self, h: FloatArray) -> float:
        return float(np.ascontiguousarray(self.problem.weights) @ h)

    # limits and reports -----------------------------------------------------------------------------------------------

    def _is_over(self) -> bool:
        """Return whether the set meets the bound, nothing is left to search, or a limit was reached."""
        self._report()
        if self.is_complete or self.is_infeasible:
            return True
        if self.best is not None and self._weight(self.best) + 0.5 * self.step > self.limit:
            return True
        limit = self.options.iteration_limit
        if limit is not None and self.n_exchanges >= limit:
            return True
        left = self._seconds_left()
        return self.n_exchanges >= self.max_exchanges if left is None else left <= 0

    def _seconds_left(self) -> float | None:
        limit = self.options.time_limit
        return None if limit is None else limit - (time.perf_counter() - self.started)

    def _report(self, *, now: bool = False) -> None:
        clock = time.perf_counter()
        if self.options.progress is None or not (now or clock - self.last_report >= SECONDS_BETWEEN_REPORTS):
            return
        self.last_report = clock
        weight = None if self.best is None else self._weight(self.best)
        self.options.progress(Progress(self.n_exchanges, clock - self.started, weight, self.limit))

    def _write_log(self, line: str) -> None:
        if self.options.sink is not None:
            self.options.sink(f"core: {line}\n")

    def _answer(self, interrupted: bool) -> Answer:
        work = f"{self.n_exchanges:,} exchanges, {self.n_programs} integer programs by {self.inner.name}"
        reason = "interrupted" if interrupted else "; ".join(self._reasons())
        met = self.best is not None and self._weight(self.best) + 0.5 * self.step > self.limit
        outcome = Outcome.OPTIMAL if met or self.is_complete else Outcome.LIMIT
        if self.is_infeasible and self.best is None:
            outcome = Outcome.INFEASIBLE
        return Answer(
            outcome=outcome,
            membership=self.best,
            multipliers=self.y,
            message=f"core: {reason} ({work})",
            iterations=self.n_exchanges,
            engine=self.inner.engine,
            claimed_bound=self._weight(self.best) if self.is_complete and self.best is not None else None,
        )

    def _reasons(self) -> Iterator[str]:
        if self.is_infeasible and self.best is None:
            yield "branch and bound found no set"
        elif self.is_complete:
            yield "branch and bound found no heavier set"
        elif self.best is not None and self._weight(self.best) + 0.5 * self.step > self.limit:
            yield "the set meets the bound"
        else:
            yield "time limit" if self.options.time_limit is not None else "limit of exchanges"
