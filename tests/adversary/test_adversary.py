"""The adversary in short: its exact solver is right, its judge can say no, and a few problems of every family are judged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.available_backends import BACKENDS
from helpers.oracle import best_vertex

from . import run, workers
from .exact_lp import ExactLP, solve_exact
from .exact_program import build_program, exact_mean, exact_widths
from .families import FAMILIES, make_problem
from .judge import Claim, Mean, Truth
from .raw_problem import RawMatrix, RawSpec, RawTolerance
from .workers import Outcome, Task, run_task

PROBLEMS_PER_FAMILY = 4
POINTS = [[0.0], [1.0], [2.5], [9.0]]


def _bounds(values: np.ndarray) -> list[Fraction | None]:
    return [None if np.isinf(value) else Fraction(value) for value in values.tolist()]


def _random_integers(seed: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(seed)
    n, m = int(random.integers(1, 7)), int(random.integers(1, 4))
    low = random.integers(-4, 3, m).astype(float)
    high = low + random.integers(0, 4, m)
    low[random.random(m) < 0.2], high[random.random(m) < 0.2] = -np.inf, np.inf
    return random.integers(-3, 4, size=(n, m)), low, high, random.integers(-2, 4, n), random.integers(0, 3, n)


@pytest.mark.parametrize("guess", [True, False], ids=["from floats", "from nothing"])
def test_the_exact_optimum_is_that_of_the_best_vertex(guess: bool) -> None:
    n_infeasible = 0
    for seed in range(150):
        A, low, high, weights, caps = _random_integers(seed)
        rows = [[Fraction(value) for value in column] for column in A.T.tolist()]
        objective, limits = ([Fraction(v) for v in values.tolist()] for values in (weights, caps))
        found = solve_exact(ExactLP(rows, _bounds(low), _bounds(high), objective, limits), guess=guess)
        assert found.optimum == best_vertex(A, low, high, weights, caps)
        n_infeasible += not found.feasible
    assert 10 < n_infeasible < 140


def test_the_exact_solver_ends_on_degenerate_rows() -> None:
    rows = [[Fraction(value) for value in row] for row in ([1, -1, 0, 0], [1, -1, 0, 0], [0, 0, 1, -1], [1, -1, 1, -1])]
    zero = [Fraction(0)] * 4
    found = solve_exact(ExactLP(rows, zero, zero, [Fraction(1)] * 4, [Fraction(1)] * 4), guess=False)
    assert found.optimum == 4


def test_crossed_bounds_are_infeasible() -> None:
    one = [Fraction(1)]
    assert not solve_exact(ExactLP([one], [Fraction(2)], one, one, one)).feasible


def test_the_program_follows_the_formulas_of_the_documentation() -> None:
    """`Relative(0.5)` on two points with mean 1 has the rows that its docstring prints."""
    raw = RawSpec(np.array([[0.0], [2.0]]), mean=[1.0], tolerance=RawTolerance("relative", 0.5))
    high, low = build_program(raw).rows
    assert (high.entries, high.lower, high.upper) == ([-1.5, 0.5], None, 0)
    assert (low.entries, low.lower, low.upper) == ([-0.5, 1.5], 0, None)
    assert high.offset == Fraction(3, 2)
    sample = RawSpec(np.array([[0.0], [2.0], [5.0]]), labelled=[0, 1], tolerance=RawTolerance("standard_error", 1.0))
    assert float(exact_widths(sample)[0]) == pytest.approx(1.0, rel=1e-15)
    thirds = RawSpec(np.array([[0.0], [0.0], [1.0]]), labelled=[0, 1, 2])
    assert exact_mean(thirds) == [Fraction(1, 3)]


def test_rounding_grows_with_the_mean_and_not_with_a_sentinel() -> None:
    row = build_program(RawSpec(np.array([[1.0], [2.0], [4.0], [1e15]]), mean=[2.0**20])).rows[0]
    unit = Fraction(8, 2**52)
    assert row.rounding[0] == unit * (2**20 + row.typical + abs(1 - 2**20))
    assert row.rounding[3] < unit * (2**21 + 2**41)


OPTIMUM = [1.0, 1.0, 2 / 3, 0.0]  # of POINTS with mean 1, weight 8/3


@pytest.mark.parametrize(
    ("status", "membership", "bound", "wrong"),
    [
        ("OPTIMAL", OPTIMUM, 8 / 3, ""),
        ("OPTIMAL", [1.0, 1.0, 2 / 3 - 1e-9, 0.0], 8 / 3, ""),
        ("OPTIMAL", [0.0, 1.0, 0.0, 0.0], 8 / 3, "but the optimum is"),
        ("OPTIMAL", [1.0, 1.0, 1.0, 0.0], 3.0, "with rounding no more than"),
        ("OPTIMAL", [1.0, 1.0, 0.5, 1 / 6], 8 / 3, "points from feasible"),
        ("OPTIMAL", [1.1, 1.0, 0.5, 0.0], 8 / 3, "its cap"),
        ("OPTIMAL", [np.nan, 1.0, 0.5, 0.0], 8 / 3, "not finite"),
        ("OPTIMAL", OPTIMUM, 8 / 3 - 1e-6, "with the bound"),
        ("EMPTY", [0.0] * 4, 8 / 3, "EMPTY, but a set of"),
        ("INFEASIBLE", [0.0] * 4, 8 / 3, "INFEASIBLE, but a set"),
        ("LIMIT", OPTIMUM, 8 / 3, "no limit was given"),
        ("FAILED", OPTIMUM, 8 / 3, "without saying what to try"),
    ],
)
def test_the_judge_calls_wrong_answers_wrong(status: str, membership: list[float], bound: float, wrong: str) -> None:
    truth = Truth(RawSpec(np.array(POINTS), mean=[1.0]))
    said = truth.objection(Claim(status, np.array(membership), bound))
    assert wrong in said
    assert bool(said) == bool(wrong)


def test_a_failure_that_says_what_to_try_is_not_wrong() -> None:
    truth = Truth(RawSpec(np.array(POINTS), mean=[1.0]))
    assert not truth.objection(Claim("FAILED", np.zeros(4), 3.0, "no proof was found; try another backend"))


def test_the_judge_knows_empty_and_infeasible_problems() -> None:
    outside = Truth(RawSpec(np.array(POINTS), mean=[-1e-9]))
    assert not outside.objection(Claim("EMPTY", np.zeros(4), 0.0))
    assert "with rounding" in outside.objection(Claim("OPTIMAL", np.array([1.0, 0.0, 0.0, 0.0]), 1.0))
    needs_all = RawSpec(np.array(POINTS), mean=[1.0], constraints=(("Share", {"low": 1.0}),))
    assert not Truth(needs_all).objection(Claim("INFEASIBLE", np.zeros(4), 0.0))
    assert "even with rounding" in Truth(needs_all).objection(Claim("OPTIMAL", np.ones(4), 4.0))
    small = RawSpec(np.array(POINTS), mean=[1.0], constraints=(("Share", {"high": 0.125}),))
    assert "only constraints" in Truth(small).objection(Claim("EMPTY", np.zeros(4), 0.5))
    negative = RawMatrix(np.array(POINTS), -1.0, 1.0, weights=-1.0)
    assert "positive weight" in Truth(negative).objection(Claim("EMPTY", np.zeros(4), 0.0))


def test_the_rounding_of_a_mean_is_forgiven_and_single_precision_is_not() -> None:
    """No set has exactly the float nearest to 1/3 as its mean in both columns; with the exact mean all three points do."""
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 3.0]])
    raw = RawSpec(X, labelled=[0, 1, 2])
    rounded = Mean([Fraction(1 / 3), Fraction(1)], [Fraction(0)] * 2)
    truth = Truth(raw, rounded)
    assert len(truth.versions) == 2
    assert not truth.objection(Claim("OPTIMAL", np.ones(3), 3.0))
    assert "EMPTY, but" in truth.objection(Claim("EMPTY", np.zeros(3), 0.0))
    single = Mean([Fraction(float(np.float32(1 / 3))), Fraction(1)], [Fraction(0)] * 2)
    assert "the mean of column 0" in Truth(raw, single).objection(Claim("OPTIMAL", np.ones(3), 3.0))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_gives_the_same_problem_for_the_same_numbers(name: str) -> None:
    first, second = (make_problem(name, 5, 3) for _ in range(2))
    data = [raw.A if isinstance(raw, RawMatrix) else raw.X for raw in (first, second)]
    left, right = (table.toarray() if sp.issparse(table) else table for table in data)
    np.testing.assert_array_equal(left, right)
    assert left.dtype == right.dtype


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FAMILIES)
def test_no_answer_is_wrong(name: str) -> None:
    tasks = [Task(name, 0, number, BACKENDS) for number in range(PROBLEMS_PER_FAMILY)]
    outcomes = [message for task in tasks for message in run_task(task) if isinstance(message, Outcome)]
    assert len(outcomes) == PROBLEMS_PER_FAMILY * len(BACKENDS)
    assert not [run.describe(outcome, 0) for outcome in outcomes if outcome.objection]


def test_a_run_prints_the_table_and_the_exit_status_tells_what_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Outcome("one-hot", 0, "highs", "OPTIMAL", "", 0.1)
    monkeypatch.setattr(run, "run_tasks", lambda *_: iter([right]))
    assert run.main(["--family", "one-hot", "--problems", "1"]) == 0
    monkeypatch.setattr(run, "run_tasks", lambda *_: iter([right, replace(right, objection="too much")]))
    assert run.main(["--family", "one-hot", "--problems", "1", "--seed", "4"]) == 1
    assert "WRONG  --family one-hot --seed 4 --only 0 --backends highs: too much" in capsys.readouterr().out
    monkeypatch.setattr(run, "run_tasks", lambda *_: iter([replace(right, status="FAILED")]))
    assert run.main(["--family", "one-hot", "--problems", "1"]) == 1
    monkeypatch.setattr(run, "run_tasks", lambda *_: iter([replace(right, family="sentinels-to-1e15", status="FAILED")]))
    assert run.main(["--family", "sentinels-to-1e15", "--problems", "1"]) == 0


def test_a_worker_that_ends_is_a_finding_and_the_other_backends_are_still_run() -> None:
    worker = object.__new__(workers._Worker)
    worker.task, worker.step, worker.since = Task("one-hot", 0, 7, ("glpk", "highs")), workers._Step("glpk", "solve"), 0.0
    outcome, rest = worker.lost("HANG", "stopped after 60 seconds")
    assert (outcome.status, outcome.objection) == ("HANG", "solve: stopped after 60 seconds")
    assert rest is not None
    assert rest.backends == ("highs",)
    worker.step = workers._Step("highs", "judge")
    outcome, rest = worker.lost("HANG", "stopped after 60 seconds")
    assert (outcome.status, outcome.objection, rest) == ("UNJUDGED", "", None)
    outcome, rest = worker.lost("CRASH", "the process ended with exit code 1")
    assert (outcome.status, outcome.objection) == ("CRASH", "judge: the process ended with exit code 1")
