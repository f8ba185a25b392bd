"""The theorem on random data: a set is the largest with its mean exactly if a hyperplane separates it.

The comparison is exact for integers (with an oracle that shares no code with the package), and within 1e-6 elsewhere. Every
test draws its backend along with its data. ``make verify`` runs each with ten thousand examples or more.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from helpers.available_backends import BACKENDS
from helpers.oracle import best_vertex, is_separable, largest_with_mean
from hypothesis import assume, given
from hypothesis import strategies as st

import momentlp as mlp
from momentlp.problem.rounding import ROUNDING, limited_score_magnitude
from momentlp.testing import clouds, feature_maps, half_spaces, labelled_sets, problems, tolerances

pytestmark = pytest.mark.filterwarnings("ignore::momentlp.OnlyLabelledWarning")  # few points, many dimensions
# Pyomo runs HiGHS too, and takes longer: it is drawn a third as often as the others.
backends = st.sampled_from([name for name in BACKENDS for _ in range(1 if name == "pyomo" else 3)])
PROVED = (mlp.Status.OPTIMAL, mlp.Status.EMPTY)
TOLERANCE = 1e-6
EXACT = mlp.Spec(tolerance=mlp.Absolute(0.0))


def optimum(problem: mlp.Problem, backend: str = "highs") -> float:
    """Solve, insist on a proof, and return the objective."""
    solution = mlp.solve(problem, backend)
    assert solution.status in PROVED, f"{solution.status}: {solution.message}"
    return solution.objective


def close(value: float, other: float, rel: float = TOLERANCE) -> bool:
    return abs(value - other) <= rel * max(1.0, abs(value), abs(other))


@st.composite
def grids(draw: st.DrawFn, *, max_points: int = 10) -> tuple[list[list[int]], list[int]]:
    """Draw a few points with small integer coordinates in one or two dimensions, and the indices of some of them."""
    d = draw(st.integers(1, 2))
    X = draw(st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=1, max_size=max_points))
    return X, draw(labelled_sets(len(X), most=max_points))


def with_exact_mean(X: list[list[int]], chosen: list[int]) -> mlp.Problem:
    """Return the problem of the mean of some points, times their number: in integers, so that no mean is rounded."""
    points = np.array(X, dtype=float)
    return mlp.Problem.from_arrays(points * len(chosen) - points[chosen].sum(axis=0), 0.0, 0.0)


# The first lemma: images on the boundary are those of separable sets.


@given(clouds(decades=0, shapes=("grid", "repeated", "flat")), st.data())
def test_a_hyperplane_supports_the_image_of_what_it_cuts_off(X: np.ndarray, data: st.DataObject) -> None:
    """b . image(h) <= sum max(0, c . x + d) for every fuzzy set h, with equality exactly if b separates it."""
    c = data.draw(st.lists(st.integers(-3, 3), min_size=X.shape[1], max_size=X.shape[1]))
    d = data.draw(st.integers(-9, 9))
    quarters = data.draw(st.lists(st.integers(0, 4), min_size=len(X), max_size=len(X)))
    scores = (X @ np.array(c, dtype=float) + d).astype(int).tolist()
    if data.draw(st.booleans()):  # otherwise equality would hardly ever occur
        quarters = [4 if s > 0 else 0 if s < 0 else q for s, q in zip(scores, quarters, strict=True)]
    image = sum(s * q for s, q in zip(scores, quarters, strict=True))
    maximum = 4 * sum(max(0, s) for s in scores)
    separated = all((q == 4 or s <= 0) and (q == 0 or s >= 0) for s, q in zip(scores, quarters, strict=True))
    assert image <= maximum
    assert (image == maximum) == separated


@given(clouds(decades=0), backends, st.data())
def test_no_set_lies_beyond_the_supporting_hyperplane(X: np.ndarray, backend: str, data: st.DataObject) -> None:
    """The same with a solver: without bounds on moments, the best set for b is one that b separates."""
    c = data.draw(st.lists(st.integers(-3, 3), min_size=X.shape[1], max_size=X.shape[1]))
    scores = X @ np.array(c, dtype=float) + data.draw(st.integers(-3, 3))
    problem = mlp.Problem.from_arrays(np.zeros((len(X), 1)), -np.inf, np.inf, weights=scores)
    assert close(mlp.solve(problem, backend).objective, float(np.maximum(scores, 0).sum()))


# The second lemma: the sets with one mean lie on a ray.


@given(clouds(decades=3), backends, st.floats(0.01, 1.0), st.data())
def test_sizes_of_sets_with_one_mean_form_an_interval(X: np.ndarray, backend: str, part: float, data: st.DataObject) -> None:
    """There is a set of every size up to the largest, and none beyond; a multiple of the largest set is one."""
    problem = EXACT.compile(X, labelled=data.draw(labelled_sets(len(X))))
    largest = mlp.solve(problem, backend)
    assert largest.status is mlp.Status.OPTIMAL, largest.message
    less = mlp.Certificate.of(problem, part * largest.membership, largest.multipliers)
    assert less.primal_residual <= TOLERANCE
    assert close(less.objective, part * largest.objective)

    def of_size(size: float) -> mlp.Solution:
        return mlp.solve(problem.with_rows(np.ones((len(X), 1)), size, size, ["size"]), backend)

    assert close(of_size(part * largest.objective).objective, part * largest.objective)
    beyond = of_size(largest.objective * 1.01 + 0.01)
    assert beyond.status is mlp.Status.INFEASIBLE, beyond.message


# The theorem.


@given(grids())
def test_a_set_is_the_largest_if_and_only_if_it_is_separable(case: tuple[list[list[int]], list[int]]) -> None:
    """Both directions at once, without rounding: a set is as large as the exact optimum if and only if it is separable."""
    X, chosen = case
    proof = mlp.solve(with_exact_mean(X, chosen)).certificate.exact()
    h = [Fraction(int(i in chosen)) for i in range(len(X))]
    assert (proof.optimum == len(chosen)) == is_separable(X, h)


@given(clouds(min_points=4, max_points=20), feature_maps(), backends, st.data())
def test_a_half_space_is_the_largest_set_with_its_mean(
    X: np.ndarray, features: mlp.FeatureMap, backend: str, data: st.DataObject
) -> None:
    """Sufficiency, in every feature space, for any memberships on the hyperplane itself.

    A mean is rounded. That is worth a change of the optimum of the rounding times the multipliers, which are huge if two
    landmarks nearly coincide.
    """
    spec = mlp.Spec(features=features, tolerance=mlp.Absolute(0.0))
    phi = np.asarray(spec.compile(X, labelled=[0]).blocks[0].features)
    h = data.draw(half_spaces(phi))
    solution = mlp.solve(spec.compile(X, mean=h @ phi / h.sum()), backend)
    assert solution.status in PROVED, f"{solution.status}: {solution.message}"
    rounding = 16 * np.finfo(float).eps * h.sum() * np.abs(phi).max(axis=0) @ np.abs(solution.multipliers)
    assert abs(solution.objective - h.sum()) <= TOLERANCE * max(1.0, h.sum()) + rounding


@given(clouds(min_points=4, max_points=20), feature_maps(), tolerances(), backends, st.data())
def test_the_multipliers_separate_the_largest_set(
    X: np.ndarray, features: mlp.FeatureMap, tolerance: mlp.Tolerance, backend: str, data: st.DataObject
) -> None:
    """Necessity, in every feature space and with every tolerance; and few points are fractional."""
    problem = mlp.Spec(features=features, tolerance=tolerance).compile(X, labelled=data.draw(labelled_sets(len(X), least=2)))
    solution = mlp.solve(problem, backend)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    s, h = solution.scores, solution.membership
    # Multipliers of nearly dependent moments are huge and cancel. Then the problem with rounding is solved. It is separated
    # by scores that differ from these by the rounding of entries and means.
    rounding = ROUNDING * limited_score_magnitude(problem.A, solution.multipliers, problem.A.entry_limits)
    margin = TOLERANCE + 2 * rounding
    # The theorem, up to the tolerance of a proof: what a membership on the wrong side costs is within the gap.
    allowed = 1e-6 * max(1.0, solution.bound)
    assert ((1 - h)[s > margin] * s[s > margin] < allowed).all()
    assert (h[s < -margin] * -s[s < -margin] < allowed).all()
    activity, slack = problem.A.T @ h, 1e-6 * (problem.scale + problem.A.per_moment("magnitude", h))
    at_bound = (activity <= problem.lower + slack) | (activity >= problem.upper - slack)
    assert solution.certificate.fractional <= at_bound.sum()


@given(clouds(decades=0, min_points=4, max_points=15), feature_maps(), backends, st.data())
def test_the_optimum_is_at_least_the_number_of_labelled_points(
    X: np.ndarray, features: mlp.FeatureMap, backend: str, data: st.DataObject
) -> None:
    labelled = data.draw(labelled_sets(len(X)))
    assert optimum(mlp.Spec(features=features).compile(X, labelled=labelled), backend) >= len(labelled) - TOLERANCE


# Against oracles that share no code with the package.


@given(grids(), backends)
def test_the_optimum_is_that_of_the_best_hyperplane(case: tuple[list[list[int]], list[int]], backend: str) -> None:
    X, chosen = case
    mean = [Fraction(sum(X[i][j] for i in chosen), len(chosen)) for j in range(len(X[0]))]
    solution = mlp.solve(with_exact_mean(X, chosen), backend)
    best = largest_with_mean(X, mean)
    assert close(solution.objective, float(best), 1e-9)
    assert solution.certificate.exact().optimum == best


@given(problems(max_points=8, max_moments=3), backends)
def test_the_optimum_is_that_of_the_best_vertex(problem: mlp.Problem, backend: str) -> None:
    best = best_vertex(problem.A.toarray(), problem.lower, problem.upper, problem.weights, problem.caps)
    solution = mlp.solve(problem, backend)
    if best is None:
        assert solution.status is mlp.Status.INFEASIBLE, solution.message
        return
    assert solution.status in PROVED, solution.message
    assert close(solution.objective, float(best), 1e-9)


@given(problems(), backends)
def test_the_objective_is_the_exact_optimum_in_integers(problem: mlp.Problem, backend: str) -> None:
    solution = mlp.solve(problem, backend)
    proof = solution.certificate.exact()
    assert (solution.status is mlp.Status.INFEASIBLE) == (proof.status is mlp.Status.INFEASIBLE)
    if proof.optimum is not None:
        assert solution.status in PROVED, solution.message
        assert abs(proof.off) <= 1e-9 * max(1, abs(proof.optimum))
        assert proof.bound >= proof.optimum


@given(clouds(max_points=15, max_dims=4), tolerances(), backends, st.data())
def test_the_bound_is_a_bound_in_exact_arithmetic(
    X: np.ndarray, tolerance: mlp.Tolerance, backend: str, data: st.DataObject
) -> None:
    """Recomputed without rounding, the bound of a certificate is at least the exact optimum."""
    problem = mlp.Spec(tolerance=tolerance).compile(X, labelled=data.draw(labelled_sets(len(X), least=2)))
    solution = mlp.solve(problem, backend)
    proof = solution.certificate.exact()
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    assert float(proof.bound) == pytest.approx(solution.bound, rel=1e-6)
    assert proof.bound >= proof.optimum


# Changes of the data that do not change the optimum.


@given(clouds(decades=3), backends, st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-3]))
def test_translation_does_not_matter(X: np.ndarray, backend: str, seed: int, eps: float) -> None:
    shift = np.random.default_rng(seed).integers(-100, 100, X.shape[1]) * (np.abs(X).max() or 1.0) / 8
    sizes = [optimum(_absolute(eps, X).compile(points, labelled=[0]), backend) for points in (X, X + shift)]
    assert close(*sizes, rel=1e-5)


@given(clouds(decades=3), backends, st.integers(0, 2**32 - 1))
def test_rotation_does_not_matter(X: np.ndarray, backend: str, seed: int) -> None:
    """Nor does any invertible linear map, as long as no tolerance is measured along the axes."""
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(X.shape[1], X.shape[1])))
    rotated = X @ rotation
    # The rotation must not cancel digits: its terms must be no larger than what the rule for rounding counts.
    counted = np.abs(rotated[0]) + np.median(np.abs(rotated - rotated[0]), axis=0)
    assume((np.max(np.abs(X) @ np.abs(rotation), axis=0) <= 8 * counted).all())
    sizes = [optimum(EXACT.compile(points, labelled=[0]), backend) for points in (X, rotated)]
    assert close(*sizes, rel=1e-5)


@given(clouds(decades=3), backends, st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_units_do_not_matter(X: np.ndarray, backend: str, seed: int, decades: int) -> None:
    """Every feature is multiplied by its own factor, over up to twelve decades."""
    powers = np.random.default_rng(seed).uniform(-decades / 2, decades / 2, X.shape[1])
    sizes = [optimum(EXACT.compile(points, labelled=[0]), backend) for points in (X, X * 10.0**powers)]
    assert close(*sizes, rel=1e-5)


@given(clouds(decades=3), backends, st.data())
def test_order_does_not_matter(X: np.ndarray, backend: str, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(len(X)))))
    mean = X[: 1 + len(X) // 3].mean(axis=0)
    assert close(optimum(EXACT.compile(X, mean=mean), backend), optimum(EXACT.compile(X[order], mean=mean), backend))


@given(clouds(decades=3, max_points=12), backends, st.data())
def test_a_weight_or_a_cap_stands_for_repeated_points(X: np.ndarray, backend: str, data: st.DataObject) -> None:
    """Repeated points against sample weights and against caps."""
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X))))
    mean = X[0] / 2 + X.mean(axis=0) / 2
    repeated = optimum(EXACT.compile(np.repeat(X, times, axis=0), mean=mean), backend)
    weighed = mlp.solve(EXACT.compile(X, mean=mean, sample_weight=times), backend)
    assert weighed.status in PROVED
    assert close(repeated, weighed.objective)
    # Differences are rounded, so points on a line are not quite on one any more: allow for that, and for what it is worth.
    allowed = 1e-12 * np.abs(X).max(axis=0)
    capped = optimum(mlp.Problem.from_arrays(X - mean, -allowed, allowed, caps=times), backend)
    worth = float(np.abs(weighed.multipliers) @ allowed)
    assert capped > repeated or close(repeated, capped)
    assert capped < repeated + worth or close(repeated + worth, capped)


@given(clouds(decades=3, min_points=4), backends, st.data())
def test_parts_of_the_points_agree_with_the_whole(X: np.ndarray, backend: str, data: st.DataObject) -> None:
    """The optima of two parts add up to at most that of the whole; with one part fixed, the other agrees with the whole."""
    cut = data.draw(st.integers(1, len(X) - 1))
    problem = EXACT.compile(X, mean=X[[0, -1]].mean(axis=0))
    whole = mlp.solve(problem, backend)
    assert whole.status is mlp.Status.OPTIMAL, whole.message
    A, h = problem.A.toarray(), whole.membership
    parts = [optimum(mlp.Problem.from_arrays(part, 0.0, 0.0), backend) for part in (A[:cut], A[cut:])]
    assert sum(parts) <= whole.objective + TOLERANCE * len(X)
    slack = 1e-7 * problem.scale
    needed = -(A[:cut].T @ h[:cut])
    rest = mlp.solve(mlp.Problem.from_arrays(A[cut:], needed - slack, needed + slack), backend)
    assert h[:cut].sum() + rest.objective >= whole.objective - TOLERANCE * len(X)
    # The multipliers of the whole bound the rest as well: each unit of slack in row j is worth at most |y_j|. Both solutions
    # may miss a row by as much again, within the tolerance of their certificates.
    worth_of_slack = 3 * float(slack @ np.abs(whole.multipliers))
    assert h[:cut].sum() + rest.objective <= whole.objective + worth_of_slack + TOLERANCE * len(X)


def _absolute(eps: float, X: np.ndarray) -> mlp.Spec:
    return mlp.Spec(tolerance=mlp.Absolute(eps * float(np.abs(X).max() or 1.0)))


# The optimum as a function of the tolerance.


@given(clouds(decades=3), backends, st.floats(0, 10), st.floats(0, 10), st.data())
def test_the_optimum_is_monotone_and_concave_in_the_tolerance(
    X: np.ndarray, backend: str, one: float, other: float, data: st.DataObject
) -> None:
    """Monotone and concave in the tolerance on the sum."""
    labelled = data.draw(labelled_sets(len(X)))
    low, high = sorted((one, other))
    sizes = [optimum(_absolute(eps, X).compile(X, labelled=labelled), backend) for eps in (low, (low + high) / 2, high)]
    assert sizes[0] <= sizes[1] * (1 + TOLERANCE)
    assert sizes[1] <= sizes[2] * (1 + TOLERANCE)
    assert sizes[1] >= (sizes[0] + sizes[2]) / 2 * (1 - TOLERANCE)


@given(problems(feasible=True), backends, st.data())
def test_multipliers_are_supergradients(problem: mlp.Problem, backend: str, data: st.DataObject) -> None:
    """The optimum at other bounds is at most what the multipliers promise: it is concave in all bounds at once."""
    here = mlp.solve(problem, backend)
    assert here.status in PROVED, here.message
    block, wider = problem.blocks[0], data.draw(st.integers(1, 5))
    moved = replace(problem, blocks=(replace(block, lower=block.lower - wider, upper=block.upper + wider),))
    assume(np.isfinite(here.bound))
    assert optimum(moved, backend) <= here.objective + wider * np.abs(here.multipliers).sum() + TOLERANCE * problem.n_points
