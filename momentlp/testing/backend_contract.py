"""The contract of a backend: a pytest suite that every backend must pass, ours and yours.

Put this into a test module and run pytest::

    from momentlp.testing import BackendContract


    class TestMine(BackendContract):
        backend = "mine"  # a registered name, or an instance

All tests call :func:`momentlp.solve`. They check the optimum of problems where it is known without a solver, the sign of
every multiplier, statuses, limits, faults, options, threads and determinism. A backend must refuse the options that it does
not declare among its capabilities. No test can be switched off.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from momentlp.backend.interface import Backend, Capability, Progress
from momentlp.backend.registry import available_version, get_backend
from momentlp.backend.registry import backends as registered
from momentlp.errors import OptionError, SolverError
from momentlp.points.arrays import FloatArray
from momentlp.problem.problem import Problem
from momentlp.proof.dual_bound import farkas_value
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import Absolute
from momentlp.status import Status
from momentlp.testing.faults import FAULTS, Faulty
from momentlp.testing.known_problems import KNOWN, KnownProblem, half_space

__all__ = ["BackendContract", "backends_without_contract"]

TOLERANCE = 1e-6  # relative, on objectives


class BackendContract:
    """The test suite of a backend: subclass it in a test module, set ``backend``, and run pytest.

    Attributes
    ----------
    backend : str or Backend
        A registered name, or an instance.

    Examples
    --------
    >>> class TestHighs(BackendContract):
    ...     backend = "highs"
    >>> TestHighs().solve(TestHighs().easy).status.name
    'OPTIMAL'
    """

    backend: str | Backend

    # right answers ------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
    def test_known_optimum(self, known: KnownProblem) -> None:
        """The objective and the status are the known ones, and the certificate holds."""
        solution = self.solve(known.make())
        assert solution.status is known.status, solution.message
        assert solution.objective == pytest.approx(known.optimum, rel=TOLERANCE, abs=TOLERANCE)
        assert solution.certificate.holds()
        assert solution.bound >= solution.objective

    def test_separator_agrees_with_membership(self) -> None:
        """Away from the hyperplane, points that score above zero are in and points below are out."""
        problem, _ = half_space(300, 4, seed=7)
        solution = self.solve(problem)
        clear = np.abs(solution.scores) > 1e-6
        assert clear.sum() > 250
        assert np.allclose(solution.membership[clear], solution.scores[clear] > 0, atol=1e-6)

    def test_answer_belongs_to_the_caller(self) -> None:
        """Solving changes nothing in the problem."""
        problem, _ = half_space(80, 3, seed=3)
        before = problem.A.toarray(), problem.lower.copy(), problem.upper.copy(), problem.weights.copy(), problem.caps.copy()
        self.solve(problem)
        after = problem.A.toarray(), problem.lower, problem.upper, problem.weights, problem.caps
        assert all(np.array_equal(old, new) for old, new in zip(before, after, strict=True))

    # signs ----------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("seed", range(3))
    def test_multipliers_are_derivatives(self, seed: int) -> None:
        """If an active bound moves by a small step, the optimum changes by the multiplier times the step."""
        problem = _make_two_sided_problem(seed)
        solution = self.solve(problem)
        y = solution.multipliers
        assert (y > 1e-6).any(), "the problem should have an active upper bound"
        assert (y < -1e-6).any(), "the problem should have an active lower bound"
        step = 1e-4
        for moment in np.flatnonzero(np.abs(y) > 1e-6).tolist():
            side = "upper" if y[moment] > 0 else "lower"
            moved = self.solve(_move_bound(problem, moment, side, step))
            assert moved.objective - solution.objective == pytest.approx(y[moment] * step, rel=1e-3, abs=1e-7)

    # statuses -------------------------------------------------------------------------------------------------------

    def test_empty_carries_the_separating_direction(self) -> None:
        """If no set has the mean, all points lie on one side of it along the direction."""
        X = np.random.default_rng(0).normal(size=(60, 3)) + 6.0
        problem = Spec().compile(X, mean=np.zeros(3))
        solution = self.solve(problem)
        assert solution.status is Status.EMPTY
        assert (X @ solution.direction > 0).all()

    def test_infeasible_carries_a_proof(self) -> None:
        """If the bounds contradict each other, the multipliers are a Farkas proof."""
        A = np.column_stack([np.linspace(1, 2, 20), np.ones(20)])
        problem = Problem.from_arrays(A, [0.0, 5.0], [0.0, np.inf])
        solution = self.solve(problem)
        assert solution.status is Status.INFEASIBLE, solution.message
        assert farkas_value(problem, solution.multipliers) < 0

    # whole sets -----------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("seed", range(8))
    def test_whole_sets(self, seed: int) -> None:
        """If memberships must be whole, the set is the heaviest of all; or the backend refuses such problems."""
        problem = _make_whole_problem(seed)
        if Capability.INTEGER not in self.instance.capabilities:
            with pytest.raises(OptionError, match="whole"):
                self.solve(problem)
            return
        optimum = max(float(x @ problem.weights) for x in _feasible_sets(problem))
        solution = self.solve(problem)
        assert solution.status in (Status.OPTIMAL, Status.LIMIT), solution.message
        assert solution.objective == pytest.approx(optimum)
        assert solution.bound >= optimum * (1 - TOLERANCE)
        assert (solution.membership == np.rint(solution.membership)).all()
        assert solution.certificate.primal_residual == 0

    # limits ---------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("limit", [{"iteration_limit": 0}, {"iteration_limit": 3}, {"time_limit": 1e-4}], ids=str)
    def test_limits_leave_a_valid_point_and_bound(self, limit: dict[str, Any]) -> None:
        """A solution that was stopped early is feasible and its bound is true; or the backend refuses the option."""
        problem = Spec(tolerance=Absolute(1.0)).compile(np.random.default_rng(1).normal(size=(500, 15)), labelled=range(40))
        if Capability(next(iter(limit))) not in self.instance.capabilities:
            with pytest.raises(OptionError):
                self.solve(problem, **limit)
            return
        optimum = self.solve(problem).objective
        solution = self.solve(problem, **limit)
        assert solution.status in (Status.LIMIT, Status.OPTIMAL), solution.message
        assert "iteration_limit" not in limit or solution.status is Status.LIMIT
        assert solution.certificate.primal_residual <= 1e-7
        assert solution.objective <= optimum * (1 + TOLERANCE)
        assert solution.bound >= optimum * (1 - TOLERANCE)

    @pytest.mark.parametrize("size", [(1, 1), (2, 1), (7, 3), (40, 2), (300, 20), (2000, 5)], ids=str)
    @pytest.mark.parametrize("limit", [{"iteration_limit": 0}, {"iteration_limit": 1}, {"time_limit": 1e-9}], ids=str)
    def test_limits_are_safe_at_every_size(self, size: tuple[int, int], limit: dict[str, Any]) -> None:
        """For every size of problem and limit, the point is feasible and the bound is not below the optimum."""
        if Capability(next(iter(limit))) not in self.instance.capabilities:
            pytest.skip("the backend declares no such limit")
        X = np.random.default_rng(size).normal(size=size)
        problem = Spec(tolerance=Absolute(0.5)).compile(X, labelled=range(1 + len(X) // 5))
        optimum, solution = self.solve(problem).objective, self.solve(problem, **limit)
        assert solution.status in (Status.LIMIT, Status.OPTIMAL), solution.message
        assert solution.certificate.primal_residual <= 1e-7
        assert solution.objective <= optimum * (1 + TOLERANCE)
        assert solution.bound >= optimum * (1 - TOLERANCE)

    # faults ---------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("repair", [True, False], ids=["repaired", "as it is"])
    @pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "hangs"])
    def test_nothing_wrong_gets_through(self, fault: str, repair: bool) -> None:
        """If the answers of this backend are changed, the result is an error or a true statement."""
        problem, optimum = half_space(80, 3, seed=2)
        try:
            solution = solve(problem, Faulty(fault, self.backend), repair=repair)
        except SolverError:
            return
        assert solution.status in (Status.OPTIMAL, Status.LIMIT, Status.FAILED)
        assert solution.bound >= optimum * (1 - TOLERANCE)
        if solution.status is Status.OPTIMAL:
            assert solution.objective == pytest.approx(optimum, rel=TOLERANCE)
            assert solution.certificate.holds()
        if solution.status is Status.LIMIT:
            assert solution.certificate.primal_residual <= 1e-7
            assert solution.objective <= optimum * (1 + TOLERANCE)

    def test_a_backend_that_hangs_is_stopped(self) -> None:
        """In a separate process, the time limit stops a backend that never returns."""
        problem, optimum = half_space(80, 3, seed=2)
        solution = solve(problem, Faulty("hangs", self.backend), isolate=True, time_limit=0.5)
        assert solution.status is Status.LIMIT, solution.message
        assert solution.certificate.primal_residual <= 1e-7
        assert solution.bound >= optimum

    def test_runs_in_a_process_of_its_own(self) -> None:
        """In a separate process, the answer is the same to the last bit."""
        problem, _ = half_space(80, 3, seed=2)
        alone, here = self.solve(problem, isolate=True), self.solve(problem)
        assert alone.status is Status.OPTIMAL, alone.message
        assert np.array_equal(alone.membership, here.membership)
        assert np.array_equal(alone.multipliers, here.multipliers)

    # options --------------------------------------------------------------------------------------------------------

    def test_unknown_native_option_is_an_error(self) -> None:
        """A misspelled option is never ignored."""
        with pytest.raises(OptionError, match="no_such_option"):
            self.solve(self.easy, options={"no_such_option": 1})

    @pytest.mark.parametrize(
        ("capability", "value"),
        [
            (Capability.TIME_LIMIT, 60.0),
            (Capability.ITERATION_LIMIT, 100_000),
            (Capability.FEASIBILITY_TOLERANCE, 1e-8),
            (Capability.THREADS, 1),
            (Capability.THREADS, 2),
            (Capability.LOG, [].append),
            (Capability.PROGRESS, [].append),
        ],
        ids=lambda part: getattr(part, "value", str(part) if not callable(part) else "function"),
    )
    def test_common_option_is_honoured_or_refused(self, capability: Capability, value: Any) -> None:
        """An option that is declared works; one that is not raises."""
        if capability in self.instance.capabilities:
            assert self.solve(self.easy, **{capability.value: value}).status is Status.OPTIMAL
        else:
            with pytest.raises(OptionError, match=capability.value):
                self.solve(self.easy, **{capability.value: value})

    def test_a_start_changes_the_way_and_not_the_answer(self) -> None:
        """The optimum is the same from every start: the answer itself, that of a similar problem, or random numbers."""
        problem, _ = half_space(300, 5, seed=3)
        answer = self.solve(problem)
        random = np.random.default_rng(0)
        random_start = random.random(problem.n_points), random.normal(size=problem.n_moments)
        similar = replace(problem, weights=problem.weights * np.linspace(0.9, 1.1, problem.n_points))
        for start in (answer, self.solve(similar), random_start):
            if Capability.START in self.instance.capabilities:
                again = self.solve(problem, start=start)
                assert again.status is Status.OPTIMAL
                assert again.objective == pytest.approx(answer.objective, rel=1e-7)
            else:
                with pytest.raises(OptionError, match="start"):
                    self.solve(problem, start=start)

    def test_time_limit_is_felt(self) -> None:
        """The time limit stops a solve that would take longer."""
        if Capability.TIME_LIMIT not in self.instance.capabilities:
            pytest.skip("the backend declares no time limit")
        problem = Spec(tolerance=Absolute(1e-3)).compile(
            np.random.default_rng(0).normal(size=(4000, 60)), labelled=range(400)
        )
        assert self.solve(problem, time_limit=1e-3).status is Status.LIMIT

    def test_progress_is_reported(self) -> None:
        """A backend that declares progress reports it on a problem that takes a while, and iterations never go down."""
        if Capability.PROGRESS not in self.instance.capabilities:
            with pytest.raises(OptionError):
                self.solve(self.easy, progress=print)
            return
        reports: list[Progress] = []
        problem = Spec(tolerance=Absolute(1e-6)).compile(
            np.random.default_rng(0).normal(size=(8000, 80)), labelled=range(400)
        )
        self.solve(problem, progress=reports.append, time_limit=20.0)
        assert reports
        assert all(later.iterations >= sooner.iterations for sooner, later in pairwise(reports))

    def test_feasibility_tolerance_out_of_range_is_an_error(self) -> None:
        """A tolerance out of the range of the solver is refused, not clipped."""
        with pytest.raises(OptionError):
            self.solve(self.easy, feasibility_tolerance=1e-300)

    def test_log_reaches_the_function_given(self) -> None:
        """A backend that declares a log passes its text to the function."""
        if Capability.LOG not in self.instance.capabilities:
            with pytest.raises(OptionError):
                self.solve(self.easy, log=print)
            return
        lines: list[str] = []
        self.solve(half_space(400, 12, seed=4)[0], log=lines.append)
        assert "".join(lines).strip()

    def test_verbose_is_understood(self, capfd: pytest.CaptureFixture[str]) -> None:
        """Every backend prints its own log with ``verbose=True``."""
        assert self.solve(half_space(400, 12, seed=4)[0], verbose=True).status is Status.OPTIMAL
        assert capfd.readouterr().out.strip(), "verbose=True printed nothing: use options.sink, or the solver's own switch"

    def test_quiet_by_default(self, capfd: pytest.CaptureFixture[str]) -> None:
        """Nothing is printed unless asked for."""
        self.solve(self.easy)
        captured = capfd.readouterr()
        assert captured.out == captured.err == ""

    # threads and repeats --------------------------------------------------------------------------------------------

    def test_eight_threads_all_get_right_answers(self) -> None:
        """Different problems solved at once do not disturb each other."""
        problems = [half_space(150 + 20 * seed, 1 + seed % 5, seed) for seed in range(24)]
        with ThreadPoolExecutor(8) as pool:
            solutions = list(pool.map(self.solve, [problem for problem, _ in problems]))
        for solution, (_, size) in zip(solutions, problems, strict=True):
            assert solution.status is Status.OPTIMAL, solution.message
            assert solution.objective == pytest.approx(size, rel=TOLERANCE)

    def test_same_problem_same_answer(self) -> None:
        """Two runs give the same numbers to the last bit."""
        problem = _make_two_sided_problem(5)
        first, second = self.solve(problem), self.solve(problem)
        assert np.array_equal(first.membership, second.membership)
        assert np.array_equal(first.multipliers, second.multipliers)

    # description -----------------------------------------------------------------------------------------

    def test_describes_itself(self) -> None:
        """The solution carries the name and the version of the backend."""
        solution = self.solve(self.easy)
        cls = type(self.instance)
        assert solution.backend == cls.name
        assert cls.engine
        assert solution.version == available_version(cls)
        assert solution.message

    # helpers --------------------------------------------------------------------------------------------------------

    @property
    def instance(self) -> Backend:
        """The backend under test."""
        return get_backend(self.backend)

    @property
    def easy(self) -> Problem:
        """A problem that is solved in no time."""
        return half_space(60, 2, seed=1)[0]

    def solve(self, problem: Problem, **options: Any) -> Solution:
        """Solve with the backend under test; the answer must not come from the exact fallback.

        Parameters
        ----------
        problem : Problem
        **options
            The options of :func:`momentlp.solve`.

        Returns
        -------
        Solution
        """
        solution = solve(problem, self.backend, **options)
        assert "solved exactly" not in solution.repairs, solution.message
        return solution


def backends_without_contract(suite: type[BackendContract] = BackendContract) -> set[str]:
    """Return the names of the registered backends that no subclass of the contract tests.

    Parameters
    ----------
    suite : type
        The contract whose direct subclasses count.

    Returns
    -------
    set of str

    Examples
    --------
    >>> class TestHighs(BackendContract):
    ...     backend = "highs"
    >>> "highs" in backends_without_contract()
    False
    """
    tested = {cls.backend if isinstance(cls.backend, str) else cls.backend.name for cls in suite.__subclasses__()}
    return {info.name for info in registered()} - tested


def _make_two_sided_problem(seed: int) -> Problem:
    """Return a problem in general position with active bounds on both sides."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(200, 4))
    return Spec(tolerance=Absolute((2.0, 3.0, 2.5, 1.5))).compile(X, mean=np.array([0.4, -0.5, 0.6, -0.3]))


def _make_whole_problem(seed: int) -> Problem:
    """Return ten points, some of which stand for two, with memberships that must be whole."""
    random = np.random.default_rng(seed)
    A, caps = random.normal(size=(10, 3)), random.integers(1, 3, size=10).astype(float)
    weights = random.integers(1, 4, size=10) / 2.0 if seed % 2 else np.ones(10)
    return replace(Problem.from_arrays(A, -0.7, 0.7, weights=weights, caps=caps), whole=True)


def _feasible_sets(problem: Problem) -> Iterator[FloatArray]:
    """Yield all sets that meet the bounds."""
    A = problem.A.toarray()
    for x in product(*(range(int(cap) + 1) for cap in problem.caps)):
        reached = np.asarray(x, dtype=np.float64) @ A
        if (reached <= problem.upper).all() and (reached >= problem.lower).all():
            yield np.asarray(x, dtype=np.float64)


def _move_bound(problem: Problem, moment: int, side: str, step: float) -> Problem:
    """Return the problem with one bound, ``"lower"`` or ``"upper"``, moved by a step."""
    block = problem.blocks[0]
    lower, upper = block.lower.copy(), block.upper.copy()
    (upper if side == "upper" else lower)[moment] += step
    return replace(problem, blocks=(replace(block, lower=lower, upper=upper),))
