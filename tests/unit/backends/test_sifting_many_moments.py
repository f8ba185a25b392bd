"""The parts of sifting that make thousands of moments possible, each against plain dense algebra or another solver."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import momentlp as mlp
from momentlp_sifting.columns import DenseColumns, SparseColumns, is_mostly_sparse
from momentlp_sifting.few_fractional import make_few_fractional
from momentlp_sifting.normal_equations import NormalEquations, Precision
from momentlp_sifting.program import Program
from momentlp_sifting.row_structure import RowAlgebra, RowStructure
from momentlp_sifting.sparse_product import SparseProduct
from momentlp_sifting.vertex import find_vertex, polish_vertex

SPECS: dict[str, mlp.Spec] = {
    "pairs": mlp.Spec(tolerance=mlp.StandardError(1.0)),
    "pairs and a share": mlp.Spec(tolerance=mlp.Relative(0.1), constraints=[mlp.Share(0.1, 0.9)]),
    "one side": mlp.Spec(tolerance=mlp.StandardError(1.0, side="lower")),
    "sums": mlp.Spec(tolerance=mlp.Absolute(2.0)),
    "some equations": mlp.Spec(features=mlp.Linear(), tolerance=mlp.Relative([0.0, 0.1, 0.0, 0.2, 0.1])),
    "quadratic": mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.StandardError(0.5)),
}


def compile_case(name: str, seed: int = 0, sparse: bool = False, n: int = 60) -> mlp.Problem:
    random = np.random.default_rng(seed)
    X: Any = random.normal(size=(n, 5))
    X[: n // 4] += 1.0
    if sparse:
        X = sp.csr_array(np.where(np.abs(X) > 1.2, X, 0.0))
    return SPECS[name].compile(X, labelled=np.arange(n // 6))


@pytest.mark.parametrize(
    ("name", "sparse"), [*((name, False) for name in SPECS), ("pairs and a share", True), ("sums", True)]
)
def test_columns_and_structure_are_the_moments(name: str, sparse: bool) -> None:
    problem = compile_case(name, sparse=sparse)
    structure, A, random = RowStructure.of(problem), problem.A.toarray(), np.random.default_rng(1)
    Z = structure.matrix(problem).toarray()
    n, m = A.shape
    assert Z.shape == (n, structure.n_columns)
    some, points = random.permutation(m)[: m // 2], np.arange(0, n, 3)
    for columns in (DenseColumns(Z), SparseColumns.of(structure.matrix(problem), slice(None), 1)):
        whole, part = (structure.select(columns, *chosen) for chosen in ((np.arange(n), np.arange(m)), (points, some)))
        assert np.allclose(whole.dense(np.arange(n)), A, atol=1e-13)
        assert np.allclose(part.dense(np.arange(points.size)), A[np.ix_(points, some)], atol=1e-13)
        longer = np.vstack([A, np.arange(m)])
        assert np.allclose(whole.with_point(longer[-1]).dense(np.arange(n + 1)), longer, atol=1e-13)
        assert np.allclose(whole.block(problem.lower, problem.upper).rows(slice(None)), A, atol=1e-13)
    h, y, D = random.random(n), random.normal(size=m), random.random(n)
    assert np.allclose(structure.to_rows(Z.T @ h), A.T @ h, atol=1e-12)
    assert np.allclose(Z @ structure.to_columns(y), A @ y, atol=1e-12)
    assert np.allclose(structure.row_squares(np.square(Z).T @ D, Z.T @ D), np.square(A).T @ D, atol=1e-12)


def test_a_tolerance_on_the_mean_has_one_column_per_feature() -> None:
    problem = compile_case("pairs")
    structure = RowStructure.of(problem)
    assert (problem.n_moments, structure.n_columns) == (10, 6)
    assert RowStructure.of(compile_case("sums")).n_columns == 5


@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_equations_of_the_columns_are_those_of_the_moments(name: str, seed: int) -> None:
    problem = compile_case(name)
    structure, A, random = RowStructure.of(problem), problem.A.toarray(), np.random.default_rng(seed)
    Z = structure.matrix(problem).toarray()
    D, E = random.random(A.shape[0]), 10.0 ** random.uniform(-6, 3, size=A.shape[1])
    algebra, b = RowAlgebra(structure, E), random.normal(size=A.shape[1])
    c, level = algebra.to_columns(b)
    inverse = np.column_stack([algebra.apply(unit) for unit in np.eye(structure.n_columns)])
    x = algebra.to_rows(np.linalg.solve(Z.T @ (D[:, None] * Z) + inverse, c), b, level)
    assert np.allclose(A.T @ (D * (A @ x)) + E * x, b, atol=1e-5)


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("n", [60, 4])  # with few points the equations are solved on their side
@pytest.mark.parametrize("columns", ["dense", "sparse"])
def test_a_step_solves_the_normal_equations(name: str, n: int, columns: str) -> None:
    problem = compile_case(name)
    structure, random = RowStructure.of(problem), np.random.default_rng(2)
    matrix = structure.matrix(problem)
    Z = matrix.toarray()[:n]
    A = structure.select(DenseColumns(Z), np.arange(n), np.arange(structure.n_rows)).dense(np.arange(n))
    D, E = 10.0 ** random.uniform(-2, 2, size=n), 10.0 ** random.uniform(-3, 2, size=A.shape[1])
    kind: Any = DenseColumns(Z, 2) if columns == "dense" else SparseColumns.of(matrix, slice(0, n), 2)
    precision = Precision(0.0, np.inf, n_corrections=2, refine=True)
    system = NormalEquations(kind, structure, D, E, np.square(Z).T @ D, precision, single=False)
    b = random.normal(size=A.shape[1])
    x = system.solve(b)
    assert np.allclose(A.T @ (D * (A @ x)) + E * x, b, atol=1e-6)


def test_leaving_points_and_moments_out_is_corrected() -> None:
    random = np.random.default_rng(0)
    Z = random.normal(size=(300, 20))
    D = np.where(np.arange(300) < 40, 1.0, 1e-5)
    E = np.where(np.arange(20) < 12, 0.1, 1e4)
    b, right = random.normal(size=20), Z.T @ (D[:, None] * Z) + np.diag(E)
    errors = []
    for n_corrections in (0, 3):
        precision = Precision(n_corrections=n_corrections)
        system = NormalEquations(DenseColumns(Z), RowStructure.plain(20), D, E, np.square(Z).T @ D, precision, single=False)
        assert not system.exact
        errors.append(float(np.abs(right @ system.solve(b) - b).max()))
    assert errors[1] < 0.05 * errors[0]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("single", [False, True])
def test_matrices_of_products_are_those_of_numpy(threads: int, single: bool) -> None:
    random = np.random.default_rng(0)
    Z, w, e = random.normal(size=(5000, 90)), random.random(5000), random.random(90)
    points, columns = np.arange(0, 5000, 3), np.arange(0, 90, 2)
    dense, close = DenseColumns(Z, threads), 1e-2 if single else 1e-9
    assert np.allclose(dense.gram(w, None, None, single), Z.T @ (w[:, None] * Z), atol=close)
    part = Z[np.ix_(points, columns)]
    assert np.allclose(dense.gram(w, points, columns, single), part.T @ (w[points, None] * part), atol=close)
    assert np.allclose(dense.outer(e, points, columns, single), (part * e[columns]) @ part.T, atol=close)
    assert np.allclose(dense.squares(w), np.square(Z).T @ w, rtol=1e-4)


def test_sparse_columns_are_centred_without_becoming_dense() -> None:
    random = np.random.default_rng(0)
    P, constant = sp.random_array((200, 30), density=0.1, rng=random, format="csr"), random.normal(size=30)
    Z, w, e = P.toarray() + constant, random.random(200), random.random(30)
    sparse, points, columns = SparseColumns(P, constant), np.arange(0, 200, 3), np.arange(0, 30, 2)
    part = Z[np.ix_(points, columns)]
    assert np.allclose(sparse.gram(w, points, columns, single=False), part.T @ (w[points, None] * part))
    assert np.allclose(sparse.outer(e, points, columns, single=False), (part * e[columns]) @ part.T)
    assert np.allclose(sparse.squares(w), np.square(Z).T @ w)
    assert np.allclose(sparse.dense(points), Z[points])
    assert np.allclose(sparse.multiply(e), Z @ e)
    assert np.allclose(sparse.multiply_transposed(w), Z.T @ w)


def test_only_tables_with_few_entries_count_as_sparse() -> None:
    for density, is_sparse in ((0.05, True), (0.6, False)):
        X = sp.random_array((100, 20), density=density, rng=np.random.default_rng(0), format="csr")
        problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(X, labelled=np.arange(10))
        assert is_mostly_sparse(problem.A) is is_sparse
    assert not is_mostly_sparse(compile_case("sums").A)


def small_program(seed: int, n: int, m: int, width: float) -> tuple[Program, mlp.Problem]:
    random = np.random.default_rng(seed)
    A = random.normal(size=(n, m))
    A[: n // 3] += 0.4
    A -= A[: n // 6].mean(axis=0)
    upper = np.full(m, width)
    program = Program.plain(DenseColumns(A), np.ones(n), np.ones(n), -upper, upper)
    return program, mlp.Problem.from_arrays(A, -upper, upper)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("n", "m", "width"), [(120, 15, 1.0), (80, 60, 2.0), (60, 90, 3.0), (100, 20, 1e-9)])
def test_the_vertex_is_that_of_the_simplex_method(seed: int, n: int, m: int, width: float) -> None:
    program, problem = small_program(seed, n, m, width)
    vertex, steps = find_vertex(program, lambda: False)
    assert vertex is not None
    assert vertex.n_wrong == 0
    assert steps > 0
    h, y = vertex.h, vertex.y
    best = mlp.solve(problem, "highs")
    assert h.sum() == pytest.approx(best.objective, abs=1e-6)
    fractional = int(((h > 0) & (h < 1)).sum())
    assert fractional <= int((np.abs(np.abs(program.adjoint(h)) - width) < 1e-7).sum())
    assert np.all(program.scores(y)[h <= 0] <= 1e-7)


def test_among_many_optima_one_is_a_vertex() -> None:
    """Fifty equal points on the hyperplane: any memberships of the right sum are optimal, and one is fractional."""
    A = np.concatenate([np.full(50, 1.0), np.full(20, -1.0)])[:, None]
    program = Program.plain(DenseColumns(A), np.ones(70), np.ones(70), np.array([-3.5]), np.array([3.5]))
    vertex, _ = find_vertex(program, lambda: False)
    assert vertex is not None
    assert vertex.n_wrong == 0
    assert vertex.h.sum() == pytest.approx(43.5)
    assert int(((vertex.h > 0) & (vertex.h < 1)).sum()) == 1


def test_moments_that_depend_on_each_other_are_all_kept() -> None:
    """Every moment twice, so that twice as many are at a bound as points are fractional: y is spread over both copies."""
    problem = small_program(1, 120, 15, 1.0)[1]
    A = np.hstack([problem.A.toarray()] * 2)
    upper = np.full(30, 1.0)
    vertex, _ = find_vertex(Program.plain(DenseColumns(A), np.ones(120), np.ones(120), -upper, upper), lambda: False)
    assert vertex is not None
    assert vertex.n_wrong == 0
    assert vertex.h.sum() == pytest.approx(mlp.solve(problem, "highs").objective, abs=1e-6)


@pytest.mark.parametrize("max_factored", [None, 0])
@pytest.mark.parametrize("name", ["pairs", "pairs and a share", "sums"])
def test_conjugate_gradients_alone_solve_the_equations(name: str, max_factored: int | None) -> None:
    problem = compile_case(name, sparse=True, n=300)
    structure, random = RowStructure.of(problem), np.random.default_rng(5)
    A, columns = problem.A.toarray(), SparseColumns.of(RowStructure.of(problem).matrix(problem), slice(None), 1)
    D, E, b = random.random(300) + 0.1, 10 * random.random(A.shape[1]) + 1.0, random.normal(size=A.shape[1])
    precision = Precision(n_corrections=200, max_factored=max_factored, tolerance=1e-10)
    found = NormalEquations(columns, structure, D, E, columns.squares(D), precision, single=False).solve(b)
    assert np.allclose(found, np.linalg.solve(A.T @ (D[:, None] * A) + np.diag(E), b), rtol=1e-6, atol=1e-9)


def test_an_infeasible_program_has_no_vertex() -> None:
    program = Program.plain(DenseColumns(np.ones((30, 1))), np.ones(30), np.ones(30), np.array([40.0]), np.array([50.0]))
    assert find_vertex(program, lambda: False)[0] is None


def test_a_program_that_is_late_has_no_vertex() -> None:
    assert find_vertex(small_program(0, 120, 15, 1.0)[0], lambda: True) == (None, 0)


@pytest.mark.parametrize(
    ("features", "tolerance"),
    [
        (mlp.Linear(), mlp.Absolute(8.0)),
        (mlp.Linear(), mlp.StandardError(1.0)),
        (mlp.Kernel(), mlp.Absolute(1.0)),
        (mlp.Kernel(), mlp.StandardError(1.0)),
    ],
)
def test_many_moments_have_the_optimum_of_highs(features: mlp.FeatureMap, tolerance: mlp.Tolerance) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 200)) if isinstance(features, mlp.Linear) else random.normal(size=(400, 6))
    X[: len(X) // 5] += 0.3
    problem = mlp.Spec(features=features, tolerance=tolerance).compile(X, labelled=np.arange(len(X) // 8))
    found, best = mlp.solve(problem, "sifting"), mlp.solve(problem, "highs")
    assert found.status is best.status is mlp.Status.OPTIMAL
    assert found.certificate.holds()
    assert found.objective == pytest.approx(best.objective, rel=1e-7)


@pytest.mark.parametrize("tolerance", [mlp.Absolute(4.0), mlp.StandardError(1.0)])
def test_words_have_the_optimum_of_highs(tolerance: mlp.Tolerance) -> None:
    random = np.random.default_rng(0)
    frequency = 1 / (np.arange(400) + 10.0)
    topic = frequency * np.exp(random.normal(size=400))
    rows = [
        np.unique(random.choice(400, 20, p=(topic if row < 240 else frequency) / (topic if row < 240 else frequency).sum()))
        for row in range(1200)
    ]
    places = np.repeat(np.arange(1200), [row.size for row in rows])
    X = sp.csr_array((np.ones(places.size), (places, np.concatenate(rows))), shape=(1200, 400))
    problem = mlp.Spec(tolerance=tolerance).compile(X, labelled=np.arange(120))
    found, best = mlp.solve(problem, "sifting"), mlp.solve(problem, "highs")
    assert found.certificate.holds()
    assert found.objective == pytest.approx(best.objective, rel=1e-7)


@pytest.mark.parametrize(("n", "q"), [(30, 4), (500, 20), (20_000, 8), (30, 40)])
def test_few_memberships_stay_fractional_and_no_moment_changes(n: int, q: int) -> None:
    random = np.random.default_rng(0)
    Z, caps = random.normal(size=(n, q)), 10.0 ** random.uniform(-1, 1, size=n)
    h = caps * random.uniform(0.05, 0.95, size=n)
    few = make_few_fractional(DenseColumns(Z), np.arange(q), h, caps, random)
    assert int(((few > 0) & (few < caps)).sum()) <= q
    assert (few >= 0).all()
    assert (few <= caps).all()
    assert np.allclose(Z.T @ few, Z.T @ h, atol=1e-7 * n)


def test_columns_that_depend_on_each_other_leave_fewer_fractional() -> None:
    random = np.random.default_rng(0)
    category = np.eye(6)[random.integers(6, size=3000)]
    Z = np.hstack([category, np.ones((3000, 1)), category[:, :2] - category[:, 2:4]])  # of rank 6
    h = random.uniform(0.1, 0.9, size=3000)
    few = make_few_fractional(DenseColumns(Z), np.arange(9), h, np.ones(3000), random)
    assert int(((few > 0) & (few < 1)).sum()) <= 6
    assert np.allclose(Z.T @ few, Z.T @ h, atol=1e-6)


def test_a_size_that_leaves_many_optima_is_solved_with_few_points() -> None:
    """Only the size limits the set, so every point lies on the hyperplane: a small program must not hold all of them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(30_000, 10))
    X[:6000] += 0.4
    spec = mlp.Spec(tolerance=mlp.StandardError(1.0), constraints=[mlp.Share(0.05, 0.1)])
    found = mlp.solve(spec.compile(X, labelled=np.arange(300)), "sifting")
    assert found.certificate.holds()
    assert found.objective == pytest.approx(3000.0)
    assert int(((found.membership > 0) & (found.membership < 1)).sum()) <= found.problem.n_moments
    match = re.search(r"the largest of (\d+) points", found.message)
    assert match is not None
    assert int(match[1]) < 1000


def test_columns_of_zeros_do_not_disturb_the_equations_of_the_points() -> None:
    """Pixels that are always black have moments of zeros, and there are more products of pixels than images."""
    images, digit = load_digits(return_X_y=True)
    X, digit = images[:1000] / 8 - 1, digit[:1000]
    labelled = np.flatnonzero(digit == 0)[:26]
    problem = mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.Absolute(3.0)).compile(X, sample=X[labelled])
    assert problem.n_moments > problem.n_points
    assert mlp.solve(problem, "sifting").certificate.holds()


@pytest.mark.parametrize(("seed", "tolerance"), [(94, mlp.Relative(0.05)), (168, mlp.StandardError(1.0))])
def test_fractional_points_lie_on_the_hyperplane(seed: int, tolerance: mlp.Tolerance) -> None:
    """With more fractional points than moments at a bound, least squares left scores that are not zero."""
    random = np.random.default_rng(seed)
    n, m = int(random.integers(300, 900)), int(random.integers(100, 260))
    problem = mlp.Spec(tolerance=tolerance).compile(random.normal(size=(n, m)), labelled=np.arange(n // 3))
    found = mlp.solve(problem, "sifting", repair=False)
    assert found.status is mlp.Status.OPTIMAL
    assert found.objective == pytest.approx(mlp.solve(problem, "highs").objective, rel=1e-8)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_a_sparse_product(threads: int) -> None:
    M = sp.random_array((3000, 900), density=0.5, format="csr", rng=np.random.default_rng(0))
    v = np.random.default_rng(1).normal(size=900)
    product = SparseProduct(M, threads)
    assert len(product._parts) == threads
    assert ((product @ v) == M @ v).all()


def test_a_vertex_with_a_point_at_its_bound_by_chance_is_polished() -> None:
    """The third point is at its cap exactly, and on the hyperplane: the vertex has as many basic points as moments."""
    A = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0], [-1.0, -1.0], [-1.0, -1.0]])
    weights = A @ [0.5, 0.25] + np.array([0.0, 0.3, 0.0, 0.2, -0.2])
    h = np.array([0.25, 1.0, 1.0, 1.0, 0.0])
    y, reached = np.array([0.5, 0.25]), A.T @ h
    program = Program.plain(DenseColumns(A), weights, np.ones(5), np.full(2, -np.inf), reached)
    noise = np.array([3e-10, 0.0, 0.0, 0.0, 0.0])
    polished = polish_vertex(program, h + noise, y + 1e-11)
    assert np.abs(polished[0] - h).max() < 1e-15
    assert np.abs(polished[1] - y).max() < 1e-15


def test_a_matrix_of_zeros_is_infeasible_without_a_warning() -> None:
    assert mlp.solve(mlp.Problem.from_arrays(np.zeros((3000, 30)), 1, 2), "sifting").status is mlp.Status.INFEASIBLE
